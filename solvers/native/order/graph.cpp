#include "order/graph.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <stdexcept>

namespace memstow::order {
namespace {

void sort_unique(std::vector<Index>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

void complete(Graph& graph) {
    const auto n = graph.extra.size();
    graph.in_place.resize(n);
    graph.before.resize(n);
    graph.after.assign(n, {});
    graph.begins_at.assign(n, {});
    graph.ends_at.assign(n, {});
    for (Index v = 0; v < graph.size(); ++v) {
        sort_unique(graph.before[v]);
        for (const Index u : graph.before[v]) graph.after[u].push_back(v);
    }
    for (std::size_t s = 0; s < graph.storages.size(); ++s) {
        Storage& storage = graph.storages[s];
        sort_unique(storage.begins);
        sort_unique(storage.ends);
        for (const Index v : storage.begins) graph.begins_at[v].push_back(s);
        for (const Index v : storage.ends) graph.ends_at[v].push_back(s);
    }
    if (topological(graph).size() != n) {
        throw std::invalid_argument("operators that wait for each other");
    }
}

Graph mirrored(const Graph& graph) {
    Graph result;
    result.extra = graph.extra;
    result.base = graph.base;
    result.before = graph.after;
    result.storages = graph.storages;
    for (Storage& storage : result.storages) {
        std::swap(storage.begins, storage.ends);
        std::swap(storage.from_start, storage.to_end);
    }
    result.in_place = graph.in_place;
    for (auto& pairs : result.in_place) {
        for (InPlace& pair : pairs) std::swap(pair.source, pair.target);
    }
    complete(result);
    return result;
}

std::vector<Index> topological(const Graph& graph) {
    std::vector<std::size_t> waits(graph.extra.size());
    std::priority_queue<Index, std::vector<Index>, std::greater<>> ready;
    for (Index v = 0; v < graph.size(); ++v) {
        waits[v] = graph.before[v].size();
        if (waits[v] == 0) ready.push(v);
    }
    std::vector<Index> order;
    while (!ready.empty()) {
        const Index v = ready.top();
        ready.pop();
        order.push_back(v);
        for (const Index w : graph.after[v]) {
            if (--waits[w] == 0) ready.push(w);
        }
    }
    return order;
}

bool is_order(const Graph& graph, std::span<const Index> order) {
    std::vector<Index> place(graph.extra.size(), -1);
    if (order.size() != place.size()) return false;
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (order[k] < 0 || order[k] >= graph.size() || place[order[k]] >= 0) return false;
        place[order[k]] = k;
    }
    for (Index v = 0; v < graph.size(); ++v) {
        for (const Index u : graph.before[v]) {
            if (place[u] >= place[v]) return false;
        }
    }
    return true;
}

}  // namespace memstow::order
