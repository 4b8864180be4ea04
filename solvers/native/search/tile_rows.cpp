#include "search/tile_rows.hpp"

#include <algorithm>
#include <numeric>

namespace memstow::search {
namespace {

Lists<Index> by_row(const std::vector<Tile>& tiles, Index rows, Index Tile::* row) {
    Lists<Index> lists;
    std::vector<Index> next(rows + 2, 0);
    for (const Tile& tile : tiles) ++next[(tile.*row) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    lists.start = next;
    lists.values.resize(tiles.size());
    for (std::size_t k = 0; k < tiles.size(); ++k) {
        lists.values[next[tiles[k].*row]++] = k;
    }
    return lists;
}

}  // namespace

std::vector<Tile> mirrored(const std::vector<Tile>& tiles, Index rows) {
    std::vector<Tile> result;
    for (const Tile& tile : tiles) {
        result.push_back({tile.size, rows - tile.end, rows - tile.begin, tile.loss});
    }
    return result;
}

TileRows::TileRows(const std::vector<Tile>& tiles, Index rows)
    : tiles_(tiles),
      rows_(rows),
      ends_(by_row(tiles, rows, &Tile::end)),
      begins_(by_row(tiles, rows, &Tile::begin)) {}

Index TileRows::groups_of(Index row, const std::uint8_t* groups) const {
    Index count = 0;
    for (std::size_t k = 0; k < ends_[row].size(); ++k) count = std::max(count, groups[k] + 1);
    return count;
}

OrderTrees::Node TileRows::replaced(OrderTrees& trees, OrderTrees::Node tree, Index row,
                                    const std::uint8_t* groups, std::vector<Index>& leaving) const {
    const auto ends = ends_[row], begins = begins_[row];
    std::vector<std::vector<Index>> members(groups_of(row, groups));
    for (std::size_t k = 0; k < begins.size(); ++k) members[groups[ends.size() + k]].push_back(begins[k]);
    std::vector<OrderTrees::Node> blocks;
    for (const auto& born : members) blocks.push_back(trees.any_order(born));
    for (std::size_t k = 0; k < ends.size(); ++k) leaving[ends[k]] = groups[k];
    const OrderTrees::Node after = trees.replaced(tree, leaving, blocks);
    for (const Index tile : ends) leaving[tile] = -1;
    return after;
}

}  // namespace memstow::search
