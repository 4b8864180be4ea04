// Lower bounds on the peaks of pools that need no search, and what is too much for them: the sizes of buffers
// that must be apart at one time add up. That alone decides most problems.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/bounds.hpp"
#include "core/instance.hpp"

namespace memstow::run {

// What must be in some pools at once, in units.
struct PoolNeed {
    std::vector<Index> pools;
    Need need;
};

class PoolBounds {
  public:
    // `capacities`: of the pools in bytes; kLimit without an end. The instance outlives the bounds.
    PoolBounds(const Instance& instance, Bytes unit, std::span<const Bytes> capacities);

    // Of each pool, in order, of some sets of pools, of all of them, and last of the largest item alone.
    const std::vector<PoolNeed>& needs() const { return needs_; }
    // The one of the needs that is more than its pools hold, where there is one.
    std::optional<Index> misfit() const;

    struct Bound {
        WideBytes bytes = 0;
        std::vector<Index> needs;  // those that show it, of pools without a common one; none where it is 0
    };
    // On the peak of one pool: what must be there, or what the others cannot hold.
    Bound of_pool(Index pool) const;
    Bound of_largest() const;
    Bound of_sum() const;

  private:
    const PoolNeed& of_all() const { return needs_[needs_.size() - 2]; }
    WideBytes usable(std::span<const Index> pools) const;
    // What the fullest of the pools has at least, in bytes; 0 where they cannot hold the need.
    WideBytes fullest(const PoolNeed& of_pools) const;
    WideBytes free_below(Index pool, WideBytes height) const;
    PoolNeed largest_item() const;

    const Instance& instance_;
    Bytes unit_;
    std::vector<Bytes> capacities_;
    std::vector<Bytes> usable_;  // by pool
    std::vector<PoolNeed> needs_;
};

}  // namespace memstow::run
