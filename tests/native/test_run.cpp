#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "core/bounds.hpp"
#include "core/score.hpp"
#include "memstow.hpp"
#include "referee.hpp"
#include "run/one_pool.hpp"
#include "run/stages.hpp"
#include "sample.hpp"

using namespace memstow;

TEST(bytes_are_laid_around_what_is_reserved) {
    struct Row {
        Bytes need;
        Bytes start;
        std::vector<Range> reserved;
        Bytes height;
    };
    const std::vector<Row> rows{{0, 7, {{0, 3}}, 0},         {4, 0, {}, 4},
                                {4, 0, {{4, 6}}, 4},         {5, 0, {{4, 6}}, 7},
                                {6, 0, {{4, 6}, {8, 9}}, 8}, {7, 0, {{4, 6}, {8, 9}}, 10},
                                {3, 10, {{4, 6}}, 13},       {3, 5, {{4, 6}}, 9},
                                {3, 6, {{4, 6}}, 9},         {2, 1, {{0, 1}, {3, 5}}, 3},
                                {3, 1, {{0, 1}, {3, 5}}, 6}};
    for (const Row& row : rows) CHECK(height_around(row.need, row.start, row.reserved) == row.height);
}

TEST(small_problems_begin_with_greedy_and_go_on_with_the_search) {
    const Instance instance = sample::build({{4, {{0, 2}}, {}}, {6, {{1, 3}}, {}}});
    run::OnePoolStages stages(instance, 10);
    std::vector<std::string> names;
    while (const auto stage = stages.next()) names.push_back(run::name_of(stage->solver));
    CHECK(names == std::vector<std::string>({"greedy", "exact", "improve", "windows", "exact"}));
    CHECK(!stages.next());
}

TEST(a_share_is_no_more_than_what_is_left) {
    Budget budget(-1.0, 1000);
    budget.count(200);
    CHECK(run::share_of(budget, {run::Solver::exact, 0.5}).work_limit() == 400);
    CHECK(run::share_of(budget, {run::Solver::exact}).work_limit() == 800);
    CHECK(run::share_of(budget, {run::Solver::windows, 0.5, 7}).work_limit() == 7);
    CHECK(run::share_of(Budget(), {run::Solver::greedy, 1.0, 7}).work_limit() == 7);
}

TEST(runs_of_one_pool_end_with_layouts_that_the_referee_accepts) {
    Random random(5);
    int proven = 0;
    for (int i = 0; i < 300; ++i) {
        sample::Mix mix;
        mix.items = 1 + static_cast<int>(random.below(9));
        mix.one_pool = true;
        const Instance instance = sample::random(random, mix);
        const Need need = need_of(instance, {true});
        if (need.height > instance.pools[0].capacity) continue;
        Budget budget(-1.0, 200'000);
        run::OnePoolOptions options;
        options.deterministic = true;
        const run::OnePoolResult result = run::plan_one_pool(instance, need, options, budget);
        if (result.status == run::Status::infeasible || result.status == run::Status::unknown) continue;
        CHECK(referee::complaint(instance, result.layout, true).empty());
        CHECK(result.height == pool_peaks(instance, result.layout)[0]);
        CHECK(result.bound <= result.height);
        proven += result.status == run::Status::optimal;
    }
    CHECK(proven > 100);
}

TEST(the_library_plans_random_problems_as_its_judge_accepts_them) {
    Random random(9);
    for (int i = 0; i < 200; ++i) {
        libmemstow::Problem problem;
        const int count = 1 + static_cast<int>(random.below(12));
        for (int b = 0; b < count; ++b) {
            const auto begin = static_cast<std::int64_t>(random.below(10));
            problem.add(static_cast<std::int64_t>(random.below(30)), begin,
                        begin + 1 + static_cast<std::int64_t>(random.below(6)),
                        std::int64_t{1} << random.below(4));
        }
        if (random.below(2) == 0) problem.set_capacity(100);
        if (random.below(3) == 0) problem.reserve(static_cast<std::int64_t>(random.below(40)), 8);
        if (random.below(3) == 0) problem.pin(0, 16);
        if (count > 1 && random.below(3) == 0) problem.keep_apart(0, 1);
        if (count > 2 && random.below(3) == 0) problem.allow_in_place(1, 2);
        if (count > 3 && random.below(3) == 0) problem.never_together(0, 3);
        if (random.below(3) == 0) problem.add_lifetime(0, 20, 22);
        libmemstow::Options options;
        options.deterministic = true;
        options.work_limit = 100'000;
        const libmemstow::Plan plan = problem.solve(options);
        if (plan.has_offsets()) CHECK(problem.judge(plan.offsets()) == plan.peak());
        CHECK(plan.has_offsets() == (plan.status() == MEMSTOW_OPTIMAL || plan.status() == MEMSTOW_FEASIBLE));
    }
}

TEST(alignments_of_any_size_add_up_without_an_overflow) {
    Random random(4);
    for (int i = 0; i < 60; ++i) {
        libmemstow::Problem problem;
        problem.set_capacity(150);
        // Both can be at 0 alone, one after the other.
        problem.add(9, 0, 6, MEMSTOW_LIMIT - 1);
        problem.add(7, 6, 12, MEMSTOW_LIMIT - 1);
        for (int b = 0; b < 12; ++b) {
            const auto begin = static_cast<std::int64_t>(random.below(10));
            problem.add(1 + static_cast<std::int64_t>(random.below(20)), begin,
                        begin + 1 + static_cast<std::int64_t>(random.below(4)));
        }
        CHECK(problem.solve().status() == MEMSTOW_OPTIMAL);
    }
}

TEST(the_library_throws_what_is_wrong_for_cpp) {
    libmemstow::Problem problem;
    problem.add(8, 0, 2);
    std::string text;
    try {
        problem.pin(4, 0);
    } catch (const libmemstow::Error& error) {
        text = error.what();
        CHECK(error.code() == MEMSTOW_INVALID);
    }
    CHECK(text == "there is no buffer 4: the problem has 1");
}
