// Writes why no order keeps to a height, in the form of docs/proofs.md ("Orders of graphs").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/budget.hpp"
#include "core/number_file.hpp"
#include "order/graph.hpp"
#include "order/least_peak.hpp"

namespace memstow::order {

struct OrderProof {
    std::optional<Bytes> height;  // the greatest that is shown to be too low; nothing was shown without
    std::uint64_t steps = 0;
};

// Shows as much as it can, up to the height: by one operator, or, in turns, by searches in both directions
// and by what must come first, that take no more bytes than `memory`. `listed`: an order of the operators.
// `known`: what a run has proven of the same graph; nothing of that is looked for again.
OrderProof write_order_proof(const Graph& graph, const std::vector<Index>& listed, Bytes height,
                             const std::string& path, const Digest& digest, std::size_t memory,
                             const LeastPeak* known, Budget& budget);

}  // namespace memstow::order
