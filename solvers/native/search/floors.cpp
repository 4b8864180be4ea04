#include "search/floors.hpp"

#include <algorithm>

namespace memstow::search {

Floors::Floors(const Packing& packing, Preferences& preferences)
    : packing_(packing), preferences_(preferences), conflict_(packing.items.size()) {
    const Index rows = packing.rows.size();
    for (const PackingItem& item : packing.items) {
        size_.push_back(item.size);
        free_.push_back(item.free);
    }
    keys_.resize(packing.items.size());
    placing_.assign(rows, 0);
    for (View& view : views_) {
        for (const Entry& entry : packing.rows.values) view.order.push_back(entry.item);
        view.rows.resize(rows);
        view.is_touched.assign(rows, 0);
        view.slack_before.assign(rows, 0);
    }
}

bool Floors::reset(Bytes height, Strategy::Sides sides, const Decision::Stop& stop) {
    lookout_.start(stop);
    views_[0].used = sides != Strategy::Sides::top;
    views_[1].used = sides != Strategy::Sides::bottom;
    least_trail_.clear();
    row_trail_.clear();
    placed_trail_.clear();
    forget_touched();
    placed_.assign(packing_.items.size(), 0);
    offset_.assign(packing_.items.size(), kUnplaced);
    unplaced_in_.assign(packing_.rows.size(), 0);
    for (Index r = 0; r < packing_.rows.size(); ++r) unplaced_in_[r] = count_of(packing_.rows[r]);
    if (!set_least(height) || !sort_rows()) return false;
    start_rows();
    return true;
}

// Where each item may be when nothing is placed; false when one may be nowhere.
bool Floors::set_least(Bytes height) {
    top_ = 0;
    for (Index i = 0; i < packing_.count(); ++i) {
        top_ = std::max(top_, packing_.highest(i, height) + size_[i]);
    }
    for (View& view : views_) view.least.assign(packing_.items.size(), 0);
    for (Index i = 0; i < packing_.count(); ++i) {
        const Bytes lowest = packing_.next(i, 0);
        const Bytes highest = packing_.previous(i, packing_.highest(i, height));
        if (lowest == kLimit || highest < lowest) return false;
        views_[0].least[i] = lowest;
        views_[1].least[i] = top_ - size_[i] - highest;
    }
    return true;
}

// Measuring a row expects little out of order, and takes the square of its length otherwise.
bool Floors::sort_rows() {
    if (sorted_) return true;
    const std::vector<Index>& start = packing_.rows.start;
    for (View& view : views_) {
        const auto lower = [&view](Index a, Index b) { return view.least[a] < view.least[b]; };
        for (Index r = 0; r < packing_.rows.size(); ++r) {
            const auto first = view.order.begin() + start[r], last = view.order.begin() + start[r + 1];
            if (stops_after(last - first)) return false;
            if (!std::is_sorted(first, last, lower)) std::stable_sort(first, last, lower);
        }
    }
    sorted_ = true;
    return true;
}

// Rows without floors, all of them to be measured.
void Floors::start_rows() {
    for (View& view : views_) {
        for (Index r = 0; r < packing_.rows.size(); ++r) {
            Bytes floor = 0;
            if (!view.used) {
                // The side not placed from still limits the other: its floors are the least positions.
                floor = kLimit;
                for (const Entry& entry : packing_.rows[r]) floor = std::min(floor, view.least[entry.item]);
            }
            view.rows[r] = {floor, 0, 0, kLimit, kLimit, -1, 0, unplaced_in_[r], false};
        }
    }
    for (const Side side : kSides) {
        if (!used(side)) continue;
        for (Index r = 0; r < packing_.rows.size(); ++r) touch(side, r, 1);
    }
}

std::vector<Bytes> Floors::offsets() const {
    std::vector<Bytes> offsets = offset_;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        if (placed_[i] == 0) offsets[i] = views_[0].least[i];
    }
    return offsets;
}

// The least position from this side, at least x, that the item may have.
Bytes Floors::next(Side side, Index item, Bytes x) const {
    if (free_[item]) return x;
    if (side == 0) return packing_.next(item, x);
    const Bytes offset = packing_.previous(item, top_ - size_[item] - x);
    return offset < 0 ? kLimit : top_ - size_[item] - offset;
}

// The row changed in a way that takes at most `lost` from its slack; of several changes at once, the worst
// counts, since a stack rises by no more than the greatest rise of a least position.
void Floors::touch(Side side, Index row, Bytes lost) {
    View& view = views_[side];
    Row& state = view.rows[row];
    if (!view.is_touched[row]) {
        view.is_touched[row] = 1;
        view.touched.push_back(row);
        row_trail_.push_back({side, row, state});
        view.slack_before[row] = state.slack;
        state.stale = true;
    }
    state.slack = std::min(state.slack, view.slack_before[row] - lost);
}

void Floors::forget_touched() {
    for (View& view : views_) {
        for (const Index row : view.touched) view.is_touched[row] = 0;
        view.touched.clear();
    }
}

// Rows that may no longer stack are measured; the others wait until branching asks for them.
bool Floors::propagate() {
    for (const Side side : kSides) {
        for (const Index row : views_[side].touched) {
            const Row& state = views_[side].rows[row];
            if (stops_after(1)) return false;
            if (unplaced_in_[row] == 0 || state.slack >= 0) continue;
            measure(side, row);
            if (state.slack >= 0) continue;
            learn(row);
            blame_stack(side, row);
            forget_touched();
            return false;
        }
    }
    forget_touched();
    return true;
}

void Floors::measure_again(Side side, Index row) {
    row_trail_.push_back({side, row, views_[side].rows[row]});
    measure(side, row);
}

// Moves the row's unplaced items to the front of its order, by their least positions: little is out of order.
// Returns how many there are; their least positions are in `keys_`.
Index Floors::sort_unplaced(Side side, Index row) {
    View& view = views_[side];
    Index* const order = view.order.data() + packing_.rows.start[row];
    Bytes* const keys = keys_.data();
    const Bytes* const least = view.least.data();
    const Index unplaced = unplaced_in_[row];
    steps += view.rows[row].reach;
    std::int64_t moves = 0;
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
        moves += count - to;
    }
    stops_after(moves);
    return unplaced;
}

// Stacks the row's unplaced items, each from its least position, and notes what branching needs to know.
void Floors::measure(Side side, Index row) {
    const Index unplaced = sort_unplaced(side, row);
    const Index* const order = views_[side].order.data() + packing_.rows.start[row];
    const Bytes* const keys = keys_.data();
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
    const Bytes limit = top_ - views_[1 - side].rows[row].floor;
    state.slack = limit - top;
    state.room = limit - state.floor - total;
    views_[side].rows[row] = state;
}

// The topmost items of the row just measured that do not stack below the height.
void Floors::blame_stack(Side side, Index row) {
    const Index* const order = views_[side].order.data() + packing_.rows.start[row];
    const Bytes limit = top_ - views_[1 - side].rows[row].floor;
    conflict_.clear();
    Bytes total = 0;
    for (Index k = unplaced_in_[row] - 1; k >= 0; --k) {
        total += size_[order[k]];
        conflict_.add(order[k]);
        if (keys_[k] + total > limit) return;
    }
}

void Floors::blame_row(Index row) {
    learn(row);
    conflict_.clear();
    for (const Entry& entry : packing_.rows[row]) {
        if (!placed_[entry.item]) conflict_.add(entry.item);
    }
}

bool Floors::blames_a_rise_since(const Mark& mark) const {
    for (std::size_t k = mark.least; k < least_trail_.size(); ++k) {
        if (conflict_.has(least_trail_[k].item)) return true;
    }
    return false;
}

void Floors::learn(Index row) {
    for (const Entry& entry : packing_.rows[row]) {
        if (!placed_[entry.item]) preferences_.learn(entry.item);
    }
}

bool Floors::raise(Side side, Index item, Bytes least) {
    least = next(side, item, least);
    const Bytes before = views_[side].least[item];
    least_trail_.push_back({side, item, before});
    views_[side].least[item] = least;
    if (least + size_[item] + views_[1 - side].least[item] > top_) {
        preferences_.learn(item);
        conflict_.clear();
        conflict_.add(item);
        forget_touched();
        return false;
    }
    // In the rows of the item just placed, what rises to its end is accounted for there.
    const Bytes beyond = least - std::max(before, end_);
    for (const Index row : packing_.rows_of[item]) {
        const bool here = placing_[row] == placements_;
        touch(side, row, !here ? least - before : beyond == 0 ? 0 : kLimit);
    }
    return true;
}

// Unplaced items that conflict with it lie beyond it from then on.
bool Floors::place(Side side, Index item) {
    View& view = views_[side];
    placed_[item] = 1;
    placed_trail_.push_back(item);
    const Bytes begin = view.least[item];
    const Bytes end = begin + size_[item];
    offset_[item] = side == 0 ? begin : top_ - end;
    ++placements_;
    end_ = end;
    for (const Index row : packing_.rows_of[item]) {
        --unplaced_in_[row];
        placing_[row] = placements_;
        // The item takes its part of the stack with it; what is lost is the gap below it.
        touch(side, row, begin - view.rows[row].floor);
        if (views_[1 - side].used) touch(1 - side, row, 0);
    }
    const std::span<const Index> near = packing_.near[item];
    steps += count_of(near);
    for (const Index other : near) {
        if (placed_[other] || view.least[other] >= end) continue;
        if (!raise(side, other, end) || stops_after(packing_.rows_of[other].size())) return false;
    }
    return propagate();
}

bool Floors::lift(Side side, std::span<const Index> items) {
    for (const Index item : items) {
        for (const Index row : packing_.rows_of[item]) refresh(side, row);
        if (stops_after(packing_.rows_of[item].size())) return false;
    }
    ++placements_;  // no row has an item being placed
    for (const Index item : items) {
        Bytes rest = kLimit;
        for (const Index r : packing_.rows_of[item]) {
            const Row& row = views_[side].rows[r];
            rest = std::min(rest, row.first_item == item ? row.second_end : row.first_end);
        }
        if (!raise(side, item, std::max(rest, least(side, item) + 1))) return false;
        if (stops_after(2 * packing_.rows_of[item].size())) return false;
    }
    return propagate();
}

void Floors::undo(const Mark& mark) {
    while (least_trail_.size() > mark.least) {
        const LeastChange& change = least_trail_.back();
        views_[change.side].least[change.item] = change.before;
        least_trail_.pop_back();
    }
    while (row_trail_.size() > mark.rows) {
        const RowChange& change = row_trail_.back();
        views_[change.side].rows[change.row] = change.before;
        row_trail_.pop_back();
    }
    while (placed_trail_.size() > mark.placed) {
        const Index item = placed_trail_.back();
        placed_[item] = 0;
        for (const Index row : packing_.rows_of[item]) ++unplaced_in_[row];
        placed_trail_.pop_back();
    }
}

}  // namespace memstow::search
