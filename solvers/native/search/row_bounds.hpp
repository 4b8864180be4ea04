// Lower bounds for packings whose rows cannot be filled without gaps: reserved ranges and pinned items stand
// in the way, or alignments keep items apart. See docs/search.md, "Root bounds".
#pragma once

#include "search/packing.hpp"

namespace memstow::search {

// Bytes that no layout can be lower than; kLimit when there is none at all. At most the effort of some
// milliseconds; 0 when there is nothing in the way.
Bytes row_bound(const Packing& packing);

}  // namespace memstow::search
