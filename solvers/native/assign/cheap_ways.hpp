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
    Lists<std::int64_t> costs;  // by item, of its ways; at least one each, together below 2^61
    Lists<Load> loads;          // by way, item after item
    std::vector<Bytes> room;    // by row, at most 2^61
};

struct BeamOptions {
    std::vector<Index>
        order;               // of the items, such as by time: few rows should have items both early and late
    Index width = 1;         // so many choices for the items so far are kept
    std::uint64_t seed = 0;  // costs differ a little with it while choices are compared
};

// Beam search. Room in a row has a price, at which the rows are about full when each item has its cheapest
// way. A choice for the first items is worth what these cost with that, and the price of what is left empty
// in rows that no other item can fill. By item its way; none where no choice that was kept can be completed,
// or the budget is spent.
std::optional<std::vector<Index>> cheap_ways(const Ways& ways, const BeamOptions& options, Budget& budget);

}  // namespace memstow::assign
