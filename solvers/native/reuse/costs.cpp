#include "reuse/costs.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace memstow::reuse {
namespace {

bool overlap_within(const Part& a, const Part& b) {
    return a.delta < b.delta + b.size && b.delta < a.delta + a.size;
}

bool must_be_apart(const search::PartConflicts& conflicts, Index p, Index q) {
    const auto near = conflicts.near(p);
    return std::binary_search(near.begin(), near.end(), q) && !conflicts.tieable(p, q);
}

}  // namespace

Costs costs_of(const Instance& instance) {
    Costs costs;
    search::Patience endless(nullptr);
    costs.conflicts = search::part_conflicts(instance, endless);
    std::map<std::pair<Index, Index>, Bytes> merged;
    for (const ReuseCost& entry : instance.reuse) {
        const auto [p, q] = std::minmax(entry.first, entry.second);
        const Part &a = instance.parts[p], &b = instance.parts[q];
        if (a.item == b.item) {
            if (overlap_within(a, b)) costs.fixed += entry.cost;
        } else if (entry.cost > 0 && !must_be_apart(costs.conflicts, p, q)) {
            merged[{p, q}] += entry.cost;
        }
    }
    for (const auto& [pair, cost] : merged) costs.pairs.push_back({pair.first, pair.second, cost});
    return costs;
}

Instance kept_apart(const Instance& instance, const Costs& costs, const std::vector<Index>& pairs) {
    Instance result = instance;
    result.reuse.clear();
    result.rows = {};
    std::set<std::pair<Index, Index>> apart;
    std::vector<std::vector<Index>> rows_of(instance.parts.size());
    for (const Index k : pairs) {
        const ReuseCost& pair = costs.pairs[k];
        apart.emplace(pair.first, pair.second);
        for (const Index part : {pair.first, pair.second}) rows_of[part].push_back(result.row_count);
        ++result.row_count;
    }
    for (Index part = 0; part < instance.rows.size(); ++part) {
        for (const RowRange& range : instance.rows[part]) result.rows.values.push_back(range);
        for (const Index row : rows_of[part]) result.rows.values.push_back({row, row + 1});
        result.rows.close();
    }
    std::erase_if(result.exempt, [&](const ExemptPair& pair) {
        return apart.contains(std::minmax(pair.first, pair.second));
    });
    return result;
}

}  // namespace memstow::reuse
