// The greedy portfolio: orders x rules, the best layout wins; small instances then have the winning order
// improved by moves of what stands in the way. It answers for every instance, however large, and always with
// a layout in which no two conflicting parts overlap and every window, alignment and reserved range holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow::greedy {

struct GreedyResult {
    Layout layout;
    Score score;             // fits() tells whether every item has a place within the capacities
    std::string name;        // who found it, as "lowest/size" or "improved lowest/size"
    bool bound_met = false;  // every term is at its lower bound
};

// Called at each improvement, the first layout included.
using OnLayout = std::function<void(const Layout& layout, const Score& score, const std::string& name)>;

struct GreedyOptions {
    std::vector<Value> lower_bounds;  // by term, possibly of the first terms only; met by all: the run ends
    std::uint64_t seed = 0;
    // Placements tried by the portfolio, a best fit counted fourfold as it costs. Reached after all passes
    // below some ten thousand items, after one pass of the tree at a million.
    std::int64_t portfolio_work = 600'000;
    std::int64_t improve_work = 150'000;  // parts placed while bettering the order of a small instance
};

// The first pass places at least 4,096 items (half a million of a plain problem) whatever is left of the
// budget, and stacks the others on top of them when the budget is spent by then: valid, quick and poor. A
// cancel works the same way. With terms empty the run ends at the first layout that fits. The same instance,
// terms, hint, options and work limit give the same result, unless the time limit cuts the run short.
GreedyResult solve_greedy(const Instance& instance, const std::vector<Term>& terms, const Hint& hint,
                          const GreedyOptions& options, Budget& budget, const OnLayout& on_layout = {});

}  // namespace memstow::greedy
