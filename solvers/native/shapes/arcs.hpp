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

}  // namespace memstow::shapes
