// Orders made by a rule, without a search.
#pragma once

#include <vector>

#include "core/budget.hpp"
#include "order/graph.hpp"

namespace memstow::order {

// "Least peak memory first", as in PyTorch: of the operators that need no more than the peak so far, the one
// that leaves the fewest bytes; where there is none, the one that needs the fewest.
// When the time of a budget is over, the rest follows as it may run.
std::vector<Index> least_peak_first(const Graph& graph, const Budget* budget = nullptr);

// Depth first from the results: what an operator waits for comes right before it.
std::vector<Index> depth_first(const Graph& graph);

}  // namespace memstow::order
