// Operators that can always wait until what they make is needed, taken out of the graph.
#pragma once

#include <vector>

#include "order/graph.hpp"

namespace memstow::order {

// An operator is *late* when nothing can end at it, and it needs nothing else while it runs: whatever runs
// next and does not wait for it may as well run before it. So it runs right before the first operator that
// waits for it, and what it begins may as well begin there.
struct WithoutLate {
    Graph graph;              // of the operators that are left
    std::vector<Index> kept;  // by operator of that graph: which it is
};
WithoutLate without_late(const Graph& graph);

// The order of the whole graph, each late operator right before the first that waits for it.
std::vector<Index> with_late(const Graph& graph, const std::vector<Index>& kept_in_order);

}  // namespace memstow::order
