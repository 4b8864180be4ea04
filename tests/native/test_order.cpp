#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "check.hpp"
#include "core/random.hpp"
#include "order/assemble.hpp"
#include "order/bounds.hpp"
#include "order/classics.hpp"
#include "order/dead_sets.hpp"
#include "order/late.hpp"
#include "order/least_peak.hpp"
#include "order/max_flow.hpp"
#include "order/savings.hpp"
#include "order/state.hpp"
#include "order_graphs.hpp"

using namespace memstow;
using namespace memstow::order;

namespace {

// By trying all orders.
Bytes least_of_all(State& state, Bytes peak, Bytes best) {
    if (peak >= best) return best;
    if (state.complete()) return peak;
    const std::vector<Index> ready(state.ready().begin(), state.ready().end());
    for (const Index v : ready) {
        const Bytes needs = state.step(v).needs;
        state.run(v);
        best = least_of_all(state, std::max(peak, needs), best);
        state.undo();
    }
    return best;
}

Bytes least_of_all(const Graph& graph) {
    State state(graph);
    return least_of_all(state, 0, kLimit);
}

}  // namespace

TEST(the_least_peak_is_that_of_all_orders) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const Graph graph = random_graph(seed, 7);
        Budget budget;
        LeastPeakOptions options;
        options.workers = seed % 5 == 0 ? 3 : 1;
        const LeastPeak outcome = least_peak(graph, topological(graph), options, budget, {});
        CHECK(is_order(graph, outcome.order));
        CHECK(peak_of(graph, outcome.order) == outcome.peak);
        CHECK(outcome.bound == outcome.peak);
        CHECK(outcome.peak == least_of_all(graph));
    }
}

TEST(time_that_runs_backwards_needs_the_same) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Graph graph = random_graph(seed, 9);
        const Graph mirror = mirrored(graph);
        std::vector<Index> order = topological(graph);
        std::vector<Index> back(order.rbegin(), order.rend());
        CHECK(is_order(mirror, back));
        CHECK(peak_of(graph, order) == peak_of(mirror, back));
    }
}

TEST(steps_taken_back_leave_what_was_before) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const Graph graph = random_graph(seed, 12);
        State state(graph);
        std::vector<Bytes> live;
        for (const Index v : topological(graph)) {
            live.push_back(state.live());
            const Step step = state.step(v);
            state.run(v);
            CHECK(step.leaves == state.live());
            CHECK(step.needs >= std::max(live.back(), state.live()));
        }
        for (; !live.empty(); live.pop_back()) {
            state.undo();
            CHECK(state.live() == live.back());
        }
    }
}

TEST(a_walk_to_and_fro_forgets_no_step) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const Graph graph = random_graph(seed, 12);
        Random random(seed);
        State state(graph);
        for (int k = 0; k < 60; ++k) {
            if (!state.path().empty() && (state.complete() || random.below(3) == 0)) {
                state.undo();
            } else {
                state.run(state.ready()[random.below(state.ready().size())]);
            }
            State fresh(graph);
            for (const Index v : state.path()) fresh.run(v);
            for (const Index v : state.ready()) {
                CHECK(state.step(v).needs == fresh.step(v).needs);
                CHECK(state.step(v).leaves == fresh.step(v).leaves);
            }
        }
    }
}

TEST(least_peak_first_follows_its_rule) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const Graph graph = random_graph(seed, 30);
        State state(graph);
        Bytes peak = 0;
        for (const Index chosen : least_peak_first(graph)) {
            const auto rank = [&](Index v) {
                const Step step = state.step(v);
                return std::tuple(step.needs > peak, step.needs > peak ? step.needs : step.leaves, v);
            };
            for (const Index v : state.ready()) CHECK(rank(chosen) <= rank(v));
            peak = std::max(peak, state.step(chosen).needs);
            state.run(chosen);
        }
        CHECK(state.complete());
    }
}

TEST(without_time_there_is_an_order_and_nothing_is_proven_that_is_not_so) {
    const Budget over(0, -1);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const Graph graph = random_graph(seed, 7);
        CHECK(is_order(graph, least_peak_first(graph, &over)));
        Budget none(0, -1);
        const LeastPeak result = least_peak(graph, topological(graph), {}, none, {});
        CHECK(is_order(graph, result.order));
        CHECK(result.bound <= least_of_all(graph));
    }
}

TEST(late_operators_change_no_peak) {
    std::size_t taken_out = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Graph graph = random_graph(seed, 7);
        for (std::size_t v = 0; v < graph.extra.size(); v += 2) graph.extra[v] = 0;
        const WithoutLate core = without_late(graph);
        taken_out += graph.extra.size() - core.kept.size();
        CHECK(least_of_all(core.graph) == least_of_all(graph));
        std::vector<Index> order = core.kept;
        std::vector<Index> own(order.size());
        std::iota(own.begin(), own.end(), 0);
        const std::vector<Index> whole = with_late(graph, order);
        CHECK(is_order(graph, whole));
        CHECK(peak_of(graph, whole) == peak_of(core.graph, own));
    }
    CHECK(taken_out > 0);
}

TEST(no_operator_needs_less_than_its_cut) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Graph graph = random_graph(seed, 9);
        CutBound bound(graph);
        const std::vector<Index> order = topological(graph);
        State state(graph);
        for (const Index v : order) {
            CHECK(bound.of(v) <= state.step(v).needs);
            state.run(v);
        }
    }
}

TEST(chains_add_up_to_the_cut) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Graph graph = random_graph(seed, 9);
        MaxFlow flow;
        Random random(seed);
        flow.reset(6);
        std::map<std::pair<Index, Index>, Bytes> room;
        for (int k = 0; k < 20; ++k) {
            const auto from = static_cast<Index>(random.below(8)), to = static_cast<Index>(random.below(8));
            if (from == to || to == MaxFlow::kSource || from == MaxFlow::kSink) continue;
            const auto capacity = static_cast<Bytes>(random.below(9));
            flow.add_arc(from, to, capacity);
            room[{from, to}] += capacity;
        }
        const Bytes most = flow.push();
        Bytes total = 0;
        for (const MaxFlow::Path& path : flow.paths()) total += path.bytes;
        CHECK(total == most);
        const std::vector<bool> far = flow.near_sink();
        Bytes near_cut = 0, far_cut = 0;
        for (const auto& [arc, capacity] : room) {
            if (flow.near_source(arc.first) && !flow.near_source(arc.second)) near_cut += capacity;
            if (!far[arc.first] && far[arc.second]) far_cut += capacity;
        }
        CHECK(near_cut == most);
        CHECK(far_cut == most);
    }
}

TEST(the_best_pairs_share_no_storage) {
    const std::vector<InPlace> pairs{{0, 10, 8}, {0, 11, 7}, {1, 10, 6}, {2, 12, 1}};
    CHECK(most_saved(pairs) == 7 + 6 + 1);
    CHECK(most_saved({}) == 0);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Random random(seed);
        std::vector<InPlace> some;
        for (std::size_t k = random.below(9); k > 0; --k) {
            some.push_back({static_cast<Index>(random.below(4)), static_cast<Index>(10 + random.below(4)),
                            static_cast<Bytes>(random.below(20))});
        }
        Bytes best = 0;
        for (std::size_t chosen = 0; chosen < (std::size_t{1} << some.size()); ++chosen) {
            Bytes bytes = 0;
            std::vector<Index> used;
            for (std::size_t k = 0; k < some.size(); ++k) {
                if ((chosen >> k & 1) == 0) continue;
                bytes += some[k].bytes;
                used.insert(used.end(), {some[k].source, some[k].target});
            }
            std::sort(used.begin(), used.end());
            if (std::adjacent_find(used.begin(), used.end()) == used.end()) best = std::max(best, bytes);
        }
        CHECK(most_saved(some) == best);
    }
}

TEST(dead_sets_with_equal_hashes_are_told_apart) {
    DeadSets sets(100, 1 << 16);
    for (Word k = 0; k < 50; ++k) CHECK(sets.add(std::vector<Word>{k, 1}, 7));
    for (Word k = 0; k < 60; ++k) CHECK(sets.has(std::vector<Word>{k, 1}, 7) == (k < 50));
    std::size_t added = 50;
    while (sets.add(std::vector<Word>{added, 2}, added)) ++added;
    CHECK(added < (1 << 16) / 16);
    CHECK(sets.count() == added);
    sets.clear();
    CHECK(!sets.has(std::vector<Word>{0, 1}, 7));
}

TEST(a_circle_is_refused) {
    Arrays arrays;
    arrays.extra = {0, 0};
    arrays.writer_start = arrays.reader_start = {0};
    arrays.before = {0, 1, 1, 0};
    arrays.listed = {0, 1};
    bool refused = false;
    try {
        assemble(arrays);
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);
}
