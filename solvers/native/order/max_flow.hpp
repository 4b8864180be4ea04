// The largest flow between two nodes, and the smallest cut (Dinic).
#pragma once

#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::order {

class MaxFlow {
  public:
    static constexpr Bytes kEndless = kLimit;
    static constexpr Index kSource = 0, kSink = 1;

    // Forgets all arcs; there are the source, the sink and this many nodes from 2 on.
    void reset(Index nodes);
    Index add_node();
    void add_arc(Index from, Index to, Bytes capacity);
    // Pushes what fits. Ends early, with less than the most, where more than `enough` has come through.
    // Ends early as well when the time of the budget is over; what has come through is a part then.
    Bytes push(Bytes enough = kEndless, const Budget* budget = nullptr);

    // After a full push: whether the node is on the source's side of the cut with the fewest nodes there.
    bool near_source(Index node) const { return level_[node] >= 0; }
    // By node, whether it is on the sink's side of the cut with the fewest nodes there.
    std::vector<bool> near_sink() const;

    // What flows, as paths from the source to the sink; arcs in the order they were added, each two numbers.
    struct Path {
        Bytes bytes;
        std::vector<Index> arcs;
    };
    std::vector<Path> paths() const;

    struct Arc {
        Index to;
        Index next;  // of the same node; -1 at the end
        Bytes room;  // what still fits
    };
    // Arcs in pairs, each with its reverse; what flows is the room of the reverse of those that were added.
    const std::vector<Arc>& arcs() const { return arcs_; }
    // Steps of the work so far: arcs looked at.
    std::int64_t steps() const { return steps_; }

  private:
    bool find_levels();
    Bytes advance(Bytes most);

    std::vector<Arc> arcs_;
    std::vector<Index> first_, level_, current_, queue_, trail_;
    std::int64_t steps_ = 0;
};

}  // namespace memstow::order
