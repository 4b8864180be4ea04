#include "proof/proof_search.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <unordered_map>

#include "core/arithmetic.hpp"

namespace memstow::proof {
namespace {

constexpr std::int64_t kStepsBetweenStops = 20'000;
constexpr std::size_t kLemmasBetweenStops = 4'096;
constexpr std::size_t kMostLearnt = 4'000'000;  // bounds in all lemmas that are kept
constexpr Bytes kHighest = Bytes{1} << 60;      // so that sums of some sizes fit
constexpr std::size_t kMostMoving = 4'096;      // a checker takes some more
constexpr int kDeepest = 4'000;                 // so much fits on the stack of a thread

}  // namespace

ProofSearch::ProofSearch(const Question& question, ProofFile& file, Budget& budget)
    : question_(question), file_(file), budget_(budget), begun_(file.lemmas()), first_learnt_(begun_) {
    const Index count = question.count();
    for (const Side side : kSides) {
        root_[side].resize(count);
        needed_[side].resize(count);
        watchers_[side].resize(count);
    }
    settled_.resize(count);
    queued_.resize(count);
    is_needed_.resize(count);
    stale_.resize(question.rows.size());
    failures_.resize(question.rows.size());
}

bool ProofSearch::stopped() {
    if (steps_ >= kStepsBetweenStops) {
        budget_.count(steps_);
        steps_ = 0;
        stopped_ = stopped_ || budget_.spent();
    }
    return stopped_;
}

Outcome ProofSearch::refute(Bytes end, Bytes height) {
    trail_.clear();
    if (height < 0) return Outcome::proven;  // without a step
    stopped_ = budget_.spent();              // what one step shows is shown all the same
    if (end > kHighest) return Outcome::stopped;
    file_.let_tie(question_.ties_count());
    std::optional<Refutation> refutation;
    for (Index i = 0; i < question_.count() && !refutation; ++i) {
        const Item& item = question_.items[i];
        const auto low = question_.at_least(kBottom, i, 0),
                   high = question_.at_most(kBottom, i, end - item.size);
        root_[kBottom][i] = low.value_or(0);
        root_[kTop][i] = high ? -*high - item.size : 0;
        if (low && high && *low <= *high) continue;
        refutation.emplace();
    }
    if (!refutation) {
        for (const Side side : kSides) least_[side] = root_[side];
        for (Index r = 0; r < count_of(question_.rows) && !refutation; ++r) {
            // Most bounds need one row and no push; to push takes time with the pairs that conflict. Where
            // pairs are kept apart, pushes often need fewer of these.
            if (!question_.has_apart()) {
                refutation = overfull_row(r);
            } else {
                stale_rows_.push_back(r);
                stale_[r] = 1;
            }
        }
    }
    if (!refutation && question_.is_searched()) {
        for (Index i = 0; i < question_.count(); ++i) {
            queue_.push_back(i);
            queued_[i] = 1;
        }
        refutation = take_earlier();
        if (!refutation) refutation = finish_case(0);
    }
    if (refutation) {
        file_.conclude(height, written(*refutation));
        add(written_, refutation->used);
        used_ = std::move(refutation->used);
    }
    budget_.count(steps_);
    steps_ = 0;
    return refutation ? Outcome::proven : layout_ ? Outcome::layout : Outcome::stopped;
}

// False when that leaves the item no place.
bool ProofSearch::raise(Side side, Index item, Bytes to, Index by) {
    if (to <= least_[side][item]) return true;
    const auto position = question_.at_least(side, item, to);
    trail_.push_back({side, item, least_[side][item], by});
    if (!position || *position > top_of(side, item)) {
        dead_ = {side, item};
        return false;
    }
    least_[side][item] = *position;
    if (!queued_[item]) {
        queued_[item] = 1;
        queue_.push_back(item);
    }
    for (const Index row : question_.rows_of[item]) {
        if (stale_[row]) continue;
        stale_[row] = 1;
        stale_rows_.push_back(row);
    }
    return true;
}

// What must hold of one item wherever the other is in its range.
bool ProofSearch::push(Index from, Index onto) {
    for (const Side side : kSides) {
        const bool above = least_[side][onto] + question_.items[onto].size > top_of(side, from);
        if (!above) continue;
        const Bytes to = least_[side][from] + lift(side, from, onto, can_tie(from, onto));
        if (!raise(side, onto, to, from)) return false;
    }
    return true;
}

// What must hold of the others of its group.
bool ProofSearch::follow(Index from) {
    for (const Question::Tie& tie : question_.ties[from]) {
        for (const Side side : kSides) {
            if (!raise(side, tie.to, least_[side][from] + question_.shift(side, from, tie), from))
                return false;
        }
    }
    return true;
}

// All that follows from what has changed; a refutation if there is nothing left.
std::optional<ProofSearch::Refutation> ProofSearch::settle() {
    const auto clear = [&] {
        for (const Index i : queue_) queued_[i] = 0;
        for (const Index r : stale_rows_) stale_[r] = 0;
        queue_.clear();
        stale_rows_.clear();
    };
    std::size_t heard = trail_.empty() ? 0 : trail_.size() - 1;
    while (!dead_ && (!queue_.empty() || !stale_rows_.empty() || heard < trail_.size())) {
        if (!queue_.empty()) {
            const Index item = queue_.back();
            queue_.pop_back();
            queued_[item] = 0;
            steps_ += count_of(question_.neighbours[item]) + count_of(question_.ties[item]);
            if (!follow(item)) break;
            for (const Index next : question_.neighbours[item]) {
                if (!push(item, next) || !push(next, item)) break;
            }
        } else if (!stale_rows_.empty()) {
            const Index row = stale_rows_.back();
            stale_rows_.pop_back();
            stale_[row] = 0;
            auto refutation = overfull_row(row);
            if (refutation) {
                ++failures_[row];
                clear();
                return refutation;
            }
        } else {
            const Change change = trail_[heard++];
            auto refutation = known(change.side, change.item);
            if (refutation) {
                clear();
                return refutation;
            }
        }
    }
    clear();
    if (!dead_) return std::nullopt;
    const auto [side, item] = *dead_;
    dead_.reset();
    return empty_range(side, item);
}

std::optional<ProofSearch::Refutation> ProofSearch::overfull_row(Index row) {
    struct Entry {
        Bytes least, end;
        Index item;
    };
    std::vector<Entry> entries;
    std::vector<Bytes> ends;
    for (const Index i : question_.rows[row]) {
        entries.push_back({least_[kBottom][i], -least_[kTop][i], i});
        ends.push_back(-least_[kTop][i]);
    }
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.least > b.least; });
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    steps_ += count_of(entries) * count_of(ends);
    for (const Bytes end : ends) {
        Bytes most = 0;  // at least what they take
        std::vector<Index> crowd;
        for (const Entry& entry : entries) {
            if (entry.end > end) continue;
            const Item& item = question_.items[entry.item];
            const auto ties = [&](Index i) { return can_tie(i, entry.item); };
            if (question_.has_partners() && std::any_of(crowd.begin(), crowd.end(), ties)) continue;
            crowd.push_back(entry.item);
            most = std::min(kLimit, most + item.size + floor_mod(-item.size, item.modulus));
            if (most <= end - entry.least && question_.reserved.empty()) continue;
            if (question_.overfull(crowd, entry.least, end)) return crowded(crowd, entry.least, end);
        }
    }
    return std::nullopt;
}

ProofSearch::Refutation ProofSearch::empty_range(Side side, Index item) {
    Refutation refutation;
    Needed need{item, {0, 0}};
    need.least[other(side)] = least_[other(side)][item];
    need.least[side] = top_of(side, item) + 1;
    refutation.needs.push_back(need);
    return refutation;
}

// As few items as it takes, from the widest stretch.
ProofSearch::Refutation ProofSearch::crowded(std::vector<Index> crowd, Bytes begin, Bytes end) {
    const auto far = [&](Index i) {  // how much the bounds must have moved
        const Bytes up = std::max(begin - root_[kBottom][i], Bytes{0});
        return up + std::max(-end - root_[kTop][i], Bytes{0});
    };
    std::vector<Index> by_need = crowd;
    std::stable_sort(by_need.begin(), by_need.end(), [&](Index a, Index b) { return far(a) > far(b); });
    for (const Index i : by_need) {
        if (far(i) == 0) break;
        std::vector<Index> fewer = crowd;
        std::erase(fewer, i);
        if (question_.overfull(fewer, begin, end)) crowd = std::move(fewer);
    }
    drop_pairs(crowd, begin, end);
    Bytes slack = begin - end - 1;
    for (const Index i : crowd) slack = std::min(kLimit / 2, slack + question_.items[i].size);
    if (slack > 0) {
        const Bytes lower = std::max(begin - slack, Bytes{0});
        if (question_.overfull(crowd, lower, end)) begin = lower;
    }
    Refutation refutation;
    refutation.closer = Derivation::Closer::overfull;
    refutation.begin = begin;
    refutation.end = end;
    for (const Index i : crowd) {
        refutation.needs.push_back({i, {std::max(root_[kBottom][i], begin), std::max(root_[kTop][i], -end)}});
    }
    for (std::size_t a = 0; a < crowd.size() && question_.has_apart(); ++a) {
        for (const Index j : crowd) use(refutation.used, crowd[a], j);
    }
    open(refutation.needs);
    for (std::size_t a = 0; a < crowd.size() && question_.has_partners(); ++a) {
        for (const Index j : crowd) {
            if (crowd[a] < j && question_.partners(crowd[a], j)) need_apart(crowd[a], j);
        }
    }
    refutation.needs = close();
    std::sort(crowd.begin(), crowd.end());
    refutation.crowd = std::move(crowd);
    return refutation;
}

void ProofSearch::use(Pairs& used, Index i, Index j) const {
    const Index pair = question_.apart_pair(i, j);
    if (pair < 0) return;
    const auto place = std::lower_bound(used.begin(), used.end(), pair);
    if (place == used.end() || *place != pair) used.insert(place, pair);
}

void ProofSearch::add(Pairs& used, const Pairs& more) {
    if (std::ranges::includes(used, more)) return;
    Pairs both;
    std::ranges::set_union(used, more, std::back_inserter(both));
    used = std::move(both);
}

// Items that are in many of the pairs are left out first, if there are too many without them.
void ProofSearch::drop_pairs(std::vector<Index>& crowd, Bytes begin, Bytes end) const {
    if (!question_.has_apart()) return;
    const auto pairs_of = [&](Index i) {
        return std::count_if(crowd.begin(), crowd.end(),
                             [&](Index j) { return question_.apart_pair(i, j) >= 0; });
    };
    std::vector<std::pair<std::int64_t, Index>> most;
    for (const Index i : crowd) most.emplace_back(-pairs_of(i), i);
    std::sort(most.begin(), most.end());
    for (const auto& [pairs, i] : most) {
        std::vector<Index> fewer = crowd;
        std::erase(fewer, i);
        if (pairs < 0 && question_.overfull(fewer, begin, end)) crowd = std::move(fewer);
    }
}

ProofSearch::Refutation ProofSearch::by(const Learnt& lemma) {
    Refutation refutation;
    refutation.needs = lemma.needs;
    refutation.used = lemma.used;
    refutation.closer = Derivation::Closer::lemma;
    refutation.lemma = lemma.lemma;
    return refutation;
}

// A lemma that holds here, after this position has changed.
std::optional<ProofSearch::Refutation> ProofSearch::known(Side side, Index item) {
    auto& watching = watchers_[side][item];
    steps_ += count_of(watching) / 16;  // most are passed over
    for (std::size_t k = 0; k < watching.size();) {
        const auto [id, least, least_of_other, other_item, other_side] = watching[k];
        if (least_[side][item] < least) {
            ++k;
            continue;
        }
        if (least_[other_side][other_item] < least_of_other) {
            watchers_[other_side][other_item].push_back({id, least_of_other, least, item, side});
        } else {
            Learnt* const lemma = id < first_learnt_ ? nullptr : &learnt_[id - first_learnt_];
            if (lemma != nullptr && !lemma->dropped && !watch(*lemma)) {
                repeat(id - begun_);
                return by(*lemma);
            }
        }
        watching[k] = watching.back();
        watching.pop_back();
    }
    return std::nullopt;
}

void ProofSearch::undo(std::size_t mark) {
    while (trail_.size() > mark) {
        const Change& change = trail_.back();
        least_[change.side][change.item] = change.before;
        trail_.pop_back();
    }
}

// After a branch: refutes what is left, and says what that needs of the bounds after the branch itself, which
// is the change before `mark`.
std::optional<ProofSearch::Refutation> ProofSearch::finish_case(std::size_t mark) {
    auto refutation = settle();
    if (!refutation && !stopped()) refutation = solve();
    if (refutation) explain(*refutation, mark);
    return refutation;
}

std::optional<ProofSearch::Refutation> ProofSearch::solve() {
    if (depth_ >= kDeepest) stopped_ = true;
    if (stopped()) return std::nullopt;
    ++nodes_;
    if (learnt_size_ > kMostLearnt) drop_old();
    Branch branch = choose();
    if (branch.item < 0) branch = any_left();
    if (branch.item < 0) {
        layout_ = true;
        return std::nullopt;
    }
    const auto [side, item] = branch;
    const Bytes at = least_[side][item];
    const std::size_t mark = trail_.size();
    const Side back = other(side);
    const auto needs_branch = [&](const Refutation& refutation, Side of) {
        return std::any_of(refutation.needs.begin(), refutation.needs.end(),
                           [&, item = item](const Needed& need) {
                               return need.item == item && need.least[of] > least_[of][item];
                           });
    };
    ++depth_;
    struct Up {
        int& depth;
        ~Up() { --depth; }
    } const up{depth_};

    // It is at its least position,
    settled_[item] = 1;
    if (-at - question_.items[item].size > least_[back][item]) {
        raise(back, item, -at - question_.items[item].size, -1);
    } else {  // it has no other
        trail_.push_back({back, item, least_[back][item], -1});
        if (!queued_[item]) {
            queued_[item] = 1;
            queue_.push_back(item);
        }
    }
    auto within = finish_case(mark + 1);
    settled_[item] = 0;
    undo(mark);
    if (!within || !needs_branch(*within, back)) {
        return within;
    }
    keep(*within);

    // or on top of another.
    const auto risen = rise(side, item);
    std::optional<Refutation> beyond;
    if (!risen) {
        beyond = empty_range(side, item);
    } else {
        if (!raise(side, item, *risen, -1)) {
            dead_.reset();
            beyond = empty_range(side, item);
        } else {
            beyond = finish_case(mark + 1);
        }
        undo(mark);
    }
    if (!beyond) return std::nullopt;
    if (!needs_branch(*beyond, side)) {
        release(*within);
        return beyond;
    }
    keep(*beyond);
    auto both = combined(branch, *within, *beyond);
    release(*within);
    release(*beyond);
    return both;
}

// The items among some that move with one when it goes to its least position. What one of them comes upon is
// a stop: another that it would lie on, or one that it ties with and that does not move.
template <typename Among, typename Stop>
ProofSearch::Moving ProofSearch::moving_with(Side side, Index item, Among among, Stop stop) const {
    const Bytes at = least_[side][item];
    Moving moving{{item, 0}};
    for (const Question::Tie& tie : question_.ties[item]) {
        if (among(tie.to)) moving.emplace_back(tie.to, question_.shift(side, item, tie));
    }
    const std::size_t rigid = moving.size();
    for (std::size_t n = 0; n < moving.size() && n < kMostMoving; ++n) {
        const auto [k, shift] = moving[n];
        for (const Index j : question_.neighbours[k]) {
            if (!among(j)) continue;
            stop(k, shift, j, false);
            if (!can_tie(k, j)) continue;
            const std::pair with{j, shift + question_.shift(side, k, {j, 0})};
            const auto is_j = [j](const auto& one) { return one.first == j; };
            if (std::ranges::any_of(std::span(moving).first(rigid), is_j)) continue;
            if (!question_.ties[j].empty() || !may_be(side, j, at + with.second)) {
                stop(k, shift, j, true);
            } else if (std::find(moving.begin(), moving.end(), with) == moving.end()) {
                moving.push_back(with);
            }
        }
    }
    return moving;
}

// The lowest position above its least one that it can have on top of another, or that what moves with it can.
std::optional<Bytes> ProofSearch::rise(Side side, Index item) {
    const Bytes at = least_[side][item];
    std::optional<Bytes> lowest;
    const Moving moving = moving_with(
        side, item, [](Index) { return true; },
        [&](Index k, Bytes shift, Index j, bool ties) {
            const Bytes up = lift(side, j, k, ties);
            if (top_of(side, j) + up <= at + shift) return;
            const auto least = question_.at_least(side, k, least_[side][j] + up);
            if (least) lowest = std::min(lowest.value_or(*least - shift), *least - shift);
        });
    if (moving.size() > kMostMoving) {
        stopped_ = true;
        return at + 1;
    }
    if (lowest) lowest = std::max(*lowest, at + 1);
    return lowest;
}

// Whether no item without a place can lie below it.
bool ProofSearch::is_ready(Side side, Index item) const {
    const Bytes at = least_[side][item];
    return std::all_of(question_.neighbours[item].begin(), question_.neighbours[item].end(), [&](Index j) {
        return settled_[j] || least_[side][j] + question_.items[j].size > at;
    });
}

// The row with the fewest items that could start at its floor; of equals, the one with the least slack.
ProofSearch::Branch ProofSearch::choose() const {
    Branch best{kBottom, -1};
    double best_score = 0;
    for (Index r = 0; r < count_of(question_.rows); ++r) {
        Bytes floor[2] = {kLimit, kLimit};
        Index starts[2] = {0, 0};
        Bytes sum = 0;
        for (const Index i : question_.rows[r]) {
            if (settled_[i]) continue;
            sum = std::min(kLimit, sum) + question_.items[i].size;
            for (const Side side : kSides) {
                if (least_[side][i] < floor[side]) {
                    floor[side] = least_[side][i];
                    starts[side] = 0;
                }
                if (least_[side][i] == floor[side]) ++starts[side];
            }
        }
        if (sum == 0) continue;
        const double room = static_cast<double>(-floor[kTop]) - static_cast<double>(floor[kBottom]);
        const double slack = (room - static_cast<double>(std::min(sum, kLimit))) / (room + 1);
        for (const Side side : kSides) {
            const double score = (starts[side] + slack) / (1.0 + static_cast<double>(failures_[r]));
            if (best.item >= 0 && score >= best_score) continue;
            Index choice = -1;
            for (const Index i : question_.rows[r]) {
                if (settled_[i] || least_[side][i] != floor[side]) continue;
                if (choice >= 0 && question_.items[i].size <= question_.items[choice].size) continue;
                if (is_ready(side, i)) choice = i;
            }
            if (choice < 0) continue;
            best = {side, choice};
            best_score = score;
        }
    }
    return best;
}

// With groups none may be ready, though there is more than one place for some: any of these.
ProofSearch::Branch ProofSearch::any_left() const {
    for (Index i = 0; i < question_.count(); ++i) {
        if (!question_.ties[i].empty() && least_[kBottom][i] < top_of(kBottom, i)) return {kBottom, i};
    }
    return {kBottom, -1};
}

void ProofSearch::need(Index item, Side side, Bytes least) {
    if (!is_needed_[item]) {
        is_needed_[item] = 1;
        members_.push_back(item);
        for (const Side one : kSides) needed_[one][item] = root_[one][item];
    }
    needed_[side][item] = std::max(needed_[side][item], least);
}

// As it is now.
void ProofSearch::need_all(Index item) {
    for (const Side side : kSides) need(item, side, least_[side][item]);
}

// That these, which could tie elsewhere, cannot here: the one is above all places of the other.
void ProofSearch::need_apart(Index i, Index j) {
    const auto [low, high] = least_[kBottom][i] > top_of(kBottom, j) ? std::pair(j, i) : std::pair(i, j);
    const Bytes sum = 1 - question_.items[low].size;
    need(low, kTop, root_[kTop][low]);
    need(high, kBottom, root_[kBottom][high]);
    const Bytes free_low = needed_[kTop][low], free_high = needed_[kBottom][high];
    if (free_high >= sum - least_[kTop][low]) {
        need(low, kTop, sum - free_high);
    } else {
        need(low, kTop, std::max(free_low, sum - least_[kBottom][high]));
        need(high, kBottom, sum - needed_[kTop][low]);
    }
}

void ProofSearch::open(const Nogood& nogood) {
    for (const Needed& one : nogood) {
        for (const Side side : kSides) need(one.item, side, one.least[side]);
    }
}

ProofSearch::Nogood ProofSearch::close() {
    Nogood nogood;
    std::sort(members_.begin(), members_.end());
    for (const Index i : members_) {
        nogood.push_back({i, {needed_[kBottom][i], needed_[kTop][i]}});
        is_needed_[i] = 0;
    }
    members_.clear();
    return nogood;
}

// Takes back the changes from the end to `mark`; where the refutation needs one, it needs instead what that
// came of.
void ProofSearch::explain(Refutation& refutation, std::size_t mark) {
    open(refutation.needs);
    while (trail_.size() > mark) {
        const auto [side, k, before, by] = trail_.back();
        const bool wanted = is_needed_[k] && needed_[side][k] > before;
        const Bytes wants = needed_[side][k];
        undo(trail_.size() - 1);
        if (!wanted) continue;
        const Bytes size_k = question_.items[k].size, size_by = question_.items[by].size;
        const Side back = other(side);
        needed_[side][k] = root_[side][k];
        const Move move{by, !question_.bound(by, k)};
        // What a push does to partners may rest on what one just before has done.
        const bool partners = question_.partners(by, k);
        if (partners || refutation.moves.empty() || refutation.moves.back() != move)
            refutation.moves.push_back(move);
        if (move.follows) {
            const auto& ties = question_.ties[by];
            const auto tie = std::find_if(ties.begin(), ties.end(),
                                          [k = k](const Question::Tie& one) { return one.to == k; });
            const auto below = question_.at_most(side, k, wants - 1);
            need(by, side, below ? *below + 1 - question_.shift(side, by, *tie) : root_[side][by]);
            continue;
        }
        use(refutation.used, by, k);
        // That the item pushed ends so high that this one cannot start lower:
        const auto below = question_.at_most(side, k, wants - 1);
        if (below) {
            need(by, side, *below + 1 - lift(side, by, k, can_tie(by, k)));
        } else {
            need(by, side, root_[side][by]);
        }
        // and that this one is not below it: the two need some sum, which the one gives that gives it for
        // nothing.
        const Bytes sum = 1 - size_k - size_by;
        const Bytes free_by = needed_[back][by], free_k = root_[side][k];
        if (free_by >= sum - before) {
            need(k, side, sum - free_by);
        } else if (free_k >= sum - least_[back][by]) {
            need(by, back, sum - free_k);
        } else {
            need(by, back, least_[back][by]);
            need(k, side, sum - least_[back][by]);
        }
        if (partners && !can_tie(by, k)) need_apart(by, k);
    }
    refutation.needs = close();
}

// Nothing in the lemma may carry the item, or one of its group, at less than the second case needs.
void ProofSearch::need_for_rise(Side side, Index item, Bytes at, Bytes wanted) {
    const auto below = question_.at_most(side, item, wanted - 1);
    if (!below || *below <= at) return;
    const auto among = [&](Index j) { return is_needed_[j] != 0; };
    const auto see = [&](Index k, Bytes shift, Index j, bool) {
        // With wider ranges partners could be more, or move: they need to be as they are.
        if (question_.partners(k, j)) {
            need_all(k);
            need_all(j);
            return;
        }
        const auto too_low = question_.at_most(side, k, *below + shift);
        if (!too_low) return;
        const Bytes high_enough = *too_low + 1 - question_.items[j].size;
        const Bytes out_of_reach = -at - shift;  // on the other side: it ends at or below the item
        if (needed_[side][j] >= high_enough || needed_[other(side)][j] >= out_of_reach) return;
        if (least_[other(side)][j] >= out_of_reach) {
            need(j, other(side), out_of_reach);
        } else {
            need(j, side, high_enough);
        }
    };
    moving_with(side, item, among, see);
}

// The lemma of a split whose two cases are refuted.
std::optional<ProofSearch::Refutation> ProofSearch::combined(const Branch& branch, const Refutation& within,
                                                             const Refutation& beyond) {
    const auto [side, item] = branch;
    const Bytes at = least_[side][item];
    Bytes wanted = 0;
    need(item, side, root_[side][item]);
    for (const Needed& one : within.needs) {
        need(one.item, side, one.least[side]);
        if (one.item != item) need(one.item, other(side), one.least[other(side)]);
    }
    for (const Needed& one : beyond.needs) {
        need(one.item, other(side), one.least[other(side)]);
        if (one.item != item) {
            need(one.item, side, one.least[side]);
        } else {
            wanted = one.least[side];
        }
    }
    need_for_rise(side, item, at, wanted);
    Refutation both;
    both.needs = close();
    both.closer = Derivation::Closer::lemma;
    const std::uint64_t name = question_.items[item].name;
    const Bytes offset = side == kBottom ? at : -at - question_.items[item].size;
    both.used = within.used;
    add(both.used, beyond.used);
    both.lemma =
        file_.state({written(both.needs), side == kBottom, name, offset, written(within), written(beyond)});
    add(written_, both.used);
    learnt_.push_back({both.needs, both.used, both.lemma});
    learnt_size_ += both.needs.size();
    return both;
}

Derivation ProofSearch::written(const Refutation& refutation) const {
    Derivation derivation;
    derivation.closer = refutation.closer;
    derivation.lemma = refutation.lemma;
    derivation.begin = refutation.begin;
    derivation.end = refutation.end;
    for (auto move = refutation.moves.rbegin(); move != refutation.moves.rend(); ++move) {
        derivation.moves.push_back({question_.items[move->by].name, move->follows});
    }
    for (const Index i : refutation.crowd) derivation.crowd.push_back(question_.items[i].name);
    return derivation;
}

std::vector<Bounds> ProofSearch::written(const Nogood& nogood) const {
    std::vector<Bounds> bounds;
    for (const Needed& one : nogood) {
        const Item& item = question_.items[one.item];
        bounds.push_back({item.name, std::max(one.least[kBottom], Bytes{0}), -one.least[kTop] - item.size});
    }
    return bounds;
}

// A row with all of these; -1: there is none.
Index ProofSearch::row_of(const std::vector<std::uint64_t>& crowd,
                          const std::unordered_map<std::uint64_t, Index>& item_of) const {
    std::vector<Index> items;
    for (const std::uint64_t name : crowd) {
        const auto known = item_of.find(name);
        if (known == item_of.end()) return -1;
        items.push_back(known->second);
    }
    if (items.empty()) return -1;
    for (const Index row : question_.rows_of[items.front()]) {
        const auto& members = question_.rows[row];
        const auto is_in = [&](Index i) {
            return std::find(members.begin(), members.end(), i) != members.end();
        };
        if (std::all_of(items.begin(), items.end(), is_in)) return row;
    }
    return -1;
}

// What rows have failed on the way to a lemma of the earlier search, the first time that it is of use: so
// this one takes the same branches.
void ProofSearch::repeat(std::uint64_t id) {
    std::vector<std::uint64_t> waiting{id};
    while (!waiting.empty()) {
        const std::uint64_t at = waiting.back();
        waiting.pop_back();
        if (at >= earlier_cases_.size()) continue;
        for (const Ended& ended : std::exchange(earlier_cases_[at], {})) {
            if (ended.row >= 0) ++failures_[ended.row];
            if (ended.lemma) waiting.push_back(*ended.lemma);
        }
    }
}

// What an earlier search has learnt, written once more; a refutation where that is all that was missing.
std::optional<ProofSearch::Refutation> ProofSearch::take_earlier() {
    if (!earlier_) return std::nullopt;
    std::unordered_map<std::uint64_t, Index> item_of;
    for (Index i = 0; i < question_.count(); ++i) item_of.emplace(question_.items[i].name, i);
    const std::uint64_t first = first_learnt_;
    while (auto step = earlier_->next()) {
        if (learnt_.size() % kLemmasBetweenStops == kLemmasBetweenStops - 1 && budget_.spent()) break;
        if (step->conclusion) {
            step->conclusion->lemma += first;
            file_.conclude(step->height, *step->conclusion);
            continue;
        }
        if (!step->lemma) {
            drop(learnt_[step->forgotten]);
            continue;
        }
        Lemma& lemma = *step->lemma;
        std::array<Ended, 2> cases;
        for (const auto& [ended, one] : {std::pair(&cases[0], &lemma.within), {&cases[1], &lemma.beyond}}) {
            if (one->closer == Derivation::Closer::lemma) ended->lemma = one->lemma;
            one->lemma += first;
            if (one->closer == Derivation::Closer::overfull) ended->row = row_of(one->crowd, item_of);
        }
        earlier_cases_.push_back(cases);
        Learnt learnt{{}, {}, file_.state(lemma)};
        for (const auto& [name, low, high] : lemma.bounds) {
            const auto known = item_of.find(name);
            // Other buffers were to be shown to have no layout: to these the lemma does not apply.
            if (known == item_of.end()) {
                learnt.dropped = true;
                learnt.needs.clear();
                break;
            }
            learnt.needs.push_back({known->second, {low, -high - question_.items[known->second].size}});
        }
        learnt_size_ += learnt.needs.size();
        learnt_.push_back(std::move(learnt));
    }
    earlier_.reset();
    for (Learnt& lemma : learnt_) {
        if (!lemma.dropped && !watch(lemma)) return by(lemma);
    }
    return std::nullopt;
}

// A lemma stays while a refutation that is not written yet uses it. Where the bounds no longer satisfy it, it
// is looked up again when they change.
void ProofSearch::keep(const Refutation& refutation) {
    if (refutation.closer != Derivation::Closer::lemma) return;
    Learnt& lemma = learnt_[refutation.lemma - first_learnt_];
    ++lemma.users;
    if (!lemma.watched) watch(lemma);
}

// Where it is furthest from holding, and next to that; false where it holds now.
bool ProofSearch::watch(Learnt& lemma) {
    struct Place {
        Bytes lacks = 0, least = 0;
        Index item = -1;
        Side side = kBottom;
    };
    Place furthest, next;
    for (const Needed& need : lemma.needs) {
        for (const Side side : kSides) {
            const Place place{need.least[side] - least_[side][need.item], need.least[side], need.item, side};
            if (place.lacks > furthest.lacks) {
                next = std::exchange(furthest, place);
            } else if (place.lacks > next.lacks) {
                next = place;
            }
        }
    }
    steps_ += count_of(lemma.needs);
    if (furthest.lacks == 0) return false;
    if (next.lacks == 0) next = furthest;
    watchers_[furthest.side][furthest.item].push_back(
        {lemma.lemma, furthest.least, next.least, next.item, next.side});
    lemma.watched = true;
    return true;
}

void ProofSearch::release(const Refutation& refutation) {
    if (refutation.closer != Derivation::Closer::lemma) return;
    --learnt_[refutation.lemma - first_learnt_].users;
}

void ProofSearch::drop(Learnt& lemma) {
    file_.forget(lemma.lemma);
    learnt_size_ -= lemma.needs.size();
    lemma.dropped = true;
    lemma.needs = {};
    lemma.used = {};
}

// Forgets the older half.
void ProofSearch::drop_old() {
    for (std::size_t k = 0; k < learnt_.size() && learnt_size_ > kMostLearnt / 2; ++k) {
        Learnt& lemma = learnt_[k];
        if (lemma.dropped || lemma.users > 0 || !lemma.watched) continue;
        drop(lemma);
    }
    for (const Side side : kSides) {
        for (auto& watching : watchers_[side]) {
            std::erase_if(watching, [&](const Watcher& one) {
                return one.lemma < first_learnt_ || learnt_[one.lemma - first_learnt_].dropped;
            });
        }
    }
    while (!learnt_.empty() && learnt_.front().dropped) {
        learnt_.pop_front();
        ++first_learnt_;
    }
}

}  // namespace memstow::proof
