// Sets of up to 64 things, as bits.
#pragma once

#include <bit>
#include <cstdint>

#include "core/instance.hpp"

namespace memstow {

// The lowest of a set that is not empty.
inline Index lowest_of(std::uint64_t set) { return static_cast<Index>(std::countr_zero(set)); }

template <class Use>
void for_each(std::uint64_t set, Use use) {
    for (; set != 0; set &= set - 1) use(lowest_of(set));
}

}  // namespace memstow
