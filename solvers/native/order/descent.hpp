// Is there an order that needs no more than a limit? A search from the first operator on.
#pragma once

#include <span>
#include <vector>

#include "core/budget.hpp"
#include "order/cut.hpp"
#include "order/dead_sets.hpp"
#include "order/graph.hpp"
#include "order/state.hpp"

namespace memstow::order {

enum class Answer { found, none, stopped };

// A search that has explored no more than this part of its tree will hardly end.
constexpr double kFarExplored = 1e-4;

// Depth first. At each set it runs at once what loses nothing (a *commit*): any set that can be reached from
// it and whose live bytes are the fewest of all sets in between. Sets from which nothing led to the end are
// remembered.
class Descent {
  public:
    struct Options {
        std::size_t memory;      // bytes for the sets remembered
        std::size_t kept = 0;    // the most sets of which the reasons are kept as well
        std::uint64_t seed = 0;  // not 0: the order of the choices is left to chance
    };
    Descent(const Graph& graph, const Options& options);

    // Looks for an order; stops after this many steps, or when the budget is spent, and goes on when asked
    // again for the same limit.
    Answer search(Bytes limit, std::int64_t steps, Budget& budget);
    // The order found.
    const std::vector<Index>& order() const { return state_.path(); }
    // After none: no order needs less than this.
    Bytes least_blocked() const { return least_blocked_; }
    std::size_t dead_count() const { return dead_.count() + forgotten_; }
    // The part of the tree that was tried, if all choices of a set were alike: 1e-30 next to 1e-3 says which
    // of two searches ends first. Sets with no choice left are taken as if the tree began after them.
    double explored() const;
    // The dead sets, each after those that it leads to; where they must lead to (`commit_of`), if
    // `all_kept`.
    const DeadSets& dead() const { return dead_; }
    // The hash of a set is that of its operators, each by its key, exclusively or.
    Word key(Index v) const { return keys_[v]; }
    bool all_kept() const { return all_kept_ && forgotten_ == 0; }
    // The set that this one must lead to; empty where that may be any of the next.
    std::span<const Word> commit_of(std::size_t k) const;

  private:
    struct Frame {
        std::size_t steps;  // of the path
        Bytes live;
        std::size_t choice, choices;  // the next, and the first, in `choices_`
        std::size_t count;            // of choices at first
        std::vector<Word> commit;     // the set that it leads to, where that is the only one
    };
    struct Choice {
        Bytes leaves, needs;
        std::uint64_t chance;
        Index op;
        auto operator<=>(const Choice&) const = default;
    };

    void start(Bytes limit);
    void enter();
    bool late();
    void run_free();
    bool commit();
    void run(Index v);
    void undo_to(std::size_t steps);
    bool back();
    void push();
    void bury(const Frame& frame);

    Options options_;
    State state_;
    Cut cut_;
    DeadSets dead_;
    std::vector<Word> bits_, keys_;
    Word hash_ = 0;
    std::vector<Frame> frames_;
    std::vector<Choice> choices_;
    std::vector<Side> sides_;
    Bytes limit_ = -1, least_blocked_ = kLimit;
    std::int64_t steps_ = 0, long_steps_ = 0;  // of all work, and of that for long commits
    const Budget* budget_ = nullptr;           // while it searches
    std::int64_t next_look_ = 0;               // at the clock, in steps
    bool late_ = false;                        // ended in the middle of a step: there is no way to go on
    std::size_t forgotten_ = 0;                // dead sets that are not remembered
    bool all_kept_ = true;
    std::vector<std::uint32_t> commit_at_;  // by dead set: the number of its commit, from 1
    std::vector<Word> commits_;
};

}  // namespace memstow::order
