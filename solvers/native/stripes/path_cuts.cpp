#include "stripes/path_cuts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "order/cut.hpp"
#include "order/max_flow.hpp"

namespace memstow::stripes {
namespace {

using order::MaxFlow;

// Each tensor is an arc from who makes it to its readers, each operator a node.
class Cuts {
  public:
    Cuts(const Wires& wires, const std::vector<Index>& path, bool once, Budget& budget)
        : wires_(wires),
          path_(path),
          once_(once),
          budget_(budget),
          made_(wires.reads.size()),
          has_run_(wires.reads.size()) {
        for (Index tensor = 0; tensor < count_of(wires.tensors); ++tensor) {
            const Index maker = wires.tensors[at(tensor)].maker;
            if (maker != kNobody) made_[at(maker)].push_back(tensor);
        }
    }

    PathCuts run() {
        PathCuts cuts;
        for (Index place = 0; place < count_of(path_); ++place) {
            const Index operation = path_[at(place)];
            cuts.running.push_back(budget_.spent() ? 0 : least(place, wires_.reads[at(operation)]));
            if (once_) mark_run(operation);
            const bool is_last = place + 1 == count_of(path_) || budget_.spent();
            cuts.after.push_back(is_last ? 0 : least(place + 1, handed(place)));
            const auto [begin, end] = is_last ? std::pair{place, place} : on_ways(place);
            cuts.begin.push_back(begin);
            cuts.end.push_back(end);
        }
        return cuts;
    }

  private:
    static std::size_t at(Index index) { return static_cast<std::size_t>(index); }

    // It, and all that it needs.
    void mark_run(Index last) {
        std::vector<Index> waiting{last};
        while (!waiting.empty()) {
            const Index operation = waiting.back();
            waiting.pop_back();
            if (has_run_[at(operation)]) continue;
            has_run_[at(operation)] = true;
            for (const Index tensor : wires_.reads[at(operation)]) {
                const Index maker = wires_.tensors[at(tensor)].maker;
                if (maker != kNobody) waiting.push_back(maker);
            }
        }
    }

    // What the operator at this place makes for the next one.
    std::vector<Index> handed(Index place) const {
        std::vector<Index> tensors;
        for (const Index tensor : wires_.reads[at(path_[at(place + 1)])]) {
            if (wires_.tensors[at(tensor)].maker == path_[at(place)]) tensors.push_back(tensor);
        }
        return tensors;
    }

    // The least beside these tensors where those of the path from this place on are still to run, or run.
    Bytes least(Index from, const std::vector<Index>& counted) {
        const Index operators = count_of(wires_.reads);
        is_left_out_.assign(wires_.tensors.size(), false);
        std::vector<bool> is_to_run(wires_.reads.size());
        for (const Index tensor : counted) is_left_out_[at(tensor)] = true;
        for (Index place = from; place < count_of(path_); ++place) {
            is_to_run[at(path_[at(place)])] = true;
            for (const Index tensor : made_[at(path_[at(place)])]) is_left_out_[at(tensor)] = true;
        }
        const auto node = [](Index index) { return index + 2; };
        flow_.reset(operators + count_of(wires_.tensors));
        for (Index operation = 0; operation < operators; ++operation) {
            if (has_run_[at(operation)]) flow_.add_arc(MaxFlow::kSource, node(operation), MaxFlow::kEndless);
            if (is_to_run[at(operation)]) flow_.add_arc(node(operation), MaxFlow::kSink, MaxFlow::kEndless);
            for (const Index tensor : wires_.reads[at(operation)]) {
                if (is_left_out_[at(tensor)]) continue;
                flow_.add_arc(node(operators + tensor), node(operation), MaxFlow::kEndless);
            }
        }
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            const Wires::Tensor& own = wires_.tensors[at(tensor)];
            if (is_left_out_[at(tensor)]) continue;
            const Index maker = own.maker == kNobody ? MaxFlow::kSource : node(own.maker);
            flow_.add_arc(maker, node(operators + tensor), own.size);
            if (own.to_end) flow_.add_arc(node(operators + tensor), MaxFlow::kSink, MaxFlow::kEndless);
        }
        const std::int64_t before = flow_.steps();
        const Bytes least = flow_.push(MaxFlow::kEndless, &budget_);
        budget_.count((operators + count_of(wires_.tensors) + flow_.steps() - before) / order::kCutSteps);
        return least;
    }

    // Of the last cut, which is after this place: those before it that make what is on a way are in this
    // range.
    std::pair<Index, Index> on_ways(Index place) const {
        std::vector<bool> is_on_a_way(wires_.tensors.size());
        std::vector<Index> waiting;
        const auto enter = [&](Index tensor) {
            if (is_left_out_[at(tensor)] || is_on_a_way[at(tensor)]) return;
            is_on_a_way[at(tensor)] = true;
            const Index maker = wires_.tensors[at(tensor)].maker;
            if (maker != kNobody && !has_run_[at(maker)]) waiting.push_back(maker);
        };
        for (Index tensor = 0; tensor < count_of(wires_.tensors); ++tensor) {
            if (wires_.tensors[at(tensor)].to_end) enter(tensor);
        }
        for (Index later = place + 1; later < count_of(path_); ++later) waiting.push_back(path_[at(later)]);
        while (!waiting.empty()) {
            const Index operation = waiting.back();
            waiting.pop_back();
            for (const Index tensor : wires_.reads[at(operation)]) enter(tensor);
        }
        const auto makes_some = [&](Index operation) {
            return std::ranges::any_of(made_[at(operation)],
                                       [&](Index tensor) { return is_on_a_way[at(tensor)]; });
        };
        Index begin = 0, end = place;
        while (end > 0 && !makes_some(path_[at(end - 1)])) --end;
        while (begin < end && !makes_some(path_[at(begin)])) ++begin;
        return {begin, end};
    }

    const Wires& wires_;
    const std::vector<Index>& path_;
    bool once_;
    Budget& budget_;
    std::vector<std::vector<Index>> made_;  // by operator
    std::vector<bool> has_run_;
    std::vector<bool> is_left_out_;  // of the last cut, by tensor
    MaxFlow flow_;
};

}  // namespace

PathCuts cuts_beside(const Wires& wires, const std::vector<Index>& path, bool once, Budget& budget) {
    return Cuts(wires, path, once, budget).run();
}

}  // namespace memstow::stripes
