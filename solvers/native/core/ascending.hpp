// The order of many integers, by a radix sort.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/instance.hpp"

namespace memstow {

// The indices of the values from the least to the greatest; of equal ones the first comes first.
std::vector<Index> ascending(std::span<const std::int64_t> values);

}  // namespace memstow
