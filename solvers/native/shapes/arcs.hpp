// What has to be said of a sequence: which part is right above which, without what follows from the rest.
#pragma once

#include <vector>

#include "shapes/shaped.hpp"

namespace memstow::shapes {

struct PartArc {
    Index upper;
    Index lower;
};

// An arc follows where the upper part is above one that is above the lower; and a part of an item is above
// what a part of the same item is above that begins no higher.
std::vector<PartArc> arcs(const Shaped& shaped, const std::vector<Index>& sequence,
                          const std::vector<Index>& choices);

// By part, parts below it of which all that it is above follow; offsets as well where items may be anywhere.
// `place` and `pool` are by item.
std::vector<std::vector<Index>> next_below(const Shaped& shaped, const std::vector<Index>& place,
                                           const std::vector<Index>& pool);

// By item.
std::vector<Index> places_in(const std::vector<Index>& sequence);
std::vector<Index> pools_of(const Shaped& shaped, const std::vector<Index>& choices);

}  // namespace memstow::shapes
