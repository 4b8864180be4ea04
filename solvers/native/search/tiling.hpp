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

// The rows of an instance where all are equally full, and may be stacked from one offset in any order.
// Nothing for other instances.
std::optional<FullRows> full_rows(const Instance& instance);

// Offsets by item, or nothing when none were found: sweeps forwards and backwards, with more and more steps.
// `stop` may be passed more steps than were made.
std::optional<std::vector<Bytes>> tile(const FullRows& full, std::size_t memory, const Decision::Stop& stop);

}  // namespace memstow::search
