#include <ctime>
#include <thread>

#include "check.hpp"
#include "core/rows.hpp"
#include "cut.hpp"
#include "search/exact.hpp"
#include "search/level_search.hpp"
#include "tiny.hpp"

using namespace memstow;
using namespace memstow::search;

namespace {

// Lifetimes and sizes at random: hard enough to keep a search busy, on the way to the bound.
Instance random_lives(std::uint64_t seed, Index count) {
    Random random(seed);
    Instance in;
    in.pools.push_back({kLimit, {}});
    std::vector<Lifetime> lives;
    for (Index i = 0; i < count; ++i) {
        const auto begin = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
        lives.push_back({begin, begin + 1 + static_cast<std::int64_t>(random.below(40))});
        const Bytes size = 400 + static_cast<Bytes>(random.below(1600));
        in.choices.add({0, 1, 0, 0, kLimit - size, 0});
        in.parts.push_back({i, 0, size});
        in.item_parts.push_back(i + 1);
    }
    const TimeRows rows = time_rows(lives);
    for (const RowRange& range : rows.ranges) {
        in.rows.values.push_back(range);
        in.rows.close();
    }
    in.row_count = in.time_rows = static_cast<Index>(rows.times.size());
    return in;
}

// Searched for longer than anybody waits for a test: what ends is ended.
Instance never_proven() { return cut::rectangle(8, 1000, 1 << 20); }

}  // namespace

TEST(a_deterministic_run_gives_the_same_answer_whatever_the_workers) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const Instance in = random_lives(seed, 120);
        ExactResult first;
        for (int run = 0; run < 3; ++run) {
            ExactOptions options;
            options.deterministic = true;
            options.workers = 1 + run;
            Budget budget(-1, 2'000'000);
            const ExactResult result = solve_exact(in, options, budget);
            if (run == 0) first = result;
            CHECK(result.layout == first.layout && result.bound == first.bound);
            CHECK(result.nodes == first.nodes && result.steps == first.steps);
        }
    }
}

TEST(a_run_stops_soon_after_its_deadline) {
    const Instance in = never_proven();
    for (const double limit : {0.0, 0.001, 0.05}) {
        ExactOptions options;
        options.workers = 2;
        options.bound = 1;
        Budget budget(limit, -1);
        CHECK(solve_exact(in, options, budget).status != ExactStatus::optimal);
    }
}

TEST(a_search_starts_at_once_when_long_rows_are_out_of_order) {
    // Least offsets that fall in the order of the items, in rows of thousands.
    Instance in;
    in.pools.push_back({kLimit, {}});
    const Index count = 2000, rows = 300;
    for (Index i = 0; i < count; ++i) {
        in.choices.add({0, 1, 0, 2 * (count - i), kLimit - 3, 0});
        in.parts.push_back({i, 0, 3});
        in.item_parts.push_back(i + 1);
        in.rows.values.push_back({i % 50, rows - i % 7});
        in.rows.close();
    }
    in.row_count = in.time_rows = rows;
    const std::vector<Packing> made = packings(in);
    CHECK(made.size() == 1);
    LevelSearch search(made[0], 1 << 12);
    // Of the processor: others may have it meanwhile.
    const std::clock_t start = std::clock();
    search.run(8 * count, {}, 1, 0, [](std::int64_t) { return true; });
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (seconds >= 1) std::printf("%.2f s\n", seconds);
    CHECK(seconds < 1);  // it took seconds where long rows were sorted by insertion
}

TEST(a_run_stops_when_it_is_cancelled) {
    const Instance in = never_proven();
    Budget budget;
    ExactOptions options;
    options.workers = 2;
    options.bound = 1;
    std::thread other([&] { budget.cancel(); });
    const ExactResult result = solve_exact(in, options, budget);
    other.join();
    CHECK(result.status != ExactStatus::optimal);
}

TEST(workers_share_their_layouts_and_bounds) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const Instance in = random_lives(seed, 100);
        ExactOptions options;
        options.workers = 2;
        Bytes height = kLimit;
        ExactEvents events;
        events.incumbent = [&](const Layout&, Bytes now) {
            CHECK(now < height);
            height = now;
        };
        Budget budget(0.5, -1);
        const ExactResult result = solve_exact(in, options, budget, events);
        CHECK(result.height == height && result.bound <= result.height);
    }
}

TEST(a_problem_without_items_is_optimal_at_zero) {
    Instance in;
    in.pools.push_back({kLimit, {}});
    Budget budget;
    const ExactResult result = solve_exact(in, {}, budget);
    CHECK(result.status == ExactStatus::optimal && result.height == 0);
}

namespace {

// Copies of an instance one after the other in time.
Instance in_a_row(const Instance& one, int copies) {
    Instance all;
    all.pools = one.pools;
    for (int k = 0; k < copies; ++k) {
        for (Index i = 0; i < one.item_count(); ++i) {
            all.choices.add(one.choices[i][0]);
            for (Part part : one.parts_of(i)) {
                part.item = all.item_count();
                all.parts.push_back(part);
            }
            all.item_parts.push_back(static_cast<Index>(all.parts.size()));
        }
        for (Index p = 0; p < one.rows.size(); ++p) {
            for (const RowRange& range : one.rows[p]) {
                all.rows.values.push_back({range.begin + all.row_count, range.end + all.row_count});
            }
            all.rows.close();
        }
        const auto first = static_cast<Index>(all.parts.size() - one.parts.size());
        for (ExemptPair pair : one.exempt) {
            pair.first += first;
            pair.second += first;
            all.exempt.push_back(pair);
        }
        all.row_count += one.row_count;
    }
    all.time_rows = all.row_count;
    return all;
}

// Everything on top of everything before: valid and high.
Layout stacked(const Instance& in, Index from, Index to) {
    Layout layout(static_cast<std::size_t>(in.item_count()));
    Bytes top = 0;
    for (Index i = from; i < to; ++i) {
        layout[static_cast<std::size_t>(i)] = {0, top};
        top += in.parts_of(i)[0].size;
    }
    return layout;
}

}  // namespace

TEST(many_components_in_a_row_are_solved_to_optimality) {
    const Instance one = cut::rectangle(3, 120, 1000);
    const Instance in = in_a_row(one, 40);
    CHECK(in.item_count() == 4800);
    CHECK(reach_of(in, {}, 0).largest <= 120 && reach_of(in, {}, 0).searchable);
    Layout start;
    for (int k = 0; k < 40; ++k) {
        const Layout copy = stacked(one, 0, one.item_count());
        start.insert(start.end(), copy.begin(), copy.end());
    }
    ExactResult first;
    for (int run = 0; run < 3; ++run) {
        ExactOptions options;
        if (run > 0) options.start = start;
        options.deterministic = true;
        options.workers = 1 + run;
        Budget budget(-1, 2'000'000'000);
        const ExactResult result = solve_exact(in, options, budget);
        CHECK(result.status == ExactStatus::optimal && result.height == 1000);
        if (run == 2) CHECK(result.layout == first.layout && result.steps == first.steps);
        first = result;
    }
    ExactOptions options;
    options.workers = 2;
    options.start = start;
    Budget budget(-1, 2'000'000'000);
    CHECK(solve_exact(in, options, budget).height == 1000);
}

TEST(components_that_do_not_decide_are_left_alone) {
    // Many low ones with a start above their own bound, and one high one: only that is searched.
    Instance in = in_a_row(cut::rectangle(4, 40, 100), 30);
    const Instance high = cut::rectangle(5, 40, 5000);
    Layout start;
    for (int k = 0; k < 30; ++k) {
        const Layout copy = stacked(in, k * 40, (k + 1) * 40);
        start.insert(start.end(), copy.begin() + k * 40, copy.begin() + (k + 1) * 40);
    }
    const Layout on_top = stacked(high, 0, 40);
    start.insert(start.end(), on_top.begin(), on_top.end());
    const Instance both = [&] {
        Instance all = in;
        for (Index i = 0; i < high.item_count(); ++i) {
            all.choices.add(high.choices[i][0]);
            all.parts.push_back({all.item_count(), 0, high.parts_of(i)[0].size});
            all.item_parts.push_back(static_cast<Index>(all.parts.size()));
            const RowRange range = high.rows[i][0];
            all.rows.values.push_back({range.begin + in.row_count, range.end + in.row_count});
            all.rows.close();
        }
        all.time_rows = all.row_count = in.row_count + high.row_count;
        return all;
    }();
    ExactOptions options;
    options.start = start;
    options.deterministic = true;
    Budget budget(-1, 500'000'000);
    const ExactResult result = solve_exact(both, options, budget);
    CHECK(result.status == ExactStatus::optimal && result.height == 5000);
    for (std::size_t i = 0; i < 30 * 40; ++i) CHECK(result.layout[i] == start[i]);
}

TEST(what_is_too_large_to_search_keeps_its_start_and_its_rows_bound) {
    // A chain of items, each meeting the next: one component.
    Instance chain;
    chain.pools.push_back({kLimit, {}});
    const Index count = kMostItems + 1;
    Layout start;
    for (Index i = 0; i < count; ++i) {
        chain.choices.add({0, 1, 0, 0, kLimit - 10, 0});
        chain.parts.push_back({i, 0, 10});
        chain.item_parts.push_back(i + 1);
        chain.rows.values.push_back({i, i + 2});
        chain.rows.close();
        start.push_back({0, 10 * (i % 2) + 3});
    }
    chain.row_count = chain.time_rows = count + 1;
    ExactOptions options;
    options.start = start;
    Budget budget;
    const ExactResult result = solve_exact(chain, options, budget);
    CHECK(result.status == ExactStatus::feasible && result.layout == start);
    CHECK(result.height == 23 && result.bound == 20 && result.refuted.size() == 1);
    CHECK(!reach_of(chain, start, 0).searchable && !reach_of(chain, {}, 0).searchable);
    CHECK(reach_of(chain, start, 0).largest == count);
    options.limit = 19;
    CHECK(solve_exact(chain, options, budget).status == ExactStatus::infeasible);
}

TEST(copies_of_tiny_instances_agree_with_brute_force) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        tiny::Features features;
        features.conflicts = false;  // their rows would be in the middle
        const Instance one = tiny::random_instance(seed + 6'000'000, features);
        const Bytes best = tiny::Referee(one).best(36);
        const Instance in = in_a_row(one, 1 + static_cast<int>(seed % 3) * 12);
        Budget budget(-1, 100'000'000);
        const ExactResult result = solve_exact(in, {}, budget);
        if (best == kLimit) {
            CHECK(result.status == ExactStatus::infeasible && !result.dead.empty());
            CHECK(result.dead.size() <= one.item_parts.size());
        } else {
            CHECK(result.status == ExactStatus::optimal && result.height == best);
        }
    }
}
