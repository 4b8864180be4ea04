#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "assign/cheap_ways.hpp"
#include "assign/cost_bound.hpp"
#include "check.hpp"
#include "core/random.hpp"

using namespace memstow;
using assign::cheap_ways;
using assign::CostBounds;
using assign::Ways;

namespace {

bool fits(const Ways& ways, const std::vector<Index>& chosen) {
    std::vector<Bytes> load(ways.room.size());
    for (Index item = 0; item < count_of(chosen); ++item) {
        for (const assign::Load& one : ways.loads[ways.costs.start[item] + chosen[item]])
            load[one.row] += one.amount;
    }
    for (std::size_t row = 0; row < load.size(); ++row) {
        if (load[row] > ways.room[row]) return false;
    }
    return true;
}

std::int64_t cost_of(const Ways& ways, const std::vector<Index>& chosen) {
    std::int64_t sum = 0;
    for (Index item = 0; item < count_of(chosen); ++item) sum += ways.costs[item][chosen[item]];
    return sum;
}

// Looks at every choice; the last item counts fastest.
bool next_choice(const Ways& ways, std::vector<Index>& chosen) {
    for (Index item = count_of(chosen); --item >= 0;) {
        if (++chosen[item] < count_of(ways.costs[item])) return true;
        chosen[item] = 0;
    }
    return false;
}

std::int64_t least_cost(const Ways& ways) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::vector<Index> chosen(ways.costs.size());
    do {
        if (fits(ways, chosen)) least = std::min(least, cost_of(ways, chosen));
    } while (next_choice(ways, chosen));
    return least;
}

Ways random_ways(Random& random, std::size_t most_items = 7) {
    Ways ways;
    const std::size_t items = 1 + random.below(most_items), rows = random.below(5);
    for (std::size_t row = 0; row < rows; ++row) ways.room.push_back(4 + static_cast<Bytes>(random.below(8)));
    for (std::size_t item = 0; item < items; ++item) {
        for (std::size_t way = 1 + random.below(3); way-- > 0;) {
            ways.costs.values.push_back(static_cast<std::int64_t>(random.below(20)));
            for (std::size_t row = 0; row < rows; ++row) {
                if (random.below(2) == 0) continue;
                ways.loads.values.push_back(
                    {static_cast<Index>(row), 1 + static_cast<Bytes>(random.below(4))});
            }
            ways.loads.close();
        }
        ways.costs.close();
    }
    return ways;
}

std::vector<Index> random_order(Random& random, const Ways& ways) {
    std::vector<Index> order(ways.costs.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random.below(left)]);
    return order;
}

}  // namespace

TEST(cheap_ways_fit_and_a_wide_beam_misses_the_cheapest_only_by_what_disturbs_costs) {
    Random random(1);
    const int rounds = check::rounds(2000);
    int solved = 0, cheapest = 0;
    for (int round = 0; round < rounds; ++round) {
        const Ways ways = random_ways(random);
        const std::int64_t least = least_cost(ways);
        for (const Index width : {1, 10'000}) {
            Budget budget;
            const auto chosen = cheap_ways(
                ways, {.order = random_order(random, ways), .width = width, .seed = random.next()}, budget);
            if (!chosen) {
                CHECK(width == 1 || least == std::numeric_limits<std::int64_t>::max());
                continue;
            }
            CHECK(fits(ways, *chosen));
            CHECK(cost_of(ways, *chosen) >= least);
            if (width == 1) continue;
            CHECK(cost_of(ways, *chosen) <= least + least / 50);
            ++solved;
            if (cost_of(ways, *chosen) == least) ++cheapest;
        }
    }
    CHECK(solved * 2 > rounds);
    CHECK(cheapest * 10 > solved * 9);
}

TEST(cheap_ways_are_the_same_for_the_same_seed_and_work) {
    Random random(2);
    for (int round = 0; round < 20; ++round) {
        const Ways ways = random_ways(random);
        const std::vector<Index> order = random_order(random, ways);
        Budget first(-1, 200), second(-1, 200);
        CHECK(cheap_ways(ways, {.order = order, .width = 3, .seed = 3}, first) ==
              cheap_ways(ways, {.order = order, .width = 3, .seed = 3}, second));
        CHECK(first.work() == second.work());
    }
}

TEST(there_are_no_cheap_ways_where_nothing_fits_or_no_work_is_left) {
    Ways ways;
    ways.room = {4};
    for (const Bytes amount : {3, 2}) {
        ways.costs.values.push_back(1);
        ways.costs.close();
        ways.loads.values.push_back({0, amount});
        ways.loads.close();
    }
    Budget endless;
    CHECK(!cheap_ways(ways, {.order = {0, 1}, .width = 9}, endless));
    ways.room = {5};
    CHECK(cheap_ways(ways, {.order = {0, 1}, .width = 9}, endless) == (std::vector<Index>{0, 0}));
    Budget over(-1, 0);
    CHECK(!cheap_ways(ways, {.order = {0, 1}, .width = 9}, over));
}

TEST(bounds_of_cost_are_never_above_the_least_and_those_of_a_wide_beam_are_that) {
    Random random(4);
    const int rounds = check::rounds(2000);
    int narrow = 0;
    for (int round = 0; round < rounds; ++round) {
        const Ways ways = random_ways(random, 8);
        const std::int64_t least = least_cost(ways);
        const std::int64_t enough =
            std::min<std::int64_t>(least, 1000) + 3 - static_cast<std::int64_t>(random.below(6));
        const std::vector<Index> order = random_order(random, ways);
        Budget endless, some(-1, static_cast<std::int64_t>(random.below(300)));
        CostBounds exact(ways, order), bounds(ways, order), stopped(ways, order);
        const auto all = exact.widen(100'000, enough, endless);
        CHECK(all && all->complete);
        CHECK(all->least == std::min(least, enough));
        std::int64_t before = std::numeric_limits<std::int64_t>::min();
        Index width = 1 + static_cast<Index>(random.below(4));
        for (int turn = 0; turn < 4; ++turn, width *= 2) {
            const auto bound = bounds.widen(width, enough, endless);
            CHECK(bound && bound->least <= all->least && bound->least >= before);
            CHECK(!bound->complete || bound->least == all->least);
            before = bound->least;
            if (turn == 0 && bound->least < all->least) ++narrow;
        }
        const auto part = stopped.widen(width, enough, some);
        CHECK(part && part->least <= all->least);
        const auto rest = stopped.widen(100'000, enough, endless);
        CHECK(rest && rest->least == all->least);
    }
    CHECK(narrow > 0);
}

TEST(bounds_of_cost_decline_what_they_cannot_add_up) {
    Ways ways;
    ways.room = {std::int64_t{1} << 61};
    for (Index item = 0; item < 2; ++item) {
        for (const std::int64_t cost : {std::int64_t{0}, (std::int64_t{1} << 60) - 1}) {
            ways.costs.values.push_back(cost);
            if (cost == 0) ways.loads.values.push_back({0, std::int64_t{1} << 61});
            ways.loads.close();
        }
        ways.costs.close();
    }
    Budget endless;
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CostBounds bounds(ways, {0, 1});
    const auto bound = bounds.widen(9, most, endless);
    CHECK(!bound || bound->least <= (std::int64_t{1} << 60) - 1);
}
