#include "stripes/path_cuts.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <ranges>
#include <span>
#include <tuple>
#include <utility>

#include "core/bounds.hpp"
#include "order/cut.hpp"
#include "order/max_flow.hpp"
#include "stripes/cut_steps.hpp"

namespace memstow::stripes {
namespace {

using order::MaxFlow;

// Of longer paths than short ones, there are fewer levels.
constexpr std::size_t kMostLevels = 16, kFewLevels = 6;
constexpr std::ptrdiff_t kMostSizes = 16;  // that are told apart where nothing as large is there
constexpr std::size_t kFewRead = 2;        // steps, where each has cuts beside what is read
constexpr Bytes kMostScale = Bytes{1} << 20;
constexpr int kLinesBetween = 2;  // how often there is a line between two others
// Of longer paths, nothing is known beside what is read.
constexpr Index kMostPlaces = 256;

// What a moment needs beside the path.
struct Moment {
    Steps steps = {Step{}};
    std::vector<Line> lines;
    Index until = kNobody;  // the last place that needs something of what has run, or may wait
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
          used_at_(wires.tensors.size()),
          has_run_(wires.operations.size()) {
        for (Index tensor = 0; tensor < count_of(wires.tensors); ++tensor) {
            const Index maker = wires.tensors[at(tensor)].maker;
            if (maker != kNobody) made_[at(maker)].push_back(tensor);
            some_wait_ = some_wait_ || wires.tensors[at(tensor)].piece > 0;
            sizes_.push_back(wires.tensors[at(tensor)].size);
        }
        std::ranges::sort(sizes_, std::greater<>());
        sizes_.erase(std::ranges::unique(sizes_).begin(), sizes_.end());
        for (Index place = 0; place < count_of(path_); ++place) {
            const Index operation = path_[at(place)];
            for (const Index tensor : made_[at(operation)]) used_at_[at(tensor)].push_back(place);
            for (const Index tensor : wires_.operations[at(operation)].reads)
                used_at_[at(tensor)].push_back(place);
        }
        find_what_is_made_of();
        for (const Wires::Operation& operation : wires.operations)
            again_.push_back({operation.again, operation.part_again});
        add_up_again();
    }

    std::vector<PathCut> run() {
        std::vector<Pair> waiting;  // places, as long as what runs again for them may be the same
        Index until = kNobody;
        for (Index place = 0; place < count_of(path_); ++place) {
            const Index operation = path_[at(place)];
            Pair pair;
            pair.running = moment(place, wires_.operations[at(operation)].reads);
            pair.running.steps = above(pair.running.lines, with_waiting(pair.running.steps));
            mark_run(operation);
            pair.after.steps.front().on_ways = {place, place};
            if (place + 1 < count_of(path_) && !budget_.spent()) {
                pair.after = moment(place + 1, handed(place));
                set_ways(place, pair.after.steps);
                pair.after.steps = above(pair.after.lines, with_waiting(pair.after.steps, place));
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
    struct Again {
        Cost of_all, of_part;
    };

    bool is_short() const { return count_of(path_) <= wires_.short_path; }

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
        const std::size_t earlier = later_;
        for (; later_ < wires_.later.size() && wires_.later[later_].place <= from; ++later_) {
            const Wires::Later& then = wires_.later[later_];
            again_[at(then.operation)] = {then.again, then.part_again};
        }
        if (later_ > earlier) add_up_again();
        leave_out(from, counted);
        is_flowing_.assign(wires_.tensors.size(), false);
        if (some_wait_) find_what_may_be_there();
        const std::vector<Index> makers = needed_makers(from, moment.until);
        find_distances(makers);
        costs_.assign(1, 0);
        has_parts_ = false;
        if (!needs_some()) return moment;
        for (Index operation = 0; operation < count_of(wires_.operations); ++operation) {
            if (distance_[at(operation)] >= kLimit) continue;
            const Again& own = again_[at(operation)];
            costs_.push_back(distance_[at(operation)]);
            has_parts_ = has_parts_ || own.of_part < own.of_all;
        }
        std::ranges::sort(costs_);
        costs_.erase(std::ranges::unique(costs_).begin(), costs_.end());
        moment.steps = steps_beside(costs_);
        const Bytes first = moment.steps.front().bytes, last = moment.steps.back().bytes;
        if (last < first && is_short()) moment.lines = lines_below(first);
        if (has_parts_) {
            Cost first_part = kLimit;
            for (const Index maker : makers) first_part = std::min(first_part, again_[at(maker)].of_part);
            moment.steps = in_parts(moment.steps, first_part);
        }
        return moment;
    }

    static Cost add_costs(Cost a, Cost b) { return b < kLimit - a ? a + b : kLimit; }

    // What is held at a moment, and what others add to the cost that run again or are copied.
    struct Corner {
        Cost cost;
        Bytes bytes;
    };

    // Lines that all is above: each ends of the front of held bytes and cost, and some between.
    std::vector<Line> lines_below(Bytes first) {
        Bytes all = 1;
        for (const Wires::Tensor& tensor : wires_.tensors) all += tensor.size;
        Bytes scale = 1;
        while (scale < kMostScale && all < kLimit / 4 / scale) scale *= 2;
        std::vector<Line> lines;
        const Corner last = priced(1, scale, lines);
        std::vector<std::tuple<Corner, Corner, int>> waiting{{{0, first}, last, kLinesBetween}};
        while (!waiting.empty() && !budget_.spent()) {
            const auto [left, right, depth] = waiting.back();
            waiting.pop_back();
            if (depth == 0 || right.cost <= left.cost || right.bytes >= left.bytes) continue;
            const auto price =
                static_cast<Cost>(WideBytes{left.bytes - right.bytes} * scale / (right.cost - left.cost));
            if (price <= 1) continue;
            const Corner middle = priced(price, scale, lines);
            if (middle.cost <= left.cost || middle.cost >= right.cost) continue;
            waiting.emplace_back(left, middle, depth - 1);
            waiting.emplace_back(middle, right, depth - 1);
        }
        return lines;
    }

    // The one with the least bytes, times the scale, and cost, times the price; adds its line.
    Corner priced(Cost price, Bytes scale, std::vector<Line>& lines) {
        const auto cost_of = [&](Cost cost) { return cost < kLimit / 4 / price ? cost * price : kLimit / 4; };
        const auto held = [&](Index tensor) {
            const Bytes size = wires_.tensors[at(tensor)].size;
            return wires_.tensors[at(tensor)].piece > 0 ? std::min(size * scale, cost_of(kCopies * size))
                                                        : size * scale;
        };
        const Bytes least = least_cut(
            [&](Index operation) {
                const bool may = distance_[at(operation)] < kLimit;
                return may ? cost_of(again_[at(operation)].of_all) : MaxFlow::kEndless;
            },
            held);
        lines.push_back({least, price, scale});
        Corner corner{0, 0};
        const auto is_before = [&](Index node) { return flow_.near_source(node + 2); };
        for (Index operation = 0; operation < count_of(wires_.operations); ++operation) {
            const bool may = has_run_[at(operation)] && distance_[at(operation)] < kLimit;
            if (may && !is_before(operation))
                corner.cost = add_costs(corner.cost, again_[at(operation)].of_all);
        }
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            const Wires::Tensor& own = wires_.tensors[at(tensor)];
            if (is_left_out_[at(tensor)] || is_before(count_of(wires_.operations) + tensor)) continue;
            if (own.maker != kNobody && !is_before(own.maker)) continue;
            if (held(tensor) < own.size * scale)
                corner.cost = add_costs(corner.cost, kCopies * own.size);
            else
                corner.bytes += own.size;
        }
        return corner;
    }

    // What is needed if operators run again that add no more than these costs, and nothing of some tensors is
    // there.
    Steps steps_beside(const std::vector<Cost>& costs, const std::vector<Index>& gone = {}) {
        const auto step = [&](std::size_t i) { return Step{costs[i], least_bytes(most_of(costs, i), gone)}; };
        Steps steps{step(0)};
        if (costs.size() > 1)
            add_between(step, 0, costs.size() - 1, steps.front().bytes, step(costs.size() - 1), steps);
        if (is_short() && !has_parts_) add_largest(gone, steps);
        return steps;
    }

    // The steps after one of them, which needs so much, up to the last.
    template <typename StepOf>
    static void add_between(const StepOf& step_of, std::size_t first, std::size_t last, Bytes at_first,
                            const Step& at_last, Steps& steps) {
        if (at_first <= at_last.bytes) return;
        if (last == first + 1) {
            steps.push_back(at_last);
            return;
        }
        const std::size_t middle = (first + last) / 2;
        const Step at_middle = step_of(middle);
        add_between(step_of, first, middle, at_first, at_middle, steps);
        add_between(step_of, middle, last, at_middle.bytes, at_last, steps);
    }

    // Less is needed than one tensor has only if nothing of that size is there: all that runs again then.
    void add_largest(const std::vector<Index>& gone, Steps& steps) {
        const auto first = std::ranges::lower_bound(sizes_, steps.front().bytes, std::greater<>());
        for (const Bytes size : std::ranges::subrange(first, sizes_.end()) | std::views::take(kMostSizes)) {
            const Cost cost = least_cost_below(size, gone);
            raise(steps, cost, size);
            if (cost >= kLimit) return;
        }
    }

    // What others that run again add to the cost at least where nothing of this size is there, or larger.
    Cost least_cost_below(Bytes size, const std::vector<Index>& gone) {
        return least_cut(
            [&](Index operation) {
                return distance_[at(operation)] < kLimit ? again_[at(operation)].of_all : MaxFlow::kEndless;
            },
            [&](Index tensor) {
                const Bytes own = wires_.tensors[at(tensor)].size;
                return own >= size || is_gone(tensor, gone) ? MaxFlow::kEndless : Bytes{0};
            });
    }

    // Below this cost, no less than so much.
    static void raise(Steps& steps, Cost cost, Bytes least) {
        auto next = std::ranges::upper_bound(steps, cost, {}, &Step::cost);
        const Step& last = *std::prev(next);
        if (last.cost < cost && last.bytes < least && cost < kLimit)
            next = steps.insert(next, {cost, last.bytes});
        for (Step& step : steps) {
            if (step.cost < cost) step.bytes = std::max(step.bytes, least);
        }
        steps.erase(std::ranges::unique(steps, {}, &Step::bytes).begin(), steps.end());
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

    void add_up_again() {
        again_before_.assign(1, 0);
        last_once_.clear();
        for (Index place = 0; place < count_of(path_); ++place) {
            const Cost again = again_[at(path_[at(place)])].of_all;
            last_once_.push_back(again >= kLimit ? place : place > 0 ? last_once_.back() : kNobody);
            again_before_.push_back(again_before_.back() + (again >= kLimit ? 0 : again));
        }
    }

    // What it adds that these of the path run again, if it is some; kLimit: one of them cannot.
    Cost run_again(Index first, Index last) const {
        if (last < first) return 0;
        return last_once_[at(last)] >= first ? kLimit
                                             : again_before_[at(last) + 1] - again_before_[at(first)];
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
            const Cost again = again_[at(operation)].of_all;
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

    // If no operator runs again that adds more than this, and nothing of these is there.
    Bytes least_bytes(Cost cost, const std::vector<Index>& gone = {}) {
        return least_cut(
            [&](Index operation) { return distance_[at(operation)] > cost ? MaxFlow::kEndless : Bytes{0}; },
            [&](Index tensor) {
                return is_gone(tensor, gone) ? MaxFlow::kEndless : wires_.tensors[at(tensor)].size;
            });
    }

    bool is_gone(Index tensor, const std::vector<Index>& gone) const {
        return wires_.tensors[at(tensor)].size > 0 && std::ranges::find(gone, tensor) != gone.end();
    }

    // By operator that has run, what takes it away; by tensor, what it is to be there.
    template <typename Again, typename Held>
    Bytes least_cut(const Again& again, const Held& held) {
        const Index operations = count_of(wires_.operations);
        const auto node = [](Index index) { return index + 2; };
        flow_.reset(operations + count_of(wires_.tensors));
        for (Index operation = 0; operation < operations; ++operation) {
            if (const Bytes price = has_run_[at(operation)] ? again(operation) : 0; price > 0)
                flow_.add_arc(MaxFlow::kSource, node(operation), price);
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
            flow_.add_arc(maker, node(operations + tensor), held(tensor));
            if (own.to_end) flow_.add_arc(node(operations + tensor), MaxFlow::kSink, MaxFlow::kEndless);
        }
        const std::int64_t before = flow_.steps();
        const Bytes least = flow_.push(MaxFlow::kEndless, &budget_);
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            if (!is_left_out_[at(tensor)] && flow_.arcs()[arc_[at(tensor)] + 1].room > 0)
                is_flowing_[at(tensor)] = true;
        }
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
        std::vector<Beside> beside(at(place) + 1);
        std::vector<Cost> costs = costs_;
        if (count_of(path_) <= kMostPlaces) {
            const auto [begin, end] = range(from, kLimit - 1);
            for (Index read = begin; read < end; ++read) beside[at(read + 1)] = beside_read(read);
        }
        for (const Beside& one : beside) {
            for (const Steps* steps : {&one.read, &one.gone}) {
                for (const Step& step : *steps) costs.push_back(step.cost);
            }
        }
        for (const Step& step : known) costs.push_back(step.cost);
        const auto steps_of = [&](std::vector<Cost> all, std::size_t few) {
            const std::vector<Cost> chosen = few_of(std::move(all), few);
            Steps steps;
            for (std::size_t i = 0; i < chosen.size(); ++i) {
                const Cost most = most_of(chosen, i);
                Step step{chosen[i], step_at(known, most).bytes, range(from, most)};
                if (count_of(path_) <= kMostPlaces) set_beside(step, most, beside);
                if (steps.empty() || !steps.back().is_as(step)) steps.push_back(std::move(step));
            }
            return steps;
        };
        if (is_short()) {
            known = steps_of(costs, costs.size());
            if (known.size() <= kMostLevels) return;
            costs.clear();
            for (const Step& step : known) costs.push_back(step.cost);
        }
        known = steps_of(std::move(costs), is_short() ? kMostLevels : kFewRead);
    }

    // Beside what one of the path hands on: while that is there as well, and where it is not there any more.
    struct Beside {
        Steps read, gone;  // empty: the same as without that
    };

    // At -1, what is there from the start.
    Beside beside_read(Index place) {
        const std::vector<Index> tensors = handed(place);
        // What does not flow through it, it is not there for.
        const auto flows = [&](Index tensor) { return is_flowing_[at(tensor)]; };
        if (std::ranges::none_of(tensors, flows)) return {};
        const std::vector<Cost> costs = is_short() ? costs_ : few_of(costs_, kFewRead);
        Beside beside;
        const std::vector<bool> before = is_left_out_;
        for (const Index tensor : tensors) is_left_out_[at(tensor)] = true;
        beside.read = steps_beside(costs);
        is_left_out_ = before;
        if (knows_gone()) beside.gone = steps_beside(costs, tensors);
        return beside;
    }

    bool knows_gone() const { return is_short() && !some_wait_; }

    void set_beside(Step& step, Cost most, const std::vector<Beside>& beside) {
        const auto [begin, end] = step.on_ways;
        step.beside_read.assign(at(end) + 1, step.bytes);
        if (knows_gone()) step.beside_gone = step.beside_read;
        if (step.bytes == 0) return;
        for (Index place = begin; place < end; ++place) {
            const auto& [read, gone] = beside[at(place + 1)];
            if (read.empty()) continue;
            const Bytes beside_read = step.beside_read[at(place + 1)] = step_at(read, most).bytes;
            if (gone.empty()) continue;
            Bytes& least = step.beside_gone[at(place + 1)];
            least = step_at(gone, most).bytes;
            // Unless it has run again by then.
            if (place < 0 || again_[at(path_[at(place)])].of_all > most) continue;
            Bytes made = 0;
            for (const Index tensor : handed(place)) made += wires_.tensors[at(tensor)].size;
            least = std::min(least, beside_read + made);
        }
    }

    // The same steps if some of what is needed may wait elsewhere; of the moment after this place, if it is
    // one.
    Steps with_waiting(const Steps& steps, Index place = kNobody) const {
        const std::vector<Waiting> waiting =
            some_wait_ && steps.front().bytes > 0 ? may_wait(place) : std::vector<Waiting>();
        if (waiting.empty()) return steps;
        Savings savings(steps, waiting);
        const auto let_wait = [&](const auto& adds_of) {
            std::vector<Cost> adds;
            for (const Waiting& one : waiting) adds.push_back(adds_of(one));
            return savings.let_wait(std::move(adds));
        };
        let_wait([](const Waiting&) { return Cost{0}; });
        const std::vector<Cost> costs = savings.costs();
        Steps all;
        for (std::size_t i = 0; i < costs.size(); ++i) {
            const Cost most = most_of(costs, i);
            all.push_back({costs[i], savings.least(most), step_at(steps, most).on_ways});
        }
        const bool knows_stripes = place != kNobody && count_of(path_) <= kMostPlaces;
        for (Index last = place + 1; knows_stripes && last < count_of(path_); ++last) {
            const bool is_new =
                let_wait([&](const Waiting& one) { return one.next_use > last ? Cost{0} : kLimit; });
            for (std::size_t i = 0; i < costs.size(); ++i) {
                std::vector<Bytes>& known = all[i].beside_next;
                known.push_back(is_new || known.empty() ? savings.least(most_of(costs, i)) : known.back());
            }
        }
        for (Index first = 0; knows_stripes && first <= place; ++first) {
            let_wait([&](const Waiting& one) {
                return one.last_use < first ? run_again(first, one.made_of) : kLimit;
            });
            for (std::size_t i = 0; i < costs.size(); ++i) {
                all[i].beside_read.push_back(savings.least(most_of(costs, i), at(first)));
            }
        }
        for (Step& step : all) {
            const auto is_same = [&](Bytes bytes) { return bytes == step.bytes; };
            if (std::ranges::all_of(step.beside_next, is_same)) step.beside_next.clear();
            const std::size_t on_ways = at(step.on_ways.second) + 1;
            while (step.beside_read.size() > on_ways && is_same(step.beside_read.back()))
                step.beside_read.pop_back();
        }
        all.erase(std::ranges::unique(all, &Step::is_as).begin(), all.end());
        return all;
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
        const std::vector<Cost> levels = few_of(std::move(costs), is_short() ? kMostLevels : kFewLevels);
        for (const Pair& pair : places) {
            PathCut cut;
            cut.continues = &pair != &places.front();
            for (std::size_t i = 0; i < levels.size(); ++i) {
                const Cost most = most_of(levels, i);
                const Step& after = step_at(pair.after.steps, most);
                cut.levels.push_back({levels[i], step_at(pair.running.steps, most).bytes, after.bytes,
                                      after.on_ways.first, after.on_ways.second, after.beside_read,
                                      after.beside_next, after.beside_gone});
            }
            cuts_.push_back(std::move(cut));
        }
        places.clear();
    }

    const Wires& wires_;
    const std::vector<Index>& path_;
    Budget& budget_;
    bool some_wait_ = false;                // whether any tensor may
    std::vector<std::vector<Index>> made_;  // by operator
    std::vector<std::size_t> arc_;          // of the last cut, by tensor that is not left out
    std::vector<Bytes> sizes_;              // of tensors, descending
    std::vector<std::vector<Index>>
        used_at_;                 // by tensor, places of the path that make or read it, ascending
    std::vector<Index> made_of_;  // by tensor
    std::vector<bool> has_run_;
    std::size_t later_ = 0;  // the next one
    // Of the last moment, by tensor and by operator.
    std::vector<Again> again_;
    std::vector<Cost> again_before_;  // by place, what those before it add that may run again
    std::vector<Index> last_once_;    // by place, the last up to it that may not
    std::vector<bool> is_left_out_;
    std::vector<bool> is_flowing_;  // some of what is needed
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
