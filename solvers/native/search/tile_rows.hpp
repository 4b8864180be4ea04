// What ends and what begins in each row of a tiling, and what takes whose place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/instance.hpp"
#include "search/order_trees.hpp"

namespace memstow::search {

// One part that lives through the rows [begin, end).
struct Tile {
    Bytes size;
    Index begin, end;
    Bytes loss = 0;  // an estimate: up to so much more is between its neighbours
};

// The tiles with their rows counted from the last to the first.
std::vector<Tile> mirrored(const std::vector<Tile>& tiles, Index rows);

class TileRows {
  public:
    TileRows(const std::vector<Tile>& tiles, Index rows);

    const std::vector<Tile>& tiles() const { return tiles_; }
    Index count() const { return rows_; }
    std::span<const Index> ends(Index row) const { return ends_[row]; }
    std::span<const Index> begins(Index row) const { return begins_[row]; }

    // `groups`: the group of each tile that ends in the row, then of each that begins. How many there are.
    Index groups_of(Index row, const std::uint8_t* groups) const;
    // The tree after what ends in the row has made room for what begins. `leaving` is by tile, all -1.
    OrderTrees::Node replaced(OrderTrees& trees, OrderTrees::Node tree, Index row, const std::uint8_t* groups,
                              std::vector<Index>& leaving) const;

  private:
    const std::vector<Tile>& tiles_;
    Index rows_;
    Lists<Index> ends_, begins_;  // by row
};

}  // namespace memstow::search
