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
    Bytes push(Bytes enough = kEndless, const Budget* budget = nullptr) {
        return push(kSource, kSink, enough, budget);
    }

    // After a full push: whether the node is on the source's side of the cut with the fewest nodes there.
    bool near_source(Index node) const { return level_[node] >= 0; }
    // By node, whether it is on the sink's side of the cut with the fewest nodes there.
    std::vector<bool> near_sink() const { return before(kSink); }

    // What more fits, after a full push, if a node is a source (or a sink) as well; in the same way cut
    // short.
    Bytes push_from(Index node, Bytes enough) { return push(node, kSink, enough, nullptr); }
    Bytes push_to(Index node, Bytes enough) { return push(kSource, node, enough, nullptr); }
    // By node, whether something may still flow there from the source or this node; from there to the sink or
    // this node.
    std::vector<bool> behind(Index node) const { return reached({kSource, node}, true); }
    std::vector<bool> before(Index node) const { return reached({kSink, node}, false); }
    // Takes back what has flown since.
    void keep() { kept_ = arcs_; }
    void restore() { arcs_ = kept_; }

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
    // By node, whether an arc with room, or some of them, lead there from one of these, or from there to
    // them.
    std::vector<bool> reached(std::vector<Index> queue, bool forwards) const;
    Bytes push(Index from, Index to, Bytes enough, const Budget* budget);
    bool find_levels(Index from, Index to);
    Bytes advance(Index from, Index to);

    std::vector<Arc> arcs_, kept_;
    std::vector<Index> first_, level_, current_, queue_, trail_;
    std::int64_t steps_ = 0;
};

}  // namespace memstow::order
