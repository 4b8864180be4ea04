#include "search/retrace.hpp"

#include <algorithm>

namespace memstow::search {

void Stacking::add(const std::vector<Index>& order) {
    for (std::size_t k = 1; k < order.size(); ++k) {
        Index& below = below_[order[k]];
        if (below == order[k - 1]) continue;
        below = order[k - 1];
        above_[below].push_back(order[k]);
        ++count_[order[k]];
    }
}

std::vector<Bytes> Stacking::offsets(const std::vector<Tile>& tiles) const {
    std::vector<Bytes> offsets(tiles.size(), 0);
    std::vector<Index> left = count_, ready;
    for (std::size_t k = 0; k < tiles.size(); ++k) {
        if (left[k] == 0) ready.push_back(k);
    }
    while (!ready.empty()) {
        const Index tile = ready.back();
        ready.pop_back();
        for (const Index next : above_[tile]) {
            offsets[next] = std::max(offsets[next], offsets[tile] + tiles[tile].size);
            if (--left[next] == 0) ready.push_back(next);
        }
    }
    return offsets;
}

bool retrace(const TileRows& rows, const SweepSteps& steps, Index step, Index last, std::vector<Bytes> place,
             std::size_t memory, Stacking& stacking, std::int64_t& work) {
    std::vector<const std::uint8_t*> groups(last + 1);  // by row
    for (Index row = last; row > 0; --row) {
        groups[row] = steps.groups.data() + steps.taken[step].groups;
        step = steps.taken[step].before;
    }
    OrderTrees trees(count_of(rows.tiles()));
    OrderTrees::Node tree = trees.any_order(rows.begins(0));
    std::vector<OrderTrees::Node> gathered(last + 1);  // by row: the tree before it, each group together
    std::vector<char> chosen(rows.tiles().size(), 0);
    std::vector<Index> leaving(rows.tiles().size(), -1);
    for (Index row = 1; row <= last; ++row) {
        const auto ends = rows.ends(row);
        for (Index g = 0; g < rows.groups_of(row, groups[row]); ++g) {
            for (std::size_t k = 0; k < ends.size(); ++k) chosen[ends[k]] = groups[row][k] == g;
            tree = trees.together(tree, chosen);
        }
        for (const Index tile : ends) chosen[tile] = 0;
        gathered[row] = tree;
        tree = rows.replaced(trees, tree, row, groups[row], leaving);
        if (trees.bytes() > memory) return false;
    }
    // Where the tiles of a row are says in which order those of the row before have to be.
    for (Index row = last;; --row) {
        const std::vector<Index> order = trees.sorted(tree, place);
        stacking.add(order);
        if (row == 0) break;
        for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
        const auto ends = rows.ends(row), begins = rows.begins(row);
        std::vector<Bytes> least(rows.groups_of(row, groups[row]), kLimit);
        for (std::size_t k = 0; k < begins.size(); ++k) {
            Bytes& there = least[groups[row][ends.size() + k]];
            there = std::min(there, place[begins[k]]);
        }
        for (std::size_t k = 0; k < ends.size(); ++k) place[ends[k]] = least[groups[row][k]];
        tree = gathered[row];
    }
    work += trees.steps();
    return true;
}

}  // namespace memstow::search
