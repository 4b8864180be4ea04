// Which pairs cannot all be apart within a height: the cores, each made as small as can be done quickly.
#include <algorithm>

#include "core/bounds.hpp"
#include "reuse/cheapest.hpp"
#include "search/exact.hpp"

namespace memstow::reuse {
namespace {

// The work of one search when a core is made smaller: pairs that no quick search shows to be needless stay.
constexpr std::int64_t kShrinkEffort = 200'000;
// Looking for a heavy clique takes time with the square of the items.
constexpr Index kMostInClique = 512;
constexpr std::int64_t kCliqueNodes = 2'000;

}  // namespace

// Whether there are items that must all be apart and are larger together than the height.
bool Cheapest::find_clique(const Instance& instance, Budget& budget) {
    clique_.clear();
    const Index n = instance_.item_count();
    if (n > kMostInClique) return false;
    budget.count(std::int64_t{n} * n * 8);
    const std::vector<bool> all(instance_.pools.size(), true);
    const LiveBound bound = clique_bound(instance, all, 1, kCliqueNodes, height_);
    if (bound.bytes <= height_) return false;
    for (const Index part : bound.parts) clique_.push_back(instance_.parts[part].item);
    std::sort(clique_.begin(), clique_.end());
    clique_.erase(std::unique(clique_.begin(), clique_.end()), clique_.end());
    return true;
}

ElementSet Cheapest::pairs_among(const ElementSet& apart, std::vector<Index> items) const {
    std::sort(items.begin(), items.end());
    const auto among = [&](Index part) {
        return std::binary_search(items.begin(), items.end(), instance_.parts[part].item);
    };
    ElementSet elements;
    for (const Index k : apart) {
        if (among(costs_.pairs[k].first) && among(costs_.pairs[k].second)) elements.push_back(k);
    }
    return elements;
}

// The pairs within the clique, once it is without the items that it can do without; those of most pairs go
// first.
ElementSet Cheapest::within_clique(const ElementSet& apart) const {
    std::vector<Index> items = clique_;
    ElementSet pairs = pairs_among(apart, items);
    const auto size = [&](Index item) {
        Bytes largest = 0;
        for (const Part& part : instance_.parts_of(item)) largest = std::max(largest, part.size);
        return largest;
    };
    Bytes sum = 0;
    for (const Index item : items) sum += size(item);
    for (;;) {
        std::vector<Index> degree(instance_.parts.size(), 0);
        for (const Index k : pairs) {
            ++degree[instance_.parts[costs_.pairs[k].first].item];
            ++degree[instance_.parts[costs_.pairs[k].second].item];
        }
        const auto key = [&](Index item) { return std::pair(degree[item], -size(item)); };
        auto drop = items.end();
        for (auto item = items.begin(); item != items.end(); ++item) {
            if (sum - size(*item) <= height_) continue;
            if (drop == items.end() || key(*item) > key(*drop)) drop = item;
        }
        if (drop == items.end()) return pairs;
        sum -= size(*drop);
        items.erase(drop);
        pairs = pairs_among(pairs, items);
    }
}

// A part of these pairs, of which it is known that they cannot all be apart, that cannot either.
ElementSet Cheapest::shrunk(ElementSet apart, Budget& budget) {
    if (!clique_.empty()) return within_clique(apart);
    std::vector<Index> items = dead_;
    if (items.empty()) {
        for (Index i = 0; i < instance_.item_count(); ++i) items.push_back(i);
    }
    items =
        search::dead_set(kept_apart(instance_, costs_, apart), items, height_, budget, kShrinkEffort).items;
    apart = pairs_among(apart, items);
    const auto dies = [&](const ElementSet& some) {
        if (known_to_hold(some)) return false;
        search::ExactOptions options;
        options.limit = height_;
        options.fit_only = true;
        options.memory = kTables;
        Budget part(-1, kShrinkEffort, &budget);
        const search::ExactResult result = search::solve_exact(
            search::restrict_to(kept_apart(instance_, costs_, some), items), options, part);
        budget.count(part.work());
        return result.status == search::ExactStatus::infeasible;
    };
    for (std::size_t chunk = (apart.size() + 1) / 2; chunk >= 1; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
        for (std::size_t from = 0; from < apart.size() && !budget.spent();) {
            const std::size_t to = std::min(apart.size(), from + chunk);
            ElementSet rest(apart.begin(), apart.begin() + from);
            rest.insert(rest.end(), apart.begin() + to, apart.end());
            if (dies(rest)) {
                apart = std::move(rest);
            } else {
                from = to;
            }
        }
    }
    return apart;
}

// These pairs cannot all be apart: which of them, and which of the rest, and so on.
void Cheapest::find_cores(ElementSet apart, Budget& budget) {
    for (const std::int64_t until = budget.work() + effort_; budget.work() < until && !budget.spent();) {
        const ElementSet core = shrunk(apart, budget);
        if (core.empty()) {
            none_ = true;
            return;
        }
        cores_.push_back({core, height_});
        std::erase_if(apart, [&](Index k) { return std::binary_search(core.begin(), core.end(), k); });
        if (ask(apart, effort_, budget) != Answer::none) return;
    }
}

}  // namespace memstow::reuse
