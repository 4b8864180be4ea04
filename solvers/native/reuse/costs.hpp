// Reuse costs of one pool: which overlaps are a choice, and what is paid whatever is chosen.
#pragma once

#include <vector>

#include "core/instance.hpp"
#include "search/cliques.hpp"

namespace memstow::reuse {

struct Costs {
    search::PartConflicts conflicts;
    std::vector<ReuseCost> pairs;  // first < second, of different items, each pair once, costs above 0
    Bytes fixed = 0;               // of parts of one item that overlap
};

Costs costs_of(const Instance& instance);

// The instance in which some of the pairs may not overlap, whatever was allowed before.
Instance kept_apart(const Instance& instance, const Costs& costs, const std::vector<Index>& pairs);

}  // namespace memstow::reuse
