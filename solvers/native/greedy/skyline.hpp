// A greedy pass that fills rows from the bottom: of the items that can rest at the lowest level where any
// can, one of the row that has fewest of them is placed, by priority. It leaves fewer holes than any fixed
// order on problems as tight as MiniMalloc's; each step looks at all items, so it is for some hundred of
// them.
#pragma once

#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "core/random.hpp"

namespace memstow::greedy {

// Only for what can_sweep() accepts, several lifetimes an item included; reserved ranges and pairs that may
// overlap are not for it.
bool can_skyline(const Instance& instance);

// Gives up, with an empty layout, as soon as an item would end above `give_up_above`, or time is up.
Layout skyline(const Instance& instance, const std::vector<double>& priority, Bytes give_up_above,
               const Budget& budget);

}  // namespace memstow::greedy
