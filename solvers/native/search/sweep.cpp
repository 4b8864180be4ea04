#include "search/sweep.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

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

// By how many bits it has to be more likely that what ends at one time was apart than that it was together.
constexpr std::int64_t kTrust = 6 * kLog2Unit, kTrustWithWaste = 2 * kLog2Unit;

// From which rows a sweep can go on again, and the part of the memory for that.
constexpr Index kBetweenMilestones = 8;
constexpr std::size_t kMilestonesPart = 4;

}  // namespace

Sweep::Sweep(const std::vector<Tile>& tiles, std::int64_t waste, Index rows, std::size_t memory)
    : tiles_(tiles),
      rows_(rows),
      waste_(waste),
      trust_(waste == 0 ? kTrust : kTrustWithWaste),
      memory_(memory),
      ends_(by_row(tiles_, rows_, &Tile::end)),
      begins_(by_row(tiles_, rows_, &Tile::begin)),
      trees_(count_of(tiles_)),
      chosen_(tiles_.size(), 0),
      leaving_(tiles_.size(), -1) {
    ways_.push_back({trees_.any_order(begins_[0]), 0, -1});
    remember(1);
}

Answer Sweep::run(const std::vector<Breadth>& breadths, Index changed, const Decision::Stop& stop) {
    std::int64_t last_check = steps();
    for (Index row = resume(changed); row < rows_; ++row) {
        std::vector<Bytes> begun;
        if (begins_[row].size() <= kMostPlaces) {
            for (const Index tile : begins_[row]) begun.push_back(tiles_[tile].size);
        }
        EqualSets sets(std::move(begun), waste_);
        filled_.clear();
        pieces_.clear();
        for (std::size_t way = 0; way < ways_.size(); ++way) {
            fill_row(row, way, sets, breadths[row].tried);
            if (steps() - last_check < Decision::kStepsBetweenStops) continue;
            const std::int64_t since = steps() - last_check;
            last_check += since;
            const std::size_t bytes =
                trees_.bytes() + groups_.size() + steps_taken_.size() * sizeof(Step) + remembered_;
            if (stop(since) || bytes > memory_) return Answer::stopped;
        }
        take_likeliest(row, breadths[row].kept);
        failed_ = row;
        if (ways_.empty()) break;
        if ((row + 1) % kBetweenMilestones == 0 && remembered_ < memory_ / kMilestonesPart) remember(row + 1);
    }
    stop(steps() - last_check);
    return ways_.empty() ? Answer::stopped : Answer::found;
}

// Goes back to the last milestone before the row.
Index Sweep::resume(Index changed) {
    while (milestones_.size() > 1 && milestones_.back().row > changed) {
        remembered_ -= milestones_.back().bytes();
        milestones_.pop_back();
    }
    const Milestone& from = milestones_.back();
    trees_.restore(from.trees);
    ways_ = from.ways;
    steps_taken_.resize(from.steps_taken);
    groups_.resize(from.groups);
    failed_ = from.row - 1;
    return from.row;
}

void Sweep::remember(Index row) {
    milestones_.push_back({row, trees_.save(), ways_, steps_taken_.size(), groups_.size()});
    remembered_ += milestones_.back().bytes();
}

// The ways to go on that are the likeliest, no two of which lead to the same orders.
void Sweep::take_likeliest(Index row, std::size_t kept) {
    std::stable_sort(filled_.begin(), filled_.end(),
                     [](const Filled& a, const Filled& b) { return a.cost < b.cost; });
    std::vector<Way> next;
    std::vector<OrderTrees::Node> roots;
    std::unordered_set<std::uint64_t> known;
    for (const Filled& filled : filled_) {
        if (next.size() >= kept) break;
        const std::size_t begin = groups_.size();
        write_groups(row, pieces_[filled.way], filled.groups);
        const OrderTrees::Node tree = replaced(trees_, filled.tree, row, begin);
        if (!known.insert(trees_.hash(tree)).second) {
            groups_.resize(begin);
            continue;
        }
        roots.push_back(tree);
        next.push_back({tree, filled.cost, count_of(steps_taken_)});
        steps_taken_.push_back({ways_[filled.way].step, begin});
    }
    trees_.keep(roots);
    for (std::size_t k = 0; k < next.size(); ++k) next[k].tree = roots[k];
    ways_ = std::move(next);
}

void Sweep::write_groups(Index row, const Pieces& pieces, const std::vector<Group>& groups) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (std::size_t k = 0; k < pieces.size(); ++k) {
            if (!has(groups[g].pieces, k)) continue;
            for (const Index tile : pieces[k]) leaving_[tile] = g;
        }
    }
    for (const Index tile : ends_[row]) groups_.push_back(leaving_[tile]);
    for (const Index tile : ends_[row]) leaving_[tile] = -1;
    const Index born = count_of(begins_[row]);
    for (Index k = 0; k < born; ++k) {
        std::size_t g = 0;
        while (!has(groups[g].born, k)) ++g;
        groups_.push_back(g);
    }
}

// How many groups a step has, whose groups are written from here on.
Index Sweep::groups_of(Index row, std::size_t groups) const {
    Index count = 0;
    for (std::size_t k = 0; k < ends_[row].size(); ++k) count = std::max(count, groups_[groups + k] + 1);
    return count;
}

// The tree after what ends in the row has made room for what begins.
OrderTrees::Node Sweep::replaced(OrderTrees& trees, OrderTrees::Node tree, Index row, std::size_t groups) {
    const auto ends = ends_[row], begins = begins_[row];
    std::vector<std::vector<Index>> members(groups_of(row, groups));
    for (std::size_t k = 0; k < begins.size(); ++k) {
        members[groups_[groups + ends.size() + k]].push_back(begins[k]);
    }
    std::vector<OrderTrees::Node> blocks;
    for (const auto& born : members) blocks.push_back(trees.any_order(born));
    for (std::size_t k = 0; k < ends.size(); ++k) leaving_[ends[k]] = groups_[groups + k];
    const OrderTrees::Node after = trees.replaced(tree, leaving_, blocks);
    for (const Index tile : ends) leaving_[tile] = -1;
    return after;
}

}  // namespace memstow::search
