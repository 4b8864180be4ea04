// Tiny graphs of every feature.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/random.hpp"
#include "order/graph.hpp"

namespace memstow::order {

// Operators in the order of their numbers; groups with several writers, temporaries, pairs in place, side
// effects.
inline Graph random_graph(std::uint64_t seed, Index most) {
    Random random(seed);
    Graph graph;
    const auto count = static_cast<Index>(1 + random.below(static_cast<std::size_t>(most)));
    graph.extra.resize(static_cast<std::size_t>(count));
    graph.before.resize(graph.extra.size());
    graph.in_place.resize(graph.extra.size());
    for (Bytes& extra : graph.extra) extra = random.below(3) == 0 ? static_cast<Bytes>(random.below(20)) : 0;
    for (std::size_t s = 0; s < 2 * graph.extra.size(); ++s) {
        Storage storage{
            static_cast<Bytes>(1 + random.below(30)), {}, {}, random.below(8) == 0, random.below(8) == 0};
        const auto first = static_cast<Index>(random.below(graph.extra.size()));
        for (Index v = first; v < count; ++v) {
            if (v == first || random.below(8) == 0) storage.begins.push_back(v);
            if (v == storage.begins.front() || random.below(3) == 0) storage.ends.push_back(v);
            if (v > first) graph.before[v].push_back(random.below(2) == 0 ? first : std::max(first, v - 1));
        }
        for (const Index v : storage.begins) storage.ends.push_back(v);
        graph.storages.push_back(std::move(storage));
    }
    complete(graph);
    for (Index v = 0; v < count; ++v) {
        for (const Index source : graph.ends_at[v]) {
            for (const Index target : graph.begins_at[v]) {
                const Storage& from = graph.storages[source];
                if (source == target || random.below(2) == 0) continue;
                if (std::binary_search(from.begins.begin(), from.begins.end(), v)) continue;
                graph.in_place[v].push_back(
                    {source, target, std::min(from.size, graph.storages[target].size)});
            }
        }
    }
    return graph;
}

}  // namespace memstow::order
