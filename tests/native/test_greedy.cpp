#include <functional>
#include <optional>

#include "check.hpp"
#include "core/reduction.hpp"
#include "greedy/greedy.hpp"
#include "greedy/orders.hpp"
#include "greedy/pace.hpp"
#include "greedy/pair_board.hpp"
#include "greedy/placer.hpp"
#include "greedy/skyline.hpp"
#include "greedy/sweep.hpp"
#include "greedy/tree_board.hpp"
#include "referee.hpp"
#include "sample.hpp"

using namespace memstow;
using namespace memstow::greedy;

namespace {

const std::vector<Term> kPeak{{TermKind::peak}};

std::vector<Index> shuffled(Random& random, Index n) {
    std::vector<Index> order;
    for (Index i = 0; i < n; ++i) order.push_back(i);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

std::vector<Tactics> all_tactics() {
    std::vector<Tactics> all;
    for (const Rule rule : {Rule::lowest, Rule::best, Rule::top}) {
        for (const PoolRule pools : {PoolRule::preferred, PoolRule::cheapest, PoolRule::flattest}) {
            for (const bool share : {true, false}) {
                all.push_back({rule, pools, share, false, kLimit});
                all.push_back({rule, pools, share, true, 60});
            }
        }
    }
    return all;
}

GreedyResult solve(const Instance& instance, const std::vector<Term>& terms = kPeak, const Hint& hint = {},
                   GreedyOptions options = {.lower_bounds = {}, .improve_work = 5'000}) {
    Budget budget;
    return solve_greedy(instance, terms, hint, options, budget);
}

// The least offset of an item in a pool by looking at every offset in turn.
std::optional<Bytes> lowest_by_trial(const Instance& instance, Layout layout, Index item, Index pool) {
    for (Bytes offset = 0; offset < 2000; ++offset) {
        layout[static_cast<std::size_t>(item)] = {pool, offset};
        if (referee::complaint(instance, layout, false).empty()) return offset;
    }
    return std::nullopt;
}

}  // namespace

TEST(every_pass_on_either_board_breaks_no_constraint) {
    Random random(1);
    Budget budget;
    const std::vector<Tactics> tactics = all_tactics();
    for (int trial = 0; trial < 1500; ++trial) {
        const Instance instance = sample::random(random);
        const std::vector<Index> order = shuffled(random, instance.item_count());
        Placer<PairBoard> pairs(instance);
        Placer<TreeBoard> tree(instance);
        Placer<NarrowTreeBoard> narrow_tree(instance);
        CHECK(NarrowTreeBoard::reaches(instance));
        for (int k = 0; k < 4; ++k) {
            const Tactics& chosen = tactics[random.below(tactics.size())];
            Layout by_pairs;
            Layout by_tree;
            Layout by_narrow_tree;
            CHECK(pairs.run(order, chosen, budget, by_pairs));
            CHECK(tree.run(order, chosen, budget, by_tree));
            CHECK(referee::complaint(instance, by_pairs, false) == "");
            CHECK(by_pairs == by_tree);
            CHECK(narrow_tree.run(order, chosen, budget, by_narrow_tree));
            CHECK(by_narrow_tree == by_tree);
            for (Index item = 0; item < instance.item_count(); ++item) {
                if (by_tree[item].offset == kUnplaced) continue;
                CHECK(by_tree[item].offset + extent_of(instance, item) <= stacked(instance));
            }
        }
    }
}

TEST(lives_that_share_a_row_are_met_once_each) {
    Random random(8);
    for (int trial = 0; trial < 300; ++trial) {
        const auto count = static_cast<Index>(random.below(trial % 3 == 0 ? 600 : 20));
        std::vector<LooseParts::Life> lives;
        for (Index part = 0; part < count; ++part) {
            const auto begin = static_cast<Index>(random.below(40));
            lives.push_back(
                {{begin, begin + 1 + static_cast<Index>(random.below(trial % 2 == 0 ? 4 : 40))}, part});
        }
        const LooseParts loose(lives);
        const auto share = [](RowRange a, RowRange b) { return a.begin < b.end && b.begin < a.end; };
        std::size_t pairs = 0;
        for (const LooseParts::Life& life : lives) {
            std::vector<Index> expected, met;
            for (const LooseParts::Life& other : lives) {
                if (share(life.rows, other.rows)) expected.push_back(other.part);
            }
            loose.meet(life.rows, [&](Index part) { met.push_back(part); });
            std::sort(met.begin(), met.end());
            CHECK(met == expected);
            pairs += met.size() - 1;
        }
        CHECK(meetings(lives) == pairs / 2);
    }
}

TEST(the_lowest_rule_finds_the_lowest_place) {
    Random random(2);
    Budget budget;
    for (int trial = 0; trial < 300; ++trial) {
        const Instance instance = sample::random(random, {.items = 7, .one_pool = true, .unbounded = true});
        const std::vector<Index> order = shuffled(random, instance.item_count());
        Placer<PairBoard> placer(instance);
        Tactics tactics;
        tactics.share = false;
        Layout layout;
        placer.run(order, tactics, budget, layout);
        Instance strict = instance;  // lowest places do not rest on in-place partners
        std::erase_if(strict.exempt, [](const ExemptPair& pair) { return pair.in_place; });
        Layout before(layout.size());
        for (const Index item : order) {
            const Place& place = layout[static_cast<std::size_t>(item)];
            const std::optional<Bytes> expected = lowest_by_trial(strict, before, item, 0);
            CHECK(place.offset == expected.value_or(kUnplaced));
            before[static_cast<std::size_t>(item)] = place;
        }
    }
}

// Two fullest rows, 1 and 4, with 30 bytes each; item 0 lives at both, so do 5 and 6 with a gap between.
TEST(what_all_fullest_rows_share_is_placed_first_and_longest_first) {
    const std::vector<sample::Buffer> buffers{
        {.size = 5, .lives = {{1, 5}}, .choices = {sample::anywhere()}},
        {.size = 15, .lives = {{1, 3}}, .choices = {sample::anywhere()}},
        {.size = 15, .lives = {{4, 6}}, .choices = {sample::anywhere()}},
        {.size = 1, .lives = {{2, 4}}, .choices = {sample::anywhere()}},
        {.size = 1, .lives = {{0, 1}}, .choices = {sample::anywhere()}},
        {.size = 4, .lives = {{0, 2}, {4, 6}}, .choices = {sample::anywhere()}},
        {.size = 6, .lives = {{0, 2}, {3, 7}}, .choices = {sample::anywhere()}},
    };
    const Instance instance = sample::build(buffers);
    const Traits traits(instance);
    CHECK(traits.common == std::vector<bool>({true, false, false, false, false, true, true}));
    CHECK(arrange(traits, Order::common_life) == std::vector<Index>({6, 0, 5, 4, 1, 3, 2}));
}

TEST(the_portfolio_breaks_no_constraint_and_its_score_is_right) {
    Random random(3);
    const std::vector<std::vector<Term>> objectives{
        kPeak,
        {},
        {{TermKind::placement_cost}, {TermKind::peak}},
        {{TermKind::reuse_cost}, {TermKind::max_peak}},
        {{TermKind::pool_peak, 0}, {TermKind::reuse_cost}, {TermKind::moves}}};
    for (int trial = 0; trial < 120; ++trial) {
        const Instance instance = sample::random(random);
        const std::vector<Term>& terms = objectives[random.below(objectives.size())];
        const GreedyResult result = solve(instance, terms);
        CHECK(referee::complaint(instance, result.layout, result.score.fits()) == "");
        CHECK(result.score == Scorer(instance, terms)(result.layout));
        CHECK(!result.name.empty());
    }
}

TEST(the_same_seed_gives_the_same_layout) {
    Random random(4);
    for (int trial = 0; trial < 20; ++trial) {
        const Instance instance = sample::random(random);
        const GreedyResult first = solve(instance);
        const GreedyResult second = solve(instance);
        CHECK(first.layout == second.layout);
        CHECK(first.name == second.name);
    }
}

TEST(each_layout_reported_is_better_than_the_one_before) {
    Random random(5);
    for (int trial = 0; trial < 50; ++trial) {
        const Instance instance = sample::random(random);
        std::vector<Score> scores;
        Budget budget;
        const GreedyResult result = solve_greedy(
            instance, kPeak, {}, {.lower_bounds = {}, .improve_work = 5'000}, budget,
            [&](const Layout&, const Score& score, const std::string&) { scores.push_back(score); });
        CHECK(!scores.empty() && scores.back() == result.score);
        for (std::size_t i = 1; i < scores.size(); ++i) CHECK(scores[i] < scores[i - 1]);
    }
}

TEST(a_spent_budget_still_gives_a_whole_greedy_layout) {
    const Instance instance = sample::build({{4, {{0, 2}}, {}}, {4, {{1, 3}}, {}}, {4, {{2, 4}}, {}}});
    Budget budget(0, -1);
    const GreedyResult result = solve_greedy(instance, kPeak, {}, {}, budget);
    CHECK(result.score.values[0] == 8);
}

TEST(a_pass_gives_up_when_the_budget_is_spent_and_there_is_a_layout) {
    std::vector<sample::Buffer> buffers;
    for (Index i = 0; i < 2'000; ++i) buffers.push_back({1 + i % 7, {{i % 50, i % 50 + 9}}, {}});
    const Instance instance = sample::build(buffers);
    Random random(5);
    const std::vector<Index> order = shuffled(random, instance.item_count());
    Placer<TreeBoard> placer(instance);
    Layout whole, late;
    Budget spent;
    spent.cancel();
    CHECK(placer.run(order, {}, spent, whole));
    CHECK(!placer.run(order, {}, spent, late, WhenSpent::give_up));
    // Without time, the last ones are stacked: the layout is sound, and no lower.
    Budget no_time(0, -1);
    CHECK(placer.run(order, {}, no_time, late));
    CHECK(referee::complaint(instance, late, false) == "");
    const Scorer score(instance, kPeak, {});
    CHECK(score(whole) < score(late));
    CHECK(no_time.work() == static_cast<std::int64_t>(order.size()));
}

TEST(without_time_all_that_is_pinned_is_where_it_is_pinned) {
    constexpr Index kPinned = 2'000;
    std::vector<sample::Buffer> buffers;
    for (Index i = 0; i < kPinned; ++i) {
        buffers.push_back({4, {{0, 2}}, {{0, 1, 0, 8 * i, 8 * i, 0}}});
        buffers.push_back({4, {{0, 2}}, {}});
    }
    const Instance instance = sample::build(buffers);
    Budget no_time(0, -1);
    const GreedyResult result = solve_greedy(instance, kPeak, {}, {}, no_time);
    CHECK(referee::complaint(instance, result.layout, true) == "");
}

TEST(a_pass_over_many_items_is_too_slow_only_where_the_time_left_is_less_than_it_takes) {
    constexpr std::size_t kItems = 1 << 15;
    const auto given_up = [](std::size_t items, const Budget& budget) {
        Pace pace(items);
        for (std::size_t placed = 0; placed < items; ++placed) {
            if (pace.too_slow(placed, budget)) return placed;
        }
        return items;
    };
    const Budget none(0, -1), ample(1e9, -1), unlimited;
    CHECK(given_up(kItems, none) == kItems / 16);  // the first look says nothing of how it grows
    CHECK(given_up(kItems, ample) == kItems);
    CHECK(given_up(kItems, unlimited) == kItems);
    CHECK(given_up(kItems / 4, none) == kItems / 4);  // so few take no time
}

TEST(what_is_stacked_breaks_no_constraint_and_rests_on_what_it_meets) {
    Random random(9);
    for (int trial = 0; trial < 60; ++trial) {
        const Instance instance = sample::random(random, {.items = 700});
        const std::vector<Index> order = shuffled(random, instance.item_count());
        Layout layout;
        Budget no_time(0, -1);
        CHECK(Placer<TreeBoard>(instance).run(order, {}, no_time, layout));
        CHECK(referee::complaint(instance, layout, false) == "");
    }
    // A thousand pairs one after the other: nothing is higher than two.
    std::vector<sample::Buffer> buffers;
    for (Index i = 0; i < 2'000; ++i) buffers.push_back({8, {{i / 2, i / 2 + 1}}, {}});
    const Instance instance = sample::build(buffers);
    Layout layout;
    Budget no_time(0, -1);
    CHECK(Placer<TreeBoard>(instance).run(shuffled(random, 2'000), {}, no_time, layout));
    for (const Place& place : layout) CHECK(place.offset == 0 || place.offset == 8);
}

TEST(a_cancelled_run_of_many_items_is_complete_and_sound) {
    std::vector<sample::Buffer> buffers;
    for (int i = 0; i < 6000; ++i) buffers.push_back({1 + i % 7, {{i, i + 3}}, {}});
    const Instance instance = sample::build(buffers);
    Budget budget;
    budget.cancel();
    const GreedyResult result = solve_greedy(instance, kPeak, {}, {}, budget);
    CHECK(result.score.fits());
    for (Index i = 0; i < instance.item_count(); ++i) {
        for (Index j = i + 1; j < std::min<Index>(i + 3, instance.item_count()); ++j) {
            const Bytes a = result.layout[static_cast<std::size_t>(i)].offset;
            const Bytes b = result.layout[static_cast<std::size_t>(j)].offset;
            CHECK(a + 1 + i % 7 <= b || b + 1 + j % 7 <= a);
        }
    }
}

TEST(the_run_ends_at_the_lower_bound) {
    const Instance instance = sample::build({{4, {{0, 2}}, {}}, {6, {{1, 3}}, {}}});
    Budget budget;
    const GreedyResult result = solve_greedy(instance, kPeak, {}, {.lower_bounds = {10}}, budget);
    CHECK(result.bound_met);
    CHECK(budget.work() == 2);
}

TEST(an_empty_instance_has_an_empty_layout) {
    const GreedyResult result = solve(sample::build({}));
    CHECK(result.layout.empty());
    CHECK(result.score.fits());
}

TEST(an_output_goes_exactly_on_its_input_along_a_chain) {
    Instance instance =
        sample::build({{8, {{0, 2}}, {}}, {8, {{1, 3}}, {}}, {6, {{2, 4}}, {}}, {8, {{3, 5}}, {}}});
    for (Index i = 0; i < 3; ++i) instance.exempt.push_back({i, i + 1, true});
    CHECK(solve(instance).score.values[0] == 8);
}

TEST(two_outputs_that_live_together_do_not_share_one_input) {
    Instance instance = sample::build({{8, {{0, 2}}, {}}, {8, {{1, 3}}, {}}, {8, {{1, 3}}, {}}});
    instance.exempt.push_back({0, 1, true});
    instance.exempt.push_back({0, 2, true});
    const GreedyResult result = solve(instance);
    CHECK(referee::complaint(instance, result.layout, true) == "");
    CHECK(result.score.values[0] == 16);
}

TEST(a_pool_that_is_full_sends_items_to_the_next) {
    const std::vector<Choice> both{sample::anywhere(0), sample::anywhere(1)};
    const Instance instance =
        sample::build({{6, {{0, 2}}, both}, {6, {{0, 2}}, both}}, {{8, {}}, {kLimit, {}}});
    const GreedyResult result = solve(instance);
    CHECK(result.score.fits());
    CHECK(result.layout[0].pool != result.layout[1].pool);
}

TEST(what_does_not_fit_is_placed_where_it_overflows_least) {
    const std::vector<Choice> both{sample::anywhere(0), sample::anywhere(1)};
    const Instance instance = sample::build({{9, {{0, 2}}, both}}, {{4, {}}, {7, {}}});
    const GreedyResult result = solve(instance);
    CHECK(!result.score.fits());
    CHECK(result.score.overflow == 2);
    CHECK(result.score.unplaced == 0);
}

TEST(a_hint_that_holds_is_kept_when_moves_count) {
    const Instance instance = sample::build({{4, {{0, 2}}, {}}, {4, {{0, 2}}, {}}, {4, {{0, 2}}, {}}});
    const Layout places{{0, 20}, {0, 4}, {-1, kUnplaced}};
    const Hint hint{places, {{0, places[0], 1}, {1, places[1], 1}}, 2};
    const GreedyResult result = solve(instance, {{TermKind::moves}, {TermKind::peak}}, hint);
    CHECK(result.score.values[0] == 0);
    CHECK(result.layout[0] == places[0]);
    CHECK(result.layout[1] == places[1]);
    CHECK(result.layout[2] == (Place{0, 0}));
}

TEST(pairs_with_a_reuse_cost_stay_apart_while_there_is_room) {
    Instance instance = sample::build({{4, {{0, 1}}, {}}, {4, {{1, 2}}, {}}}, {{8, {}}});
    instance.reuse.push_back({0, 1, 5});
    CHECK(solve(instance, {{TermKind::reuse_cost}, {TermKind::peak}}).score.values[0] == 0);
    const Score peak_first = solve(instance, {{TermKind::peak}, {TermKind::reuse_cost}}).score;
    CHECK(peak_first.values[0] == 4);
    CHECK(peak_first.values[1] == 5);
}

TEST(sizes_near_the_limit_neither_overflow_nor_overlap) {
    const Bytes half = kLimit / 2;
    const Instance instance = sample::build(
        {{half, {{0, 2}}, {}}, {half, {{0, 2}}, {}}, {half, {{0, 2}}, {}}, {kLimit, {{3, 4}}, {}}});
    const GreedyResult result = solve(instance);
    CHECK(referee::complaint(instance, result.layout, true) == "");
    CHECK(result.score.unplaced == 1);
}

TEST(a_sweep_in_either_direction_breaks_no_constraint) {
    Random random(6);
    Budget budget;
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<sample::Buffer> buffers(1 + random.below(60));
        for (sample::Buffer& buffer : buffers) {
            const auto begin = static_cast<Bytes>(random.below(30));
            buffer.size = 1 + static_cast<Bytes>(random.below(50));
            if (random.below(10) != 0)
                buffer.lives = {{begin, begin + 1 + static_cast<Bytes>(random.below(12))}};
            buffer.choices = {sample::anywhere(0, Bytes{1} << random.below(6))};
            buffer.choices[0].residue = static_cast<Bytes>(random.below(2)) % buffer.choices[0].modulus;
        }
        Instance instance = sample::build(buffers, {{kLimit, {{10, 20}, {40, 41}}}});
        // May overlap, and do not.
        if (buffers.size() > 1 && trial % 2 == 0) instance.exempt.push_back({0, 1, trial % 4 == 0});
        CHECK(can_sweep(instance));
        const Traits traits(instance);
        for (const Order order : {Order::start, Order::start_size, Order::end, Order::end_size}) {
            const bool backwards = order == Order::end || order == Order::end_size;
            const std::vector<Index> items = sweep_order(instance, order);
            CHECK(items == arrange(traits, order));
            for (const std::size_t whole : {kWholeSweep, std::size_t{0}}) {
                // Without a budget all of them go to shelves.
                Budget of_this;
                if (whole == 0) of_this.cancel();
                const Layout layout = sweep(instance, items, backwards, of_this, whole);
                CHECK(referee::complaint(instance, layout, false) == "");
                for (const Place& place : layout) CHECK(place.offset != kUnplaced);
            }
        }
    }
}

TEST(a_skyline_breaks_no_constraint_and_leaves_nothing_out) {
    Random random(7);
    const Budget budget;
    Budget cancelled;
    cancelled.cancel();
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<sample::Buffer> buffers(1 + random.below(40));
        for (sample::Buffer& buffer : buffers) {
            const auto begin = static_cast<Bytes>(random.below(30));
            buffer.size = 1 + static_cast<Bytes>(random.below(50));
            if (random.below(10) != 0)
                buffer.lives = {{begin, begin + 1 + static_cast<Bytes>(random.below(12))}};
            if (random.below(5) == 0) buffer.lives.push_back({50, 52});
            buffer.choices = {sample::anywhere(0, Bytes{1} << random.below(6))};
        }
        const Instance instance = sample::build(buffers);
        CHECK(can_skyline(instance));
        const Traits traits(instance);
        const Layout layout = skyline(instance, traits.life, kLimit, budget);
        CHECK(referee::complaint(instance, layout, true) == "");
        for (const Place& place : layout) CHECK(place.offset != kUnplaced);
        const Bytes peak = pool_peaks(instance, layout)[0];
        CHECK(skyline(instance, traits.life, peak, budget) == layout);
        CHECK(skyline(instance, traits.life, peak - 1, budget).empty());
        CHECK(skyline(instance, traits.life, kLimit, cancelled).empty());
    }
}

TEST(groups_and_reserved_ranges_at_the_limit_do_not_overflow) {
    sample::Buffer group{5, {{0, 2}}, {sample::anywhere(0, 64)}};
    group.more.push_back({0, kLimit - 10, 10});
    group.more_lives.push_back({{0, 2}});
    const Instance instance = sample::build({group, group, {kLimit, {{3, 4}}, {}}, {7, {{0, 9}}, {}}},
                                            {{kLimit, {{0, 3}, {kLimit - 4, kLimit}}}});
    const GreedyResult result = solve(instance);
    CHECK(referee::complaint(instance, result.layout, false) == "");
    CHECK(result.score.unplaced == 3);
}
