// One packing between its best layout and its bound: which heights to try next, in which way and for how
// long. It outlives the packing, which may be dropped and made again. Guarded by the
// engine's mutex, except for the marks that searches watch.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "search/decision.hpp"
#include "search/exact.hpp"
#include "search/packing.hpp"
#include "search/row_bounds.hpp"

namespace memstow::search {

struct Attempt {
    Bytes height = 0;
    Strategy strategy;
    std::int64_t turn = 0;  // which of the strategies that is
    std::uint64_t seed = 0;
    std::int64_t node_limit = 0;
};

class Ladder {
  public:
    explicit Ladder(const Packing& packing, const Budget* budget = nullptr)
        : bound_(packing.step_up(std::max(packing.bound(budget), row_bound(packing)))),
          searchable_(packing.count() <= kMostItems),
          mark_bound(bound_) {}

    Bytes top() const { return top_; }      // height of the best layout in bytes; kLimit when there is none
    Bytes bound() const { return bound_; }  // no layout is lower
    const std::vector<Bytes>& offsets() const { return offsets_; }  // bytes, by item
    std::int64_t nodes = 0;

    void improve(Bytes height, std::vector<Bytes> offsets, std::int64_t turn);
    bool refute(const Packing& packing, Bytes height);  // true when the bound rose
    bool searchable() const { return searchable_; }

    // The next height to try when nothing below `goal` helps and nothing above `limit` does.
    Attempt next(const Packing& packing, Bytes goal, Bytes limit, bool fit_only, std::uint64_t seed);

    // True when a search for a layout of at most `height` has become pointless.
    bool settled(Bytes height) const {
        return mark_top.load(std::memory_order_relaxed) <= height ||
               mark_bound.load(std::memory_order_relaxed) > height;
    }

  private:
    Bytes top_ = kLimit;
    Bytes bound_;
    bool searchable_;
    std::vector<Bytes> offsets_;
    std::int64_t attempts_ = 0;
    std::int64_t turn_ = 0;        // of the strategies
    std::int64_t improved_ = 0;    // the turn at which the best layout was made
    std::int64_t longest_ = 1000;  // nodes of the last long run
    std::int64_t winner_ = 0;      // the turn that made the best layout

  public:
    std::atomic<Bytes> mark_top{kLimit};
    std::atomic<Bytes> mark_bound;
};

}  // namespace memstow::search
