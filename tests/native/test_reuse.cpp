#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "costly.hpp"
#include "referee.hpp"
#include "reuse/cheapest.hpp"
#include "reuse/hitting_set.hpp"
#include "sample.hpp"
#include "tiny.hpp"

using namespace memstow;
using namespace memstow::reuse;

namespace {

bool valid(const Instance& in, const std::vector<Bytes>& offsets) {
    Layout layout;
    for (const Bytes offset : offsets) layout.push_back({0, offset});
    return referee::complaint(in, layout, true).empty();
}

}  // namespace

TEST(the_cheapest_layout_and_the_lowest_of_these_are_those_of_brute_force) {
    int priced = 0, impossible = 0;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        const Instance in = costly::random_instance(seed);
        const costly::Best best = costly::brute_force(in);
        Cheapest search(in, seed);
        Budget budget(-1, 50'000'000);
        const Bytes capacity = in.pools[0].capacity;
        const Cheapest::Result cheap =
            search.cheapest({.height = capacity, .enough = std::nullopt}, budget, {});
        CHECK(cheap.none == !best.fits);
        impossible += !best.fits;
        if (!best.fits) continue;
        CHECK(cheap.cost == best.cost && cheap.bound == best.cost);
        CHECK(valid(in, cheap.offsets) && costly::cost_of(in, cheap.offsets) == cheap.cost);
        priced += best.cost > 0;
        const Cheapest::Result low =
            search.lowest({.limits = {.height = capacity, .cost = best.cost}, .bound = 0}, budget, {});
        CHECK(low.top == best.top && low.bound == best.top && low.cost == best.cost);
        CHECK(valid(in, low.offsets) && costly::top_of(in, low.offsets) == low.top);
    }
    CHECK(priced > 30);
    CHECK(impossible > 20);
}

TEST(a_bound_holds_however_early_the_search_for_it_ends) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const Instance in = costly::random_instance(seed);
        const costly::Best best = costly::brute_force(in);
        Cheapest search(in, seed);
        for (const std::int64_t work : {1, 100, 1000, 10'000}) {
            Budget budget(-1, work);
            const Cheapest::Result result =
                search.cheapest({.height = in.pools[0].capacity, .enough = std::nullopt}, budget, {});
            CHECK(!result.none || !best.fits);
            CHECK(!best.fits || result.bound <= best.cost);
            CHECK(result.offsets.empty() || valid(in, result.offsets));
        }
    }
}

// With two threads the bound of the addresses is searched for beside the rest: many pairs, so that it begins.
TEST(two_workers_find_no_bound_above_what_a_layout_costs) {
    int raised = 0;
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        Random random(seed);
        std::vector<sample::Buffer> buffers;
        for (std::size_t k = 0; k < 40; ++k) {
            const auto begin = static_cast<std::int64_t>(random.below(40));
            buffers.push_back({8 * (1 + static_cast<Bytes>(random.below(30))), {{begin, begin + 6}}, {}});
        }
        Instance in = sample::build(buffers);
        const auto parts = static_cast<Index>(in.parts.size());
        Bytes height = 0;
        for (Index p = 0; p < parts; ++p) {
            height += in.parts[static_cast<std::size_t>(p)].size;
            for (Index q = 0; q < p; ++q) in.reuse.push_back({q, p, 1 + static_cast<Bytes>(random.below(3))});
        }
        height /= 3;
        Cheapest search(in, seed, true);
        Budget budget(-1, 60'000'000);
        const Cheapest::Result result =
            search.cheapest({.height = height, .enough = std::nullopt}, budget, {});
        CHECK(result.none || result.offsets.empty() || result.bound <= result.cost);
        raised += result.by_addresses.has_value();
    }
    CHECK(raised > 0);
}

TEST(a_goal_ends_the_search_for_a_cheaper_layout) {
    const Instance in = costly::six_in_four_places(1);
    Cheapest search(in, 1);
    Budget budget;
    CHECK(search.cheapest({.height = 8, .enough = 5}, budget, {}).cost <= 5);
    const Cheapest::Result proven = search.cheapest({.height = 8, .enough = 1}, budget, {});
    CHECK(proven.bound == 2 && proven.cost == 2);  // four places for six
}

TEST(the_local_search_keeps_every_constraint_and_counts_right) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Instance in = costly::random_instance(seed);
        Cheapest any(in, seed);
        Budget budget;
        const Cheapest::Result start =
            any.cheapest({.height = in.pools[0].capacity, .enough = 1'000'000}, budget, {});
        if (start.offsets.empty()) continue;
        const Costs costs = costs_of(in);
        LocalSearch search(in, costs, seed);
        search.start(in.pools[0].capacity, start.offsets);
        search.run(20'000, 0, budget);
        CHECK(valid(in, search.offsets()));
        CHECK(search.cost() + costs.fixed == costly::cost_of(in, search.offsets()));
        CHECK(search.cost() + costs.fixed <= start.cost);
    }
}

TEST(the_cheapest_hitting_set_is_that_of_brute_force) {
    Random random(7);
    for (int run = 0; run < 400; ++run) {
        const std::size_t elements = 1 + random.below(9);
        std::vector<Bytes> weights;
        for (std::size_t e = 0; e < elements; ++e) weights.push_back(1 + static_cast<Bytes>(random.below(4)));
        std::vector<ElementSet> sets;
        for (std::size_t k = random.below(12); k > 0; --k) {
            ElementSet set;
            for (std::size_t e = 0; e < elements; ++e) {
                if (random.below(3) == 0) set.push_back(static_cast<Index>(e));
            }
            if (!set.empty()) sets.push_back(set);
        }
        const auto hits_all = [&](unsigned chosen) {
            return std::all_of(sets.begin(), sets.end(), [&](const ElementSet& set) {
                return std::any_of(set.begin(), set.end(), [&](Index e) { return chosen >> e & 1u; });
            });
        };
        const auto cost = [&](unsigned chosen) {
            Bytes sum = 0;
            for (std::size_t e = 0; e < elements; ++e) sum += chosen >> e & 1u ? weights[e] : 0;
            return sum;
        };
        Bytes least = std::accumulate(weights.begin(), weights.end(), Bytes{0});
        for (unsigned chosen = 0; chosen < 1u << elements; ++chosen) {
            if (hits_all(chosen)) least = std::min(least, cost(chosen));
        }
        const HittingSet result = cheapest_hitting_set(sets, weights, 0, 1'000'000, Budget());
        CHECK(result.cost == least && result.bound == least);
        unsigned chosen = 0;
        for (const Index e : result.chosen) chosen |= 1u << e;
        CHECK(hits_all(chosen) && cost(chosen) == result.cost);
        const HittingSet hasty = cheapest_hitting_set(sets, weights, 0, 1, Budget());
        CHECK(hasty.bound <= least && hasty.cost >= least);
    }
}
