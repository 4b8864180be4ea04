#include "order/classics.hpp"

#include <algorithm>
#include <tuple>

#include "order/state.hpp"

namespace memstow::order {

std::vector<Index> least_peak_first(const Graph& graph) {
    State state(graph);
    Bytes peak = 0;
    while (!state.complete()) {
        std::tuple<bool, Bytes, Index> best{true, kLimit, graph.size()};
        for (const Index v : state.ready()) {
            const Step step = state.step(v);
            const bool higher = step.needs > peak;
            best = std::min(best, {higher, higher ? step.needs : step.leaves, v});
        }
        const Index v = std::get<Index>(best);
        peak = std::max(peak, state.step(v).needs);
        state.run(v);
    }
    return state.path();
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
