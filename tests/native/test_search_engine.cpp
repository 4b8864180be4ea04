#include <chrono>
#include <thread>

#include "check.hpp"
#include "rows.hpp"
#include "search/exact.hpp"
#include "tiny.hpp"

using namespace memstow;

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
        in.choices.values.push_back({0, 1, 0, 0, kLimit - size, 0});
        in.choices.close();
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

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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
    const Instance in = random_lives(7, 300);
    for (const double limit : {0.0, 0.001, 0.05}) {
        ExactOptions options;
        options.workers = 2;
        options.bound = 1;
        const auto start = std::chrono::steady_clock::now();
        Budget budget(limit, -1);
        solve_exact(in, options, budget);
        CHECK(seconds_since(start) < limit + 2);  // generous: sanitizers, loaded machines
    }
}

TEST(a_run_stops_when_it_is_cancelled) {
    const Instance in = random_lives(8, 300);
    Budget budget(30, -1);
    ExactOptions options;
    options.workers = 2;
    options.fit_only = true;
    options.limit = 1;  // refuted at once, or else cancelled
    std::thread other([&] { budget.cancel(); });
    const auto start = std::chrono::steady_clock::now();
    solve_exact(in, options, budget);
    other.join();
    CHECK(seconds_since(start) < 5);
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
    Budget budget(1, -1);
    const ExactResult result = solve_exact(in, {}, budget);
    CHECK(result.status == ExactStatus::optimal && result.height == 0);
}
