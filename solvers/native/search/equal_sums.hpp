// Which of some numbers add up to as much as which of some others, exactly or nearly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/instance.hpp"

namespace memstow::search {

using PlaceSet = std::uint64_t;  // of places in a list; those from 64 on are in all sets

inline bool has(PlaceSet set, std::size_t place) { return place >= 64 || (set >> place & 1) != 0; }
inline PlaceSet first_places(std::size_t count) {
    return count >= 64 ? ~PlaceSet{0} : (PlaceSet{1} << count) - 1;
}

// A part of a sum, counted in parts of 2^kShareBits.
inline constexpr int kShareBits = 20;
Bytes share_of(Bytes sum, std::int64_t share);

struct SetSum {
    Bytes value;
    PlaceSet places;
};

// The sums of sets of some numbers, of at most 64. Of up to 28 numbers all sets are known, by two halves; of
// more only small ones, and those that leave little.
class SetSums {
  public:
    explicit SetSums(const std::vector<Bytes>& numbers);
    // Sets with sums from low to high, neither the empty one nor that of all; at most about `most`.
    std::vector<SetSum> within(Bytes low, Bytes high, std::size_t most, std::int64_t& steps) const;
    bool complete() const { return complete_; }

  private:
    std::size_t count_;
    bool complete_;
    std::vector<SetSum> lower_, upper_;  // ascending; of sets of the first half, and of the second
};

struct EqualSums {
    PlaceSet first, second;
};

// Pairs of sets of some first and of these second numbers whose sums differ by no more than a share of them.
class EqualSets {
  public:
    // What is remembered takes about `memory`.
    EqualSets(std::vector<Bytes> second, std::int64_t share, std::size_t memory);

    struct Sets {
        std::vector<EqualSums> pairs;  // those with the same first set follow each other
        bool complete = true;          // whether all sets were looked at
    };
    // Answers are remembered, for when the same is asked again; one lasts until the next. There are at most
    // 64 numbers each, and no set is empty or that of all. `steps` grows by what was done, which is limited,
    // and ends early when the run is over.
    const Sets& with(const std::vector<Bytes>& first, std::int64_t& steps,
                     const std::function<bool()>& is_over);

  private:
    const std::vector<SetSum>& matches(Bytes sum, std::int64_t& steps);

    std::vector<Bytes> second_;
    std::int64_t share_;
    std::size_t memory_, bytes_ = 0;
    SetSums sums_;
    std::map<Bytes, std::vector<SetSum>> matches_;
    std::map<std::vector<Bytes>, Sets> sets_of_;
};

}  // namespace memstow::search
