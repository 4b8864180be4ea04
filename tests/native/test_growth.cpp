#include "check.hpp"
#include "core/arithmetic.hpp"
#include "greedy/greedy.hpp"
#include "improve/growth.hpp"
#include "improve/improve.hpp"
#include "improve/opening.hpp"
#include "referee.hpp"
#include "sample.hpp"
#include "search/exact.hpp"

using namespace memstow;
using namespace memstow::improve;

namespace {

Layout greedy_layout(const Instance& instance) {
    Budget budget;
    return greedy::solve_greedy(instance, {{TermKind::peak}}, {}, {.lower_bounds = {}, .improve_work = 0},
                                budget)
        .layout;
}

Bytes peak_of(const Instance& instance, const Layout& layout, Index pool) {
    return pool_peaks(instance, layout)[static_cast<std::size_t>(pool)];
}

bool complete(const Layout& layout) {
    return std::all_of(layout.begin(), layout.end(), [](const Place& p) { return p.offset != kUnplaced; });
}

// No layout ends lower: an item must be somewhere.
Bytes least_end(const Instance& instance, const Layout& layout, Index pool) {
    Bytes least = 0;
    for (const Part& part : instance.parts) {
        for (const Choice& choice : instance.choices[part.item]) {
            if (choice.pool != pool || layout[static_cast<std::size_t>(part.item)].pool != pool) continue;
            least = std::max(least, raised(choice, choice.low) + part.delta + part.size);
        }
    }
    return least;
}

bool single_choices(const Instance& instance) {
    for (Index item = 0; item < instance.item_count(); ++item) {
        if (instance.choices[item].size() != 1) return false;
    }
    return instance.pools.size() == 1;
}

// Lives that nest around the middle and short ones beside it, as of a training step.
Instance nested(Random& random, int n) {
    std::vector<sample::Buffer> buffers;
    for (int i = 0; i < n; ++i) {
        const auto k = static_cast<std::int64_t>(random.below(static_cast<std::size_t>(n)));
        const auto size = 8 * static_cast<Bytes>(1 + random.below(90));
        if (random.below(2) == 0) {
            buffers.push_back({size, {{k, 2 * n - k}}, {}});
        } else {
            const std::int64_t begin = 2 * k;
            buffers.push_back({size, {{begin, begin + 1 + static_cast<std::int64_t>(random.below(8))}}, {}});
        }
    }
    return sample::build(buffers);
}

Bytes fullest(const Instance& instance) {
    Bytes most = 0;
    for (Index row = 0; row < instance.time_rows; ++row) {
        Bytes load = 0;
        for (Index part = 0; part < count_of(instance.parts); ++part) {
            for (const RowRange& rows : instance.rows[part]) {
                if (rows.begin <= row && row < rows.end) load += instance.parts[part].size;
            }
        }
        most = std::max(most, load);
    }
    return most;
}

}  // namespace

TEST(grown_layouts_break_no_constraint_and_are_lower) {
    Random random(41);
    int grown = 0;
    for (int trial = 0; trial < check::rounds(2000); ++trial) {
        sample::Mix mix;
        mix.items = 4 + static_cast<int>(random.below(20));
        mix.one_pool = random.below(3) != 0;
        const Instance instance = sample::random(random, mix);
        const Layout start = greedy_layout(instance);
        if (!complete(start)) continue;
        const auto pool = static_cast<Index>(random.below(instance.pools.size()));
        Bytes height = peak_of(instance, start, pool);
        if (height == 0) continue;
        height += height / 4 + 8;  // greedy's layouts of so few items are hard to beat
        Budget budget;
        const Bytes bound = std::max(height * 3 / 4, least_end(instance, start, pool));
        if (bound >= height) continue;
        Growth growth(instance, pool, start, bound, 1, static_cast<std::uint64_t>(trial), budget,
                      single_choices(instance));
        std::int64_t left = 50'000;
        const Ejection::Stop stop = [&](std::int64_t steps) { return (left -= steps) <= 0; };
        while (growth.run(height, stop)) {
            CHECK(complete(growth.layout));
            CHECK(referee::complaint(instance, growth.layout, false) == "");
            for (std::size_t i = 0; i < start.size(); ++i) {
                if (start[i].pool != pool) CHECK(growth.layout[i] == start[i]);
            }
            const Bytes lower = peak_of(instance, growth.layout, pool);
            CHECK(lower < height);
            ++grown;
            height = lower;
            if (height <= bound) break;
        }
    }
    CHECK(grown > 50);
}

// However often it is interrupted, a growth goes on where it was.
TEST(a_growth_that_is_interrupted_gives_the_same_layout) {
    Random random(42);
    const Instance instance = nested(random, 300);
    const Layout start = greedy_layout(instance);
    const Bytes bound = fullest(instance);
    const auto grown = [&](std::int64_t most) {
        Budget budget;
        Growth growth(instance, 0, start, bound, 1, 7, budget, true);
        int interrupted = 0;
        std::int64_t left = most;
        const Ejection::Stop stop = [&](std::int64_t steps) { return (left -= steps) <= 0; };
        while (!growth.run(2 * bound, stop)) {
            left = most;
            CHECK(++interrupted < 1'000'000);
        }
        CHECK(referee::complaint(instance, growth.layout, false) == "");
        return peak_of(instance, growth.layout, 0);
    };
    CHECK(grown(kLimit) == bound);
    CHECK(grown(5'000'000) == bound);
}

TEST(an_opening_lays_out_a_window_within_the_target) {
    Random random(43);
    int opened = 0;
    for (int trial = 0; trial < 20; ++trial) {
        const Instance instance = nested(random, 200);
        std::vector<Index> order(static_cast<std::size_t>(instance.item_count()));
        for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<Index>(order.size() - 1 - k);
        const Bytes target = fullest(instance) + 8 * static_cast<Bytes>(random.below(5));
        Budget budget;
        Opening opening(instance, 0, target, order, 10, 2'000'000, 5, budget);
        CHECK(opening.run([](std::int64_t) { return false; }));
        if (opening.count() == 0) continue;
        ++opened;
        Layout layout(order.size());
        opening.save(layout);
        const std::vector<Index> items(order.begin(),
                                       order.begin() + static_cast<std::ptrdiff_t>(opening.count()));
        Layout of_window;
        for (const Index item : items) of_window.push_back(layout[static_cast<std::size_t>(item)]);
        const Instance window = search::restrict_to(instance, items);
        CHECK(complete(of_window));
        CHECK(referee::complaint(window, of_window, false) == "");
        CHECK(peak_of(window, of_window, 0) <= target);
    }
    CHECK(opened > 5);
}

TEST(large_instances_are_grown_and_deterministic_runs_give_one_answer) {
    Random random(44);
    const Instance instance = nested(random, 2200);
    Layout start(static_cast<std::size_t>(instance.item_count()));
    Bytes top = 0;
    for (Index item = 0; item < instance.item_count(); ++item) {
        start[static_cast<std::size_t>(item)] = {0, top};
        top += instance.parts[static_cast<std::size_t>(item)].size;
    }
    ImproveOptions options;
    options.deterministic = true;
    options.workers = 2;
    Budget first_budget(-1, 20'000'000);
    Budget second_budget(-1, 20'000'000);
    const ImproveResult first = improve_layout(instance, start, options, first_budget);
    const ImproveResult second = improve_layout(instance, start, options, second_budget);
    CHECK(first.layout == second.layout);
    CHECK(first_budget.work() == second_budget.work());
    CHECK(first.height <= top);
    CHECK(complete(first.layout));
}
