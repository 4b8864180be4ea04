#include "search/level_search.hpp"

#include <algorithm>

namespace memstow::search {
namespace {

// What was learnt leads many searches to the same dead ends again: they begin anew after this many short runs
// (docs/search.md, "The ladder").
constexpr std::int64_t kRunsRemembered = 20;

}  // namespace

LevelSearch::LevelSearch(const Packing& packing, std::size_t table_bytes)
    : packing_(packing),
      preferences_(packing),
      floors_(packing, preferences_),
      refuted_((packing.items.size() + 63) / 64, table_bytes) {
    for (Index i = 0; i < packing.count(); ++i) {
        const auto rows_of = packing.rows_of[i];
        hull_begin_.push_back(rows_of.empty() ? 0 : rows_of.front());
        hull_end_.push_back(rows_of.empty() ? 0 : rows_of.back() + 1);
    }
}

bool LevelSearch::out_of_budget() {
    if (stopped_) return true;
    if (nodes_ >= node_limit_) stopped_ = true;
    if (floors_.steps >= kStepsBetweenStops) {
        const std::int64_t steps = floors_.steps;
        floors_.steps = 0;
        if ((*stop_)(steps)) stopped_ = true;
    }
    return stopped_;
}

Answer LevelSearch::stop() {
    stopped_ = true;
    return Answer::stopped;
}

// Nothing unplaced can lie below an item that could start at this row's floor.
bool LevelSearch::ready(Side side, Index row) {
    const Bytes floor = floors_.row(side, row).floor;
    for (const Entry& entry : packing_.rows[row]) {
        const Index item = entry.item;
        if (floors_.placed(item) || floors_.least(side, item) != floor) continue;
        if (floors_.stops_after(packing_.rows_of[item].size())) return false;
        for (const Index other : packing_.rows_of[item]) {
            const Row& state = floors_.row(side, other);
            if (state.first_end > floor) continue;
            floors_.refresh(side, other);
            if (state.first_end <= floor) return false;
        }
    }
    return true;
}

// The row with the fewest items that could start at its floor; of equals, the one with the least slack. Rows
// are judged by what was last known of them; the one that is taken is measured first.
LevelSearch::Choice LevelSearch::choose(RowRange rows) {
    Choice best{0, -1};
    Index fewest = 0;
    Bytes tightest = 0;
    for (const Side side : Floors::kSides) {
        if (!floors_.used(side)) continue;
        Bytes lowest = kLimit;
        if (strategy_.lowest) lowest = lowest_floor(side, rows);
        for (Index r = rows.begin; r < rows.end; ++r) {
            if (floors_.unplaced_in(r) == 0) continue;
            if (floors_.stops_after(1)) return best;
            const Row& row = floors_.row(side, r);
            if (strategy_.lowest && row.floor != lowest) continue;
            const auto better = [&] {
                return best.row < 0 || row.startable < fewest ||
                       (row.startable == fewest && row.slack < tightest);
            };
            if (!better()) continue;
            floors_.refresh(side, r);
            if (!better() || (!strategy_.lowest && !ready(side, r))) continue;
            best = {side, r};
            fewest = row.startable;
            tightest = row.slack;
        }
    }
    return best;
}

Bytes LevelSearch::lowest_floor(Side side, RowRange rows) {
    Bytes lowest = kLimit;
    for (bool settled = false; !settled;) {
        if (floors_.stops_after(rows.end - rows.begin)) break;
        lowest = kLimit;
        for (Index r = rows.begin; r < rows.end; ++r) {
            if (floors_.unplaced_in(r) != 0) lowest = std::min(lowest, floors_.row(side, r).floor);
        }
        settled = true;
        for (Index r = rows.begin; r < rows.end; ++r) {
            const Row& row = floors_.row(side, r);
            if (floors_.unplaced_in(r) == 0 || row.floor != lowest || !row.stale) continue;
            floors_.refresh(side, r);
            settled = settled && row.floor == lowest;
        }
    }
    return lowest;
}

Answer LevelSearch::solve(Stretch items) {
    // The list is in order of first rows, so a gap shows where one stretch of rows ends before the next item.
    const std::size_t begin = arena_.size();
    std::vector<std::size_t> cuts;
    Index reach = -1;
    for (std::size_t k = items.first; k < items.last; ++k) {
        const Index item = arena_[k];
        if (floors_.placed(item)) continue;
        if (reach >= 0 && hull_begin_[item] >= reach) cuts.push_back(arena_.size());
        reach = std::max(reach, hull_end_[item]);
        arena_.push_back(item);
    }
    const Stretch unplaced{begin, arena_.size()};
    Answer answer = Answer::found;
    if (unplaced.size() != 0) {
        answer = cuts.empty() ? branch(unplaced, {hull_begin_[arena_[begin]], reach})
                              : solve_parts(unplaced, cuts);
    }
    arena_.resize(begin);
    return answer;
}

// Parts share no row: each is solved on its own, the smallest first, and one dead part is the end of all.
Answer LevelSearch::solve_parts(Stretch items, const std::vector<std::size_t>& cuts) {
    std::vector<Stretch> parts;
    std::size_t from = items.first;
    for (const std::size_t cut : cuts) {
        parts.push_back({from, cut});
        from = cut;
    }
    parts.push_back({from, items.last});
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Stretch& a, const Stretch& b) { return a.size() < b.size(); });
    for (const Stretch& part : parts) {
        const Answer answer = solve(part);
        if (answer != Answer::found) return answer;
    }
    return Answer::found;
}

Answer LevelSearch::branch(Stretch items, RowRange rows) {
    const Level level(depth_);
    if (level.below(kDeepestLevel)) return stop();
    StateHash state;
    for (std::size_t k = items.first; k < items.last; ++k) {
        const Index item = arena_[k];
        state.add(item, floors_.least(0, item), floors_.least(1, item));
    }
    floors_.steps += items.size() + (rows.end - rows.begin) / 8;
    IndexSet& conflict = floors_.conflict();
    if (const IndexSet::Word* known = refuted_.find(state, height_)) {
        conflict.assign(known);
        return Answer::refuted;
    }
    if (out_of_budget()) return Answer::stopped;
    const std::int64_t before = nodes_++;

    const Choice choice = choose(rows);
    if (floors_.stopped()) return stop();
    const std::size_t blamed = blamed_.size();
    const Stretch candidates = list_candidates(choice);
    blamed_.resize(blamed + conflict.word_count(), 0);
    const Answer answer = try_each(choice, candidates, items);
    if (answer == Answer::refuted) refuted_.add(state, height_, nodes_ - before, conflict.words());
    arena_.resize(candidates.first);
    blamed_.resize(blamed);
    return answer;
}

// The items that may start at the floor of the row, the preferred ones first, at the end of the arena.
LevelSearch::Stretch LevelSearch::list_candidates(const Choice& choice) {
    const std::size_t first = arena_.size();
    const Bytes floor = floors_.row(choice.side, choice.row).floor;
    for (const Entry& entry : packing_.rows[choice.row]) {
        const Index item = entry.item;
        if (!floors_.placed(item) && floors_.least(choice.side, item) == floor) arena_.push_back(item);
    }
    preferences_.sort(arena_.begin() + first, arena_.end());
    return {first, arena_.size()};
}

// Each of the candidates at the floor in its turn, and at last none of them. The items that the children
// blamed are at the end of `blamed_`; when all are refuted, the conflict is the items to blame for that.
Answer LevelSearch::try_each(const Choice& choice, Stretch candidates, Stretch items) {
    IndexSet& conflict = floors_.conflict();
    const std::size_t blamed = blamed_.size() - conflict.word_count();
    const Bytes room = floors_.row(choice.side, choice.row).room;
    const Floors::Mark here = floors_.mark();
    for (std::size_t k = candidates.first; k <= candidates.last; ++k) {
        const bool none = k == candidates.last;
        if (none && room == 0) {  // all of the row would have to rise
            floors_.blame_row(choice.row);
        } else {
            if (!none) {
                const Index twin = packing_.twin[arena_[k]];
                if (twin >= 0 && !floors_.placed(twin)) continue;
            }
            const bool alive =
                none ? floors_.lift(choice.side, listed(candidates)) : floors_.place(choice.side, arena_[k]);
            if (floors_.stopped()) return stop();
            if (alive) {
                const Answer answer = solve(items);
                if (answer != Answer::refuted) return answer;
            }
            const bool dead_before = !floors_.blames_a_rise_since(here);
            floors_.undo(here);
            if (dead_before) return Answer::refuted;
        }
        conflict.add_to(&blamed_[blamed]);
    }
    conflict.assign(&blamed_[blamed]);
    for (std::size_t k = candidates.first; k < candidates.last; ++k) conflict.add(arena_[k]);
    return Answer::refuted;
}

Answer LevelSearch::run(Bytes height, const Strategy& strategy, std::uint64_t seed, std::int64_t node_limit,
                        const Stop& stop) {
    height_ = height;
    strategy_ = strategy;
    remembered_ += nodes_;
    if (remembered_ > kRunsRemembered * restart_nodes(packing_.count())) {
        preferences_.forget();
        remembered_ = 0;
    }
    nodes_ = 0;
    node_limit_ = node_limit;
    stop_ = &stop;
    stopped_ = false;
    blamed_.clear();
    preferences_.use(strategy);
    const bool possible = floors_.reset(height, strategy.sides, stop);
    preferences_.draw(seed);
    const bool alive = possible && floors_.propagate();
    if (floors_.stopped()) return Answer::stopped;
    if (!alive) return Answer::refuted;
    arena_.clear();
    for (Index i = 0; i < packing_.count(); ++i) {
        if (!packing_.rows_of[i].empty()) arena_.push_back(i);
    }
    std::stable_sort(arena_.begin(), arena_.end(),
                     [&](Index a, Index b) { return hull_begin_[a] < hull_begin_[b]; });
    const Answer answer = solve({0, arena_.size()});
    if (answer == Answer::found) offsets_ = floors_.offsets();
    return answer;
}

}  // namespace memstow::search
