// Every layout of a few items in which something depends on banks, looked through: what is left at the end is
// the best, or there is none.
//
// Any layout can be pushed down, item by item, as long as no term grows. In one that cannot be pushed further
// each item is at the lowest offset of its choice, or just above what it must not overlap, at the end of a
// bank that it should not enter, or where a hint has it; and what stops it begins lower in the same pool. So
// only such offsets are tried, pool by pool and from below.
#pragma once

#include <vector>

#include "banks/search.hpp"
#include "core/budget.hpp"
#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow::banks {

// Rigid groups, but for buffers that are one, and pairs that may only overlap in place move together, so that
// the argument above is not theirs.
bool can_look_through(const Instance& instance);

// Looks for layouts of these items alone that are better than `best`, which they replace; that is nothing, or
// a layout of them all. Whether it came to the end: then there is none better.
bool look_through(const Instance& instance, const Scorer& scorer, const std::vector<Index>& items,
                  Placed& best, Budget& budget, const OnBetter& on_better);

}  // namespace memstow::banks
