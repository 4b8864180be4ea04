// The operators done so far, with what is live and which operators can run next; steps can be taken back.
#pragma once

#include <span>
#include <vector>

#include "order/graph.hpp"

namespace memstow::order {

// What a step needs while it runs, and what is live after it.
struct Step {
    Bytes needs, leaves;
};

class State {
  public:
    explicit State(const Graph& graph);

    const Graph& graph() const { return *graph_; }
    Bytes live() const { return live_; }
    bool complete() const { return path_.size() == graph_->extra.size(); }
    bool done(Index v) const { return done_[v]; }
    bool is_ready(Index v) const { return place_[v] >= 0; }
    // Operators that are not done and wait for none, in no particular order.
    std::span<const Index> ready() const { return ready_; }
    // Operators done, in their order.
    const std::vector<Index>& path() const { return path_; }

    Step step(Index v) const {
        if (stale_[v]) renew(v);
        return {live_ + effects_[v].needs, live_ + effects_[v].leaves};
    }
    // Lists, from now on, operators that have become ready and those whose step adds other bytes than before;
    // some of them twice.
    void report_changes(std::vector<Index>* to) { changed_ = to; }
    void run(Index v);
    // Takes the last step back.
    void undo();
    // Takes steps back until this many are left.
    void undo_to(std::size_t steps) {
        while (path_.size() > steps) undo();
    }

  private:
    Bytes saved(Index v) const;
    void renew(Index v) const;
    void begin_or_not(Index storage) const;
    void end_with_last(Index storage) const;
    void change(Index v) const;
    void make_ready(Index v);
    void unready(Index v);

    const Graph* graph_;
    std::vector<Index> begun_;  // by storage: operators done of those that begin it
    std::vector<Index> left_;   // by storage: operators not done of those that end it
    std::vector<Index> waits_;  // by operator: operators not done of those before it
    std::vector<Index> place_;  // by operator: its place among the ready ones
    std::vector<Index> ready_, path_;
    std::vector<bool> done_;
    Bytes live_;
    // What each step adds to the live bytes. It changes only where a storage begins, or has one operator left
    // that ends it: most steps are looked at many times before that.
    mutable std::vector<Step> effects_;
    mutable std::vector<char> stale_;
    std::vector<Index>* changed_ = nullptr;
};

// The most that a step of the order needs; what is live without operators.
Bytes peak_of(const Graph& graph, std::span<const Index> order);

}  // namespace memstow::order
