#include "check.hpp"
#include "core/score.hpp"
#include "sample.hpp"

using namespace memstow;

namespace {

Instance two_pools() {
    const std::vector<Choice> both{{0, 1, 0, 0, kLimit, 7}, {1, 1, 0, 0, kLimit, 2}};
    return sample::build({{10, {{0, 2}}, both}, {20, {{0, 2}}, both}}, {{15, {}}, {kLimit, {}}});
}

}  // namespace

TEST(peaks_add_up_over_pools_or_stand_alone) {
    const Instance instance = two_pools();
    const Scorer scorer(instance, {{TermKind::peak}, {TermKind::pool_peak, 1}, {TermKind::max_peak}});
    const Score score = scorer({{0, 2}, {1, 5}});
    CHECK(score.values == std::vector<Value>{12 + 25, 25, 25});
    CHECK(score.fits());
}

TEST(costs_and_moves_are_counted) {
    Instance instance = two_pools();
    instance.reuse.push_back({0, 1, 3});
    const Scorer scorer(instance, {{TermKind::placement_cost}, {TermKind::reuse_cost}, {TermKind::moves}},
                        {{}, {{0, {1, 0}, 1}, {1, {1, 4}, 1}}, 2});
    CHECK(scorer({{1, 0}, {1, 5}}).values == std::vector<Value>{4, 3, 1});
    CHECK(scorer({{0, 0}, {1, 4}}).values == std::vector<Value>{9, 0, 1});
    CHECK(scorer({{1, 0}, {1, 10}}).values == std::vector<Value>{4, 0, 1});
}

TEST(moves_are_counted_in_buffers_of_the_hint) {
    // The first item holds two buffers that the hint has at different distances; the second is not in it.
    const Instance instance = two_pools();
    const Scorer scorer(instance, {{TermKind::moves}}, {{}, {{0, {1, 0}, 2}, {0, {1, 8}, 1}}, 3});
    CHECK(scorer({{1, 0}, {0, 0}}).values == std::vector<Value>{1});
    CHECK(scorer({{1, 8}, {0, 7}}).values == std::vector<Value>{2});
    CHECK(scorer({{0, 0}, {1, 0}}).values == std::vector<Value>{3});
}

TEST(bytes_beyond_a_capacity_come_before_every_term) {
    const Instance instance = two_pools();
    const Scorer scorer(instance, {{TermKind::placement_cost}});
    const Score over = scorer({{1, 0}, {0, 0}});
    CHECK(over.overflow == 5);
    CHECK(!over.fits());
    CHECK(scorer({{0, 0}, {0, kUnplaced}}) > over);
    CHECK(scorer({{0, 0}, {1, 0}}) < over);
}

TEST(a_sum_of_peaks_may_be_wider_than_63_bits) {
    std::vector<sample::Buffer> buffers;
    std::vector<Pool> pools;
    Layout layout;
    for (Index pool = 0; pool < 4; ++pool) {
        buffers.push_back({kLimit, {{0, 1}}, {sample::anywhere(pool)}});
        pools.push_back({kLimit, {}});
        layout.push_back({pool, 0});
    }
    const Instance instance = sample::build(buffers, pools);
    CHECK(Scorer(instance, {{TermKind::peak}})(layout).values[0] == Value{4} * kLimit);
}
