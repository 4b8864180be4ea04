// Whether any sequence keeps every point below a limit: a complete search over what is below what.
#pragma once

#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "shapes/search.hpp"
#include "shapes/shaped.hpp"

namespace memstow::shapes {

struct Exact {
    bool complete = false;     // nothing was left out: without `found`, no sequence keeps the limits
    std::optional<Best> best;  // the first that does
    std::int64_t nodes = 0;
};

// `limits`: by point, the most that the objective may be.
Exact below(const Shaped& shaped, const std::vector<Bytes>& limits, Budget& budget);

}  // namespace memstow::shapes
