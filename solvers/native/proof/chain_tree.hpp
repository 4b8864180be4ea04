// What one cell of a pool can hold at most, by prices of the buffers there and tolls of pairs: for the bound
// of reuse costs from what each address holds, as docs/proofs.md has it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
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

// Links that are too much together, of which no two share memory unless their pair pays.
struct Crowd {
    std::vector<Index> links;
    Bytes price;  // of a unit that is too much
};

struct ChainLimits {
    ChainTree tree;  // without nodes where there is none
    std::vector<Crowd> crowds;
    Bytes scale = 1;  // a cost of 1, in these prices
};

// Prices and tolls that show what layouts pay where there is so much room: as much as is wanted, if the
// budget allows, or else what soon comes of it. Links are in the order in which lives begin; the names are
// how they are numbered elsewhere; the spans are a layout, empty where it has none.
ChainLimits chain_limits(const std::vector<Bytes>& units, Bytes room, const reuse::LinkPairs& pairs,
                         const std::vector<std::uint64_t>& names, const std::vector<Range>& spans,
                         std::optional<Bytes> wanted, Budget& budget);

}  // namespace memstow::proof
