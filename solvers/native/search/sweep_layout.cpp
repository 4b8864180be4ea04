// The layout that a sweep has found: its steps are made again, and the orders chosen from the last row back.
#include <algorithm>
#include <utility>

#include "search/sweep.hpp"

namespace memstow::search {
namespace {

// Who is right above whom, and the offsets that follow.
class Stacking {
  public:
    explicit Stacking(std::size_t tiles) : below_(tiles, -1), above_(tiles), count_(tiles, 0) {}

    void add(const std::vector<Index>& order) {
        for (std::size_t k = 1; k < order.size(); ++k) {
            Index& below = below_[order[k]];
            if (below == order[k - 1]) continue;
            below = order[k - 1];
            above_[below].push_back(order[k]);
            ++count_[order[k]];
        }
    }

    // Orders of rows in which no two tiles change places are free of circles.
    std::vector<Bytes> offsets(const std::vector<Tile>& tiles) {
        std::vector<Bytes> offsets(tiles.size(), 0);
        std::vector<Index> ready;
        for (std::size_t k = 0; k < tiles.size(); ++k) {
            if (count_[k] == 0) ready.push_back(k);
        }
        while (!ready.empty()) {
            const Index tile = ready.back();
            ready.pop_back();
            for (const Index next : above_[tile]) {
                offsets[next] = std::max(offsets[next], offsets[tile] + tiles[tile].size);
                if (--count_[next] == 0) ready.push_back(next);
            }
        }
        return offsets;
    }

  private:
    std::vector<Index> below_;               // by tile: in the row before
    std::vector<std::vector<Index>> above_;  // by tile
    std::vector<Index> count_;               // by tile: those below it
};

}  // namespace

std::optional<std::vector<Bytes>> Sweep::layout_of(std::size_t way, const Decision::Stop& stop) {
    std::vector<std::size_t> groups(rows_);  // by row
    Index step = ways_[way].step;
    for (Index row = rows_ - 1; row > 0; --row) {
        groups[row] = steps_taken_[step].groups;
        step = steps_taken_[step].before;
    }
    OrderTrees trees(count_of(tiles_));
    OrderTrees::Node tree = trees.any_order(begins_[0]);
    std::vector<OrderTrees::Node> gathered(rows_);  // by row: the tree before it, each group together
    for (Index row = 1; row < rows_; ++row) {
        const auto ends = ends_[row];
        for (Index g = 0; g < groups_of(row, groups[row]); ++g) {
            for (std::size_t k = 0; k < ends.size(); ++k) chosen_[ends[k]] = groups_[groups[row] + k] == g;
            tree = trees.together(tree, chosen_);
        }
        for (const Index tile : ends) chosen_[tile] = 0;
        gathered[row] = tree;
        tree = replaced(trees, tree, row, groups[row]);
        if (trees.bytes() > memory_) return {};
    }
    // Where the tiles of a row are says in which order those of the row before have to be.
    std::vector<Bytes> place(tiles_.size(), 0);
    Stacking stacking(tiles_.size());
    for (Index row = rows_ - 1;; --row) {
        const std::vector<Index> order = trees.sorted(tree, place);
        stacking.add(order);
        if (row == 0) break;
        for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
        const auto ends = ends_[row], begins = begins_[row];
        std::vector<Bytes> least(groups_of(row, groups[row]), kLimit);
        for (std::size_t k = 0; k < begins.size(); ++k) {
            Bytes& there = least[groups_[groups[row] + ends.size() + k]];
            there = std::min(there, place[begins[k]]);
        }
        for (std::size_t k = 0; k < ends.size(); ++k) place[ends[k]] = least[groups_[groups[row] + k]];
        tree = gathered[row];
    }
    stop(trees.steps());
    return stacking.offsets(tiles_);
}

}  // namespace memstow::search
