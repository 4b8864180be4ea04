// Published planners under their own names, to be compared with and to be asked for. Each takes the buffers
// in the order of its source and decides as its source does. It declines what its source cannot honour; where
// the placement engine honours more than the source does (explicit conflicts, reserved ranges, several
// lifetimes, groups), the planner does too, since its order and its rule remain the same.
//
// Where a source gives up because nothing fits, the item goes where it overflows least, so that the layout is
// complete and says by how much it fails.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::greedy {

// The names of the planners.
std::span<const std::string_view> classics();

// The constraint of the instance that the planner cannot honour, in words; nothing when it can take it.
std::optional<std::string> declines(std::string_view classic, const Instance& instance);

// The planner's layout. `classic` is one of classics() and does not decline the instance. As with
// solve_greedy(), the first 4,096 items are placed whatever the budget, the rest stacked when it is spent.
Layout run_classic(std::string_view classic, const Instance& instance, Budget& budget);

}  // namespace memstow::greedy
