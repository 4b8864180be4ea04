// Reuse costs where no item can change its pool, term by term and pool by pool.
//
// Layouts that are optimal in the terms so far are optimal in each pool by itself, since no term can trade
// one pool for another. So each term only lowers, for each pool, the height and the cost that are allowed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "core/score.hpp"
#include "reuse/address_bound.hpp"

namespace memstow::run {

// Steps of the first turn where several pools take turns; four times as many in the next round.
inline constexpr std::int64_t kFirstTurn = 2'000'000;

struct ReuseOptions {
    std::vector<Term> terms;
    std::vector<Value> lower_bounds;  // by term
    Layout start;                     // valid but for the capacities, or empty
    std::uint64_t seed = 0;
    bool two_threads = false;  // then the same run may end otherwise each time
    std::int64_t first_turn = kFirstTurn;
};

struct ReuseResult {
    Layout layout;  // empty where none is known
    Score score;    // of it
    std::vector<LockedBound> bounds;
    std::vector<reuse::AddressPrices> prices;  // of pools, by part, where reuse costs rest on addresses
    std::vector<Index> misfit;                 // items that have no layout together in their pool
};

// Of the first term.
struct ReuseEvents {
    std::function<void(const Layout& layout, Value value)> better;
    std::function<void(Value bound)> bound;
};

// Why this search cannot honour the terms; none if it can, where heights can be added up (`can_add`).
std::optional<std::string> declined_by_reuse(const Instance& instance, const std::vector<Term>& terms);

ReuseResult minimise_reuse(const Instance& instance, const ReuseOptions& options, Budget& budget,
                           const ReuseEvents& events = {});

}  // namespace memstow::run
