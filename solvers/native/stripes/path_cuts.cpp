#include "stripes/path_cuts.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <ranges>
#include <span>
#include <utility>

#include "core/bounds.hpp"
#include "order/cut.hpp"
#include "order/max_flow.hpp"

namespace memstow::stripes {
namespace {

using order::MaxFlow;

// Where parts run again, there are all ways between two cuts: so many of them are told apart.
constexpr Cost kBetween = 8;
constexpr std::size_t kMostLevels = 12;
// Bytes copied out and back, for each that waits.
constexpr Cost kCopies = 2;
constexpr std::size_t kMostSavings = 6;
constexpr std::size_t kMostSteps = 64;
// Of longer paths, nothing is known beside what is read.
constexpr Index kMostPlaces = 256;

// The least bytes if other runs add less to the cost than in the next step.
struct Step {
    Cost cost = 0;
    Bytes bytes = 0;
    std::pair<Index, Index> on_ways;
    std::vector<Bytes> beside_read, beside_next;

    bool is_as(const Step& other) const {
        return bytes == other.bytes && on_ways == other.on_ways && beside_read == other.beside_read &&
               beside_next == other.beside_next;
    }
};
using Steps = std::vector<Step>;  // ascending in cost, from none on; descending in bytes

const Step& step_at(const Steps& steps, Cost cost) {
    return *std::prev(std::ranges::upper_bound(steps, cost, {}, &Step::cost));
}

// What a moment needs beside the path.
struct Moment {
    Steps steps = {Step{}};
    Index until = kNobody;  // the last place that needs something of what has run, or may wait
};

std::int64_t share_of(std::int64_t all, std::int64_t share, std::int64_t shares) {
    return static_cast<std::int64_t>(WideBytes{all} * share / shares);
}

// Each stands for all below the next one. Of many, some become one; the first is alone.
std::vector<Cost> few_of(std::vector<Cost> costs, std::size_t most) {
    std::ranges::sort(costs);
    costs.erase(std::ranges::unique(costs).begin(), costs.end());
    const std::size_t each = 1 + costs.size() / most;
    std::vector<Cost> few;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        if (i == 0 || (i - 1) % each == 0) few.push_back(costs[i]);
    }
    return few;
}

// The greatest cost that this one stands for.
Cost most_of(const std::vector<Cost>& few, std::size_t i) {
    return i + 1 < few.size() ? few[i + 1] - 1 : kLimit - 1;
}

// So many bytes may wait, from this cost on.
struct Saving {
    Cost cost;
    Bytes bytes;
};
using Savings = std::vector<Saving>;  // ascending in cost; the first is nothing

Bytes saved_for(const Savings& savings, Cost cost) {
    return std::prev(std::ranges::upper_bound(savings, cost, {}, &Saving::cost))->bytes;
}

// What may wait: no operator uses it meanwhile.
struct Waiting {
    Bytes size, piece;
    Cost on_way;  // what runs again adds at least if it is on a way
    // Places of the path: the last that it is made of, the last that uses it before a moment, and after it
    // the first that uses it, or the last that needs it.
    Index made_of, last_use, next_use;
};

// Up to so many bytes of these.
Savings savings_of(const std::vector<const Waiting*>& waiting, Bytes most) {
    std::vector<Bytes> sums{0};
    Bytes piece = kLimit;
    bool is_split = false;
    for (const Waiting* one : waiting) {
        piece = std::min(piece, one->piece);
        is_split = is_split || one->piece < one->size || sums.size() > kMostSavings;
        for (std::size_t i = is_split ? 0 : sums.size(); i-- > 0;) {
            sums.push_back(std::min(most, sums[i] + one->size));
        }
        std::ranges::sort(sums);
        sums.erase(std::ranges::unique(sums).begin(), sums.end());
    }
    Savings savings{{0, 0}};
    if (is_split) {
        // Any share of it, but for less than a piece.
        for (std::int64_t share = 0; share < kBetween; ++share) {
            const Cost cost = kCopies * std::max(piece, share_of(most, share, kBetween));
            savings.push_back({cost, share_of(most, share + 1, kBetween)});
        }
    } else {
        for (const Bytes sum : sums | std::views::drop(1)) savings.push_back({kCopies * sum, sum});
    }
    return savings;
}

// The same where each adds so much to the cost to be there to wait; kLimit: it is not.
Savings savings_of(const std::vector<Waiting>& waiting, const std::vector<Cost>& adds, Bytes most) {
    std::vector<std::pair<Cost, const Waiting*>> all;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (adds[i] < kLimit) all.emplace_back(adds[i], &waiting[i]);
    }
    std::ranges::sort(all);
    Savings savings{{0, 0}};
    std::vector<const Waiting*> there;
    for (std::size_t i = 0; i < all.size(); ++i) {
        there.push_back(all[i].second);
        if (i + 1 < all.size() && all[i + 1].first == all[i].first) continue;
        for (const Saving& one : savings_of(there, most)) {
            if (one.cost < kLimit - all[i].first) savings.push_back({all[i].first + one.cost, one.bytes});
        }
    }
    std::ranges::sort(savings, {}, &Saving::cost);
    Bytes bytes = 0;
    for (Saving& one : savings) bytes = one.bytes = std::max(bytes, one.bytes);
    return savings;
}

// Each tensor is an arc from who makes it to its readers, each operator a node.
class Cuts {
  public:
    Cuts(const Wires& wires, const std::vector<Index>& path, Budget& budget)
        : wires_(wires),
          path_(path),
          budget_(budget),
          made_(wires.operations.size()),
          arc_(wires.tensors.size()),
          used_at_(wires.tensors.size()),
          has_run_(wires.operations.size()) {
        for (Index tensor = 0; tensor < count_of(wires.tensors); ++tensor) {
            const Index maker = wires.tensors[at(tensor)].maker;
            if (maker != kNobody) made_[at(maker)].push_back(tensor);
        }
        for (Index place = 0; place < count_of(path_); ++place) {
            const Index operation = path_[at(place)];
            for (const Index tensor : made_[at(operation)]) used_at_[at(tensor)].push_back(place);
            for (const Index tensor : wires_.operations[at(operation)].reads)
                used_at_[at(tensor)].push_back(place);
        }
        find_what_is_made_of();
    }

    std::vector<PathCut> run() {
        std::vector<Pair> waiting;  // places, as long as what runs again for them may be the same
        Index until = kNobody;
        for (Index place = 0; place < count_of(path_); ++place) {
            const Index operation = path_[at(place)];
            Pair pair;
            pair.running = moment(place, wires_.operations[at(operation)].reads);
            pair.running.steps = with_waiting(pair.running.steps);
            mark_run(operation);
            pair.after.steps.front().on_ways = {place, place};
            if (place + 1 < count_of(path_) && !budget_.spent()) {
                pair.after = moment(place + 1, handed(place));
                set_ways(place, pair.after.steps);
                pair.after.steps = with_waiting(pair.after.steps, place);
            }
            if (until <= place) close(waiting);
            until = std::max({until, pair.running.until, pair.after.until});
            waiting.push_back(std::move(pair));
        }
        close(waiting);
        return std::move(cuts_);
    }

  private:
    struct Pair {
        Moment running, after;
    };

    // It, and all that it needs.
    void mark_run(Index last) {
        std::vector<Index> waiting{last};
        while (!waiting.empty()) {
            const Index operation = waiting.back();
            waiting.pop_back();
            if (has_run_[at(operation)]) continue;
            has_run_[at(operation)] = true;
            for (const Index tensor : wires_.operations[at(operation)].reads) {
                const Index maker = wires_.tensors[at(tensor)].maker;
                if (maker != kNobody) waiting.push_back(maker);
            }
        }
    }

    // What the operator at this place makes for the next one; at -1, what is there from the start.
    std::vector<Index> handed(Index place) const {
        const Index maker = place < 0 ? kNobody : path_[at(place)];
        std::vector<Index> tensors;
        for (const Index tensor : wires_.operations[at(path_[at(place + 1)])].reads) {
            if (wires_.tensors[at(tensor)].maker == maker) tensors.push_back(tensor);
        }
        return tensors;
    }

    // Beside these tensors, where those of the path from this place on are still to run, or run.
    Moment moment(Index from, const std::vector<Index>& counted) {
        Moment moment;
        if (budget_.spent()) return moment;
        budget_.count((count_of(wires_.operations) + count_of(wires_.tensors)) / order::kCutSteps);
        leave_out(from, counted);
        find_what_may_be_there();
        const std::vector<Index> makers = needed_makers(from, moment.until);
        find_distances(makers);
        costs_.assign(1, 0);
        has_parts_ = false;
        if (!needs_some()) return moment;
        for (Index operation = 0; operation < count_of(wires_.operations); ++operation) {
            if (distance_[at(operation)] >= kLimit) continue;
            const Wires::Operation& own = wires_.operations[at(operation)];
            costs_.push_back(distance_[at(operation)]);
            has_parts_ = has_parts_ || own.part_again < own.again;
        }
        std::ranges::sort(costs_);
        costs_.erase(std::ranges::unique(costs_).begin(), costs_.end());
        const Bytes first = least_bytes(0);
        moment.steps.front().bytes = first;
        if (costs_.size() > 1) add_between(costs_, first, least_bytes(costs_.back()), moment.steps);
        if (has_parts_) moment.steps = in_parts(moment.steps, makers);
        return moment;
    }

    // The steps after the first of these costs, where it needs so much, up to the last.
    void add_between(std::span<const Cost> costs, Bytes first, Bytes last, Steps& steps) {
        if (first <= last) return;
        if (costs.size() == 2) {
            steps.push_back({costs.back(), last, {}, {}, {}});
            return;
        }
        const std::size_t middle = costs.size() / 2;
        const Bytes bytes = least_bytes(costs[middle]);
        add_between(costs.first(middle + 1), first, bytes, steps);
        add_between(costs.subspan(middle), bytes, last, steps);
    }

    // Each part may be cut off elsewhere, so that all of them need and add what is between some steps. The
    // first part adds something.
    Steps in_parts(const Steps& steps, const std::vector<Index>& makers) const {
        if (steps.size() < 2) return steps;
        Cost first = kLimit;
        for (const Index maker : makers) first = std::min(first, wires_.operations[at(maker)].part_again);
        Steps hull;
        for (const Step& step : steps) {
            while (hull.size() > 1 && !is_below(hull[hull.size() - 2], hull.back(), step)) hull.pop_back();
            hull.push_back(step);
        }
        Steps all{steps.front()};
        for (std::size_t i = 0; i + 1 < hull.size(); ++i) {
            const Cost cost = hull[i + 1].cost - hull[i].cost;
            const Bytes saved = hull[i].bytes - hull[i + 1].bytes;
            for (Cost share = 0; share < kBetween; ++share) {
                // Until the next one begins.
                const Cost begin = hull[i].cost + share_of(cost, share, kBetween);
                const Cost end = hull[i].cost + share_of(cost, share + 1, kBetween);
                const Bytes bytes = hull[i].bytes - share_of(saved, share + 1, kBetween);
                if (end > first) add(all, {std::max(begin, first), bytes, {}, {}, {}});
            }
        }
        add(all, {std::max(first, hull.back().cost), hull.back().bytes, {}, {}, {}});
        return all;
    }

    static void add(Steps& steps, const Step& step) {
        if (step.bytes >= steps.back().bytes) return;
        if (step.cost > steps.back().cost)
            steps.push_back(step);
        else
            steps.back().bytes = step.bytes;
    }

    // Whether the step in the middle is below the line from the one before to the one after.
    static bool is_below(const Step& before, const Step& middle, const Step& after) {
        return WideBytes{before.bytes - middle.bytes} * (after.cost - before.cost) >
               WideBytes{before.bytes - after.bytes} * (middle.cost - before.cost);
    }

    void leave_out(Index from, const std::vector<Index>& counted) {
        is_left_out_.assign(wires_.tensors.size(), false);
        is_to_run_.assign(wires_.operations.size(), false);
        for (const Index tensor : counted) is_left_out_[at(tensor)] = true;
        for (Index place = from; place < count_of(path_); ++place) {
            is_to_run_[at(path_[at(place)])] = true;
            for (const Index tensor : made_[at(path_[at(place)])]) is_left_out_[at(tensor)] = true;
        }
    }

    // By tensor, the last place of the path that it is made of.
    void find_what_is_made_of() {
        made_of_.assign(wires_.tensors.size(), kNobody);
        std::vector<Index> own(wires_.operations.size(), kNobody);
        for (Index place = 0; place < count_of(path_); ++place) own[at(path_[at(place)])] = place;
        for (bool changed = true; changed;) {
            changed = false;
            for (Index operation = 0; operation < count_of(wires_.operations); ++operation) {
                Index& last = own[at(operation)];
                for (const Index tensor : wires_.operations[at(operation)].reads)
                    last = std::max(last, made_of_[at(tensor)]);
                for (const Index tensor : made_[at(operation)]) {
                    changed = changed || made_of_[at(tensor)] != last;
                    made_of_[at(tensor)] = last;
                }
            }
        }
    }

    // What it adds that these of the path run again, if it is some; kLimit: one of them cannot.
    Cost run_again(Index first, Index last) const {
        Cost cost = 0;
        for (Index place = first; place <= last; ++place) {
            const Cost again = wires_.operations[at(path_[at(place)])].again;
            cost = again < kLimit - cost ? cost + again : kLimit;
        }
        return cost;
    }

    // By tensor, the last place that needs it, also where others run again for that.
    std::vector<Index> needed_by_ways() const {
        std::vector<Index> until = needed_until_;
        for (bool changed = true; changed;) {
            changed = false;
            for (Index operation = 0; operation < count_of(wires_.operations); ++operation) {
                if (distance_[at(operation)] >= kLimit) continue;
                Index last = kNobody;
                for (const Index tensor : made_[at(operation)]) last = std::max(last, until[at(tensor)]);
                for (const Index tensor : wires_.operations[at(operation)].reads) {
                    if (until[at(tensor)] >= last) continue;
                    until[at(tensor)] = last;
                    changed = true;
                }
            }
        }
        return until;
    }

    // What is there from the start, or made of what is, by others than those left out.
    void find_what_may_be_there() {
        std::vector<bool> may_have_run = has_run_;
        may_be_there_.assign(wires_.tensors.size(), false);
        for (bool changed = true; changed;) {
            changed = false;
            for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
                const Index maker = wires_.tensors[at(tensor)].maker;
                const bool is_new = !is_left_out_[at(tensor)] && !may_be_there_[at(tensor)];
                if (is_new && (maker == kNobody || may_have_run[at(maker)]))
                    may_be_there_[at(tensor)] = changed = true;
            }
            for (Index operation = 0; operation < count_of(wires_.operations); ++operation) {
                if (may_have_run[at(operation)]) continue;
                const auto is_there = [&](Index tensor) { return may_be_there_[at(tensor)]; };
                may_have_run[at(operation)] =
                    std::ranges::any_of(wires_.operations[at(operation)].reads, is_there);
            }
        }
    }

    // Who has run and makes what those from this place on need, or is left in the end; what that is; and the
    // last place that needs some of it.
    std::vector<Index> needed_makers(Index from, Index& until) {
        std::vector<Index> makers;
        needed_until_.assign(wires_.tensors.size(), kNobody);
        std::vector<bool> is_known(wires_.operations.size());
        std::vector<Index> waiting;
        const auto enter = [&](Index tensor, Index reader) {
            const auto& [size, maker, to_end, piece] = wires_.tensors[at(tensor)];
            if (is_left_out_[at(tensor)]) return;
            needed_until_[at(tensor)] = std::max(needed_until_[at(tensor)], reader);
            const bool has_run = maker != kNobody && has_run_[at(maker)];
            if (has_run || (piece > 0 && may_be_there_[at(tensor)])) until = std::max(until, reader);
            if (maker == kNobody || is_known[at(maker)]) return;
            is_known[at(maker)] = true;
            (has_run_[at(maker)] ? makers : waiting).push_back(maker);
        };
        const auto go_on = [&](Index reader) {
            while (!waiting.empty()) {
                const Index operation = waiting.back();
                waiting.pop_back();
                for (const Index tensor : wires_.operations[at(operation)].reads) enter(tensor, reader);
            }
        };
        // What is not known yet when the last ones are looked at is of no interest to those before them.
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            if (wires_.tensors[at(tensor)].to_end) enter(tensor, count_of(path_));
        }
        go_on(count_of(path_));
        for (Index place = count_of(path_) - 1; place >= from; --place) {
            waiting.push_back(path_[at(place)]);
            go_on(place);
        }
        return makers;
    }

    // Whether something is needed that is there or was made.
    bool needs_some() const {
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            const Index maker = wires_.tensors[at(tensor)].maker;
            if (needed_until_[at(tensor)] != kNobody && (maker == kNobody || has_run_[at(maker)]))
                return true;
        }
        return false;
    }

    // By operator, what adds to the cost at least where it runs again; kLimit: that is of no use.
    void find_distances(const std::vector<Index>& makers) {
        distance_.assign(wires_.operations.size(), kLimit);
        using Entry = std::pair<Cost, Index>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting;
        const auto enter = [&](Cost cost, Index operation) {
            const Cost again = wires_.operations[at(operation)].again;
            if (again >= kLimit - cost || cost + again >= distance_[at(operation)]) return;
            distance_[at(operation)] = cost + again;
            waiting.emplace(cost + again, operation);
        };
        for (const Index maker : makers) enter(0, maker);
        while (!waiting.empty()) {
            const auto [cost, operation] = waiting.top();
            waiting.pop();
            if (cost > distance_[at(operation)]) continue;
            for (const Index tensor : wires_.operations[at(operation)].reads) {
                const Index maker = wires_.tensors[at(tensor)].maker;
                if (maker != kNobody && !is_left_out_[at(tensor)]) enter(cost, maker);
            }
        }
    }

    // If no operator runs again that adds more than this.
    Bytes least_bytes(Cost cost) {
        const Index operations = count_of(wires_.operations);
        const auto node = [](Index index) { return index + 2; };
        flow_.reset(operations + count_of(wires_.tensors));
        for (Index operation = 0; operation < operations; ++operation) {
            if (has_run_[at(operation)] && distance_[at(operation)] > cost)
                flow_.add_arc(MaxFlow::kSource, node(operation), MaxFlow::kEndless);
            if (is_to_run_[at(operation)]) flow_.add_arc(node(operation), MaxFlow::kSink, MaxFlow::kEndless);
            for (const Index tensor : wires_.operations[at(operation)].reads) {
                if (is_left_out_[at(tensor)]) continue;
                flow_.add_arc(node(operations + tensor), node(operation), MaxFlow::kEndless);
            }
        }
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            const Wires::Tensor& own = wires_.tensors[at(tensor)];
            if (is_left_out_[at(tensor)]) continue;
            const Index maker = own.maker == kNobody ? MaxFlow::kSource : node(own.maker);
            arc_[at(tensor)] = flow_.arcs().size();
            flow_.add_arc(maker, node(operations + tensor), own.size);
            if (own.to_end) flow_.add_arc(node(operations + tensor), MaxFlow::kSink, MaxFlow::kEndless);
        }
        const std::int64_t before = flow_.steps();
        const Bytes least = flow_.push(MaxFlow::kEndless, &budget_);
        budget_.count((operations + count_of(wires_.tensors) + flow_.steps() - before) / order::kCutSteps);
        return least;
    }

    // Those before this place that make what is on a way, by steps: in a range each.
    void set_ways(Index place, Steps& known) {
        const std::vector<Cost> from = costs_before(place);
        if (has_parts_) {
            for (Step& step : known) step.on_ways = range(from, kLimit - 1);
            return;
        }
        Steps steps;
        for (const Cost cost : costs_) {
            const Bytes bytes = step_at(known, cost).bytes;
            const auto ways = range(from, cost);
            if (steps.size() < 2 || bytes < steps.back().bytes) steps.push_back({cost, bytes, ways, {}, {}});
            steps.back().on_ways = ways;
        }
        for (std::size_t i = 0; count_of(path_) <= kMostPlaces && i < steps.size(); ++i) {
            set_beside_read(steps[i], i + 1 < steps.size() ? steps[i + 1].cost - 1 : kLimit - 1);
        }
        known = std::move(steps);
    }

    void set_beside_read(Step& step, Cost most) {
        const auto [begin, end] = step.on_ways;
        step.beside_read.assign(at(end) + 1, step.bytes);
        if (begin == end || step.bytes == 0) return;
        // What does not flow through it, it is not there for.
        std::vector<Index> through;
        least_bytes(most);
        for (Index read = begin; read < end; ++read) {
            const auto flows = [&](Index tensor) {
                return !is_left_out_[at(tensor)] && flow_.arcs()[arc_[at(tensor)] + 1].room > 0;
            };
            if (std::ranges::any_of(handed(read), flows)) through.push_back(read);
        }
        for (const Index read : through) {
            step.beside_read[at(read + 1)] = beside_read(read, most);
        }
    }

    // The same cut beside what the operator at that place hands on as well; at -1, what is there from the
    // start.
    Bytes beside_read(Index place, Cost cost) {
        const std::vector<bool> before = is_left_out_;
        for (const Index tensor : handed(place)) is_left_out_[at(tensor)] = true;
        const Bytes least = least_bytes(cost);
        is_left_out_ = before;
        return least;
    }

    // The same steps if some of what is needed may wait elsewhere; of the moment after this place, if it is
    // one.
    Steps with_waiting(const Steps& steps, Index place = kNobody) const {
        const std::vector<Waiting> waiting =
            steps.front().bytes > 0 ? may_wait(place) : std::vector<Waiting>();
        if (waiting.empty()) return steps;
        std::vector<Cost> adds;
        std::vector<Savings> savings;  // by step
        const auto let_wait = [&](const auto& adds_of) {
            std::vector<Cost> now;
            for (const Waiting& one : waiting) now.push_back(adds_of(one));
            if (now == adds) return false;
            adds = std::move(now);
            savings.clear();
            for (const Step& step : steps) {
                now.clear();
                for (std::size_t i = 0; i < waiting.size(); ++i) {
                    const Cost more = std::max<Cost>(waiting[i].on_way - step.cost, 0);
                    now.push_back(more < kLimit - adds[i] ? adds[i] + more : kLimit);
                }
                savings.push_back(savings_of(waiting, now, step.bytes));
            }
            return true;
        };
        let_wait([](const Waiting&) { return Cost{0}; });
        std::vector<Cost> costs;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            for (const Saving& saving : savings[i]) {
                if (saving.cost < kLimit - steps[i].cost) costs.push_back(steps[i].cost + saving.cost);
            }
        }
        costs = few_of(std::move(costs), kMostSteps);
        Steps all;
        for (std::size_t i = 0; i < costs.size(); ++i) {
            const auto on_ways = step_at(steps, most_of(costs, i)).on_ways;
            const Bytes bytes = least_of(steps, savings, most_of(costs, i), {});
            all.push_back({costs[i], bytes, on_ways, {}, {}});
        }
        const bool is_short = place != kNobody && count_of(path_) <= kMostPlaces;
        for (Index last = place + 1; is_short && last < count_of(path_); ++last) {
            const bool is_new =
                let_wait([&](const Waiting& one) { return one.next_use > last ? Cost{0} : kLimit; });
            for (std::size_t i = 0; i < costs.size(); ++i) {
                std::vector<Bytes>& known = all[i].beside_next;
                known.push_back(is_new || known.empty() ? least_of(steps, savings, most_of(costs, i), {})
                                                        : known.back());
            }
        }
        for (Index first = 0; is_short && first <= place; ++first) {
            let_wait([&](const Waiting& one) {
                return one.last_use < first ? run_again(first, one.made_of) : kLimit;
            });
            for (std::size_t i = 0; i < costs.size(); ++i) {
                all[i].beside_read.push_back(least_of(steps, savings, most_of(costs, i), at(first)));
            }
        }
        for (Step& step : all) {
            const auto is_same = [&](Bytes bytes) { return bytes == step.bytes; };
            if (std::ranges::all_of(step.beside_next, is_same)) step.beside_next.clear();
            const std::size_t on_ways = at(step.on_ways.second) + 1;
            while (step.beside_read.size() > on_ways && is_same(step.beside_read.back()))
                step.beside_read.pop_back();
        }
        all.erase(
            std::unique(all.begin(), all.end(), [](const Step& a, const Step& b) { return a.is_as(b); }),
            all.end());
        return all;
    }

    // For no more than this cost; beside one of what may be read as well.
    static Bytes least_of(const Steps& steps, const std::vector<Savings>& savings, Cost cost,
                          std::optional<std::size_t> read) {
        Bytes least = kLimit;
        for (std::size_t i = 0; i < steps.size() && steps[i].cost <= cost; ++i) {
            const std::vector<Bytes>& beside_read = steps[i].beside_read;
            const bool is_known = read && *read < beside_read.size();
            const Bytes bytes = is_known ? beside_read[*read] : steps[i].bytes;
            least = std::min(least, bytes - saved_for(savings[i], cost - steps[i].cost));
        }
        return std::max<Bytes>(least, 0);
    }

    // Of what the last moment needs, which is the one after this place, if it is one.
    std::vector<Waiting> may_wait(Index place) const {
        std::vector<Waiting> waiting;
        const std::vector<Cost> on_ways = costs_on_ways();
        const std::vector<Index> until = needed_by_ways();
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            const Wires::Tensor& own = wires_.tensors[at(tensor)];
            if (own.piece == 0 || !may_be_there_[at(tensor)] || on_ways[at(tensor)] >= kLimit) continue;
            const std::vector<Index>& uses = used_at_[at(tensor)];
            const auto next = std::ranges::upper_bound(uses, place);
            Waiting one{own.size, own.piece,        on_ways[at(tensor)], made_of_[at(tensor)],
                        kNobody,  until[at(tensor)]};
            if (next != uses.begin()) one.last_use = *std::prev(next);
            if (next != uses.end()) one.next_use = std::min(one.next_use, *next);
            waiting.push_back(one);
        }
        return waiting;
    }

    // By tensor, what runs again adds to the cost at least if it is on a way to what the last moment needs.
    std::vector<Cost> costs_on_ways() const {
        std::vector<Cost> of_tensor(wires_.tensors.size(), kLimit);
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            if (needed_until_[at(tensor)] != kNobody) of_tensor[at(tensor)] = 0;
        }
        for (Index operation = 0; operation < count_of(wires_.operations); ++operation) {
            if (!has_run_[at(operation)]) continue;
            for (const Index tensor : wires_.operations[at(operation)].reads) {
                if (is_left_out_[at(tensor)]) continue;
                of_tensor[at(tensor)] = std::min(of_tensor[at(tensor)], distance_[at(operation)]);
            }
        }
        return of_tensor;
    }

    // The same by place from -1 on, of what is made there.
    std::vector<Cost> costs_before(Index place) const {
        const std::vector<Cost> of_tensor = costs_on_ways();
        std::vector<Cost> costs(at(place) + 1, kLimit);
        for (Index before = 0; before < place; ++before) {
            for (const Index tensor : made_[at(path_[at(before)])]) {
                costs[at(before) + 1] = std::min(costs[at(before) + 1], of_tensor[at(tensor)]);
            }
        }
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            if (wires_.tensors[at(tensor)].maker == kNobody)
                costs[0] = std::min(costs[0], of_tensor[at(tensor)]);
        }
        return costs;
    }

    // Where what runs again adds no more than this.
    static std::pair<Index, Index> range(const std::vector<Cost>& costs, Cost most) {
        const Index count = count_of(costs);
        Index begin = 0, end = count;
        while (end > 0 && costs[at(end) - 1] > most) --end;
        if (end == 0) return {count - 1, count - 1};
        while (costs[at(begin)] > most) ++begin;
        return {begin - 1, end - 1};
    }

    // The cuts of these places, for all of which the same may run again.
    void close(std::vector<Pair>& places) {
        std::vector<Cost> costs;
        for (const Pair& pair : places) {
            for (const Moment* moment : {&pair.running, &pair.after}) {
                for (const Step& step : moment->steps) costs.push_back(step.cost);
            }
        }
        const std::vector<Cost> levels = few_of(std::move(costs), kMostLevels);
        for (const Pair& pair : places) {
            PathCut cut;
            cut.continues = &pair != &places.front();
            for (std::size_t i = 0; i < levels.size(); ++i) {
                const Cost most = most_of(levels, i);
                const Step& after = step_at(pair.after.steps, most);
                cut.levels.push_back({levels[i], step_at(pair.running.steps, most).bytes, after.bytes,
                                      after.on_ways.first, after.on_ways.second, after.beside_read,
                                      after.beside_next});
            }
            cuts_.push_back(std::move(cut));
        }
        places.clear();
    }

    const Wires& wires_;
    const std::vector<Index>& path_;
    Budget& budget_;
    std::vector<std::vector<Index>> made_;  // by operator
    std::vector<std::size_t> arc_;          // of the last cut, by tensor that is not left out
    std::vector<std::vector<Index>>
        used_at_;                 // by tensor, places of the path that make or read it, ascending
    std::vector<Index> made_of_;  // by tensor
    std::vector<bool> has_run_;
    // Of the last moment, by tensor and by operator.
    std::vector<bool> is_left_out_;
    std::vector<bool> may_be_there_;
    std::vector<Index> needed_until_;  // the last place that needs it; kNobody: none
    std::vector<bool> is_to_run_;
    std::vector<Cost> distance_;
    std::vector<Cost> costs_;  // these, ascending, from none on
    bool has_parts_ = false;
    MaxFlow flow_;
    std::vector<PathCut> cuts_;
};

}  // namespace

std::vector<PathCut> cuts_beside(const Wires& wires, const std::vector<Index>& path, Budget& budget) {
    return Cuts(wires, path, budget).run();
}

}  // namespace memstow::stripes
