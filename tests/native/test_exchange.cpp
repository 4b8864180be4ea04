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

TEST(an_improver_hears_of_others_above_what_lives_throughout) {
    constexpr std::size_t kCount = 2048;
    Random random(5);
    std::vector<sample::Buffer> buffers;
    const auto add = [&](std::int64_t begin, std::int64_t end) {
        buffers.push_back({400 + static_cast<Bytes>(random.below(1600)), {{begin, end}}, {}});
    };
    for (std::size_t k = 0; k < 60; ++k) add(0, 300);
    for (std::size_t k = 0; k < kCount; ++k) {
        const auto begin = static_cast<std::int64_t>(random.below(240));
        add(begin, begin + 1 + static_cast<std::int64_t>(random.below(60)));
    }
    const Instance in = sample::build(buffers);
    // Each at its lowest place beside those before it: there are better orders.
    Layout start;
    for (std::size_t k = 0; k < buffers.size(); ++k) {
        std::vector<std::pair<Bytes, Bytes>> taken;
        for (std::size_t other = 0; other < k; ++other) {
            const auto &mine = buffers[k].lives[0], &its = buffers[other].lives[0];
            if (mine.begin >= its.end || its.begin >= mine.end) continue;
            taken.emplace_back(start[other].offset, start[other].offset + buffers[other].size);
        }
        std::sort(taken.begin(), taken.end());
        Bytes offset = 0;
        for (const auto& [low, high] : taken) {
            if (offset + buffers[k].size <= low) break;
            offset = std::max(offset, high);
        }
        start.push_back({0, offset});
    }
    const auto run = [&](std::int64_t work, const Exchange* others) {
        improve::ImproveOptions options;
        options.others = others;
        Budget budget(-1, work);
        const improve::ImproveResult result = improve::improve_layout(in, start, options, budget, {});
        CHECK(tiny::Referee(in).valid(tiny::offsets_of(result.layout)));
        return std::pair(result, budget.work());
    };
    const auto [alone, work] = run(80'000'000, nullptr);
    CHECK(alone.height < run(0, nullptr).first.height);
    // What they have proven is a bound on the whole, and no reason to end above it.
    Exchange bounded(1);
    bounded.raise_bound(alone.height - 1);
    CHECK(run(80'000'000, &bounded).first.height <= alone.height);
    bounded.raise_bound(alone.height);
    CHECK(run(400'000'000, &bounded).second < 200'000'000);
    // A layout of all: with what lives throughout on top, so that nothing stays where it is.
    Bytes most = 0;
    Layout turned = alone.layout;
    for (Place& place : turned) {
        const auto item = static_cast<std::size_t>(&place - turned.data());
        place.offset = alone.height - place.offset - buffers[item].size;
        most = std::max(most, place.offset + buffers[item].size);
    }
    CHECK(tiny::Referee(in).valid(tiny::offsets_of(turned)));
    Exchange offered(1);
    offered.offer(turned, most);
    CHECK(run(1'000'000, nullptr).first.height > alone.height);
    CHECK(run(1'000'000, &offered).first.height <= alone.height + 16);
}
