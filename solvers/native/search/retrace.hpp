// The order of each row of what a sweep has done, from its last row back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/tile_rows.hpp"

namespace memstow::search {

// What ways did: in each row the group of each tile that ends, then of each that begins.
struct SweepSteps {
    struct Step {
        Index before;
        std::size_t groups;  // from here on
    };
    std::vector<Step> taken;
    std::vector<std::uint8_t> groups;
};

// Who is right above whom in some row, and the offsets that follow.
class Stacking {
  public:
    explicit Stacking(std::size_t tiles) : above_(tiles), count_(tiles, 0), below_(tiles, -1) {}

    void add(const std::vector<Index>& order);
    // Orders of rows in which no two tiles change places are free of circles.
    std::vector<Bytes> offsets(const std::vector<Tile>& tiles) const;

  private:
    std::vector<std::vector<Index>> above_;  // by tile
    std::vector<Index> count_;               // by tile: those below it
    std::vector<Index> below_;               // by tile: in the row before
};

// Adds the orders of the rows up to `last`, in which the tiles have these places; `step` is the last of the
// way there. False where that takes too much memory. `work` counts the steps.
bool retrace(const TileRows& rows, const SweepSteps& steps, Index step, Index last, std::vector<Bytes> place,
             std::size_t memory, Stacking& stacking, std::int64_t& work);

}  // namespace memstow::search
