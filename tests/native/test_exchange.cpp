// What other runs of the same problem have found, and what a search makes of it.
#include "check.hpp"
#include "core/exchange.hpp"
#include "improve/improve.hpp"
#include "sample.hpp"
#include "search/exact.hpp"
#include "tiny.hpp"

using namespace memstow;
using namespace memstow::search;

namespace {

// Lifetimes and sizes at random: what a short run finds can be lowered, and is not proven.
Instance hard(std::uint64_t seed) {
    constexpr std::size_t kCount = 200;
    Random random(seed);
    std::vector<sample::Buffer> buffers;
    for (std::size_t k = 0; k < kCount; ++k) {
        const auto begin = static_cast<std::int64_t>(random.below(kCount));
        const auto end = begin + 1 + static_cast<std::int64_t>(random.below(60));
        buffers.push_back({400 + static_cast<Bytes>(random.below(1600)), {{begin, end}}, {}});
    }
    return sample::build(buffers);
}

ExactResult run(const Instance& in, std::int64_t work, const Exchange* others,
                const ExactEvents& events = {}) {
    ExactOptions options;
    options.others = others;
    Budget budget(-1, work);
    return solve_exact(in, options, budget, events);
}

}  // namespace

TEST(an_exchange_keeps_the_lowest_layout_and_the_highest_bound) {
    Exchange others(3);
    CHECK(others.rank() == 3 && others.height() == kLimit && others.bound() == 0 && !others.settles(100));
    others.offer({{0, 8}}, 20);
    others.offer({{0, 4}}, 16);
    others.offer({{0, 6}}, 18);
    others.offer({{0, 5}}, 16);
    CHECK(others.height() == 16 && others.layout() == Layout{{0, 4}});
    others.raise_bound(10);
    others.raise_bound(9);
    CHECK(others.bound() == 10);
    CHECK(others.settles(9) && !others.settles(10) && !others.settles(15) && others.settles(16));
}

TEST(a_search_takes_over_the_lower_layout_of_another_run) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const Instance in = hard(seed);
        const ExactResult better = run(in, 20'000'000, nullptr);
        const ExactResult alone = run(in, 200'000, nullptr);
        CHECK(better.height < alone.height);
        Exchange others(1);
        others.offer(better.layout, better.height);
        const ExactResult told = run(in, 200'000, &others);
        CHECK(told.height <= better.height);
        CHECK(tiny::Referee(in).valid(tiny::offsets_of(told.layout)));
    }
}

TEST(a_search_ends_where_another_run_has_proven_that_nothing_is_lower) {
    const Instance in = hard(1);
    const ExactResult alone = run(in, 200'000, nullptr);
    CHECK(alone.status != ExactStatus::optimal && alone.steps >= 200'000);
    Exchange others(1);
    others.offer(alone.layout, alone.height);
    others.raise_bound(alone.height);
    const ExactResult told = run(in, 200'000, &others);
    CHECK(told.steps < alone.steps / 4 && told.height <= alone.height);
}

TEST(an_improver_ends_where_another_run_has_proven_that_nothing_is_lower) {
    const Instance in = hard(2);
    const ExactResult start = run(in, 200'000, nullptr);
    const auto steps = [&](const Exchange* others) {
        improve::ImproveOptions options;
        options.others = others;
        Budget budget(-1, 2'000'000);
        improve::improve_layout(in, start.layout, options, budget);
        return budget.work();
    };
    Exchange others(1);
    others.offer(start.layout, start.height);
    others.raise_bound(start.height);
    CHECK(steps(&others) < steps(nullptr) / 4);
}
