// Completes an instance whose pools, choices, parts and lives are given: makes its rows.
#pragma once

#include <span>
#include <utility>

#include "core/instance.hpp"

namespace memstow {

// One row for each maximal set of parts that live together, then one for each explicit conflict of two parts.
// The lives of a part are sorted and disjoint. Returns, by time row, a moment at which its whole set is live.
std::vector<std::int64_t> assemble_rows(Instance& instance,
                                        std::span<const std::pair<Index, Index>> conflicts);

}  // namespace memstow
