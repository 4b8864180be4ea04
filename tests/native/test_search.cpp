
#include "check.hpp"
#include "search/exact.hpp"
#include "search/level_search.hpp"
#include "search/pair_search.hpp"
#include "tiny.hpp"

using namespace memstow;
using namespace memstow::search;

namespace {

constexpr Bytes kEnough = 36;                    // higher than any tiny instance needs
constexpr std::int64_t kMostWork = 100'000'000;  // more than any tiny instance takes

bool agrees(const Instance& in, const ExactResult& result, Bytes best) {
    tiny::Referee referee(in);
    if (best == kLimit) return result.status == ExactStatus::infeasible;
    return result.status == ExactStatus::optimal && result.height == best && result.bound == best &&
           referee.valid(tiny::offsets_of(result.layout)) &&
           tiny::height_of(in, tiny::offsets_of(result.layout)) == best;
}

ExactResult solve(const Instance& in, ExactOptions options = {}) {
    Budget budget(-1, kMostWork);
    return solve_exact(in, options, budget);
}

std::vector<Strategy> every_strategy() {
    std::vector<Strategy> all;
    for (auto order : {Strategy::Order::life, Strategy::Order::size}) {
        for (auto sides : {Strategy::Sides::bottom, Strategy::Sides::top, Strategy::Sides::both}) {
            for (bool lowest : {true, false}) all.push_back({order, sides, 0.3, 0.01, lowest, true});
        }
    }
    return all;
}

}  // namespace

TEST(the_optimum_of_tiny_instances_is_that_of_brute_force) {
    for (int seed = 0; seed < check::rounds(4000); ++seed) {
        const Instance in = tiny::random_instance(static_cast<std::uint64_t>(seed), {});
        const Bytes best = tiny::Referee(in).best(kEnough);
        const ExactResult result = solve(in);
        const bool right = agrees(in, result, best);
        if (!right) {
            std::printf("seed %d: best %lld, outcome %lld, bound %lld, status %d\n", seed,
                        static_cast<long long>(best), static_cast<long long>(result.height),
                        static_cast<long long>(result.bound), static_cast<int>(result.status));
        }
        CHECK(right);
    }
}

TEST(every_strategy_finds_the_optimum_of_plain_instances_and_refutes_less) {
    tiny::Features plain;
    plain.groups = plain.in_place = false;
    plain.most_items = 6;
    for (int seed = 0; seed < check::rounds(1000); ++seed) {
        const Instance in = tiny::random_instance(static_cast<std::uint64_t>(seed) + 1'000'000, plain);
        const Bytes best = tiny::Referee(in).best(kEnough);
        const Decision::Stop never = [](std::int64_t) { return false; };
        std::vector<Packing> parts = packings(in);
        for (const Packing& part : parts) CHECK(part.plain);
        for (const Strategy& strategy : every_strategy()) {
            bool fits = true, fits_below = true;
            for (const Packing& part : parts) {
                const Bytes height = best == kLimit ? kEnough : best;
                LevelSearch level(part, 1 << 12);
                const Answer there = level.run(height, strategy, 1, 1'000'000, never);
                fits = fits && there == Answer::found;
                if (there == Answer::found) {
                    CHECK(part.holds(level.offsets()) && part.height(level.offsets()) <= height);
                    CHECK(part.bound() <= part.height(level.offsets()));
                }
                const Answer below = level.run(height - 1, strategy, 2, 1'000'000, never);
                fits_below = fits_below && below == Answer::found;
                PairSearch pair(part);
                CHECK(pair.run(height, strategy, 1, 1'000'000, never) == there);
                CHECK(pair.run(height - 1, strategy, 1, 1'000'000, never) == below);
            }
            if (fits != (best < kLimit) || (best < kLimit && fits_below)) std::printf("seed %d\n", seed);
            CHECK(fits == (best < kLimit));
            if (best < kLimit) CHECK(!fits_below);
        }
    }
}

TEST(fit_only_says_fits_or_infeasible_as_brute_force_does) {
    for (int seed = 0; seed < check::rounds(1000); ++seed) {
        const Instance in = tiny::random_instance(static_cast<std::uint64_t>(seed) + 2'000'000, {});
        const Bytes best = tiny::Referee(in).best(kEnough);
        ExactOptions options;
        options.fit_only = true;
        if (best == kLimit) {
            CHECK(solve(in, options).status == ExactStatus::infeasible);
            continue;
        }
        options.limit = best;
        const ExactResult fits = solve(in, options);
        CHECK(fits.status == ExactStatus::optimal || fits.status == ExactStatus::feasible);
        CHECK(fits.height <= best && tiny::Referee(in).valid(tiny::offsets_of(fits.layout)));
        options.limit = best - 1;
        CHECK(solve(in, options).status == ExactStatus::infeasible);
    }
}

TEST(two_workers_agree_with_one) {
    for (int seed = 0; seed < check::rounds(300); ++seed) {
        const Instance in = tiny::random_instance(static_cast<std::uint64_t>(seed) + 3'000'000, {});
        const Bytes best = tiny::Referee(in).best(kEnough);
        ExactOptions options;
        options.workers = 2;
        CHECK(agrees(in, solve(in, options), best));
    }
}

TEST(a_start_layout_is_kept_when_nothing_better_is_found) {
    const Instance in = tiny::random_instance(5, {.pinned = false, .reserved = false, .groups = false});
    ExactOptions options;
    const ExactResult first = solve(in);
    options.start = first.layout;
    Budget none(0, 0);
    const ExactResult kept = solve_exact(in, options, none);
    CHECK(kept.layout == first.layout && kept.height == first.height);
}

TEST(events_fall_and_rise_and_end_at_the_result) {
    for (int seed = 0; seed < check::rounds(200); ++seed) {
        const Instance in = tiny::random_instance(static_cast<std::uint64_t>(seed) + 4'000'000, {});
        Bytes height = kLimit, bound = 0;
        ExactEvents events;
        events.incumbent = [&](const Layout& layout, Bytes now) {
            CHECK(now < height && tiny::height_of(in, tiny::offsets_of(layout)) == now);
            height = now;
        };
        events.bound = [&](Bytes now, std::int64_t) {
            CHECK(now > bound);
            bound = now;
        };
        Budget budget(-1, kMostWork);
        const ExactResult result = solve_exact(in, {}, budget, events);
        CHECK(result.height == height);
        CHECK(bound == 0 || result.bound == bound || result.status == ExactStatus::infeasible);
    }
}

TEST(a_dead_set_is_dead_and_loses_that_with_any_item) {
    int dead = 0;
    for (int seed = 0; seed < check::rounds(400); ++seed) {
        const Instance in = tiny::random_instance(static_cast<std::uint64_t>(seed) + 5'000'000, {});
        const Bytes best = tiny::Referee(in).best(kEnough);
        if (best == kLimit || best < 2) continue;
        std::vector<Index> all;
        for (Index i = 0; i < in.item_count(); ++i) all.push_back(i);
        Budget budget(-1, kMostWork);
        const DeadSet set = dead_set(in, all, best - 1, budget);
        CHECK(set.smallest);
        CHECK(tiny::Referee(restrict_to(in, set.items)).best(best) == kLimit);
        for (std::size_t k = 0; k < set.items.size() && set.items.size() > 1; ++k) {
            std::vector<Index> fewer = set.items;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
            CHECK(tiny::Referee(restrict_to(in, fewer)).best(best) < best);
        }
        ++dead;
    }
    CHECK(dead > 0);
}
