// The greedy layout of plain buffers that are given as columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/budget.hpp"
#include "core/columns.hpp"

namespace memstow::greedy {

// Offsets in bytes by buffer, kUnplaced where there is none. The columns are valid; `placements` is the work
// of the passes after the first.
std::vector<std::int64_t> place(const Columns& columns, std::int64_t placements, Budget& budget);

// A layout that is no higher than the buffers which are live at one moment need.
struct Lowest {
    std::vector<std::int64_t> offsets;  // in bytes, by buffer; 0 for a buffer without bytes
    Bytes peak = 0;
    std::vector<std::int64_t> members;  // the buffers of that moment, in order
    std::int64_t moment = 0;
    std::string name;  // the pass that found it
};

// Nothing where the passes of the budget find none, where such a layout is above the capacity, and where
// sizes add up to too much for a search. The columns are valid, and the budget is limited in work.
std::optional<Lowest> lowest(const Columns& columns, Bytes capacity, std::uint64_t seed, Budget& budget);

}  // namespace memstow::greedy
