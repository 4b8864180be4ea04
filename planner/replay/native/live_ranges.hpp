// The ranges of an arena that are live, among places that are known before: each question takes some
// instructions, and nothing is allocated after the list of places.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace memstow::replay {

using Bytes = std::uint64_t;
using Index = std::uint32_t;

inline constexpr Index kNone = UINT32_MAX;

// Which place of a list of different numbers a number has: a hash table with open addressing.
class NumberIndex {
  public:
    explicit NumberIndex(const std::vector<Bytes>& numbers);

    // kNone for a number that the list does not have.
    Index find(Bytes number) const {
        for (std::size_t slot = slot_of(number);; slot = (slot + 1) & (slots_.size() - 1)) {
            const Slot& here = slots_[slot];
            if (here.index == kNone || here.number == number) return here.index;
        }
    }

  private:
    struct Slot {
        Bytes number;
        Index index;
    };

    // Fibonacci hashing: the upper bits of the product depend on all bits of the number.
    std::size_t slot_of(Bytes number) const { return (number * 0x9E3779B97F4A7C15u) >> shift_; }

    std::vector<Slot> slots_;
    int shift_;
};

// A set of indices below a limit: 64 to a word, and one bit for each word that has any in the level above.
class IndexSet {
  public:
    explicit IndexSet(Index limit);

    bool contains(Index index) const { return levels_[0][index / 64] >> (index % 64) & 1; }
    void insert(Index index);
    void erase(Index index);
    // The largest index in the set that is less than `limit`; kNone if there is none.
    Index last_below(Index limit) const;

  private:
    // 64 to the power of these is more than any index.
    static constexpr int kMostLevels = 6;

    std::array<std::vector<std::uint64_t>, kMostLevels> levels_;
    int depth_ = 0;
};

// Live ranges do not overlap, so that only the one that begins last before the end of a range can overlap it.
class LiveRanges {
  public:
    // Offsets at which ranges may begin: ascending, each once.
    explicit LiveRanges(std::vector<Bytes> begins);

    // The place of an offset among those at which ranges may begin; kNone for any other.
    Index place_of(Bytes begin) const { return index_.find(begin); }
    Bytes begin_of(Index place) const { return begins_[place]; }
    // How many places are below the offset.
    Index places_below(Bytes offset) const;
    bool is_live(Index place) const { return live_.contains(place); }
    // Whether a live range has a byte from `begin` to the offset below which there are `below` places.
    bool is_occupied(Bytes begin, Index below) const {
        const Index last = live_.last_below(below);
        return last != kNone && ends_[last] > begin;
    }
    // The caller knows that it is not occupied.
    void insert(Index place, Bytes end) {
        ends_[place] = end;
        live_.insert(place);
    }
    void erase(Index place) { live_.erase(place); }

  private:
    std::vector<Bytes> begins_;
    NumberIndex index_;
    std::vector<Bytes> ends_;
    IndexSet live_;
};

}  // namespace memstow::replay
