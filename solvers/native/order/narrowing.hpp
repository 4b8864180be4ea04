// What must come before what in every order that needs no more than a limit; there may be no such order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/budget.hpp"
#include "order/bounds.hpp"
#include "order/cut.hpp"
#include "order/graph.hpp"
#include "order/precedence.hpp"

namespace memstow::order {

// More operators are not looked at: it takes a cut or two for each pair of them.
constexpr std::size_t kMostToNarrow = 2'000;

// One operator comes before another: if not, some operator needs more than the limit.
struct Ordering {
    Index first, then, needy;
};

// For each operator v and each u that is not ordered with it: if v needs more than the limit after every set
// with u, then v comes before u; if after every set without u, then u before v. Both are minimum cuts. What
// is ordered leaves fewer sets for all other pairs, and so on, until nothing changes.
class Narrowing {
  public:
    enum class Answer { none, open, stopped };

    explicit Narrowing(const Graph& graph);

    // None: no order keeps to the limit. Open: no more can be shown. Stopped after this many steps, or when
    // the budget is spent, it goes on when asked again for the same limit. A limit below one that was left
    // open takes over what was shown there.
    Answer search(Bytes limit, std::int64_t steps, Budget& budget);
    // After none: no order needs less than this.
    Bytes least_blocked() const { return least_blocked_; }
    // What was shown about that limit and those above it, each with what was shown before it. Then `needy`
    // needs more than the limit whatever ran before.
    const std::vector<Ordering>& shown() const { return added_; }
    Index needy() const { return next_; }
    // The least limit that was left open.
    Bytes open_limit() const { return at_open_.limit; }
    // What has been shown about the limit that was asked for last.
    const Precedence& precedence() const { return precedence_; }

  private:
    // After the set, in which is all that comes before it, an operator needs these bytes.
    struct Shown {
        std::vector<Word> set;
        Bytes bytes;
        std::size_t checked;  // of `added_`: the set has the first of each pair that it has the second of
    };
    // One way of the operator to save.
    struct Way {
        Cut* cut;
        Bytes bytes;  // the least that it needs
    };

    void start(Bytes limit);
    Answer look_at(Index v);
    bool find_ways(Index v);
    bool possible(Index v, Index u, Cut::Must must);
    bool require(Index u, Cut::Must must);
    bool is_known(Index u, Cut::Must must) const;
    void show(Index v, const std::vector<Index>& best, Bytes bytes);
    bool still_shown(Index v, Shown& shown) const;
    void sum_up(Index v);
    void add(const Ordering& ordering);
    void block(Bytes bytes);
    bool late();

    const Precedence given_;
    Precedence precedence_;
    Graph graph_;  // with what was shown to come before what
    std::vector<Ordering> added_;
    Bytes limit_ = -1, least_blocked_ = kLimit;
    // What was known when a limit was left open.
    struct {
        Bytes limit = kLimit, least_blocked = kLimit;
        std::size_t added = 0;
        Precedence precedence;
    } at_open_;

    std::vector<std::vector<Shown>> shown_;  // by operator
    std::vector<std::size_t> oldest_;        // by operator
    Index next_ = 0, unchanged_ = 0;         // the operator to look at; how many before it added nothing

    // While one operator is looked at.
    std::vector<Side> sides_;
    std::vector<Index> open_;
    std::vector<std::unique_ptr<Cut>> cuts_;
    std::vector<Way> ways_;
    std::vector<Word> in_some_, in_all_;  // of the sets shown

    std::int64_t steps_ = 0;
    const Budget* budget_ = nullptr;
    std::int64_t next_look_ = 0;
    bool late_ = false;
};

}  // namespace memstow::order
