#include "stripes/path_cuts.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
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
constexpr std::size_t kMostLevels = 24;
// Of longer paths, nothing is known beside what is read.
constexpr Index kMostPlaces = 256;

// The least bytes if other runs add less to the cost than in the next step.
struct Step {
    Cost cost = 0;
    Bytes bytes = 0;
    std::pair<Index, Index> on_ways;
    std::vector<Bytes> beside_read;
};
using Steps = std::vector<Step>;  // ascending in cost, from none on; descending in bytes

const Step& step_at(const Steps& steps, Cost cost) {
    return *std::prev(std::ranges::upper_bound(steps, cost, {}, &Step::cost));
}

// What a moment needs beside the path.
struct Moment {
    Steps steps = {Step{}};
    Index until = kNobody;  // the last place that needs something of what has run
};

// Each tensor is an arc from who makes it to its readers, each operator a node.
class Cuts {
  public:
    Cuts(const Wires& wires, const std::vector<Index>& path, Budget& budget)
        : wires_(wires),
          path_(path),
          budget_(budget),
          made_(wires.operations.size()),
          arc_(wires.tensors.size()),
          has_run_(wires.operations.size()) {
        for (Index tensor = 0; tensor < count_of(wires.tensors); ++tensor) {
            const Index maker = wires.tensors[at(tensor)].maker;
            if (maker != kNobody) made_[at(maker)].push_back(tensor);
        }
    }

    std::vector<PathCut> run() {
        std::vector<Pair> waiting;  // places, as long as what runs again for them may be the same
        Index until = kNobody;
        for (Index place = 0; place < count_of(path_); ++place) {
            const Index operation = path_[at(place)];
            Pair pair;
            pair.running = moment(place, wires_.operations[at(operation)].reads);
            mark_run(operation);
            pair.after.steps.front().on_ways = {place, place};
            if (place + 1 < count_of(path_) && !budget_.spent()) {
                pair.after = moment(place + 1, handed(place));
                set_ways(place, pair.after.steps);
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
            steps.push_back({costs.back(), last, {}, {}});
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
                const Cost begin = hull[i].cost + of(cost, share, kBetween);
                const Cost end = hull[i].cost + of(cost, share + 1, kBetween);
                const Bytes bytes = hull[i].bytes - of(saved, share + 1, kBetween);
                if (end > first) add(all, {std::max(begin, first), bytes, {}, {}});
            }
        }
        add(all, {std::max(first, hull.back().cost), hull.back().bytes, {}, {}});
        return all;
    }

    static void add(Steps& steps, const Step& step) {
        if (step.bytes >= steps.back().bytes) return;
        if (step.cost > steps.back().cost)
            steps.push_back(step);
        else
            steps.back().bytes = step.bytes;
    }

    static std::int64_t of(std::int64_t all, std::int64_t share, std::int64_t shares) {
        return static_cast<std::int64_t>(WideBytes{all} * share / shares);
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

    // Who has run and makes what those from this place on need, or is left in the end; what that is; and the
    // last place that needs some of it.
    std::vector<Index> needed_makers(Index from, Index& until) {
        std::vector<Index> makers;
        is_needed_.assign(wires_.tensors.size(), false);
        std::vector<bool> is_known(wires_.operations.size());
        std::vector<Index> waiting;
        const auto enter = [&](Index tensor, Index reader) {
            const Index maker = wires_.tensors[at(tensor)].maker;
            if (is_left_out_[at(tensor)]) return;
            is_needed_[at(tensor)] = true;
            if (maker == kNobody) return;
            if (has_run_[at(maker)]) until = std::max(until, reader);
            if (is_known[at(maker)]) return;
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
            if (is_needed_[at(tensor)] && (maker == kNobody || has_run_[at(maker)])) return true;
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
        const std::vector<Cost> from = costs_on_ways(place);
        if (has_parts_) {
            for (Step& step : known) step.on_ways = range(from, kLimit - 1);
            return;
        }
        Steps steps;
        for (const Cost cost : costs_) {
            const Bytes bytes = step_at(known, cost).bytes;
            const auto ways = range(from, cost);
            if (steps.size() < 2 || bytes < steps.back().bytes) steps.push_back({cost, bytes, ways, {}});
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

    // By place from -1 on, what runs again adds to the cost at least if what is made there is on a way to
    // what is needed after this place.
    std::vector<Cost> costs_on_ways(Index place) const {
        std::vector<Cost> of_tensor(wires_.tensors.size(), kLimit);
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            if (is_needed_[at(tensor)]) of_tensor[at(tensor)] = 0;
        }
        for (Index operation = 0; operation < count_of(wires_.operations); ++operation) {
            if (!has_run_[at(operation)]) continue;
            for (const Index tensor : wires_.operations[at(operation)].reads) {
                if (is_left_out_[at(tensor)]) continue;
                of_tensor[at(tensor)] = std::min(of_tensor[at(tensor)], distance_[at(operation)]);
            }
        }
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
        std::ranges::sort(costs);
        costs.erase(std::ranges::unique(costs).begin(), costs.end());
        // Of more, some become one; none runs again in the first.
        const std::size_t each = 1 + costs.size() / kMostLevels;
        std::vector<Cost> levels;
        for (std::size_t i = 0; i < costs.size(); ++i) {
            if (i == 0 || (i - 1) % each == 0) levels.push_back(costs[i]);
        }
        for (const Pair& pair : places) {
            PathCut cut;
            cut.continues = &pair != &places.front();
            for (std::size_t i = 0; i < levels.size(); ++i) {
                const Cost most = i + 1 < levels.size() ? levels[i + 1] - 1 : kLimit;
                const Step& after = step_at(pair.after.steps, most);
                cut.levels.push_back({levels[i], step_at(pair.running.steps, most).bytes, after.bytes,
                                      after.on_ways.first, after.on_ways.second, after.beside_read});
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
    std::vector<bool> has_run_;
    // Of the last moment, by tensor and by operator.
    std::vector<bool> is_left_out_;
    std::vector<bool> is_needed_;
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
