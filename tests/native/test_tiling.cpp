#include <algorithm>
#include <atomic>

#include "check.hpp"
#include "cut.hpp"
#include "sample.hpp"
#include "search/equal_sums.hpp"
#include "search/exact.hpp"
#include "search/meeting.hpp"
#include "search/tiling.hpp"
#include "tiny.hpp"

using namespace memstow;
using namespace memstow::search;

namespace {

const Decision::Stop kNever = [](std::int64_t) { return false; };
const std::function<bool()> kInTime = [] { return false; };
constexpr std::size_t kMemory = std::size_t{16} << 20;

// Rows that are equally full, whether or not there is a layout without a gap: what ends gives its bytes to
// what begins.
Instance equally_full(std::uint64_t seed, Index most, Bytes height) {
    Random random(seed);
    std::vector<sample::Buffer> buffers;
    std::vector<std::size_t> live;
    const auto begin = [&](Bytes bytes, std::int64_t time) {
        while (bytes > 0) {
            const auto size =
                1 + static_cast<Bytes>(random.below(static_cast<std::size_t>(std::min<Bytes>(bytes, 4))));
            live.push_back(buffers.size());
            buffers.push_back({size, {{time, time}}, {}});
            bytes -= size;
        }
    };
    begin(height, 0);
    std::int64_t time = 1;
    for (; static_cast<Index>(buffers.size()) < most; ++time) {
        Bytes bytes = 0;
        for (std::size_t k = 2 + random.below(2); k > 0 && !live.empty(); --k) {
            const std::size_t which = random.below(live.size());
            sample::Buffer& ended = buffers[live[which]];
            if (ended.lives[0].begin == time) continue;
            ended.lives[0].end = time;
            bytes += ended.size;
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
        begin(bytes, time);
    }
    for (const std::size_t k : live) buffers[k].lives[0].end = time;
    return sample::build(buffers);
}

// A rectangle cut in two again and again, and in five around a middle where there is room.
Instance with_pinwheels(std::uint64_t seed, Index count, Bytes height, std::int64_t horizon) {
    Random random(seed);
    std::vector<cut::Box> boxes{{0, horizon, 0, height}};
    const auto within = [&](std::int64_t from, std::int64_t to) {
        return from + 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(to - from - 1)));
    };
    while (static_cast<Index>(boxes.size()) < count) {
        cut::Box& box = boxes[random.below(boxes.size())];
        const auto [begin, end, low, high] = box;
        if (end - begin > 2 && high - low > 2 && random.below(3) == 0) {
            const std::int64_t right = within(begin, end - 1) + 1;
            const std::int64_t left = within(begin, right);
            const Bytes upper = within(low, high - 1) + 1, lower = within(low, upper);
            box = {left, right, lower, upper};
            boxes.push_back({begin, right, low, lower});
            boxes.push_back({right, end, low, upper});
            boxes.push_back({left, end, upper, high});
            boxes.push_back({begin, left, lower, high});
        } else if (random.below(2) == 0 && end - begin > 1) {
            const std::int64_t middle = within(begin, end);
            box.end = middle;
            boxes.push_back({middle, end, low, high});
        } else if (high - low > 1) {
            const Bytes middle = within(low, high);
            box.high = middle;
            boxes.push_back({begin, end, middle, high});
        }
    }
    return cut::instance_of(boxes);
}

}  // namespace

TEST(equal_sums_are_all_the_pairs_of_sets_that_are_nearly_equal) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        const auto draw = [&] {
            std::vector<Bytes> numbers(1 + random.below(6));
            for (Bytes& number : numbers) number = 1 + static_cast<Bytes>(random.below(9));
            return numbers;
        };
        const auto sum = [](const std::vector<Bytes>& numbers, PlaceSet set) {
            Bytes total = 0;
            for (std::size_t k = 0; k < numbers.size(); ++k) total += has(set, k) ? numbers[k] : 0;
            return total;
        };
        const std::vector<Bytes> first = draw(), second = draw();
        const std::int64_t share = seed % 2 == 0 ? 0 : (1 << kShareBits) / 8;
        std::int64_t steps = 0;
        EqualSets sets(second, share, kMemory);
        const auto& [pairs, complete] = sets.with(first, steps, kInTime);
        std::size_t expected = 0;
        for (PlaceSet a = 1; a < first_places(first.size()); ++a) {
            for (PlaceSet b = 1; b < first_places(second.size()); ++b) {
                const Bytes of_a = sum(first, a), of_b = sum(second, b);
                if (of_b < of_a - share_of(of_a, share) || of_b > of_a + share_of(of_a, share)) continue;
                ++expected;
                CHECK(std::any_of(pairs.begin(), pairs.end(),
                                  [&](const EqualSums& p) { return p.first == a && p.second == b; }));
            }
        }
        CHECK(pairs.size() == expected && complete);
        CHECK(sets.with(first, steps, kInTime).pairs.size() == expected);
    }
}

TEST(of_many_numbers_small_sets_and_what_they_leave_are_found) {
    std::vector<Bytes> many;
    for (int k = 0; k < 40; ++k) many.push_back((Bytes{1} << (k % 40)) + 7);
    const auto total = [&](PlaceSet set) {
        Bytes sum = 0;
        for (std::size_t k = 0; k < many.size(); ++k) sum += has(set, k) ? many[k] : 0;
        return sum;
    };
    const PlaceSet two = PlaceSet{1} << 30 | PlaceSet{1} << 4, all = first_places(many.size());
    std::int64_t steps = 0;
    EqualSets sets(many, 0, kMemory);
    const auto& [pairs, complete] = sets.with({total(two), total(all & ~two)}, steps, kInTime);
    const auto outcome = [&](PlaceSet a, PlaceSet b) {
        return std::any_of(pairs.begin(), pairs.end(),
                           [&](const EqualSums& p) { return p.first == a && p.second == b; });
    };
    CHECK(outcome(1, two) && outcome(2, all & ~two) && !complete);
}

TEST(what_is_looked_at_of_many_sums_that_are_nearly_equal_is_limited) {
    Random random(1);
    const auto alike = [&](int count) {
        std::vector<Bytes> numbers;
        for (int k = 0; k < count; ++k) numbers.push_back(1000 + static_cast<Bytes>(random.below(9)));
        return numbers;
    };
    for (const int count : {24, 28, 29, 40, 64}) {
        EqualSets sets(alike(count), (1 << kShareBits) / 32, kMemory);
        for (int again = 0; again < 3; ++again) {
            std::int64_t steps = 0;
            const EqualSets::Sets& outcome = sets.with(alike(count), steps, kInTime);
            CHECK(!outcome.pairs.empty() && outcome.pairs.size() < 70'000 && !outcome.complete);
            CHECK(steps < 200'000'000);
        }
    }
}

TEST(answers_are_the_same_when_what_was_remembered_had_to_go) {
    Random random(2);
    const auto draw = [&] {
        std::vector<Bytes> numbers(6);
        for (Bytes& number : numbers) number = 1 + static_cast<Bytes>(random.below(9));
        return numbers;
    };
    const std::vector<Bytes> second = draw();
    EqualSets kept(second, 0, kMemory), forgetful(second, 0, 0);
    for (int k = 0; k < 50; ++k) {
        const std::vector<Bytes> first = draw();
        std::int64_t steps = 0;
        const std::vector<EqualSums> one = kept.with(first, steps, kInTime).pairs;
        const std::vector<EqualSums>& other = forgetful.with(first, steps, kInTime).pairs;
        CHECK(std::equal(
            one.begin(), one.end(), other.begin(), other.end(),
            [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
    }
}

TEST(a_sweep_over_rows_where_many_end_at_once_looks_at_its_budget) {
    // Six rows of fifty each, of nearly the same size: each set of some has its like among the others.
    Random random(3);
    std::vector<sample::Buffer> buffers;
    for (std::int64_t row = 0; row < 6; ++row) {
        Bytes left = 50'000;
        for (int k = 49; k >= 0; --k) {
            const Bytes size = k == 0 ? left : 990 + static_cast<Bytes>(random.below(20));
            buffers.push_back({size - static_cast<Bytes>(random.below(20)), {{row, row + 1}}, {}});
            left -= size;
        }
    }
    const auto full = full_rows(sample::build(buffers));
    CHECK(full.has_value());
    if (!full) return;
    std::int64_t steps = 0;
    tile(*full, kMemory, 1, [&](std::int64_t more) { return (steps += more) > 3'000'000; });
    CHECK(steps < 10'000'000);
}

TEST(tilings_of_tiny_full_instances_are_found_where_brute_force_finds_one) {
    int there = 0, outcome = 0;
    const int seeds = 60 + check::rounds(240);
    for (int seed = 0; seed < seeds; ++seed) {
        const Bytes height = 8 + seed % 6;
        const Instance in = equally_full(seed, 11, height);
        if (in.item_count() > 15) continue;
        const auto full = full_rows(in);
        CHECK(full && full->height == height && full->base == 0);
        if (!full) continue;
        const auto offsets = tile(*full, kMemory, 1, kNever);
        tiny::Referee referee(in);
        const bool possible = referee.best(height + 1) == height;
        there += possible;
        outcome += offsets.has_value();
        if (offsets) CHECK(possible && referee.valid(*offsets) && tiny::height_of(in, *offsets) == height);
    }
    if (outcome < there) std::printf("%d of %d tilings outcome\n", outcome, there);
    CHECK(there > seeds / 3 && outcome >= there - there / 100);
}

TEST(layouts_of_tiny_nearly_full_instances_are_valid_and_stay_within_their_room) {
    int there = 0, outcome = 0, low = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const Bytes height = 40 + static_cast<Bytes>(seed % 6);
        Instance in = equally_full(seed, 10, height);
        if (in.item_count() > 14) continue;
        Random random(seed);
        for (memstow::Part& part : in.parts) part.size -= part.size > 1 && random.below(12) == 0;
        memstow::Choices lower;
        for (Index item = 0; item < in.item_count(); ++item) {
            Choice each = in.choices[item][0];
            each.high = height + 4;
            lower.add(each);
        }
        in.choices = lower;
        const auto full = full_rows(in);
        if (!full) continue;
        ++there;
        CHECK(full->room >= full->height && full->room <= height + 5 + 4);
        const auto offsets = tile(*full, kMemory, 1 + static_cast<int>(seed % 2), kNever);
        if (!offsets) continue;
        ++outcome;
        CHECK(tiny::Referee(in).valid(*offsets) && tiny::height_of(in, *offsets) >= full->height);
        low += tiny::height_of(in, *offsets) == full->height;
    }
    if (outcome < there) std::printf("%d of %d nearly full outcome, %d at the bound\n", outcome, there, low);
    CHECK(there > 10 && outcome > there / 2 && low > 0);
}

// Nothing of what lives in its first row has lost anything.
Instance shrunk(Instance in, std::uint64_t seed, double share) {
    Random random(seed);
    for (Index k = 0; k < in.item_count(); ++k) {
        if (in.rows[k][0].begin == 0) continue;
        Bytes& size = in.parts[k].size;
        size -= static_cast<Bytes>(
            random.below(1 + static_cast<std::uint64_t>(share * static_cast<double>(size))));
    }
    return in;
}

TEST(tiles_lose_no_more_than_is_empty_in_their_rows) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Instance whole = cut::rectangle(seed, 150, 1 << 20);
        const Instance in = shrunk(whole, seed, 0.02);
        const auto full = full_rows(in);
        if (!full) continue;
        std::vector<Bytes> empty(full->rows, full->height);
        for (const Tile& tile : full->tiles) {
            for (Index row = tile.begin; row < tile.end; ++row) empty[row] -= tile.size;
        }
        int covered = 0;
        for (Index k = 0; k < in.item_count(); ++k) {
            const Tile& tile = full->tiles[k];
            CHECK(tile.loss <= share_of(tile.size, full->loss));
            for (Index row = tile.begin; row < tile.end; ++row) CHECK(tile.loss <= empty[row]);
            covered += whole.parts[k].size - in.parts[k].size <= tile.loss;
        }
        CHECK(covered > in.item_count() * 3 / 4);
        const auto tight = full_rows(whole);
        CHECK(tight && tight->loss == 0);
        if (tight) CHECK(std::ranges::all_of(tight->tiles, [](const Tile& tile) { return tile.loss == 0; }));
    }
}

TEST(rectangles_whose_pieces_have_lost_a_little_are_put_together_again) {
    int tried = 0, low = 0;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Instance in = shrunk(with_pinwheels(seed, 120, 1 << 20, 800), seed, 0.01);
        const auto full = full_rows(in);
        if (!full) continue;
        ++tried;
        std::int64_t steps = 0;
        const auto offsets =
            tile(*full, kMemory, 1, [&](std::int64_t more) { return (steps += more) > 20'000'000; });
        low += offsets && tiny::height_of(in, *offsets) == full->height;
    }
    if (low < tried) std::printf("%d of %d put together\n", low, tried);
    CHECK(tried >= 8 && low >= tried * 2 / 3);
}

TEST(what_is_full_but_no_tiling_is_left_to_the_search) {
    // Each merger asks two to be neighbours; for the last, of 4 and 9, the second 2 is between them.
    const Instance in = sample::build({{1, {{0, 5}}, {}},
                                       {2, {{0, 1}}, {}},
                                       {4, {{0, 1}}, {}},
                                       {8, {{0, 3}}, {}},
                                       {6, {{1, 2}}, {}},
                                       {2, {{2, 3}}, {}},
                                       {4, {{2, 6}}, {}},
                                       {10, {{3, 4}}, {}},
                                       {2, {{4, 7}}, {}},
                                       {8, {{4, 5}}, {}},
                                       {9, {{5, 6}}, {}},
                                       {13, {{6, 7}}, {}}});
    const auto full = full_rows(in);
    CHECK(full && full->height == 15 && !tile(*full, kMemory, 1, kNever));
    Budget budget(-1, 100'000'000);
    const ExactResult result = solve_exact(in, {}, budget);
    CHECK(result.status == ExactStatus::optimal && result.height > 15);
    CHECK(tiny::Referee(in).valid(tiny::offsets_of(result.layout)));
}

TEST(rectangles_cut_with_pinwheels_are_put_together_again) {
    int outcome = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Instance in = with_pinwheels(seed, 100, 1 << 20, 1000);
        const auto full = full_rows(in);
        CHECK(full && full->height == 1 << 20);
        if (!full) continue;
        std::int64_t steps = 0;
        const auto offsets =
            tile(*full, kMemory, 1, [&](std::int64_t more) { return (steps += more) > 5'000'000; });
        if (offsets) CHECK(tiny::height_of(in, *offsets) == 1 << 20);
        outcome += offsets.has_value();
    }
    CHECK(outcome >= 4);
}

TEST(a_sweep_goes_on_before_what_changed_as_if_from_the_beginning) {
    const std::vector<Sweep::Breadth> some{{1, 1}, {2, 2}, {4, 4}, {16, 8}};
    int reached = 0, stuck = 0;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        const Instance in =
            seed % 2 == 0 ? cut::rectangle(seed, 200, 1 << 12) : with_pinwheels(seed, 80, 1 << 9, 400);
        const auto full = full_rows(in);
        CHECK(full.has_value());
        if (!full) continue;
        Random random(seed);
        std::vector<Sweep::Breadth> breadths(full->rows, some[1]);
        const TileRows rows(full->tiles, full->rows);
        Sweep kept(rows, 0, 8, 0, kMemory), anew(rows, 0, 8, 0, kMemory);
        Index changed = 0;
        for (int run = 0; run < 6; ++run) {
            const Answer one = kept.run(breadths, changed, kNever), two = anew.run(breadths, 0, kNever);
            CHECK(one == two && kept.failed() == anew.failed() && kept.kept() == anew.kept());
            CHECK(run == 0 || kept.steps() <= anew.steps());
            if (one == Answer::found) CHECK(kept.layout_of(0, kNever) == anew.layout_of(0, kNever));
            (one == Answer::found ? reached : stuck) += 1;
            changed = static_cast<Index>(random.below(static_cast<std::uint64_t>(full->rows)));
            for (Index row = changed; row < full->rows; ++row)
                breadths[row] = some[random.below(some.size())];
        }
    }
    CHECK(reached > 10 && stuck > 10);
}

TEST(sweeps_from_both_ends_are_joined_at_whichever_row_both_have_reached) {
    int joined = 0, tried = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Instance in =
            seed % 2 == 0 ? cut::rectangle(seed, 200, 1 << 12) : with_pinwheels(seed, 80, 1 << 16, 400);
        const auto full = full_rows(in);
        CHECK(full.has_value());
        if (!full) continue;
        const std::vector<Tile> backwards = mirrored(full->tiles, full->rows);
        const TileRows first(full->tiles, full->rows), second(backwards, full->rows);
        Sweep one(first, 0, 8, 0, kMemory),
            other(second, 0, 8, (full->rows + 1) % Sweep::kBetweenMilestones, kMemory);
        const std::vector<Sweep::Breadth> breadths(full->rows, {16, 8});
        one.run(breadths, 0, kNever);
        other.run(breadths, 0, kNever);
        const Sweep::Reached here = one.reached(), there = other.reached();
        for (const auto& milestone : here.milestones) {
            for (const auto& met : there.milestones) {
                if (milestone->row + met->row != full->rows + 1) continue;
                ++tried;
                const auto offsets =
                    meet(first, {{milestone}, here.steps}, second, {{met}, there.steps}, kMemory, kNever);
                if (!offsets) continue;
                ++joined;
                CHECK(tiny::Referee(in).valid(*offsets) && tiny::height_of(in, *offsets) == full->height);
            }
        }
    }
    CHECK(tried > 25 && joined > tried / 2);
}

TEST(sweeps_that_have_not_passed_each_other_are_not_joined) {
    const auto full = full_rows(cut::rectangle(3, 200, 1 << 12));
    CHECK(full.has_value());
    if (!full) return;
    const TileRows rows(full->tiles, full->rows);
    Sweep sweep(rows, 0, 8, 0, kMemory);
    const Sweep::Reached beginning = sweep.reached();
    CHECK(beginning.milestones.size() == 1);
    CHECK(!meet(rows, beginning, rows, beginning, kMemory, kNever));
}

TEST(two_workers_sweep_from_both_ends) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const Instance in = with_pinwheels(seed, 60, 1 << 16, 600);
        const auto full = full_rows(in);
        CHECK(full.has_value());
        if (!full) continue;
        std::atomic<std::int64_t> steps{0};
        const auto offsets =
            tile(*full, kMemory, 2, [&](std::int64_t more) { return (steps += more) > 5'000'000; });
        CHECK(offsets && tiny::height_of(in, *offsets) == 1 << 16);
    }
}

TEST(only_what_is_full_throughout_and_free_to_be_stacked_is_taken_for_full) {
    const auto two_rows = [](Bytes second, const Choice& choice, std::vector<Pool> pools = {{kLimit, {}}}) {
        return sample::build({{8, {{0, 2}}, {choice}}, {4, {{0, 1}}, {choice}}, {second, {{1, 2}}, {choice}}},
                             std::move(pools));
    };
    const Choice free = sample::anywhere();
    CHECK(full_rows(two_rows(4, free)) && full_rows(two_rows(4, free))->height == 12);
    CHECK(!full_rows(two_rows(3, free)));
    CHECK(!full_rows(Instance{}));

    Choice choice = sample::anywhere(0, 4);  // divides all sizes
    CHECK(full_rows(two_rows(4, choice)));
    choice.residue = 1;  // all are one above
    CHECK(full_rows(two_rows(4, choice)) && full_rows(two_rows(4, choice))->base == 1);
    CHECK(!full_rows(two_rows(4, sample::anywhere(0, 8))));
    CHECK(!full_rows(two_rows(4, sample::anywhere(0, 3))));

    choice = free;
    choice.low = 5;
    CHECK(full_rows(two_rows(4, choice))->base == 5);
    choice.high = 9;
    CHECK(!full_rows(two_rows(4, choice)));

    CHECK(full_rows(two_rows(4, free, {{15, {{0, 3}}}}))->base == 3);
    CHECK(!full_rows(two_rows(4, free, {{14, {{0, 3}}}})));
    CHECK(!full_rows(two_rows(4, free, {{kLimit, {{11, 12}}}})));
    CHECK(full_rows(two_rows(4, free, {{kLimit, {{12, 13}}}})));

    Instance exempt = two_rows(4, free);
    exempt.exempt.push_back({0, 1, true});
    CHECK(!full_rows(exempt));
    CHECK(
        !full_rows(sample::build({{8, {{0, 2}}, {}}, {4, {{0, 1}, {1, 2}}, {}}}, {{kLimit, {}}}, {{0, 1}})));
    CHECK(!full_rows(sample::build({{8, {{0, 3}}, {}}, {4, {{0, 1}, {2, 3}}, {}}, {4, {{1, 2}}, {}}})));
    CHECK(!full_rows(sample::build({{8, {{0, 1}}, {}, {{0, 2, 6}}, {{{1, 2}}}}, {8, {{1, 2}}, {}}})));
}

TEST(the_exact_search_tiles_what_is_full_even_beyond_what_it_searches) {
    // Four courses of bricks, no two joints above each other.
    const Bytes tops[] = {0, 5, 12, 23, 36};
    const std::int64_t length = kMostItems + 400;
    std::vector<cut::Box> bricks;
    for (std::int64_t course = 0; course < 4; ++course) {
        for (std::int64_t begin = 0, end = course + 1; begin < length; begin = end, end += 4) {
            bricks.push_back({begin, std::min(end, length), tops[course], tops[course + 1]});
        }
    }
    const Instance in = cut::instance_of(bricks);
    CHECK(in.item_count() > kMostItems);
    const Reach reach = reach_of(in, {}, 0);
    CHECK(reach.searchable && reach.nearly_full && reach.largest == in.item_count());
    ExactResult first;
    for (int run = 0; run < 2; ++run) {
        ExactOptions options;
        options.deterministic = true;
        options.workers = 1 + run;
        int heard = 0;
        ExactEvents events;
        events.incumbent = [&](const Layout&, Bytes height) { heard += height == 36; };
        Budget budget(-1, 400'000'000);
        const ExactResult result = solve_exact(in, options, budget, events);
        CHECK(result.status == ExactStatus::optimal && result.height == 36 && heard == 1);
        CHECK(tiny::height_of(in, tiny::offsets_of(result.layout)) == 36);
        if (run == 1) CHECK(result.layout == first.layout && result.steps == first.steps);
        first = result;
    }
}

TEST(a_tiling_lies_above_the_base_of_its_items) {
    Choice choice = sample::anywhere(0, 4);
    choice.residue = 2;
    const Instance in = sample::build(
        {{8, {{0, 2}}, {choice}}, {4, {{0, 1}}, {choice}}, {4, {{1, 2}}, {choice}}}, {{kLimit, {{0, 5}}}});
    Budget budget(-1, 100'000'000);
    const ExactResult result = solve_exact(in, {}, budget);
    CHECK(result.status == ExactStatus::optimal && result.height == 18);
    CHECK(tiny::Referee(in).valid(tiny::offsets_of(result.layout)));
}

TEST(a_sweep_that_is_stopped_or_has_no_room_finds_nothing) {
    const Instance in = cut::rectangle(3, 400, 1 << 20);
    const auto full = full_rows(in);
    CHECK(full.has_value());
    if (!full) return;
    CHECK(!tile(*full, kMemory, 1, [](std::int64_t) { return true; }));
    CHECK(!tile(*full, 1000, 1, kNever));
    Budget spent(-1, 0);
    const ExactResult result = solve_exact(in, {}, spent);
    CHECK(result.layout.empty() && result.steps == 0);
}
