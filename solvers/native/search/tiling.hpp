// Components that are full in every row: a layout as low as their bound leaves no gap, and a sweep over time
// finds most of these at once (docs/search.md, "Tilings").
#pragma once

#include <optional>
#include <vector>

#include "core/instance.hpp"
#include "search/decision.hpp"
#include "search/sweep.hpp"

namespace memstow::search {

struct FullRows {
    std::vector<Tile> tiles;  // by item
    Index rows = 0;
    Bytes base = 0;    // the least offset of all items
    Bytes height = 0;  // of every row
};

// What is asked of the whole of an instance: that its rows are equally full, and that any way to stack them
// from one offset is allowed. Nothing where that is not so.
std::optional<FullRows> full_rows(const Instance& instance);

// Offsets by item, or nothing when none were found: sweeps forwards and backwards, with more and more steps.
// `stop` is asked, and may be told more steps than it is asked for.
std::optional<std::vector<Bytes>> tile(const FullRows& full, std::size_t memory, const Decision::Stop& stop);

}  // namespace memstow::search
