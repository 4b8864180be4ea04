// Checks the arrays of an instance and makes the graph of them.
#pragma once

#include <span>
#include <vector>

#include "order/graph.hpp"

namespace memstow::order {

// The arrays of solvers.orders.OrderInstance.
struct Arrays {
    std::vector<std::int64_t> extra, size, writer_start, writers, reader_start, readers, from_start, to_end,
        before, in_place, listed;
    std::int64_t base = 0;
};

struct Instance {
    Graph graph;
    std::vector<Index> listed;
};

// Throws std::invalid_argument, which says what is wrong.
Instance assemble(const Arrays& arrays);

}  // namespace memstow::order
