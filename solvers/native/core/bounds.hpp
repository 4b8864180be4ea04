// Lower bounds from sets of parts that must all be apart: what they need adds up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/instance.hpp"

namespace memstow {

__extension__ typedef __int128 WideBytes;

// All offsets that items forced into a pool can have are `residue` modulo `unit`.
struct Grid {
    Bytes unit = 1;
    Bytes residue = 0;
};

struct LiveBound {
    WideBytes bytes = 0;       // what the parts need together, lost bytes between them included
    Index row = -1;            // where they meet; -1 when the set comes from conflicts of pairs
    std::vector<Index> parts;  // pairwise in conflict, or of one item
};

// The grid of the items that can go to no other pool than this.
Grid common_grid(const Instance& instance, Index pool);

// By row: bytes that the items which can go to no other than these pools need there, each part rounded up to
// the unit; of each exempt pair the lesser part is left out. Near-linear.
std::vector<WideBytes> row_loads(const Instance& instance, const std::vector<bool>& pools, Bytes unit);

// The most bytes needed at once by items that can go to no other than these pools (by pool: true). When all
// starts are congruent modulo `unit`, each part but the topmost takes a multiple of it. Near-linear.
LiveBound live_bound(const Instance& instance, const std::vector<bool>& pools, Bytes unit);

// The same over cliques of the conflict graph, which explicit conflicts and exempt pairs make different from
// the rows. Searches at most `nodes` nodes over at most a few thousand of the largest parts. Where `above` is
// not 0, any clique that needs more than that will do, and no other is looked for.
LiveBound clique_bound(const Instance& instance, const std::vector<bool>& pools, Bytes unit,
                       std::int64_t nodes, Bytes above = 0);

// A clique of a graph, whose vertices have a row of bits each, of great weight: the greatest, unless more
// than `nodes` have to be searched. Where `above` is not 0, the first that weighs more than that.
std::vector<Index> heavy_clique(std::vector<std::vector<std::uint64_t>> adjacent, std::vector<Bytes> weights,
                                std::int64_t nodes, Bytes above = 0);

// What items that can go to no other than some pools need there at once.
struct Need {
    WideBytes bytes = 0;       // without reserved ranges
    WideBytes height = 0;      // in a single pool: the lowest possible end, reserved ranges included
    Index row = -1;            // where the parts that show it meet; -1 when they conflict pairwise
    std::vector<Index> parts;  // that show it: the height, where there is one
};

Need need_of(const Instance& instance, const std::vector<bool>& pools);

// The end of `need` bytes that are laid from `start` upwards around the reserved ranges (sorted, disjoint).
WideBytes height_around(WideBytes need, WideBytes start, std::span<const Range> reserved);

}  // namespace memstow
