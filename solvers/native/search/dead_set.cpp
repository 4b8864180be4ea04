#include <algorithm>

#include "search/exact.hpp"

namespace memstow::search {

Instance restrict_to(const Instance& instance, const std::vector<Index>& items) {
    Instance result;
    result.pools = instance.pools;
    result.row_count = instance.row_count;
    result.time_rows = instance.time_rows;
    std::vector<Index> part(instance.parts.size(), -1);
    for (std::size_t k = 0; k < items.size(); ++k) {
        const Index item = items[k];
        result.choices.add(instance.choices[item]);
        for (Index p = instance.item_parts[item]; p < instance.item_parts[item + 1]; ++p) {
            part[p] = count_of(result.parts);
            result.parts.push_back(instance.parts[p]);
            result.parts.back().item = k;
            for (const RowRange& range : instance.rows[p]) result.rows.values.push_back(range);
            result.rows.close();
        }
        result.item_parts.push_back(count_of(result.parts));
    }
    for (ExemptPair pair : instance.exempt) {
        pair.first = part[pair.first];
        pair.second = part[pair.second];
        if (pair.first >= 0 && pair.second >= 0) result.exempt.push_back(pair);
    }
    for (ReuseCost pair : instance.reuse) {
        pair.first = part[pair.first];
        pair.second = part[pair.second];
        if (pair.first >= 0 && pair.second >= 0) result.reuse.push_back(pair);
    }
    return result;
}

DeadSet dead_set(const Instance& instance, std::vector<Index> items, Bytes height, Budget& budget,
                 std::int64_t most_work) {
    const auto dead = [&](const std::vector<Index>& some) {
        ExactOptions options;
        options.limit = height;
        options.fit_only = true;
        options.memory = std::size_t{16} << 20;
        Budget part(budget.seconds_left() / 4, most_work, &budget);
        const ExactResult answer = solve_exact(restrict_to(instance, some), options, part);
        budget.count(answer.steps);
        return answer.status;
    };
    bool all_shown = true;
    // Ever smaller chunks are left out for as long as the rest stays dead.
    for (std::size_t chunk = (items.size() + 1) / 2; chunk >= 1; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
        for (std::size_t from = 0; from < items.size();) {
            if (budget.spent()) return {items, false};
            std::vector<Index> rest = items;
            const std::size_t to = std::min(items.size(), from + chunk);
            rest.erase(rest.begin() + from, rest.begin() + to);
            const ExactStatus status = rest.empty() ? ExactStatus::feasible : dead(rest);
            if (status == ExactStatus::infeasible) {
                items = std::move(rest);
            } else {
                if (chunk == 1 && status == ExactStatus::unknown) all_shown = false;
                from = to;
            }
        }
    }
    std::sort(items.begin(), items.end());
    return {items, all_shown};
}

}  // namespace memstow::search
