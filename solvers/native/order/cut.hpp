// The least live bytes of all sets of operators between two: one minimum cut.
#pragma once

#include <span>
#include <vector>

#include "order/graph.hpp"
#include "order/max_flow.hpp"

namespace memstow::order {

// Steps of cuts that take as long as one of a search.
constexpr std::int64_t kCutSteps = 8;

// Where an operator is with respect to the sets that are looked at: in all, in none, or in some of them.
enum class Side : char { open, inside, outside };

// A saving in place while an operator runs: certain, or had only where the source ends at it.
struct Credit {
    InPlace pair;
    bool certain;
    Bytes bytes;  // at most the bytes of the pair
};

// The question: sets with all operators inside and none outside. `open` lists the others, each of which waits
// only for operators that are inside or open. Storages that no open operator begins or ends are left out of
// the sum.
struct Between {
    std::span<const Index> open;
    const std::vector<Side>& sides;
    Index running = -1;  // an operator that runs then; outside
    std::span<const Credit> credits = {};
};

// Storages of which one is live in each set, so that they add this many bytes. The first has begun in all
// sets; where one has ended, the next has begun; the last has ended in none. Instead of the first storage
// there may be a credit: it is not had, or all other operators that end its source are done.
struct Chain {
    Bytes bytes;
    Index credit = -1;
    std::vector<Index> storages;
};

class Cut {
  public:
    explicit Cut(const Graph& graph);

    // The least bytes. Ends early with some value above `enough`, and when the time of the budget is over
    // with some value that is no more than the least.
    Bytes least(const Between& between, Bytes enough = kLimit, const Budget* budget = nullptr);
    // The bytes left out of the last sum: what is live in all sets, and no open operator begins or ends.
    Bytes elsewhere(const Between& between) const;
    // After a full run: the open operators in the smallest and in the largest of the best sets.
    std::vector<Index> smallest() const;
    std::vector<Index> largest() const;

    // What the least is more by where the sets must have, or lack, one of the open operators; cut short above
    // `enough`, otherwise with the open operators in such a set. Before the first: `keep`, after a full run.
    enum class Must { have, lack };
    struct Rise {
        Bytes bytes;
        std::vector<Index> best;
    };
    void keep() { flow_.keep(); }
    Rise rise(Must must, Index v, Bytes enough);
    // From now on they must: what the least is more by.
    Bytes require(Must must, Index v, Bytes enough);

    // After a full run: chains that prove the sum, with what is live in all sets.
    std::vector<Chain> chains() const;

    std::int64_t steps() const { return flow_.steps(); }

  private:
    void add_storage(const Between& between, Index s);
    void add_credit(const Between& between, Index number);
    std::vector<Index> open_where(const std::vector<bool>& of_node, bool wanted) const;
    Index entry(const Between& between, Index s);
    Index exit(const Between& between, std::span<const Index> ends);

    const Graph& graph_;
    MaxFlow flow_;
    std::vector<Index> open_;
    std::vector<Index> node_;                // by operator: its node, where it is open
    std::vector<std::int64_t> question_of_;  // by storage: the last question that had it
    std::int64_t questions_ = 0;
    Bytes fixed_ = 0;
    struct Weighted {
        Index arc, storage, credit;  // one of the two is -1
    };
    std::vector<Weighted> weighted_;
};

}  // namespace memstow::order
