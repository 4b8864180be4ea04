// Which of some numbers add up to as much as which of some others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/instance.hpp"

namespace memstow::search {

using PlaceSet = std::uint64_t;  // of places in a list; those from 64 on are in all sets

inline bool has(PlaceSet set, std::size_t place) { return place >= 64 || (set >> place & 1) != 0; }
inline PlaceSet first_places(std::size_t count) {
    return count >= 64 ? ~PlaceSet{0} : (PlaceSet{1} << count) - 1;
}

struct EqualSums {
    PlaceSet first, second;
};

// Sets of numbers with equal sums, no set empty; at most `most` for each set of `first`, whose pairs follow
// each other. There are at most 64 numbers each. Of many numbers only small sets are looked at, the ones they
// leave of `second`, and the set of all. `steps` grows by what was done.
std::vector<EqualSums> equal_sums(const std::vector<Bytes>& first, const std::vector<Bytes>& second,
                                  std::size_t most, std::int64_t& steps);

}  // namespace memstow::search
