// What pairs of inputs and outputs save in place: the best matching.
#pragma once

#include <span>

#include "order/graph.hpp"

namespace memstow::order {

// The most bytes that a set of these pairs saves, each source and each target in at most one of them.
Bytes most_saved(std::span<const InPlace> pairs);

}  // namespace memstow::order
