#include "windows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_set>
#include <vector>

namespace memstow::judge {
namespace {

using std::int64_t;

// Bytes of the states that are known to have no layout, and of those on the way to the present one.
constexpr std::size_t kMostMemory = std::size_t{48} << 20;
// A level of recursion for each buffer and each raised floor.
constexpr int kDeepest = 4'000;

struct Block {
    std::size_t first, last;  // moments, half-open
    int64_t size;
    bool placed = false;

    bool like(const Block& other) const {
        return first == other.first && last == other.last && size == other.size;
    }
};

// If there is a layout, there is one in which each buffer is at 0 or rests on another that it is alive with:
// push all down. The search builds such a layout from below. At each moment there is a floor that nothing
// that is still to be placed reaches under. At the lowest floor of all either one of the buffers alive there
// begins, or none does; then the lowest of them rests on something that ends higher up.
class Search {
  public:
    Search(std::span<const int64_t> sizes, std::span<const int64_t> begins, std::span<const int64_t> ends,
           int64_t height, int64_t steps)
        : height_(height), steps_(steps) {
        std::vector<int64_t> marks(begins.begin(), begins.end());
        marks.insert(marks.end(), ends.begin(), ends.end());
        std::sort(marks.begin(), marks.end());
        marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
        const auto at = [&](int64_t time) {
            return static_cast<std::size_t>(std::lower_bound(marks.begin(), marks.end(), time) -
                                            marks.begin());
        };
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            blocks_.push_back({at(begins[i]), at(ends[i]), sizes[i]});
        }
        // Large ones first: these decide.
        std::sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) {
            if (a.size != b.size) return a.size > b.size;
            if (a.first != b.first) return a.first < b.first;
            return a.last < b.last;
        });
        floor_.assign(marks.empty() ? 0 : marks.size() - 1, 0);
        load_.assign(floor_.size(), 0);
        // What begins less what ends at each moment, added up.
        for (const Block& block : blocks_) {
            load_[block.first] += block.size;
            if (block.last < load_.size()) load_[block.last] -= block.size;
        }
        std::partial_sum(load_.begin(), load_.end(), load_.begin());
    }

    Room room() {
        const bool fit = fits(0);
        return fit ? Room::some : too_much_ ? Room::too_much : Room::none;
    }

  private:
    // Whether what is left fits above the floors. False as well where that is too much to find out.
    bool fits(int depth) {
        steps_ -= static_cast<int64_t>(floor_.size() + blocks_.size());
        if (steps_ < 0 || depth > kDeepest) too_much_ = true;
        if (too_much_) return false;
        const std::size_t lowest = lowest_moment();
        if (lowest == floor_.size()) return !overfull_;
        if (overfull_) return false;
        std::string state = state_of_search();
        if (dead_.contains(state)) return false;
        const std::size_t bytes = state.size() + 64;
        on_the_way_ += bytes;
        if (on_the_way_ > kMostMemory) too_much_ = true;
        const bool fit = !too_much_ && (fits_with_one_at(lowest, depth) ||
                                        (!too_much_ && fits_with_none_at(lowest, depth)));
        on_the_way_ -= bytes;
        if (fit || too_much_) return fit;
        memory_ += bytes;
        if (memory_ < kMostMemory) dead_.insert(std::move(state));
        return false;
    }

    // The moment with the lowest floor; of several the one with the least to spare. Notes whether one is
    // overfull.
    std::size_t lowest_moment() {
        overfull_ = false;
        std::size_t lowest = floor_.size();
        for (std::size_t t = 0; t < floor_.size(); ++t) {
            if (load_[t] == 0) continue;
            overfull_ = overfull_ || floor_[t] > height_ - load_[t];
            const bool lower = lowest == floor_.size() || floor_[t] < floor_[lowest] ||
                               (floor_[t] == floor_[lowest] && load_[t] > load_[lowest]);
            if (lower) lowest = t;
        }
        return lowest;
    }

    bool fits_with_one_at(std::size_t moment, int depth) {
        const int64_t level = floor_[moment];
        const Block* tried = nullptr;
        for (Block& block : blocks_) {
            if (block.placed || block.first > moment || block.last <= moment) continue;
            if (tried != nullptr && tried->like(block)) continue;
            const auto begin = floor_.begin() + static_cast<std::ptrdiff_t>(block.first);
            const auto end = floor_.begin() + static_cast<std::ptrdiff_t>(block.last);
            const auto higher = std::find_if(begin, end, [&](int64_t floor) { return floor > level; });
            steps_ -= higher - begin;
            if (higher != end) continue;
            if (steps_ < 0) {
                too_much_ = true;
                return false;
            }
            tried = &block;
            const std::vector<int64_t> before(begin, end);
            std::fill(begin, end, level + block.size);
            for (std::size_t t = block.first; t < block.last; ++t) load_[t] -= block.size;
            block.placed = true;
            const bool fit = fits(depth + 1);
            block.placed = false;
            for (std::size_t t = block.first; t < block.last; ++t) load_[t] += block.size;
            std::copy(before.begin(), before.end(),
                      floor_.begin() + static_cast<std::ptrdiff_t>(block.first));
            if (fit || too_much_) return fit;
        }
        return false;
    }

    // The least level above that something which is alive with one of these may end at.
    bool fits_with_none_at(std::size_t moment, int depth) {
        const int64_t level = floor_[moment];
        int64_t next = std::numeric_limits<int64_t>::max();
        for (const Block& block : blocks_) {
            if (!block.placed) next = std::min(next, level + block.size);
        }
        for (std::size_t t = 0; t < floor_.size(); ++t) {
            if (floor_[t] > level) next = std::min(next, floor_[t]);
        }
        if (next > height_ - load_[moment]) return false;
        floor_[moment] = next;
        const bool fit = fits(depth + 1);
        floor_[moment] = level;
        return fit;
    }

    // The state: what is placed, and the floors where something is still to come.
    std::string state_of_search() const {
        std::string text((blocks_.size() + 7) / 8 + floor_.size() * sizeof(int64_t), '\0');
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            if (blocks_[i].placed) text[i / 8] = static_cast<char>(text[i / 8] | (1 << (i % 8)));
        }
        std::size_t at = (blocks_.size() + 7) / 8;
        for (std::size_t t = 0; t < floor_.size(); ++t, at += sizeof(int64_t)) {
            const int64_t floor = load_[t] == 0 ? 0 : floor_[t];
            std::memcpy(&text[at], &floor, sizeof floor);
        }
        return text;
    }

    const int64_t height_;
    int64_t steps_;
    bool too_much_ = false;
    bool overfull_ = false;
    std::vector<Block> blocks_;
    std::vector<int64_t> floor_;  // by moment
    std::vector<int64_t> load_;   // by moment: what is still to be placed
    std::unordered_set<std::string> dead_;
    std::size_t memory_ = 0;
    std::size_t on_the_way_ = 0;
};

}  // namespace

Room room_for(std::span<const int64_t> sizes, std::span<const int64_t> begins, std::span<const int64_t> ends,
              int64_t height, int64_t steps) {
    return Search(sizes, begins, ends, height, steps).room();
}

}  // namespace memstow::judge
