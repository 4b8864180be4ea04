// A greedy pass in the order of time: what is placed and still live is all that a new item conflicts with, so
// a list of free gaps is all there is to keep. An order of magnitude quicker than the tree, in one order
// only.
#pragma once

#include <span>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "greedy/orders.hpp"

namespace memstow::greedy {

// Only plain problems: one pool, one part and at most one lifetime an item, no conflicts besides, no pins.
// Alignment and reserved ranges are honoured; a capacity is not looked at. Pairs that may overlap do not.
bool can_sweep(const Instance& instance);

// The items in the order of their start or their end, as `arrange` has it, without the traits of all items.
std::vector<Index> sweep_order(const Instance& instance, Order order);

// The number of items that are placed in gaps however little budget is left: about half a second.
inline constexpr std::size_t kWholeSweep = 1'000'000;

// Each item goes to the smallest gap that is large enough. The order is by first row, or backwards in time by
// last row. When the budget is spent, the items after the first `whole` go to shelves above all others.
Layout sweep(const Instance& instance, std::span<const Index> order, bool backwards, Budget& budget,
             std::size_t whole = kWholeSweep);

}  // namespace memstow::greedy
