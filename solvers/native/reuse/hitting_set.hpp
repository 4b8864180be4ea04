// The cheapest set of elements that hits every given set: a branch and bound with bounds from what each set
// takes from the weights of its elements.
#pragma once

#include <cstdint>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::reuse {

using ElementSet = std::vector<Index>;  // ascending

struct HittingSet {
    ElementSet chosen;  // hits every set
    Bytes cost = 0;     // of these
    Bytes bound = 0;    // no set that hits every set costs less
    std::int64_t steps = 0;
};

// The bound meets the cost unless `most_steps` or the budget ended it. No set that hits every set costs less
// than `known`. Every set has an element, every weight is above 0.
HittingSet cheapest_hitting_set(const std::vector<ElementSet>& sets, const std::vector<Bytes>& weights,
                                Bytes known, std::int64_t most_steps, const Budget& budget);

}  // namespace memstow::reuse
