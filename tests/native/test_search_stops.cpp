// Searches of large rows stop soon after they are told to, wherever they are, and what they say then is no
// answer. What prepares them takes no longer than the conflicts do.
#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "check.hpp"
#include "search/cliques.hpp"
#include "search/level_search.hpp"
#include "search/packing.hpp"
#include "search/pair_search.hpp"
#include "tiny.hpp"

using namespace memstow;
using namespace memstow::search;

namespace {

// Lives inside each other, as in a step of training: rows are as long as there are items.
Instance nested(Index count) {
    Instance in;
    in.pools.push_back({kLimit, {}});
    for (Index i = 0; i < count; ++i) {
        in.choices.add({0, 1, 0, 0, kLimit - count, 0});
        in.parts.push_back({i, 0, 1 + i % 7});
        in.item_parts.push_back(i + 1);
        in.rows.values.push_back({i / 2, count - i / 2});
        in.rows.close();
    }
    in.row_count = in.time_rows = count;
    return in;
}

std::int64_t entries_of(const Packing& packing) {
    return static_cast<std::int64_t>(packing.rows.values.size());
}

std::vector<Strategy> some_strategies() {
    using Order = Strategy::Order;
    using Sides = Strategy::Sides;
    return {{Order::size, Sides::bottom, 0.3, 0.1, true, true},
            {Order::size, Sides::both, 0.3, 0.01, false, true},
            {Order::life, Sides::bottom, 0.3, 0.01, false, true}};
}

// How often a run of a few nodes looks at its budget without work to count.
std::int64_t looks(Decision& search, const Packing& packing, const Strategy& strategy) {
    std::int64_t count = 0;
    search.run(packing.bound(), strategy, 1, 2, [&](std::int64_t steps) {
        count += steps == 0;
        return false;
    });
    return count;
}

// New searches, each told to stop at another of its looks; then each goes on as a search that is not stopped.
template <class Search>
void stop_anywhere(const std::function<Search()>& fresh, const Packing& packing, const Strategy& strategy) {
    constexpr std::int64_t kNodes = 30;
    const auto run = [&](Search& search, std::int64_t last, std::int64_t& asked) {
        return search.run(packing.bound(), strategy, 1, kNodes,
                          [&](std::int64_t) { return ++asked == last; });
    };
    std::int64_t looks = 0;
    Search first = fresh();
    const Answer truth = run(first, -1, looks);
    CHECK(looks > 0);
    const std::int64_t stride = std::max<std::int64_t>(1, looks / (4 + check::rounds(16)));
    for (std::int64_t last = 1; last <= looks; last += stride) {
        Search search = fresh();
        std::int64_t asked = 0;
        const Answer answer = run(search, last, asked);
        CHECK(answer == Answer::stopped && asked == last);
        const Answer again = run(search, -1, asked);
        CHECK(again == truth || again == Answer::stopped);
    }
}

// By item, read from the rows.
std::vector<std::vector<Index>> sharing_a_row(const Packing& packing) {
    std::vector<std::vector<Index>> near(packing.items.size());
    for (Index row = 0; row < packing.rows.size(); ++row) {
        for (const Entry& a : packing.rows[row]) {
            for (const Entry& b : packing.rows[row]) {
                if (a.item != b.item) near[static_cast<std::size_t>(a.item)].push_back(b.item);
            }
        }
    }
    for (auto& list : near) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return near;
}

double processor_seconds(std::clock_t since) {
    return static_cast<double>(std::clock() - since) / CLOCKS_PER_SEC;
}

}  // namespace

TEST(a_search_looks_at_its_budget_within_a_node_of_long_rows) {
    const std::vector<Packing> made = packings(nested(800));
    CHECK(made.size() == 1);
    for (const Strategy& strategy : some_strategies()) {
        LevelSearch level(made[0], 1 << 12);
        CHECK(looks(level, made[0], strategy) >= entries_of(made[0]) / Decision::kStepsBetweenStops);
        PairSearch pair(made[0]);
        CHECK(looks(pair, made[0], strategy) >= entries_of(made[0]) / Decision::kStepsBetweenStops);
    }
}

TEST(a_search_stops_wherever_it_looks_and_can_start_again) {
    const std::vector<Packing> made = packings(nested(150));
    for (const Strategy& strategy : some_strategies()) {
        stop_anywhere<LevelSearch>([&] { return LevelSearch(made[0], 1 << 12); }, made[0], strategy);
        stop_anywhere<PairSearch>([&] { return PairSearch(made[0]); }, made[0], strategy);
    }
}

TEST(neighbours_are_the_items_that_share_a_row) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        for (const Packing& packing : packings(tiny::random_instance(seed + 7'000'000, {}))) {
            const auto near = sharing_a_row(packing);
            bool same = packing.near.size() == packing.count();
            for (Index i = 0; same && i < packing.count(); ++i) {
                const auto listed = packing.near[i];
                same = std::vector<Index>(listed.begin(), listed.end()) == near[static_cast<std::size_t>(i)];
            }
            CHECK(same);
        }
    }
}

TEST(a_packing_takes_little_longer_to_make_than_its_conflicts_and_cliques) {
    const Instance in = nested(2000);
    // Of the processor, and compared with each other: both are as slow on a slow machine.
    const std::clock_t first = std::clock();
    Patience patience(nullptr);
    const PartConflicts conflicts = part_conflicts(in, patience);
    CHECK(cover_by_cliques(in, conflicts, patience).size() == 2000);
    const double before = processor_seconds(first);
    const std::clock_t second = std::clock();
    CHECK(packings(in).size() == 1);
    const double all = processor_seconds(second);
    if (all > 8 * before) std::printf("%.3f s after %.3f s\n", all, before);
    CHECK(all <= 8 * before);  // it took the cube of the items, some thirty times as long
}

TEST(a_bound_that_runs_out_of_budget_is_a_bound) {
    const std::vector<Packing> made = packings(nested(50));
    const Budget spent(0, -1);
    CHECK(made[0].bound(&spent) <= made[0].bound());
    const Budget enough;
    CHECK(made[0].bound(&enough) == made[0].bound());
}
