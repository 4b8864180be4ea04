#include "order/classics.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "order/state.hpp"

namespace memstow::order {

namespace {

// The operators that can run next, by what they need and by what they leave. What a step adds to the live
// bytes seldom changes, so an operator changes its place seldom, however often all are looked at.
class Candidates {
  public:
    explicit Candidates(State& state) : state_(state), known_(state.graph().extra.size()) {
        state_.report_changes(&changed_);
        for (const Index v : state_.ready()) add(v);
    }

    // Of those that do not raise the peak the one that leaves least, else the one that needs least; then the
    // one with the least number.
    Index best(Bytes peak) const {
        const Bytes room = peak - state_.live();
        if (by_needs_.begin()->first > room) return by_needs_.begin()->second;
        return std::find_if(by_leaves_.begin(), by_leaves_.end(),
                            [&](const auto& entry) { return known_[entry.second].needs <= room; })
            ->second;
    }

    void run(Index v) {
        remove(v);
        state_.run(v);
        for (const Index w : changed_) {
            remove(w);
            if (state_.is_ready(w)) add(w);
        }
        changed_.clear();
    }

  private:
    void add(Index v) {
        const Step step = state_.step(v);
        known_[v] = {step.needs - state_.live(), step.leaves - state_.live()};
        by_needs_.emplace(known_[v].needs, v);
        by_leaves_.emplace(known_[v].leaves, v);
    }
    void remove(Index v) {
        by_needs_.erase({known_[v].needs, v});
        by_leaves_.erase({known_[v].leaves, v});
    }

    State& state_;
    std::vector<Step> known_;  // beyond the live bytes
    std::vector<Index> changed_;
    std::set<std::pair<Bytes, Index>> by_needs_, by_leaves_;
};

// Looks at the clock once in so many steps.
constexpr std::size_t kStride = 64;

}  // namespace

std::vector<Index> least_peak_first(const Graph& graph, const Budget* budget) {
    State state(graph);
    Candidates candidates(state);
    Bytes peak = 0;
    while (!state.complete()) {
        if (budget != nullptr && state.path().size() % kStride == 0 && budget->out_of_time()) break;
        const Index v = candidates.best(peak);
        peak = std::max(peak, state.step(v).needs);
        candidates.run(v);
    }
    std::vector<Index> order = state.path();
    if (state.complete()) return order;
    for (const Index v : topological(graph)) {
        if (!state.done(v)) order.push_back(v);
    }
    return order;
}

std::vector<Index> depth_first(const Graph& graph) {
    std::vector<Index> order;
    std::vector<bool> seen(graph.extra.size(), false);
    std::vector<std::pair<Index, std::size_t>> stack;
    for (Index root = 0; root < graph.size(); ++root) {
        if (!graph.after[root].empty()) continue;
        stack.emplace_back(root, 0);
        seen[root] = true;
        while (!stack.empty()) {
            auto& [v, next] = stack.back();
            const auto& before = graph.before[v];
            if (next == before.size()) {
                order.push_back(v);
                stack.pop_back();
                continue;
            }
            const Index u = before[next++];
            if (seen[u]) continue;
            seen[u] = true;
            stack.emplace_back(u, 0);
        }
    }
    return order;
}

}  // namespace memstow::order
