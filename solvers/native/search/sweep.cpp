#include "search/sweep.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace memstow::search {
namespace {

// The parts of the memory for milestones, and for what is remembered of equal sums.
constexpr std::size_t kMilestonesPart = 4, kSetsPart = 4;

}  // namespace

Sweep::Sweep(const TileRows& rows, std::int64_t loss, int doubt, Index phase, std::size_t memory)
    : rows_(rows),
      tiles_(rows.tiles()),
      phase_(phase),
      loss_(loss),
      doubt_(doubt * kLog2Unit),
      memory_(memory),
      trees_(count_of(tiles_)),
      chosen_(tiles_.size(), 0),
      leaving_(tiles_.size(), -1) {
    ways_.push_back({trees_.any_order(rows_.begins(0)), 0, -1});
    remember(1);
}

Answer Sweep::run(const std::vector<Breadth>& breadths, Index changed, const Decision::Stop& stop) {
    stop_ = &stop;
    counted_ = steps();
    over_ = false;
    for (Index row = resume(changed); row < rows_.count(); ++row) {
        begun_.clear();
        for (const Index& tile : rows_.begins(row)) begun_.push_back(room_of({&tile, 1}));
        std::vector<Bytes> begun;
        if (begun_.size() <= kMostPlaces) {
            for (const Room& room : begun_) begun.push_back(room.bytes);
        }
        EqualSets sets(std::move(begun), loss_, memory_ / kSetsPart);
        filled_.clear();
        pieces_.clear();
        for (std::size_t way = 0; way < ways_.size(); ++way) {
            fill_row(row, way, sets, breadths[row].tried);
            if (is_over()) return Answer::stopped;
        }
        take_likeliest(row, breadths[row].kept);
        failed_ = row;
        if (ways_.empty()) break;
        if ((row + 1) % kBetweenMilestones == phase_ && remembered_ < memory_ / kMilestonesPart) {
            remember(row + 1);
        }
    }
    stop(steps() - counted_);
    return ways_.empty() ? Answer::stopped : Answer::found;
}

// Looks at the budget every so many steps.
bool Sweep::is_over() {
    const std::int64_t since = steps() - counted_;
    if (over_ || since < Decision::kStepsBetweenStops) return over_;
    counted_ += since;
    const std::size_t bytes = trees_.bytes() + steps_taken_.groups.size() +
                              steps_taken_.taken.size() * sizeof(SweepSteps::Step) + remembered_;
    over_ = (*stop_)(since) || bytes > memory_;
    return over_;
}

// Goes back to the last milestone before the row.
Index Sweep::resume(Index changed) {
    while (milestones_.size() > 1 && milestones_.back()->row > changed) {
        remembered_ -= milestones_.back()->bytes();
        milestones_.pop_back();
    }
    const Milestone& from = *milestones_.back();
    trees_.restore(from.trees);
    ways_ = from.ways;
    steps_taken_.taken.resize(from.steps_taken);
    steps_taken_.groups.resize(from.groups);
    failed_ = from.row - 1;
    return from.row;
}

void Sweep::remember(Index row) {
    milestones_.push_back(std::make_shared<Milestone>(
        Milestone{row, trees_.save(), ways_, steps_taken_.taken.size(), steps_taken_.groups.size()}));
    remembered_ += milestones_.back()->bytes();
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
        const std::size_t begin = steps_taken_.groups.size();
        write_groups(row, pieces_[filled.way], filled.groups);
        const OrderTrees::Node tree =
            rows_.replaced(trees_, filled.tree, row, steps_taken_.groups.data() + begin, leaving_);
        if (!known.insert(trees_.hash(tree)).second) {
            steps_taken_.groups.resize(begin);
            continue;
        }
        roots.push_back(tree);
        next.push_back({tree, filled.cost, count_of(steps_taken_.taken)});
        steps_taken_.taken.push_back({ways_[filled.way].step, begin});
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
    for (const Index tile : rows_.ends(row)) steps_taken_.groups.push_back(leaving_[tile]);
    for (const Index tile : rows_.ends(row)) leaving_[tile] = -1;
    const Index born = count_of(rows_.begins(row));
    for (Index k = 0; k < born; ++k) {
        std::size_t g = 0;
        while (!has(groups[g].born, k)) ++g;
        steps_taken_.groups.push_back(g);
    }
}

std::optional<std::vector<Bytes>> Sweep::layout_of(std::size_t way, const Decision::Stop& stop) {
    Stacking stacking(tiles_.size());
    std::int64_t work = 0;
    const std::vector<Bytes> anywhere(tiles_.size(), 0);
    const bool done =
        retrace(rows_, steps_taken_, ways_[way].step, rows_.count() - 1, anywhere, memory_, stacking, work);
    stop(work);
    if (!done) return {};
    return stacking.offsets(tiles_);
}

}  // namespace memstow::search
