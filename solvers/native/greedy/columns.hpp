// The greedy layout of plain buffers that are given as columns.
#pragma once

#include <cstdint>
#include <vector>

#include "core/budget.hpp"
#include "core/columns.hpp"

namespace memstow::greedy {

// Offsets in bytes by buffer, kUnplaced where there is none. The columns are valid; `placements` is the work
// of the passes after the first.
std::vector<std::int64_t> place(const Columns& columns, std::int64_t placements, Budget& budget);

}  // namespace memstow::greedy
