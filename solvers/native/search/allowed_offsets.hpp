// Where an item may be when it is alone in its pool, whatever its alignment.
#pragma once

#include <vector>

#include "core/instance.hpp"

namespace memstow::search {

// Ranges of offsets in units, sorted, disjoint, both ends included.
std::vector<Range> allowed_offsets(const Instance& instance, Index item, Bytes unit);

// Offsets from begin up to, not including, end are no longer allowed.
void forbid(std::vector<Range>& allowed, Bytes begin, Bytes end);

}  // namespace memstow::search
