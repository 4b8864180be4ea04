// A bound of what ways for many items cost together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "assign/cheap_ways.hpp"

namespace memstow::assign {

struct CostBound {
    std::int64_t least =
        0;  // no choice of ways without a row that has too much costs less, or `enough` does not
    bool complete = false;  // more work shows no more
};

// With prices of room, what a choice costs above their bound is regret: what items cost more than in their
// cheapest way, and the price of what is empty in rows. Nothing in it is negative, so what a choice for the
// first items regrets is a bound for all that comes of it.
//
// Time is in stretches. A row is of the one in which its last item comes, and the regret of an item is
// divided among those of its rows. A tail is what rows from some stretch on make of it, as a problem of its
// own; tails are searched from the last to the first, item by item, and a choice that regrets as much as it
// does up to a stretch regrets the least of the next tail on top of it. Choices beyond the width are left
// out, and the least that one of those must regret is a bound of the tail as well.
class CostBounds {
  public:
    // order: of the items, such as by time: few rows should have items both early and late.
    CostBounds(Ways ways, std::vector<Index> order);
    ~CostBounds();

    // The best bound that is known after searching the tails that were not complete, with so many choices for
    // the items so far. No bound above `enough` is of use, such as the cost of what is known; that never
    // rises from one call to the next. None where numbers are too large for it.
    std::optional<CostBound> widen(Index width, std::int64_t enough, Budget& budget);

  private:
    class Tails;

    std::unique_ptr<Tails> tails_;
};

}  // namespace memstow::assign
