#include "order/dead_sets.hpp"

#include <algorithm>

namespace memstow::order {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

DeadSets::DeadSets(Index size, std::size_t most) : width_((size + 63) / 64), slots_(kFirstSlots) {
    // At worst the hashes and all slots have just been doubled, and three slots in four are free.
    const std::size_t each = (width_ + 2) * sizeof(Word) + 6 * sizeof(Slot);
    most_ = std::min<std::size_t>(most / each, (std::size_t{1} << 31));
}

std::size_t DeadSets::slot_of(std::span<const Word> set, Word hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    for (;; at = (at + 1) & mask) {
        const Slot& slot = slots_[at];
        if (slot.number == 0) return at;
        if (slot.hash != hash >> 32) continue;
        if (std::ranges::equal(set, (*this)[slot.number - 1])) return at;
    }
}

std::size_t DeadSets::find(std::span<const Word> set, Word hash) const {
    const Slot& slot = slots_[slot_of(set, hash)];
    return slot.number == 0 ? kNone : slot.number - 1;
}

bool DeadSets::add(std::span<const Word> set, Word hash) {
    if (count_ >= most_) return false;
    if (2 * count_ >= slots_.size()) grow();
    const std::size_t at = slot_of(set, hash);
    if (slots_[at].number != 0) return true;
    if (count_ % kInBlock == 0) blocks_.emplace_back().reserve(kInBlock * width_);
    blocks_.back().insert(blocks_.back().end(), set.begin(), set.end());
    hashes_.push_back(hash);
    slots_[at] = {static_cast<std::uint32_t>(++count_), static_cast<std::uint32_t>(hash >> 32)};
    return true;
}

void DeadSets::grow() {
    slots_.assign(2 * slots_.size(), {});
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t k = 0; k < count_; ++k) {
        std::size_t at = hashes_[k] & mask;
        while (slots_[at].number != 0) at = (at + 1) & mask;
        slots_[at] = {static_cast<std::uint32_t>(k + 1), static_cast<std::uint32_t>(hashes_[k] >> 32)};
    }
}

void DeadSets::clear() {
    count_ = 0;
    blocks_.clear();
    hashes_.clear();
    slots_.assign(kFirstSlots, {});
}

}  // namespace memstow::order
