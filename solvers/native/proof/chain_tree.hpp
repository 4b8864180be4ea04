// What one cell of a pool can hold at most, by prices of the buffers there and tolls of pairs: for the bound
// of reuse costs from what each address holds, as docs/proofs.md has it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "reuse/address_bound.hpp"
#include "reuse/link_pairs.hpp"

namespace memstow::proof {

// A chain is a set of links of which no two are always apart. It is worth its prices less its tolls.
struct ChainTree {
    static constexpr Index kLeaf = -1;

    std::vector<Bytes> prices;  // by link
    std::vector<Bytes> tolls;   // by pair
    Bytes worth = 0;            // of no chain is it more
    std::vector<Index> nodes;   // a link that is in the chain first, and then not; or a leaf
};

struct ChainLimits {
    ChainTree tree;  // without nodes where there is none
    std::vector<reuse::Crowd> crowds;
    Bytes scale = 1;  // a cost of 1, in these prices
};

// What may share a pool, and how much of it there is, in cells. Links are in the order in which lives begin.
struct Linked {
    std::vector<Bytes> units;  // by link
    Bytes room;
    Bytes cell;  // bytes
    reuse::LinkPairs pairs;
    std::vector<std::uint64_t> names;  // by link, how it is numbered elsewhere
    std::vector<Range> spans;          // a layout, empty where it has none
};

// Prices and tolls that show what layouts pay: as much as is wanted, if the budget allows, or else what soon
// comes of it. Known ones need no search; they may be any numbers, but then they show less.
ChainLimits chain_limits(const Linked& linked, std::optional<Bytes> wanted, const reuse::AddressPrices* known,
                         Budget& budget);

}  // namespace memstow::proof
