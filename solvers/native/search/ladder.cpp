#include "ladder.hpp"

#include <algorithm>

namespace memstow {
namespace {

constexpr std::int64_t kRestartNodes = 500;

// Orders and sides take turns: no single one wins everywhere (docs/search.md, "Strategies").
std::vector<Strategy> strategies() {
    using Order = Strategy::Order;
    using Sides = Strategy::Sides;
    return {
        {Order::life, Sides::bottom, 0.3, 0.01, false}, {Order::size, Sides::bottom, 0.3, 0.01, true},
        {Order::area, Sides::both, 0.3, 0.01, true},    {Order::life, Sides::bottom, 0.3, 0.01, true},
        {Order::size, Sides::bottom, 0.3, 0.01, false}, {Order::life, Sides::both, 0.3, 0.01, true},
        {Order::area, Sides::bottom, 0.3, 0.01, false}, {Order::life, Sides::top, 0.3, 0.01, false},
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

}  // namespace

void Ladder::improve(Bytes height, std::vector<Bytes> offsets) {
    if (height >= top_) return;
    top_ = height;
    offsets_ = std::move(offsets);
    mark_top.store(height, std::memory_order_relaxed);
}

bool Ladder::refute(Bytes height) {
    // What has no layout at an ample height has none at all: pins and ranges are in the way.
    const Bytes bound = height >= ample() ? kLimit : packing.step_up(height + 1);
    if (bound <= bound_) return false;
    bound_ = bound;
    mark_bound.store(bound, std::memory_order_relaxed);
    return true;
}

// Every layout in which all items rest on something is within this height.
Bytes Ladder::ample() const {
    Bytes sum = 0, start = 0;
    for (Index i = 0; i < packing.count(); ++i) {
        const PackingItem& item = packing.items[static_cast<std::size_t>(i)];
        sum =
            std::min(kLimit, sum + std::min(kLimit / packing.unit, item.size + item.modulus) * packing.unit);
        const auto allowed = packing.allowed[i];
        start = std::max(start, allowed.empty() ? 0 : std::min(kLimit / packing.unit, allowed.back().begin));
    }
    return std::min(kLimit, sum + std::min(kLimit, start * packing.unit));
}

Bytes Ladder::rung(Bytes low, Bytes high, std::int64_t turn) const {
    const Bytes below = std::max(low, packing.step_down(high));
    const Bytes gap = below - low;
    // Low rungs are no harder than high ones where they can be reached at all, and settle the matter.
    if (turn % 2 == 0) return low;
    constexpr Bytes kEighths[] = {4, 6, 2, 7, 1};
    return low + gap / 8 * kEighths[turn / 2 % 5];
}

Attempt Ladder::next(Bytes goal, Bytes limit, bool fit_only, std::uint64_t seed) {
    static const std::vector<Strategy> all = strategies();
    const auto count = static_cast<std::int64_t>(all.size());
    const std::int64_t k = attempts_++;
    Attempt attempt{0, all[static_cast<std::size_t>(k % count)], seed + static_cast<std::uint64_t>(k), 0};
    attempt.node_limit = kRestartNodes * luby(k / count + 1);
    const Bytes low = std::max(goal, bound_);
    const Bytes high = std::min(top_, limit + 1);
    const bool open_ended = high >= ample();
    if (fit_only) {
        attempt.height = std::min(limit, ample());
    } else if (open_ended) {
        attempt.height = k % 2 == 0 ? std::min(limit, ample()) : low;
    } else {
        attempt.height = rung(low, high, k + k / count);
    }
    // Restarts alone never get to the end of a large tree: now and then one goes on for as long as a share of
    // all that was done before.
    if (k % 12 == 11) {
        attempt.node_limit = std::max(attempt.node_limit, nodes / 3);
        if (!fit_only && !open_ended) attempt.height = low;
    }
    return attempt;
}

}  // namespace memstow
