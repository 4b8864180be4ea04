// Components that are full in every row, or nearly: a layout as low as their bound leaves no gap, or little,
// and a sweep over time finds most of these at once (docs/search.md, "Tilings").
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
    Bytes base = 0;         // the least offset of all items
    Bytes height = 0;       // of the fullest row
    Bytes room = 0;         // no layout may be higher
    std::int64_t loss = 0;  // the part of its size that a tile may have lost, in parts of 2^kShareBits
};

// Components are tried if at most 1/32 of their rows is empty, on average.
inline constexpr int kMostEmpty = 32;

// The rows of an instance where all are full, or nearly, and may be stacked from one offset in any order.
// Nothing for other instances.
std::optional<FullRows> full_rows(const Instance& instance);

// The lowest layout that was found, as offsets by item, or nothing: sweeps forwards and backwards, with more
// and more breadth, until one is as high as the fullest row. Two workers sweep at the same time, and what
// they find depends on which is first. `stop` is asked by both.
std::optional<std::vector<Bytes>> tile(const FullRows& full, std::size_t memory, int workers,
                                       const Decision::Stop& stop);

}  // namespace memstow::search
