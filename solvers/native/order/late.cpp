#include "order/late.hpp"

#include <algorithm>
#include <numeric>

namespace memstow::order {
namespace {

// Taking an operator out joins all before it to all after it: no more edges than this for each there was.
constexpr std::size_t kMostGrowth = 4;
// Operators looked at in all, while asking which come after which: those not asked about are not late. And
// while joining what is around late ones: beyond that, none is taken out.
constexpr std::int64_t kMostToAsk = 20'000'000, kMostToJoin = 20'000'000;

class Late {
  public:
    explicit Late(const Graph& graph)
        : graph_(graph),
          late_(graph.extra.size(), false),
          target_(graph.storages.size()),
          place_(graph.extra.size()) {
        for (const auto& pairs : graph.in_place) {
            for (const InPlace& pair : pairs) target_[pair.target] = true;
        }
        Index next = 0;
        for (const Index v : topological(graph)) place_[v] = next++;
        for (Index v = 0; v < graph.size(); ++v) late_[v] = waits(v);
    }

    WithoutLate take_out();

  private:
    WithoutLate all_kept() const;
    bool waits(Index v);
    bool any_comes_after(Index v, const std::vector<Index>& of);
    void add_kept(Index v, const std::vector<std::vector<Index>>& next, std::vector<Index>& to);

    const Graph& graph_;
    std::vector<bool> late_, target_;
    std::vector<Index> seen_, stack_;  // seen_: by operator, the last search that came by
    Index searches_ = 0;
    std::vector<Index> place_;  // by operator, in an order that is allowed
    std::int64_t steps_ = 0;
};

// Whether one of these comes after v: a search that goes no further than the last of them. False as well
// where too much has been looked at.
bool Late::any_comes_after(Index v, const std::vector<Index>& of) {
    Index last = -1;
    for (const Index w : of) last = std::max(last, place_[w]);
    if (last <= place_[v] || steps_ >= kMostToAsk) return false;
    seen_.resize(graph_.extra.size(), 0);
    ++searches_;
    stack_.assign(1, v);
    while (!stack_.empty()) {
        const Index at = stack_.back();
        stack_.pop_back();
        steps_ += count_of(graph_.after[at]) + 1;
        for (const Index next : graph_.after[at]) {
            if (seen_[next] == searches_ || place_[next] > last) continue;
            seen_[next] = searches_;
            stack_.push_back(next);
        }
    }
    return std::any_of(of.begin(), of.end(), [&](Index w) { return seen_[w] == searches_; });
}

bool Late::waits(Index v) {
    const auto& before = graph_.before[v];
    const auto& after = graph_.after[v];
    if (graph_.extra[v] != 0 || after.empty()) return false;
    if (before.size() * after.size() > kMostGrowth * (before.size() + after.size())) return false;
    for (const Index s : graph_.begins_at[v]) {
        if (target_[s]) return false;
    }
    return std::all_of(graph_.ends_at[v].begin(), graph_.ends_at[v].end(), [&](Index s) {
        const Storage& storage = graph_.storages[s];
        return storage.to_end || any_comes_after(v, storage.ends);
    });
}

// The operators that are kept and next to v, or would be without the late ones in between.
void Late::add_kept(Index v, const std::vector<std::vector<Index>>& next, std::vector<Index>& to) {
    ++searches_;
    seen_.resize(graph_.extra.size(), 0);
    std::vector<Index> stack{v};
    while (!stack.empty()) {
        const Index at = stack.back();
        stack.pop_back();
        steps_ += count_of(next[at]) + 1;
        for (const Index w : next[at]) {
            if (seen_[w] == searches_) continue;
            seen_[w] = searches_;
            if (late_[w]) {
                stack.push_back(w);
            } else {
                to.push_back(w);
            }
        }
    }
}

WithoutLate Late::all_kept() const {
    WithoutLate result{graph_, std::vector<Index>(graph_.extra.size())};
    std::iota(result.kept.begin(), result.kept.end(), 0);
    return result;
}

WithoutLate Late::take_out() {
    WithoutLate result;
    steps_ = 0;
    std::vector<Index> number(graph_.extra.size(), -1);
    // A late operator that only late ones wait for has nothing to begin at.
    const std::vector<Index> order = topological(graph_);
    for (auto v = order.rbegin(); v != order.rend(); ++v) {
        if (!late_[*v]) continue;
        std::vector<Index> kept;
        add_kept(*v, graph_.after, kept);
        if (kept.empty()) late_[*v] = false;
        if (steps_ >= kMostToJoin) return all_kept();
    }
    for (Index v = 0; v < graph_.size(); ++v) {
        if (late_[v]) continue;
        number[v] = count_of(result.kept);
        result.kept.push_back(v);
    }
    Graph& graph = result.graph;
    graph.base = graph_.base;
    graph.before.resize(result.kept.size());
    for (const Index v : result.kept) {
        graph.extra.push_back(graph_.extra[v]);
        graph.in_place.push_back(graph_.in_place[v]);
        auto& before = graph.before[number[v]];
        add_kept(v, graph_.before, before);
        for (Index& u : before) u = number[u];
        if (steps_ >= kMostToJoin) return all_kept();
    }
    for (const Storage& storage : graph_.storages) {
        Storage copy{storage.size, {}, {}, storage.from_start, storage.to_end};
        for (const Index v : storage.begins) {
            if (late_[v]) {
                add_kept(v, graph_.after, copy.begins);
            } else {
                copy.begins.push_back(v);
            }
            if (steps_ >= kMostToJoin) return all_kept();
        }
        std::copy_if(storage.ends.begin(), storage.ends.end(), std::back_inserter(copy.ends),
                     [&](Index v) { return !late_[v]; });
        for (auto* ops : {&copy.begins, &copy.ends}) {
            for (Index& v : *ops) v = number[v];
        }
        graph.storages.push_back(std::move(copy));
    }
    complete(graph);
    return result;
}

}  // namespace

WithoutLate without_late(const Graph& graph) { return Late(graph).take_out(); }

std::vector<Index> with_late(const Graph& graph, const std::vector<Index>& kept_in_order) {
    std::vector<bool> seen(graph.extra.size(), false);
    std::vector<Index> order;
    std::vector<std::pair<Index, std::size_t>> stack;
    for (const Index root : kept_in_order) {
        stack.emplace_back(root, 0);
        seen[root] = true;
        while (!stack.empty()) {
            auto& [v, next] = stack.back();
            if (next == graph.before[v].size()) {
                order.push_back(v);
                stack.pop_back();
                continue;
            }
            const Index u = graph.before[v][next++];
            if (seen[u]) continue;
            seen[u] = true;
            stack.emplace_back(u, 0);
        }
    }
    return order;
}

}  // namespace memstow::order
