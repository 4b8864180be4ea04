// Items that are the same in all that matters: they are used in their order only.
#pragma once

#include "search/packing.hpp"

namespace memstow::search {

// Fills in `twin`; the rows and the allowed offsets are there already.
void find_twins(Packing& packing);

}  // namespace memstow::search
