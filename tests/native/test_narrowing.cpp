#include <algorithm>
#include <vector>

#include "check.hpp"
#include "core/random.hpp"
#include "order/narrowing.hpp"
#include "order/state.hpp"
#include "order_graphs.hpp"

using namespace memstow;
using namespace memstow::order;

namespace {

constexpr std::int64_t kEndless = std::int64_t{1} << 60;

// Operators of which few wait for others, so that there are many orders: each makes something, some of it in
// the place of what it reads.
Graph wide_graph(std::uint64_t seed, Index most) {
    Random random(seed);
    Graph graph;
    const auto count = static_cast<Index>(2 + random.below(static_cast<std::size_t>(most) - 1));
    graph.extra.resize(static_cast<std::size_t>(count));
    graph.before.resize(graph.extra.size());
    graph.in_place.resize(graph.extra.size());
    for (Bytes& extra : graph.extra) extra = random.below(4) == 0 ? static_cast<Bytes>(random.below(20)) : 0;
    for (Index v = 0; v < count; ++v) {
        graph.storages.push_back(
            {static_cast<Bytes>(1 + random.below(30)), {v}, {v}, random.below(8) == 0, random.below(8) == 0});
        for (Index reader = v + 1; reader < count; ++reader) {
            if (random.below(static_cast<std::size_t>(count)) > 1) continue;
            graph.storages.back().ends.push_back(reader);
            graph.before[reader].push_back(v);
        }
    }
    complete(graph);
    for (Index v = 0; v < count; ++v) {
        for (const Index source : graph.ends_at[v]) {
            if (source == v || random.below(2) == 0) continue;
            const Bytes bytes = std::min(graph.storages[source].size, graph.storages[v].size);
            graph.in_place[v].push_back({source, v, bytes});
        }
    }
    return graph;
}

// All orders, and what they need.
struct Tried {
    std::vector<Index> order;
    Bytes peak;
};

void try_all(State& state, Bytes peak, std::vector<Tried>& all) {
    if (state.complete()) all.push_back({state.path(), peak});
    const std::vector<Index> ready(state.ready().begin(), state.ready().end());
    for (const Index v : ready) {
        const Bytes needs = state.step(v).needs;
        state.run(v);
        try_all(state, std::max(peak, needs), all);
        state.undo();
    }
}

std::vector<Tried> all_orders(const Graph& graph) {
    std::vector<Tried> all;
    State state(graph);
    try_all(state, 0, all);
    return all;
}

bool keeps(const Precedence& precedence, const std::vector<Index>& order) {
    for (std::size_t a = 0; a < order.size(); ++a) {
        for (std::size_t b = a + 1; b < order.size(); ++b) {
            if (has(precedence.all_before(order[a]), order[b])) return false;
            CHECK(has(precedence.all_after(order[b]), order[a]) ==
                  has(precedence.all_before(order[a]), order[b]));
        }
    }
    return true;
}

std::size_t pairs_of(const Precedence& precedence) {
    std::size_t count = 0;
    for (Index v = 0; v < precedence.size(); ++v) {
        for (Index u = 0; u < precedence.size(); ++u) count += has(precedence.all_before(v), u);
    }
    return count;
}

// Asks for limits from above the least peak to below the bound, as each answer says; counts what was shown.
struct Shown {
    std::size_t pairs = 0, none = 0, open = 0, exact = 0;
};

void narrow_down(const Graph& graph, std::uint64_t seed, std::int64_t steps, Shown& shown) {
    const std::vector<Tried> all = all_orders(graph);
    const auto by_peak = [](const Tried& a, const Tried& b) { return a.peak < b.peak; };
    const Bytes least = std::min_element(all.begin(), all.end(), by_peak)->peak;
    const Bytes most = std::max_element(all.begin(), all.end(), by_peak)->peak;
    Random random(seed);
    Narrowing narrowing(graph);
    Bytes low = 0, high = most + 1;
    while (low < high) {
        const Bytes limit = low + static_cast<Bytes>(random.below(static_cast<std::size_t>(high - low)));
        Budget budget;
        Narrowing::Answer answer = Narrowing::Answer::stopped;
        while (answer == Narrowing::Answer::stopped) answer = narrowing.search(limit, steps, budget);
        if (answer == Narrowing::Answer::none) {
            CHECK(limit < least);
            CHECK(narrowing.least_blocked() > limit);
            CHECK(narrowing.least_blocked() <= least);
            low = narrowing.least_blocked();
            ++shown.none;
            continue;
        }
        high = limit;
        ++shown.open;
        CHECK(narrowing.open_limit() == limit);
        for (const Tried& one : all) CHECK(one.peak > limit || keeps(narrowing.precedence(), one.order));
        const std::size_t pairs = pairs_of(narrowing.precedence());
        CHECK(pairs >= pairs_of(Precedence(graph)));
        shown.pairs += pairs - pairs_of(Precedence(graph));
    }
    CHECK(low <= least);
    shown.exact += low == least;
}

}  // namespace

TEST(every_order_within_the_limit_keeps_what_was_shown_to_come_first) {
    Shown shown;
    const auto seeds = static_cast<std::uint64_t>(check::rounds(1'000));
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        narrow_down(random_graph(seed, 8), seed, kEndless, shown);
        narrow_down(wide_graph(seed, 7), seed, kEndless, shown);
    }
    CHECK(shown.pairs > 2 * seeds);
    CHECK(shown.none > seeds);
    CHECK(shown.open > seeds);
    CHECK(shown.exact > seeds);
}

TEST(narrowing_in_small_steps_comes_to_the_same) {
    Shown at_once, in_steps;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        narrow_down(wide_graph(seed, 7), seed, kEndless, at_once);
        narrow_down(wide_graph(seed, 7), seed, 1, in_steps);
    }
    CHECK(at_once.pairs == in_steps.pairs);
    CHECK(at_once.none == in_steps.none);
}

TEST(what_is_ordered_is_closed) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Graph graph = random_graph(seed, 12);
        Precedence precedence(graph);
        Random random(seed);
        for (int k = 0; k < 6; ++k) {
            const auto u = static_cast<Index>(random.below(graph.extra.size()));
            const auto v = static_cast<Index>(random.below(graph.extra.size()));
            if (u == v || precedence.ordered(u, v)) continue;
            precedence.add(u, v);
            graph.before[v].push_back(u);
            complete(graph);
            CHECK(precedence == Precedence(graph));
            Graph direct = graph;
            direct.before = precedence.direct();
            complete(direct);
            CHECK(precedence == Precedence(direct));
            for (Index w = 0; w < graph.size(); ++w) {
                CHECK(direct.before[w].size() <= graph.before[w].size());
            }
        }
    }
}
