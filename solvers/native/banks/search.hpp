// Layouts of instances in which something depends on banks: items are placed one after the other, each where
// the terms grow least, and then a few at a time are taken out and placed anew. Every constraint is honoured.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow::banks {

// Called with each better layout that fits.
using OnBetter = std::function<void(const Layout&, const Score&)>;

struct Placed {
    Layout layout{};  // items that got no place have none
    Score score{};
    std::vector<LockedBound> bounds{};  // where all layouts were looked through: none is better than this
    std::vector<Index> misfit{};        // the same: there is none, nor of these items alone
};

// The best layout within the budget. It ends where every term is at its lower bound, or where all layouts of
// a few items have been looked through.
Placed search(const Instance& instance, const Scorer& scorer, const std::vector<Value>& lower_bounds,
              std::uint64_t seed, Budget& budget, const OnBetter& on_better);

}  // namespace memstow::banks
