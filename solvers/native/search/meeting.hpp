// Where sweeps from both ends have passed each other: a row whose tiles have an order that suits both.
#pragma once

#include <optional>
#include <vector>

#include "search/sweep.hpp"

namespace memstow::search {

// A layout from what the two sweeps have reached. The rows of the second are those of the first, counted from
// the last.
std::optional<std::vector<Bytes>> meet(const TileRows& first, const Sweep::Reached& forwards,
                                       const TileRows& second, const Sweep::Reached& backwards,
                                       std::size_t memory, const Decision::Stop& stop);

}  // namespace memstow::search
