#include "search/level_search.hpp"

#include <algorithm>
#include <limits>

#include "core/random.hpp"

namespace memstow::search {
namespace {}  // namespace

LevelSearch::LevelSearch(const Packing& packing, std::size_t table_bytes)
    : packing_(packing), refuted_((packing.items.size() + 63) / 64, table_bytes) {
    conflict_.assign((packing.items.size() + 63) / 64, 0);
    const auto n = packing.items.size();
    const Index rows = packing.rows.size();
    weights_.assign(kKinds, std::vector<double>(n, 0));
    preference_.assign(n, 0);
    for (const PackingItem& item : packing.items) {
        size_.push_back(item.size);
        free_.push_back(item.free);
    }
    for (Index i = 0; i < packing.count(); ++i) {
        const auto rows_of = packing.rows_of[i];
        hull_begin_.push_back(rows_of.empty() ? 0 : rows_of.front());
        hull_end_.push_back(rows_of.empty() ? 0 : rows_of.back() + 1);
    }
    slot_start_ = packing.rows.start;
    keys_.resize(n);
    placing_.assign(rows, 0);
    for (Side side : {Side{0}, Side{1}}) {
        for (const Entry& entry : packing.rows.values) order_[side].push_back(entry.item);
        rows_[side].resize(rows);
        touched_flag_[side].assign(rows, 0);
        slack_before_[side].assign(rows, 0);
    }
}

// The least position from this side, at least x, that the item may have.
Bytes LevelSearch::next(Side side, Index item, Bytes x) const {
    const Index at = item;
    if (free_[at]) return x;
    if (side == 0) return packing_.next(item, x);
    const Bytes offset = packing_.previous(item, top_ - size_[at] - x);
    return offset < 0 ? kLimit : top_ - size_[at] - offset;
}

bool LevelSearch::reset(Bytes height, const Strategy& strategy, std::uint64_t seed) {
    height_ = height;
    use(strategy);
    const auto n = packing_.items.size();
    least_trail_.clear();
    row_trail_.clear();
    placed_trail_.clear();
    forget_touched();
    placed_.assign(n, 0);
    offset_.assign(n, kUnplaced);
    unplaced_in_.assign(rows_[0].size(), 0);
    for (std::size_t r = 0; r < rows_[0].size(); ++r) {
        unplaced_in_[r] = packing_.rows.start[r + 1] - packing_.rows.start[r];
    }
    if (!set_least(height)) return false;
    sort_rows();
    set_preferences(seed);
    start_rows();
    return true;
}

void LevelSearch::use(const Strategy& strategy) {
    strategy_ = strategy;
    std::size_t kind =
        static_cast<std::size_t>(strategy.order) * 3 + static_cast<std::size_t>(strategy.sides);
    kind = kind * 4 + (strategy.lowest ? 1 : 0) + (strategy.at_bound ? 2 : 0);
    weight_ = &weights_[kind];
    uses_[0] = strategy.sides != Strategy::Sides::top;
    uses_[1] = strategy.sides != Strategy::Sides::bottom;
}

// Where each item may be when nothing is placed; false when one may be nowhere.
bool LevelSearch::set_least(Bytes height) {
    top_ = 0;
    for (Index i = 0; i < packing_.count(); ++i) {
        top_ = std::max(top_, packing_.highest(i, height) + size_[i]);
    }
    for (Side side : {Side{0}, Side{1}}) least_[side].assign(packing_.items.size(), 0);
    for (Index i = 0; i < packing_.count(); ++i) {
        const Bytes lowest = packing_.next(i, 0);
        const Bytes highest = packing_.previous(i, packing_.highest(i, height));
        if (lowest == kLimit || highest < lowest) return false;
        least_[0][i] = lowest;
        least_[1][i] = top_ - size_[i] - highest;
    }
    return true;
}

// Measuring a row expects little out of order, and takes the square of its length otherwise.
void LevelSearch::sort_rows() {
    if (sorted_) return;
    sorted_ = true;
    for (Side side : {Side{0}, Side{1}}) {
        for (std::size_t r = 0; r < rows_[side].size(); ++r) {
            const auto first = order_[side].begin() + slot_start_[r];
            std::stable_sort(first, order_[side].begin() + slot_start_[r + 1],
                             [&](Index a, Index b) { return least_[side][a] < least_[side][b]; });
        }
    }
}

void LevelSearch::set_preferences(std::uint64_t seed) {
    Random random(seed);
    const std::size_t n = packing_.items.size();
    double longest = 1, largest = 1, widest = 1;
    for (std::size_t i = 0; i < n; ++i) {
        longest = std::max<double>(longest, hull_end_[i] - hull_begin_[i]);
        widest = std::max<double>(widest, packing_.rows_of[i].size());
        largest = std::max<double>(largest, size_[i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double life = (hull_end_[i] - hull_begin_[i]) / longest;
        const double rows = packing_.rows_of[i].size() / widest;
        const double size = size_[i] / largest;
        double base = 0;
        switch (strategy_.order) {
            case Strategy::Order::life:
                base = life;
                break;
            case Strategy::Order::size:
                base = size;
                break;
            case Strategy::Order::rows:
                base = rows;
                break;
            case Strategy::Order::area:
                base = size * rows;
                break;
        }
        preference_[i] = base * (1 + strategy_.noise * random.unit());
    }
}

// Rows without floors, all of them to be measured.
void LevelSearch::start_rows() {
    for (Side side : {Side{0}, Side{1}}) {
        for (std::size_t r = 0; r < rows_[side].size(); ++r) {
            Bytes floor = 0;
            if (!uses_[side]) {
                // The side not branched on still limits the other: its floors are the least positions.
                floor = kLimit;
                for (const Entry& entry : packing_.rows[r]) floor = std::min(floor, least_[side][entry.item]);
            }
            rows_[side][r] = {floor, 0, 0, kLimit, kLimit, -1, 0, unplaced_in_[r], false};
        }
    }
    for (Side side : {Side{0}, Side{1}}) {
        if (!uses_[side]) continue;
        for (std::size_t r = 0; r < rows_[side].size(); ++r) touch(side, r, 1);
    }
}

// The row changed in a way that takes at most `lost` from its slack; of several changes at once, the worst
// counts, since a stack rises by no more than the greatest rise of a least position.
void LevelSearch::touch(Side side, Index row, Bytes lost) {
    const Index at = row;
    Row& state = rows_[side][at];
    if (!touched_flag_[side][at]) {
        touched_flag_[side][at] = 1;
        touched_[side].push_back(row);
        row_trail_.push_back({side, row, state});
        slack_before_[side][at] = state.slack;
        state.stale = true;
    }
    state.slack = std::min(state.slack, slack_before_[side][at] - lost);
}

void LevelSearch::forget_touched() {
    for (Side side : {Side{0}, Side{1}}) {
        for (Index row : touched_[side]) touched_flag_[side][row] = 0;
        touched_[side].clear();
    }
}

// Rows that may no longer stack are measured; the others wait until branching asks for them.
bool LevelSearch::propagate() {
    for (Side side : {Side{0}, Side{1}}) {
        for (const Index row : touched_[side]) {
            const Index at = row;
            if (unplaced_in_[at] == 0 || rows_[side][at].slack >= 0) continue;
            measure(side, row);
            if (rows_[side][at].slack >= 0) continue;
            learn(row);
            blame_stack(side, row);
            forget_touched();
            return false;
        }
    }
    forget_touched();
    return true;
}

void LevelSearch::refresh(Side side, Index row) {
    if (!rows_[side][row].stale) return;
    row_trail_.push_back({side, row, rows_[side][row]});
    measure(side, row);
}

// Stacks the row's unplaced items, each from its least position, and notes what branching needs to know.
void LevelSearch::measure(Side side, Index row) {
    const Index at = row;
    Index* const order = order_[side].data() + slot_start_[at];
    Bytes* const keys = keys_.data();
    const Bytes* const least = least_[side].data();
    const Index reach = rows_[side][at].reach;
    const Index unplaced = unplaced_in_[at];
    steps_ += reach;
    // Moves the unplaced to the front, in the order of their least positions: little is out of order.
    Index count = 0;
    for (Index k = 0; count < unplaced; ++k) {
        const Index item = order[k];
        if (placed_[item]) continue;
        const Bytes key = least[item];
        order[k] = order[count];
        Index to = count++;
        for (; to > 0 && keys[to - 1] > key; --to) {
            keys[to] = keys[to - 1];
            order[to] = order[to - 1];
        }
        keys[to] = key;
        order[to] = item;
    }
    Row state{keys[0], 0, 0, kLimit, kLimit, -1, 0, unplaced, false};
    Bytes top = 0, total = 0;
    for (Index k = 0; k < unplaced; ++k) {
        const Index item = order[k];
        const Bytes size = size_[item];
        top = std::max(top, keys[k]) + size;
        total += size;
        state.startable += keys[k] == state.floor;
        const Bytes end = keys[k] + size;
        if (end < state.first_end) {
            state.second_end = state.first_end;
            state.first_end = end;
            state.first_item = item;
        } else {
            state.second_end = std::min(state.second_end, end);
        }
    }
    state.slack = top_ - rows_[1 - side][at].floor - top;
    state.room = top_ - rows_[1 - side][at].floor - state.floor - total;
    rows_[side][at] = state;
}

// The topmost items of the row just measured that do not stack below the height.
void LevelSearch::blame_stack(Side side, Index row) {
    const Index at = row;
    const Index* const order = order_[side].data() + slot_start_[at];
    const Bytes limit = top_ - rows_[1 - side][at].floor;
    std::fill(conflict_.begin(), conflict_.end(), 0);
    Bytes total = 0;
    for (Index k = unplaced_in_[at] - 1; k >= 0; --k) {
        total += size_[order[k]];
        blame(order[k]);
        if (keys_[k] + total > limit) return;
    }
}

void LevelSearch::blame_row(Index row) {
    std::fill(conflict_.begin(), conflict_.end(), 0);
    for (const Entry& entry : packing_.rows[row]) {
        if (!placed_[entry.item]) blame(entry.item);
    }
}

// Whether the dead end needs a rise made since then: if not, it was dead already.
bool LevelSearch::blamed_a_rise(std::size_t trail) const {
    for (std::size_t k = trail; k < least_trail_.size(); ++k) {
        const Index item = least_trail_[k].item;
        if ((conflict_[item / 64] & bit(item)) != 0) return true;
    }
    return false;
}

void LevelSearch::learn(Index row) {
    for (const Entry& entry : packing_.rows[row]) {
        const Index item = entry.item;
        if (!placed_[item]) (*weight_)[item] += 1;
    }
}

bool LevelSearch::raise(Side side, Index item, Bytes least) {
    const Index at = item;
    least = next(side, item, least);
    const Bytes before = least_[side][at];
    least_trail_.push_back({side, item, before});
    least_[side][at] = least;
    if (least + size_[at] + least_[1 - side][at] > top_) {
        (*weight_)[at] += 1;
        std::fill(conflict_.begin(), conflict_.end(), 0);
        blame(item);
        forget_touched();
        return false;
    }
    // In the rows of the item just placed, what rises to its end is accounted for there.
    const Bytes beyond = least - std::max(before, end_);
    for (Index row : packing_.rows_of[item]) {
        const bool here = placing_[row] == placements_;
        touch(side, row, !here ? least - before : beyond == 0 ? 0 : kLimit);
    }
    return true;
}

// The item takes its least position from this side; what it is near to lies beyond it.
bool LevelSearch::place(Side side, Index item) {
    const Index at = item;
    placed_[at] = 1;
    placed_trail_.push_back(item);
    const Bytes end = least_[side][at] + size_[at];
    offset_[at] = side == 0 ? least_[0][at] : top_ - end;
    ++placements_;
    end_ = end;
    for (Index row : packing_.rows_of[item]) {
        const Index in = row;
        --unplaced_in_[in];
        placing_[in] = placements_;
        // The item takes its part of the stack with it; what is lost is the gap below it.
        touch(side, row, least_[side][at] - rows_[side][in].floor);
        if (uses_[1 - side]) touch(1 - side, row, 0);
    }
    const auto near = packing_.near[item];
    steps_ += count_of(near);
    for (Index other : near) {
        const Index to = other;
        if (!placed_[to] && least_[side][to] < end && !raise(side, other, end)) return false;
    }
    return propagate();
}

void LevelSearch::undo(const Mark& mark) {
    while (least_trail_.size() > mark.least) {
        const LeastChange& change = least_trail_.back();
        least_[change.side][change.item] = change.before;
        least_trail_.pop_back();
    }
    while (row_trail_.size() > mark.rows) {
        const RowChange& change = row_trail_.back();
        rows_[change.side][change.row] = change.before;
        row_trail_.pop_back();
    }
    while (placed_trail_.size() > mark.placed) {
        const Index item = placed_trail_.back();
        placed_[item] = 0;
        for (Index row : packing_.rows_of[item]) ++unplaced_in_[row];
        placed_trail_.pop_back();
    }
}

bool LevelSearch::out_of_budget() {
    if (stopped_) return true;
    if (nodes_ >= node_limit_) stopped_ = true;
    if (steps_ >= kStepsBetweenStops) {
        const std::int64_t steps = steps_;
        steps_ = 0;
        if ((*stop_)(steps)) stopped_ = true;
    }
    return stopped_;
}

// Nothing unplaced can lie below an item that could start at this row's floor.
bool LevelSearch::ready(Side side, Index row) {
    const Bytes floor = rows_[side][row].floor;
    for (const Entry& entry : packing_.rows[row]) {
        const Index item = entry.item;
        if (placed_[item] || least_[side][item] != floor) continue;
        for (Index other : packing_.rows_of[entry.item]) {
            const Row& state = rows_[side][other];
            if (state.first_end > floor) continue;
            refresh(side, other);
            if (state.first_end <= floor) return false;
        }
    }
    return true;
}

// The row with the fewest items that could start at its floor; of equals, the one with the least slack. Rows
// are judged by what was last known of them; the one that is taken is measured first.
LevelSearch::Choice LevelSearch::choose(Index row_begin, Index row_end) {
    Choice best{0, -1};
    Index fewest = 0;
    Bytes tightest = 0;
    for (Side side : {Side{0}, Side{1}}) {
        if (!uses_[side]) continue;
        Bytes lowest = kLimit;
        if (strategy_.lowest) lowest = lowest_floor(side, row_begin, row_end);
        for (Index r = row_begin; r < row_end; ++r) {
            const Index at = r;
            if (unplaced_in_[at] == 0) continue;
            const Row& row = rows_[side][at];
            if (strategy_.lowest && row.floor != lowest) continue;
            const auto better = [&] {
                return best.row < 0 || row.startable < fewest ||
                       (row.startable == fewest && row.slack < tightest);
            };
            if (!better()) continue;
            refresh(side, r);
            if (!better() || (!strategy_.lowest && !ready(side, r))) continue;
            best = {side, r};
            fewest = row.startable;
            tightest = row.slack;
        }
    }
    return best;
}

Bytes LevelSearch::lowest_floor(Side side, Index row_begin, Index row_end) {
    Bytes lowest = kLimit;
    for (bool settled = false; !settled;) {
        lowest = kLimit;
        for (Index r = row_begin; r < row_end; ++r) {
            if (unplaced_in_[r] == 0) continue;
            lowest = std::min(lowest, rows_[side][r].floor);
        }
        settled = true;
        for (Index r = row_begin; r < row_end; ++r) {
            const Row& row = rows_[side][r];
            if (unplaced_in_[r] == 0 || row.floor != lowest || !row.stale) continue;
            refresh(side, r);
            settled = settled && row.floor == lowest;
        }
    }
    return lowest;
}

// None of the items starts at the floor: then each of them rests on something that is not placed yet.
bool LevelSearch::none_starts(Side side, std::size_t first, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
        for (Index r : packing_.rows_of[arena_[first + k]]) refresh(side, r);
    }
    ++placements_;  // no row has an item being placed
    for (std::size_t k = 0; k < count; ++k) {
        const Index item = arena_[first + k];
        const Index at = item;
        Bytes rest = kLimit;
        for (Index r : packing_.rows_of[item]) {
            const Row& row = rows_[side][r];
            rest = std::min(rest, row.first_item == item ? row.second_end : row.first_end);
        }
        if (!raise(side, item, std::max(rest, least_[side][at] + 1))) return false;
    }
    return propagate();
}

Answer LevelSearch::solve(std::size_t first, std::size_t last) {
    // The list is in order of first rows, so a gap shows where one stretch of rows ends before the next item.
    const std::size_t begin = arena_.size();
    std::vector<std::size_t> cuts;
    Index reach = -1;
    for (std::size_t k = first; k < last; ++k) {
        const Index item = arena_[k];
        const Index at = item;
        if (placed_[at]) continue;
        if (reach >= 0 && hull_begin_[at] >= reach) cuts.push_back(arena_.size());
        reach = std::max(reach, hull_end_[at]);
        arena_.push_back(item);
    }
    const std::size_t end = arena_.size();
    Answer answer = Answer::found;
    if (begin != end) {
        answer = cuts.empty() ? branch(begin, end, hull_begin_[arena_[begin]], reach)
                              : solve_parts(begin, end, cuts);
    }
    arena_.resize(begin);
    return answer;
}

// Parts share no row: each is solved on its own, the smallest first, and one dead part is the end of all.
Answer LevelSearch::solve_parts(std::size_t first, std::size_t last, const std::vector<std::size_t>& cuts) {
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    std::size_t from = first;
    for (std::size_t cut : cuts) {
        parts.emplace_back(from, cut);
        from = cut;
    }
    parts.emplace_back(from, last);
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.second - a.first < b.second - b.first; });
    for (const auto& [begin, end] : parts) {
        const Answer answer = solve(begin, end);
        if (answer != Answer::found) return answer;
    }
    return Answer::found;
}

Answer LevelSearch::branch(std::size_t first, std::size_t last, Index row_begin, Index row_end) {
    StateHash state;
    for (std::size_t k = first; k < last; ++k) {
        const Index item = arena_[k];
        state.add(item, least_[0][item], least_[1][item]);
    }
    steps_ += last - first + (row_end - row_begin) / 8;
    if (const std::uint64_t* known = refuted_.find(state, height_)) {
        std::copy(known, known + conflict_.size(), conflict_.begin());
        return Answer::refuted;
    }
    if (out_of_budget()) return Answer::stopped;
    const std::int64_t before = nodes_++;

    const Choice choice = choose(row_begin, row_end);
    const std::size_t candidates = arena_.size();
    const std::size_t blamed = blamed_.size();
    list_candidates(choice);
    blamed_.resize(blamed + conflict_.size(), 0);
    const Answer answer = try_each(choice, candidates, first, last);
    if (answer == Answer::refuted) refuted_.add(state, height_, nodes_ - before, conflict_.data());
    arena_.resize(candidates);
    blamed_.resize(blamed);
    return answer;
}

// The items that may start at the floor of the row, the preferred ones first, at the end of the arena.
void LevelSearch::list_candidates(const Choice& choice) {
    const std::size_t first = arena_.size();
    const Bytes floor = rows_[choice.side][choice.row].floor;
    for (const Entry& entry : packing_.rows[choice.row]) {
        const Index item = entry.item;
        if (!placed_[item] && least_[choice.side][item] == floor) arena_.push_back(item);
    }
    std::stable_sort(arena_.begin() + first, arena_.end(), [&](Index a, Index b) {
        return preference_[a] + strategy_.learning * (*weight_)[a] >
               preference_[b] + strategy_.learning * (*weight_)[b];
    });
}

// Each of the candidates at the floor in its turn, and at last none of them. What the children blamed is at
// the end of `blamed_`; when all are refuted, the conflict is what is to blame for that.
Answer LevelSearch::try_each(const Choice& choice, std::size_t candidates, std::size_t first,
                             std::size_t last) {
    const std::size_t count = arena_.size() - candidates;
    const std::size_t words = conflict_.size();
    const std::size_t blamed = blamed_.size() - words;
    const Bytes room = rows_[choice.side][choice.row].room;
    const Mark here = mark();
    for (std::size_t k = 0; k <= count; ++k) {
        const bool none = k == count;
        if (none && room == 0) {  // all of the row would have to rise
            learn(choice.row);
            blame_row(choice.row);
        } else {
            if (!none) {
                const Index twin = packing_.twin[arena_[candidates + k]];
                if (twin >= 0 && !placed_[twin]) continue;
            }
            const bool alive = none ? none_starts(choice.side, candidates, count)
                                    : place(choice.side, arena_[candidates + k]);
            if (alive) {
                const Answer answer = solve(first, last);
                if (answer != Answer::refuted) return answer;
            }
            const bool dead_before = !blamed_a_rise(here.least);
            undo(here);
            if (dead_before) return Answer::refuted;
        }
        for (std::size_t w = 0; w < words; ++w) blamed_[blamed + w] |= conflict_[w];
    }
    std::copy_n(blamed_.begin() + blamed, words, conflict_.begin());
    for (std::size_t k = 0; k < count; ++k) blame(arena_[candidates + k]);
    return Answer::refuted;
}

Answer LevelSearch::run(Bytes height, const Strategy& strategy, std::uint64_t seed, std::int64_t node_limit,
                        const Stop& stop) {
    nodes_ = 0;
    node_limit_ = node_limit;
    stop_ = &stop;
    stopped_ = false;
    blamed_.clear();
    if (!reset(height, strategy, seed) || !propagate()) return Answer::refuted;
    arena_.clear();
    for (Index i = 0; i < packing_.count(); ++i) {
        if (!packing_.rows_of[i].empty()) arena_.push_back(i);
    }
    std::stable_sort(arena_.begin(), arena_.end(),
                     [&](Index a, Index b) { return hull_begin_[a] < hull_begin_[b]; });
    const Answer answer = solve(0, arena_.size());
    if (answer == Answer::found) {
        for (std::size_t i = 0; i < offset_.size(); ++i) {
            if (!placed_[i]) offset_[i] = least_[0][i];  // in no row
        }
    }
    return answer;
}

}  // namespace memstow::search
