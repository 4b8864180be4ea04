// The least that one moment takes: while an operator runs for the first time, each tensor that is needed
// later is held, waits elsewhere, or is made again later. The cheapest choice is a minimum cut.
#pragma once

#include <vector>

#include "core/budget.hpp"
#include "recompute/program.hpp"

namespace memstow::recompute {

// A byte that is held has this price, and so has a unit of cost.
struct Prices {
    std::int64_t byte, cost;
};

// Who must have run before the moment, and who cannot have: flags by operator.
struct Around {
    std::vector<bool> before, after;
};

struct Moment {
    Bytes price;  // of the cheapest choice: no schedule has less
    Bytes held;   // its bytes, and its cost
    std::int64_t cost;
    std::vector<Index> kept;  // items that are held in it
};

// Where the time is over first, the price is less than the cheapest choice has, and the rest says nothing.
Moment cheapest(const Program& program, Index op, const Around& around, const Prices& prices,
                const Budget& budget);

}  // namespace memstow::recompute
