#include <utility>
#include <vector>

#include "check.hpp"
#include "core/score.hpp"
#include "greedy/classics.hpp"
#include "referee.hpp"
#include "sample.hpp"

using namespace memstow;
using namespace memstow::greedy;

namespace {

Layout run(std::string_view classic, const Instance& instance) {
    CHECK(!declines(classic, instance));
    Budget budget;
    const Layout layout = run_classic(classic, instance, budget);
    CHECK(referee::complaint(instance, layout, false) == "");
    return layout;
}

std::vector<Bytes> offsets(std::string_view classic, const Instance& instance) {
    std::vector<Bytes> list;
    for (const Place& place : run(classic, instance)) list.push_back(place.offset);
    return list;
}

Bytes peak(std::string_view classic, const Instance& instance, Index pool = 0) {
    return pool_peaks(instance, run(classic, instance))[static_cast<std::size_t>(pool)];
}

struct Use {
    Bytes size;
    std::int64_t first;
    std::int64_t last;  // inclusive, as the sources count
};

Instance in_time(const std::vector<Use>& uses, Bytes alignment = 1) {
    std::vector<sample::Buffer> buffers;
    for (const Use& use : uses) {
        buffers.push_back({use.size, {{use.first, use.last + 1}}, {sample::anywhere(0, alignment)}});
    }
    return sample::build(buffers);
}

using Edges = std::vector<std::pair<Index, Index>>;

Instance by_conflicts(const std::vector<Bytes>& sizes, const Edges& edges,
                      std::vector<Pool> pools = {{kLimit, {}}}, Bytes alignment = 1) {
    std::vector<Choice> choices;
    for (Index pool = 0; pool < static_cast<Index>(pools.size()); ++pool) {
        choices.push_back(sample::anywhere(pool, alignment));
    }
    std::vector<sample::Buffer> buffers;
    for (const Bytes size : sizes) buffers.push_back({size, {}, choices});
    return sample::build(buffers, std::move(pools), edges);
}

}  // namespace

// tensorflow/lite/micro/memory_planner/greedy_memory_planner_test.cc
TEST(tflm_places_as_its_own_tests_say) {
    CHECK(offsets("tflm", in_time({{10, 0, 1}, {20, 2, 3}})) == std::vector<Bytes>{0, 0});
    CHECK(offsets("tflm", in_time({{10, 0, 1}, {20, 1, 2}, {30, 2, 3}, {40, 3, 4}, {50, 0, 1}})) ==
          std::vector<Bytes>{50, 70, 40, 0, 0});
    CHECK(peak("tflm", in_time({{100, 0, 1}, {50, 2, 3}, {20, 1, 2}})) == 120);
}

TEST(tflm_takes_the_later_of_equal_buffers_first) {
    CHECK(offsets("tflm", in_time({{8, 0, 1}, {8, 0, 1}, {8, 0, 1}})) == std::vector<Bytes>{16, 8, 0});
    CHECK(offsets("first-fit", in_time({{8, 0, 1}, {8, 0, 1}, {8, 0, 1}})) == std::vector<Bytes>{0, 8, 16});
}

TEST(tflm_keeps_offline_offsets_and_fills_the_gaps) {
    Instance instance = in_time({{10, 0, 3}, {20, 0, 3}, {6, 0, 3}});
    instance.choices = {};
    instance.choices.add({0, 1, 0, 8, 8, 0});
    for (int i = 0; i < 2; ++i) instance.choices.add(sample::anywhere());
    CHECK(offsets("tflm", instance) == std::vector<Bytes>{8, 18, 0});
}

// Worked by hand after GreedyWithHeuristic: 40 and 30 and 20 stand with gaps of 30 (time 2) and 20 (time 3)
// left.
TEST(cadence_gap_takes_the_smallest_gap_and_cadence_position_the_lowest) {
    // At time 5 the column holds [40, 70) and [90, 110): gaps of 40 below and 20 between.
    const std::vector<Use> uses{{40, 0, 0}, {30, 0, 5}, {20, 0, 0}, {20, 0, 5}, {15, 5, 5}};
    CHECK(offsets("cadence-position", in_time(uses)) == std::vector<Bytes>{0, 40, 70, 90, 0});
    CHECK(offsets("cadence-gap", in_time(uses)) == std::vector<Bytes>{0, 40, 70, 90, 70});
}

TEST(cadence_falls_through_the_memories_in_order) {
    const std::vector<Choice> both{sample::anywhere(0, 16), sample::anywhere(1, 16)};
    const Instance instance = sample::build(
        {{64, {{0, 2}}, both}, {48, {{0, 2}}, both}, {20, {{0, 2}}, both}}, {{100, {}}, {kLimit, {}}});
    for (const char* classic : {"cadence-position", "cadence-gap"}) {
        const Layout layout = run(classic, instance);
        CHECK(layout == Layout{{0, 0}, {1, 0}, {0, 64}});
    }
}

// tests/python/tir-usmp/test_tir_usmp_algo.py
TEST(usmp_takes_the_later_name_first_among_equals) {
    const Instance instance = by_conflicts({10, 10, 10}, {{0, 1}, {0, 2}, {1, 2}});
    CHECK(offsets("usmp-size", instance) == std::vector<Bytes>{20, 10, 0});
    CHECK(offsets("usmp-conflicts", instance) == std::vector<Bytes>{20, 10, 0});
}

TEST(usmp_reaches_the_figures_of_its_linear_and_fanout_tests) {
    const Instance linear = by_conflicts({10, 20, 100, 40, 50, 50}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
    CHECK(peak("usmp-size", linear) == 140);
    CHECK(peak("usmp-conflicts", linear) == 140);
    const Instance fanout = by_conflicts(
        {10, 20, 100, 40, 50, 60, 70},
        {{0, 1}, {0, 2}, {1, 2}, {1, 4}, {2, 4}, {2, 3}, {1, 3}, {3, 5}, {3, 4}, {4, 5}, {5, 6}});
    CHECK(peak("usmp-conflicts", fanout) == 320);
}

TEST(usmp_reaches_the_figures_of_its_mobilenet_test) {
    // sid_9, sid_8, PaddedInput_7, Conv2dOutput_7, tensor_2
    const Instance instance =
        by_conflicts({301056, 802816, 314646, 256, 200704}, {{3, 2}, {3, 1}, {2, 1}, {2, 0}, {1, 4}},
                     {{200704, {}}, {kLimit, {}}}, 16);
    for (const char* classic : {"usmp-size", "usmp-conflicts"}) {
        CHECK(peak(classic, instance, 0) == 200704);
        CHECK(peak(classic, instance, 1) == 1418528);
    }
}

TEST(usmp_reaches_the_figures_of_its_resnet_test) {
    // Conv2dOutput 0-3, PaddedInput 4-7, sid_2, sid_6, sid_7, sid_8: the order of their names.
    const Instance instance =
        by_conflicts({256, 256, 256, 256, 720000, 758912, 720000, 720000, 720000, 5760000, 720000, 720000},
                     {{0, 4}, {0, 8}, {0, 11}, {1, 5}, {1, 8},  {1, 10}, {2, 6},  {2, 8},
                      {2, 9}, {3, 7}, {3, 9},  {4, 8}, {4, 11}, {5, 8},  {5, 10}, {5, 11},
                      {6, 8}, {6, 9}, {6, 10}, {7, 8}, {7, 9},  {8, 9},  {8, 10}, {8, 11}},
                     {{kLimit, {}}}, 16);
    CHECK(peak("usmp-size", instance) == 7920256);
    CHECK(peak("usmp-conflicts", instance) == 7200256);
}

// xla/service/heap_simulator_test.cc, GlobalDecreasingSizeBestFitHeapTest; times are its clock of events.
TEST(xla_heap_places_as_its_own_tests_say) {
    CHECK(offsets("xla-heap", in_time({{10, 0, 4}, {30, 1, 5}, {20, 2, 6}, {40, 3, 7}})) ==
          std::vector<Bytes>{90, 40, 70, 0});
    CHECK(offsets("xla-heap", in_time({{10, 0, 3}, {20, 1, 5}, {50, 2, 6}, {40, 4, 7}}, 20)) ==
          std::vector<Bytes>{60, 100, 0, 60});
    CHECK(offsets("xla-heap", in_time({{10, 0, 3}, {20, 1, 6}, {40, 2, 7}, {30, 4, 8}, {50, 5, 9}})) ==
          std::vector<Bytes>{90, 120, 50, 90, 0});
}

TEST(xla_heap_takes_the_room_below_the_heaps_end_as_a_gap) {
    // At time 5 the bytes [60, 110) are taken: 60 are free below, and 40 up to the end of the heap at 150.
    const std::vector<Use> uses{{60, 0, 0}, {50, 0, 5}, {40, 0, 0}, {35, 5, 5}};
    CHECK(offsets("xla-heap", in_time(uses)) == std::vector<Bytes>{0, 60, 110, 110});
    CHECK(offsets("cadence-gap", in_time(uses)) == std::vector<Bytes>{0, 60, 110, 0});
}

// Worked by hand after StorageAllocator::Request.
TEST(storage_tokens_reuse_whole_storages) {
    // 100 dies at 2; 90 takes its storage; 40 finds none free; 120 grows the storage that 90 leaves.
    const Instance instance = in_time({{100, 0, 1}, {90, 2, 3}, {40, 3, 4}, {120, 4, 5}});
    CHECK(offsets("storage-tokens", instance) == std::vector<Bytes>{0, 0, 120, 0});
}

TEST(storage_tokens_leave_storages_that_are_much_too_large) {
    CHECK(offsets("storage-tokens", in_time({{1700, 0, 1}, {100, 2, 3}})) == std::vector<Bytes>{0, 1700});
    CHECK(offsets("storage-tokens", in_time({{1600, 0, 1}, {100, 2, 3}})) == std::vector<Bytes>{0, 0});
    CHECK(offsets("storage-tokens", in_time({{6, 0, 1}, {100, 2, 3}})) == std::vector<Bytes>{0, 0});
    CHECK(offsets("storage-tokens", in_time({{5, 0, 1}, {100, 2, 3}})) == std::vector<Bytes>{0, 5});
}

TEST(storage_tokens_prefer_the_smallest_that_is_large_enough) {
    CHECK(offsets("storage-tokens", in_time({{300, 0, 1}, {120, 0, 1}, {80, 0, 1}, {100, 2, 3}})) ==
          std::vector<Bytes>{0, 300, 420, 300});
}

TEST(storage_tokens_start_where_every_buffer_of_a_storage_may) {
    // The second storage has the buffer of alignment 8 first, and then one that may start anywhere.
    const Instance instance = sample::build({{3, {{0, 4}}, {sample::anywhere(0, 1)}},
                                             {5, {{0, 1}}, {sample::anywhere(0, 8)}},
                                             {5, {{1, 2}}, {sample::anywhere(0, 1)}},
                                             {5, {{2, 3}}, {sample::anywhere(0, 12)}}});
    CHECK(offsets("storage-tokens", instance) == std::vector<Bytes>{0, 24, 24, 24});
}

TEST(classics_decline_by_name_what_they_cannot_honour) {
    const Instance two = sample::build({{4, {{0, 1}}, {}}}, {{kLimit, {}}, {kLimit, {}}});
    CHECK(declines("tflm", two) == "several pools");
    CHECK(declines("xla-heap", two) == "several pools");
    CHECK(!declines("usmp-size", two));
    const Instance pinned = sample::build({{4, {{0, 1}}, {{0, 1, 0, 8, 8, 0}}}});
    CHECK(declines("usmp-conflicts", pinned) == "pinned or bounded offsets");
    CHECK(declines("storage-tokens", pinned) == "pinned or bounded offsets");
    CHECK(!declines("tflm", pinned));
    CHECK(declines("storage-tokens", by_conflicts({1, 2}, {{0, 1}})) == "conflicts other than by lifetime");
    Instance shifted = in_time({{4, 0, 1}, {4, 1, 2}});
    CHECK(!declines("storage-tokens", shifted));
    shifted.parts[1].delta = 2;
    CHECK(declines("storage-tokens", shifted) == "rigid groups");
}

TEST(classics_break_no_constraint_of_what_they_take) {
    Random random(11);
    int taken = 0;
    for (int trial = 0; trial < 600; ++trial) {
        const Instance instance =
            sample::random(random, {.one_pool = trial % 2 == 0, .pins = trial % 3 == 0});
        for (const std::string_view classic : classics()) {
            if (declines(classic, instance)) continue;
            ++taken;
            run(classic, instance);
        }
    }
    CHECK(taken > 1500);
}
