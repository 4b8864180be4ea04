// A good order fast: many orders grow side by side, and only the best are kept.
#pragma once

#include <vector>

#include "core/budget.hpp"
#include "order/graph.hpp"

namespace memstow::order {

// An order that needs less than `peak`; empty where the beam finds none. `bound`: needs up to this cost
// nothing.
std::vector<Index> beam(const Graph& graph, Bytes bound, Bytes peak, std::size_t width, Budget& budget);

}  // namespace memstow::order
