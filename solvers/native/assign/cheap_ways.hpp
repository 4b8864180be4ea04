// A way for each of many items, so that all together are cheap and no row has more than it has room for:
// which pool each goes to, before anybody asks where in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::assign {

// What one of the ways of an item adds to a row.
struct Load {
    Index row;
    Bytes amount;
};

struct Ways {
    Lists<std::int64_t> costs;  // by item, of its ways; together below 2^61
    Lists<Load> loads;          // by way, item after item; each amount is at most the room
    std::vector<Bytes> room;    // by row, at most 2^61
};

// Simulated annealing. An item changes its way, what is too much then goes elsewhere, and that is kept if it
// is cheaper, or seldom. The best after all moves, or within the budget: by item its way. It begins with
// `start`, which may be too much for some rows; none if no way out of that was seen.
std::optional<std::vector<Index>> cheap_ways(const Ways& ways, const std::vector<Index>& start,
                                             std::uint64_t seed, Budget& budget);

}  // namespace memstow::assign
