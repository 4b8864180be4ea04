#include "live_ranges.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace memstow::replay {

NumberIndex::NumberIndex(const std::vector<Bytes>& numbers) {
    // At most half full, so that a search ends soon, and at all.
    const std::size_t size = std::bit_ceil(2 * numbers.size() + 2);
    shift_ = 64 - std::countr_zero(size);
    slots_.assign(size, {0, kNone});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::size_t slot = slot_of(numbers[i]);
        while (slots_[slot].index != kNone) slot = (slot + 1) & (size - 1);
        slots_[slot] = {numbers[i], static_cast<Index>(i)};
    }
}

IndexSet::IndexSet(Index limit) {
    std::size_t count = limit;
    do {
        count = count / 64 + 1;
        levels_[depth_++].assign(count, 0);
    } while (count > 1);
}

void IndexSet::insert(Index index) {
    for (int level = 0; level < depth_; ++level) {
        std::uint64_t& word = levels_[level][index / 64];
        const bool was_empty = word == 0;
        word |= std::uint64_t{1} << (index % 64);
        if (!was_empty) return;
        index /= 64;
    }
}

void IndexSet::erase(Index index) {
    for (int level = 0; level < depth_; ++level) {
        std::uint64_t& word = levels_[level][index / 64];
        word &= ~(std::uint64_t{1} << (index % 64));
        if (word != 0) return;
        index /= 64;
    }
}

Index IndexSet::last_below(Index limit) const {
    for (int level = 0; level < depth_; ++level) {
        const std::uint64_t lower = (std::uint64_t{1} << (limit % 64)) - 1;
        std::uint64_t bits = levels_[level][limit / 64] & lower;
        if (bits == 0) {
            limit /= 64;
            continue;
        }
        Index index = limit / 64 * 64 + static_cast<Index>(std::bit_width(bits)) - 1;
        while (level-- > 0) {
            bits = levels_[level][index];
            index = index * 64 + static_cast<Index>(std::bit_width(bits)) - 1;
        }
        return index;
    }
    return kNone;
}

LiveRanges::LiveRanges(std::vector<Bytes> begins)
    : begins_(std::move(begins)),
      index_(begins_),
      ends_(begins_.size(), 0),
      live_(static_cast<Index>(begins_.size())) {}

Index LiveRanges::places_below(Bytes offset) const {
    const auto above = std::lower_bound(begins_.begin(), begins_.end(), offset);
    return static_cast<Index>(above - begins_.begin());
}

}  // namespace memstow::replay
