#include <mutex>

#include "check.hpp"
#include "greedy/greedy.hpp"
#include "improve/conflicts.hpp"
#include "improve/improve.hpp"
#include "referee.hpp"
#include "sample.hpp"

using namespace memstow;
using namespace memstow::greedy;
using namespace memstow::improve;

namespace {

Layout greedy_layout(const Instance& instance) {
    Budget budget;
    return solve_greedy(instance, {{TermKind::peak}}, {}, {.lower_bounds = {}, .improve_work = 0}, budget)
        .layout;
}

// A poor start: one item above the other, where the windows allow; empty when greedy finds no place for some.
bool complete(const Layout& layout) {
    return std::all_of(layout.begin(), layout.end(), [](const Place& p) { return p.offset != kUnplaced; });
}

Bytes peak_of(const Instance& instance, const Layout& layout, Index pool) {
    return pool_peaks(instance, layout)[static_cast<std::size_t>(pool)];
}

// Plain buffers, some hundred of them live at random.
Instance plain(Random& random, int n, int life) {
    std::vector<sample::Buffer> buffers;
    for (int i = 0; i < n; ++i) {
        const auto begin = static_cast<std::int64_t>(random.below(static_cast<std::size_t>(n)));
        const auto length = 1 + static_cast<std::int64_t>(random.below(static_cast<std::size_t>(2 * life)));
        buffers.push_back({8 * static_cast<Bytes>(1 + random.below(60)), {{begin, begin + length}}, {}});
    }
    return sample::build(buffers);
}

// Improves and checks each layout on the way.
ImproveResult watched(const Instance& instance, const Layout& start, const ImproveOptions& options,
                      Budget& budget) {
    Bytes last = peak_of(instance, start, options.pool);
    const Bytes before = last;
    const ImproveResult result =
        improve_layout(instance, start, options, budget, [&](const Layout& layout, Bytes height) {
            CHECK(referee::complaint(instance, layout, false) == "");
            CHECK(complete(layout));
            CHECK(height == peak_of(instance, layout, options.pool));
            CHECK(height < last);
            last = height;
        });
    CHECK(result.height == last);
    CHECK(result.height <= before);
    CHECK(result.height == peak_of(instance, result.layout, options.pool));
    return result;
}

}  // namespace

TEST(improved_layouts_break_no_constraint_and_are_never_higher) {
    Random random(11);
    int bettered = 0;
    for (int trial = 0; trial < check::rounds(1000); ++trial) {
        sample::Mix mix;
        mix.items = 4 + static_cast<int>(random.below(20));
        mix.one_pool = random.below(3) != 0;
        const Instance instance = sample::random(random, mix);
        const Layout start = greedy_layout(instance);
        if (!complete(start)) continue;
        Budget budget(-1, 20'000);
        ImproveOptions options;
        options.pool = static_cast<Index>(random.below(instance.pools.size()));
        options.seed = static_cast<std::uint64_t>(trial);
        options.workers = 1 + trial % 2;
        options.deterministic = trial % 3 == 0;
        const ImproveResult result = watched(instance, start, options, budget);
        for (std::size_t i = 0; i < start.size(); ++i) {
            if (start[i].pool != options.pool) CHECK(result.layout[i] == start[i]);
        }
        if (result.height < peak_of(instance, start, options.pool)) ++bettered;
    }
    CHECK(bettered > check::rounds(33));
}

TEST(conflicts_are_those_the_referee_sees) {
    Random random(12);
    for (int trial = 0; trial < 500; ++trial) {
        const Instance instance = sample::random(random, {.items = 30, .horizon = 40});
        const std::vector<char> all(static_cast<std::size_t>(instance.item_count()), 1);
        const Conflicts conflicts(instance, all);
        for (Index a = 0; a < instance.item_count(); ++a) {
            std::vector<char> met(all.size(), 0);
            conflicts.visit(a, [&](Index b, Bytes, Bytes, Bytes) { met[static_cast<std::size_t>(b)] = 1; });
            for (Index b = 0; b < instance.item_count(); ++b) {
                if (a == b) continue;
                bool expected = false;
                for (Index p = instance.item_parts[static_cast<std::size_t>(a)];
                     p < instance.item_parts[static_cast<std::size_t>(a) + 1]; ++p) {
                    for (Index q = instance.item_parts[static_cast<std::size_t>(b)];
                         q < instance.item_parts[static_cast<std::size_t>(b) + 1]; ++q) {
                        const bool free = std::any_of(
                            instance.exempt.begin(), instance.exempt.end(), [&](const ExemptPair& pair) {
                                return !pair.in_place &&
                                       std::minmax(pair.first, pair.second) == std::minmax(p, q);
                            });
                        expected = expected || (!free && referee::share_a_row(instance, p, q));
                    }
                }
                CHECK(expected == (met[static_cast<std::size_t>(b)] != 0));
            }
        }
    }
}

TEST(a_start_at_the_bound_costs_no_work) {
    Random random(13);
    const Instance instance = plain(random, 50, 5);
    const Layout start = greedy_layout(instance);
    Budget budget;
    ImproveOptions options;
    options.bound = peak_of(instance, start, 0);
    const ImproveResult result = improve_layout(instance, start, options, budget);
    CHECK(result.layout == start);
    CHECK(budget.work() == 0);
}

TEST(fit_only_stops_within_the_limit) {
    Random random(14);
    const Instance instance = plain(random, 400, 20);
    const Layout start = greedy_layout(instance);
    ImproveOptions options;
    options.fit_only = true;
    options.limit = peak_of(instance, start, 0);
    Budget budget;
    CHECK(improve_layout(instance, start, options, budget).layout == start);
}

TEST(greedy_layouts_of_some_hundred_items_get_lower) {
    Random random(15);
    int lower = 0;
    for (int trial = 0; trial < 6; ++trial) {
        const Instance instance = plain(random, 400, 20);
        const Layout start = greedy_layout(instance);
        Budget budget(-1, 3'000'000);
        ImproveOptions options;
        options.workers = 2;
        if (watched(instance, start, options, budget).height < peak_of(instance, start, 0)) ++lower;
    }
    CHECK(lower >= 3);
}

TEST(a_deterministic_run_gives_one_answer) {
    Random random(16);
    for (const int workers : {1, 2}) {
        const Instance instance = plain(random, 300, 15);
        const Layout start = greedy_layout(instance);
        ImproveOptions options;
        options.workers = workers;
        options.deterministic = true;
        Budget first_budget(-1, 2'000'000);
        Budget second_budget(-1, 2'000'000);
        const ImproveResult first = improve_layout(instance, start, options, first_budget);
        const ImproveResult second = improve_layout(instance, start, options, second_budget);
        CHECK(first.layout == second.layout);
        CHECK(first.moves == second.moves);
        CHECK(first_budget.work() == second_budget.work());
    }
}

TEST(no_time_and_a_cancel_leave_the_start) {
    Random random(17);
    const Instance instance = plain(random, 200, 10);
    const Layout start = greedy_layout(instance);
    Budget none(0, -1);
    CHECK(improve_layout(instance, start, {}, none).layout == start);
    Budget cancelled;
    cancelled.cancel();
    CHECK(improve_layout(instance, start, {}, cancelled).layout == start);
}

TEST(nothing_to_improve_is_no_trouble) {
    Budget budget(-1, 100'000);
    CHECK(improve_layout(sample::build({}), {}, {}, budget).height == 0);
    const Instance lonely = sample::build({{5, {}, {}}, {7, {{0, 1}}, {}}});
    const ImproveResult result = improve_layout(lonely, {{0, 10}, {0, 3}}, {}, budget);
    CHECK(result.height == 7);
}
