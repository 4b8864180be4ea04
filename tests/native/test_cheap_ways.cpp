#include <cstdint>
#include <limits>
#include <vector>

#include "assign/cheap_ways.hpp"
#include "check.hpp"
#include "core/random.hpp"

using namespace memstow;
using assign::cheap_ways;
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

Ways random_ways(Random& random) {
    Ways ways;
    const std::size_t items = 1 + random.below(7), rows = 1 + random.below(4);
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

}  // namespace

TEST(cheap_ways_fit_and_are_nearly_always_the_cheapest) {
    Random random(1);
    const int rounds = check::rounds(400);
    int solved = 0, cheapest = 0;
    for (int round = 0; round < rounds; ++round) {
        const Ways ways = random_ways(random);
        std::vector<Index> start(ways.costs.size());
        for (Index item = 0; item < count_of(start); ++item)
            start[item] = static_cast<Index>(random.below(ways.costs[item].size()));
        const std::int64_t least = least_cost(ways);
        Budget budget;
        const auto chosen = cheap_ways(ways, start, random.next(), budget);
        if (!chosen) continue;
        CHECK(fits(ways, *chosen));
        CHECK(cost_of(ways, *chosen) >= least);
        if (fits(ways, start)) CHECK(cost_of(ways, *chosen) <= cost_of(ways, start));
        ++solved;
        if (cost_of(ways, *chosen) == least) ++cheapest;
    }
    CHECK(solved * 2 > rounds);
    CHECK(cheapest * 10 > solved * 9);
}

TEST(cheap_ways_are_the_same_for_the_same_seed_and_work) {
    Random random(2);
    for (int round = 0; round < 20; ++round) {
        const Ways ways = random_ways(random);
        const std::vector<Index> start(ways.costs.size());
        Budget first(-1, 200), second(-1, 200);
        CHECK(cheap_ways(ways, start, 3, first) == cheap_ways(ways, start, 3, second));
    }
}

TEST(cheap_ways_begin_with_a_start_that_fits_and_keep_it_where_no_time_is_left) {
    Ways ways;
    ways.room = {4};
    ways.costs.values = {9, 1};
    ways.costs.close();
    ways.loads.close();
    ways.loads.values = {{0, 4}};
    ways.loads.close();
    Budget over(-1, 0);
    CHECK(cheap_ways(ways, {0}, 1, over) == std::vector<Index>{0});
    Budget endless;
    CHECK(cheap_ways(ways, {0}, 1, endless) == std::vector<Index>{1});
}

TEST(what_is_too_much_at_the_start_goes_elsewhere_or_there_are_no_cheap_ways) {
    Ways ways;
    ways.room = {4, 4};
    for (int item = 0; item < 3; ++item) {
        for (Index row = 0; row < 2; ++row) {
            ways.costs.values.push_back(row);
            ways.loads.values.push_back({row, item < 2 ? 4 : 1});
            ways.loads.close();
        }
        ways.costs.close();
    }
    Budget budget;
    CHECK(!cheap_ways(ways, {0, 0, 0}, 1, budget));
    ways.room = {4, 5};
    const auto chosen = cheap_ways(ways, {0, 0, 0}, 1, budget);
    CHECK(chosen.has_value());
    CHECK(chosen && fits(ways, *chosen));
}
