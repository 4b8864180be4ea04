// What lives throughout conflicts with everything: it may as well be at the bottom, and the others above are
// a smaller problem. Weights and the states of an optimiser are a quarter of a training step's buffers, and
// two thirds of what is live at its fullest moment.
#pragma once

#include <optional>
#include <vector>

#include "core/instance.hpp"

namespace memstow::improve {

class AboveThroughout {
  public:
    // Nothing where too few items live throughout to be worth it, and where not all offsets are on one grid
    // and otherwise free: only then can all of them be moved. `start` is valid.
    static std::optional<AboveThroughout> of(const Instance& instance, Index pool, const Layout& start);

    const Instance& instance() const { return instance_; }
    // What the others have in the start, without what lies below them of those that live throughout. It is no
    // higher than the start less the base, but for less than a step of the grid.
    const Layout& start() const { return start_; }
    // Where the others begin.
    Bytes base() const { return base_; }
    // The layout of all items, from one of the others.
    Layout whole(const Layout& others) const;

  private:
    AboveThroughout() = default;

    Instance instance_;
    Layout start_;
    Bytes base_ = 0;
    Layout bottom_;              // by item of the whole; the others have no place
    std::vector<Index> others_;  // items of the whole
};

}  // namespace memstow::improve
