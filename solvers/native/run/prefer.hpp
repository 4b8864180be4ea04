// Moves items to pools they prefer where no term of the objective becomes worse. This is no part of the
// objective, so that it comes last: items move one at a time.
#pragma once

#include <vector>

#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow::run {

// The same layout where none can move, or where there are too many to look at in some tens of milliseconds.
// It is valid, and stays so; moves are counted from the hint.
Layout in_preferred_pools(const Instance& instance, const std::vector<Term>& terms, const Hint& hint,
                          Layout layout);

}  // namespace memstow::run
