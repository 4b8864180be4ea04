#include "search/ladder.hpp"

#include <algorithm>

namespace memstow::search {
namespace {

constexpr std::int64_t kCyclesForBound = 4;

// Orders and sides take turns: no single one wins everywhere (docs/search.md, "The ladder").
std::vector<Strategy> strategies() {
    using Order = Strategy::Order;
    using Sides = Strategy::Sides;
    return {
        {Order::size, Sides::bottom, 0.3, 0.1, true, true},
        {Order::size, Sides::both, 0.3, 0.01, false, true},
        {Order::life, Sides::bottom, 0.3, 0.01, false, true},
        {Order::area, Sides::bottom, 0.3, 0.01, true, true},
        {Order::size, Sides::bottom, 0.3, 0.1, false, true},
        {Order::life, Sides::bottom, 0.3, 0.01, true, true},
        {Order::area, Sides::both, 0.3, 0.01, false, true},
        {Order::life, Sides::both, 0.3, 0.01, true, true},
    };
}

// 1 1 2 1 1 2 4 ...; k >= 1.
std::int64_t luby(std::int64_t k) {
    for (;;) {
        std::int64_t size = 1;
        while (size < k + 1) size *= 2;
        if (size == k + 1) return size / 2;
        k -= size / 2 - 1;
    }
}

// No more than kLimit, and no overflow on the way: both are at most kLimit.
Bytes capped_sum(Bytes a, Bytes b) { return a > kLimit - b ? kLimit : a + b; }

// Every layout in which all items rest on something is within this height.
Bytes ample(const Packing& packing) {
    const Bytes most = kLimit / packing.unit;
    Bytes sum = 0, start = 0;
    for (Index i = 0; i < packing.count(); ++i) {
        const PackingItem& item = packing.items[i];
        sum = capped_sum(sum, std::min(most, capped_sum(item.size, item.modulus)) * packing.unit);
        const auto allowed = packing.allowed[i];
        start = std::max(start, allowed.empty() ? 0 : std::min(most, allowed.back().begin));
    }
    return capped_sum(sum, start * packing.unit);
}

Bytes rung(const Packing& packing, Bytes low, Bytes high, std::int64_t cycle) {
    const Bytes below = std::max(low, packing.step_down(high));
    // Half way first; when that resists for a cycle, elsewhere, and more often near the top, where a little
    // less is easy to find.
    constexpr Bytes kEighths[] = {4, 7, 6, 8, 3, 7, 5, 8, 2};
    return low + (below - low) / 8 * kEighths[cycle % 9];
}

}  // namespace

void Ladder::improve(Bytes height, std::vector<Bytes> offsets, std::int64_t turn) {
    if (height >= top_) return;
    if (turn_ > count_of(strategies())) winner_ = turn;  // the first ones come easily
    improved_ = turn_;
    top_ = height;
    offsets_ = std::move(offsets);
    mark_top.store(height, std::memory_order_relaxed);
}

bool Ladder::refute(const Packing& packing, Bytes height) {
    // A packing without a layout at an ample height has none at all: pins and ranges are in the way.
    const Bytes bound = height >= ample(packing) ? kLimit : packing.step_up(height + 1);
    if (bound <= bound_) return false;
    bound_ = bound;
    mark_bound.store(bound, std::memory_order_relaxed);
    return true;
}

Attempt Ladder::next(const Packing& packing, Bytes goal, Bytes limit, bool fit_only, std::uint64_t seed) {
    static const std::vector<Strategy> all = strategies();
    const std::int64_t count = count_of(all);
    const std::int64_t k = attempts_++;
    Attempt attempt;
    attempt.seed = seed + k;
    // Every third run is for what found the last layout, and in between for the two that reach deepest.
    const bool again = k % 3 == 2;
    const std::int64_t favourites[] = {winner_, 0, winner_, 4};
    const std::int64_t cycle = turn_ / count;
    // The bound decides most problems, so all begin there; then every other turn goes to a rung above it, and
    // more of them when the bound has resisted for long.
    const bool at_bound = !again && (cycle == 0 || (turn_ + cycle) % (cycle < kCyclesForBound ? 2 : 5) == 0);
    attempt.turn = again ? favourites[k / 3 % 4] : turn_++ % count;
    attempt.strategy = all[attempt.turn];
    attempt.node_limit = restart_nodes(packing.count()) * luby(cycle + 1);
    const Bytes low = std::max(goal, bound_);
    const Bytes high = std::min(top_, limit + 1);
    const bool open_ended = high >= ample(packing);
    if (fit_only) {
        attempt.height = std::min(limit, ample(packing));
    } else if (open_ended) {
        attempt.height = k % 2 == 0 ? std::min(limit, ample(packing)) : low;
    } else {
        attempt.height = at_bound ? low : rung(packing, low, high, (turn_ - improved_) / count);
    }
    // Restarts alone never get to the end of a large tree: up to a share of all that is done goes to runs
    // that are each twice as long as the one before.
    if (k % 12 == 11 && longest_ * 2 <= nodes / 8) {
        longest_ *= 2;
        attempt.node_limit = std::max(attempt.node_limit, longest_);
        if (!fit_only && !open_ended) attempt.height = low;
    }
    attempt.strategy.at_bound = attempt.height == low;
    return attempt;
}

}  // namespace memstow::search
