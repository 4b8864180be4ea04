// The lowest layout within a cost: lowered by searches and by the improver, bounded by heights refuted.
#include "improve/improve.hpp"
#include "reuse/cheapest.hpp"
#include "search/exact.hpp"

namespace memstow::reuse {
namespace {

Bytes sum_of(const std::vector<Bytes>& values) {
    Bytes sum = 0;
    for (const Bytes value : values) sum += value;
    return sum;
}

}  // namespace

// Lowers the lowest layout known, whatever it costs then.
void Cheapest::improve(Bytes height, bool fit_only, Bytes bound, Budget& budget) {
    const Known* known = best({}, true);
    if (known == nullptr) return;
    improve::ImproveOptions options;
    options.pool = instance_.choices[0][0].pool;
    options.deterministic = true;
    options.bound = bound;
    options.limit = height;
    options.fit_only = fit_only;
    options.seed = seed_;
    const improve::ImproveResult result =
        improve::improve_layout(instance_, layout_of(*known), options, budget, {});
    if (result.height < known->top) learn(offsets_of(result.layout));
}

// Of the pairs that the lowest layout known keeps apart, none needs to be given up to lower it further,
// perhaps.
void Cheapest::press(const Limits& limits, Bytes bound, std::int64_t most_work, Budget& budget) {
    const Known* known = best(limits, true);
    if (known == nullptr || known->top <= bound) return;
    search::ExactOptions options;
    options.bound = bound;
    options.limit = limits.height;
    options.memory = kTables;
    options.seed = seed_;
    options.start = layout_of(*known);
    Budget part(-1, most_work, &budget);
    const search::ExactResult result =
        search::solve_exact(kept_apart(instance_, costs_, all_but(known->paid)), options, part);
    budget.count(part.work());
    if (!result.layout.empty() && result.height < known->top) learn(offsets_of(result.layout));
}

// The exact search for the lowest layout whatever it costs; returns the bound on its height.
Bytes Cheapest::search_all(Bytes height, Bytes bound, Budget& budget, const Events& events) {
    search::ExactOptions options;
    options.bound = bound;
    options.limit = height;
    options.seed = seed_;
    const Known* known = best({height}, true);
    if (known != nullptr) options.start = layout_of(*known);
    search::ExactEvents exact_events;
    if (events.value) {
        exact_events.incumbent = [&](const Layout& layout, Bytes value) {
            events.value(value, offsets_of(layout));
        };
    }
    if (events.bound) exact_events.bound = [&](Bytes proven, std::int64_t) { events.bound(proven); };
    const search::ExactResult result = search::solve_exact(instance_, options, budget, exact_events);
    refuted_ += count_of(result.refuted);
    if (result.status == search::ExactStatus::infeasible) {
        height_ = height;
        none_ = true;
        dead_ = result.dead;
    } else if (result.status != search::ExactStatus::unknown) {
        learn(offsets_of(result.layout));
    }
    return result.bound;
}

// The same, with turns for the improver where the search alone does not get to the end.
Bytes Cheapest::ignore_costs(Bytes height, Bytes bound, Budget& budget, const Events& events) {
    for (std::int64_t work = kFirstEffort; !budget.spent() && !none_; work = times_more(work, 4)) {
        Budget search(-1, work, &budget);
        bound = search_all(height, bound, search, events);
        budget.count(search.work());
        const Known* known = best({height}, true);
        const Bytes before = known == nullptr ? height + 1 : known->top;
        if (before <= bound) break;
        Budget nearby(-1, work / 2, &budget);
        improve(height, false, bound, nearby);
        budget.count(nearby.work());
        known = best({height}, true);
        if (known != nullptr && known->top < before && events.value) {
            events.value(known->top, known->offsets);
        }
    }
    return bound;
}

Cheapest::Result Cheapest::lowest(const LowestOptions& options, Budget& budget, const Events& events) {
    const Limits& limits = options.limits;
    Bytes bound = options.bound;
    if (limits.cost >= costs_.fixed + sum_of(weights_)) {
        bound = ignore_costs(limits.height, bound, budget, events);
        return result_within(limits, true, bound);
    }
    std::int64_t work = kFirstEffort;
    Bytes least_top = std::numeric_limits<Bytes>::max();
    const auto top = [&] {
        const Known* known = best(limits, true);
        if (known == nullptr) return limits.height + 1;
        if (known->top < least_top && events.value) {
            least_top = known->top;
            events.value(least_top, known->offsets);
        }
        return known->top;
    };
    // Heights below `bound` are refuted; each is tried for a while, the least one and the middle in turns.
    while (bound < top() && !budget.spent()) {
        press(limits, bound, work, budget);
        for (const bool middle : {false, true}) {
            const Bytes high = top();
            if (bound >= high || budget.spent()) break;
            const Bytes height = middle ? bound + (high - 1 - bound) / 2 : bound;
            Budget part(-1, work, &budget);
            decide(height, limits.cost, part);
            budget.count(part.work());
            if ((none_ || bound_ > limits.cost) && height >= bound) {
                bound = height + 1;
                if (events.bound && bound <= top()) events.bound(bound);
            }
        }
        work = times_more(work, 2);
    }
    return result_within(limits, true, bound);
}

}  // namespace memstow::reuse
