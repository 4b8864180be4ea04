// The interface of searches that decide "is there a layout of at most this height?".
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/instance.hpp"

namespace memstow::search {

enum class Answer { found, refuted, stopped };

// One way to run a search; restarts take turns over several.
struct Strategy {
    enum class Order { life, size, rows, area };
    enum class Sides { bottom, top, both };
    Order order = Order::life;
    Sides sides = Sides::bottom;
    double noise = 0.3;
    double learning = 0.01;  // what each dead end adds to the items that were still unplaced in its row
    bool lowest = true;      // branch at the lowest floor only, or at any floor where nothing can get below
    bool at_bound = true;    // what is learnt at the bound is kept apart from what is learnt above it
};

// Nodes of the shortest runs: a run ends early, but not before it can have placed everything and gone back as
// often.
inline std::int64_t restart_nodes(Index items) {
    constexpr std::int64_t kRestartNodes = 500;
    constexpr std::int64_t kRestartNodesPerItem = 2;
    return std::max(kRestartNodes, kRestartNodesPerItem * items);
}

class Decision {
  public:
    // Asked every few thousand steps with the steps done since, which may be none that count; true stops
    // the search.
    using Stop = std::function<bool(std::int64_t steps)>;
    static constexpr std::int64_t kStepsBetweenStops = 1 << 14;  // some tens of microseconds

    virtual ~Decision() = default;
    virtual Answer run(Bytes height, const Strategy& strategy, std::uint64_t seed, std::int64_t node_limit,
                       const Stop& stop) = 0;
    virtual const std::vector<Bytes>& offsets() const = 0;  // units; after `found`
    virtual std::int64_t nodes() const = 0;                 // of the last run
};

}  // namespace memstow::search
