
#include "check.hpp"
#include "search/packing.hpp"
#include "search/row_bounds.hpp"
#include "tiny.hpp"

using namespace memstow;
using namespace memstow::search;

namespace {

constexpr Bytes kEnough = 40;

// Of random instances: the row bound is never above the optimum, and where it should, it is often above the
// bound that stacks rows without looking at what is in the way. Says how often.
int checked(const char* kind, std::uint64_t seed, int count, const tiny::Features& features) {
    count = check::rounds(count);
    int better = 0, infeasible = 0, above = 0, met = 0;
    Bytes gained = 0, missing = 0;
    for (int k = 0; k < count; ++k) {
        const Instance in = tiny::random_instance(seed + static_cast<std::uint64_t>(k), features);
        const Bytes best = tiny::Referee(in).best(kEnough);
        Bytes old = 0, now = 0;
        for (const Packing& packing : packings(in)) {
            old = std::max(old, packing.bound());
            now = std::max(now, packing.step_up(std::max(packing.bound(), row_bound(packing))));
        }
        if (now > best)
            std::printf("%s, seed %d: %lld above %lld\n", kind, k, static_cast<long long>(now),
                        static_cast<long long>(best));
        CHECK(now <= best);
        if (best == kLimit) {
            infeasible += now == kLimit && old < kLimit;
            continue;
        }
        above += old < best;
        missing += best - old;
        better += now > old;
        gained += now - old;
        met += now == best && old < best;
    }
    if (std::getenv("MEMSTOW_TEST_FIGURES") != nullptr) {
        std::printf(
            "%s: of %d, the optimum is above the old bound in %d, by %lld in all; the new bound is better in "
            "%d, by %lld in all, and meets it in %d; %d more infeasible\n",
            kind, count, above, static_cast<long long>(missing), better, static_cast<long long>(gained), met,
            infeasible);
    }
    return better;
}

constexpr tiny::Features kNoExemptPairs{.conflicts = false,
                                        .exclusive = false,
                                        .groups = false,
                                        .in_place = false,
                                        .largest = 7,
                                        .most_items = 6};

}  // namespace

TEST(row_bounds_around_reserved_ranges_hold) {
    tiny::Features with = kNoExemptPairs;
    with.aligned = with.pinned = with.ranges = false;
    CHECK(checked("reserved", 10'000'000, 1500, with) > 0);
}

TEST(row_bounds_around_pins_hold) {
    tiny::Features with = kNoExemptPairs;
    with.aligned = with.reserved = false;
    CHECK(checked("pinned", 11'000'000, 1500, with) > 0);
}

TEST(row_bounds_with_alignments_hold) {
    tiny::Features with = kNoExemptPairs;
    with.pinned = with.reserved = false;
    CHECK(checked("aligned", 12'000'000, 1500, with) > 0);
}

TEST(row_bounds_with_alignments_and_obstacles_hold) {
    CHECK(checked("aligned, reserved, pinned", 13'000'000, 2500, kNoExemptPairs) > 0);
}

TEST(row_bounds_of_groups_and_exempt_pairs_hold) {
    CHECK(checked("everything", 14'000'000, 3000, {}) > 0);
    CHECK(checked("everything, larger", 15'000'000, 1200, {.largest = 7, .most_items = 5}) > 0);
}
