// What must come before and after an operator, at any distance.
#pragma once

#include <vector>

#include "order/cut.hpp"
#include "order/graph.hpp"

namespace memstow::order {

// All sets after which an operator can run.
class Reach {
  public:
    explicit Reach(const Graph& graph) : graph_(graph), sides_(graph.extra.size(), Side::open) {}

    // Sides: all that come before it are inside; it and all that come after it are outside.
    void look_at(Index v);
    const std::vector<Side>& sides() const { return sides_; }
    const std::vector<Index>& open() const { return open_; }

  private:
    void mark(Index v, const std::vector<std::vector<Index>>& next, Side side);

    const Graph& graph_;
    std::vector<Side> sides_;
    std::vector<Index> open_, stack_;
};

}  // namespace memstow::order
