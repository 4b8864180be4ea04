// Sequences of items that are good at all points at once: simulated annealing on what towers are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/budget.hpp"
#include "shapes/layout.hpp"
#include "shapes/shaped.hpp"

namespace memstow::shapes {

struct Start {
    std::vector<Index> sequence;
    std::vector<Index> choices;
};

struct Best {
    std::vector<Index> sequence;
    std::vector<Index> choices;
    std::vector<Bytes> peaks;
    bool fits = false;
};

// The best of the starts and of what is made from them. Ends early where every point is at its least. Without
// links, the first start.
Best search(const Shaped& shaped, Aim aim, const std::vector<Start>& starts, std::uint64_t seed,
            Budget& budget);

}  // namespace memstow::shapes
