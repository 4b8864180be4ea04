// Lower bounds on the peak of all orders.
#pragma once

#include <functional>
#include <vector>

#include "core/budget.hpp"
#include "order/cut.hpp"
#include "order/graph.hpp"
#include "order/reach.hpp"

namespace memstow::order {

// Choices between so many pairs are made one by one: they have at most 18 sets that no pair can be added to
// (Moon and Moser).
constexpr std::size_t kMostPairs = 8;

// The most that is needed for the inputs and the outputs of one operator, and for what is live at both ends.
struct Largest {
    Bytes bytes;
    Index op;  // -1: what is live at the start or at the end
};
Largest largest_step(const Graph& graph);

// One way to save in place while an operator runs: what it grants. All ways together cover every set of
// pairs.
using Credits = std::vector<Credit>;
std::vector<Credits> ways_to_save(const Graph& graph, Index v, const std::vector<Side>& sides);

// The least that an operator needs in any order: the least over the ways to save, each one cut.
class CutBound {
  public:
    explicit CutBound(const Graph& graph) : graph_(graph), cut_(graph), reach_(graph) {}
    // Ends early where a set that was best for another operator shows that the bound is not above `enough`;
    // and with 0, which is a bound too, when the time of the budget is over.
    Bytes of(Index v, Bytes enough = -1, const Budget* budget = nullptr);
    std::int64_t steps() const { return steps_ + cut_.steps(); }

  private:
    static constexpr std::size_t kSets = 4;
    Bytes after(const std::vector<bool>& set, Index v);
    void keep(Index v);

    const Graph& graph_;
    Cut cut_;
    Reach reach_;
    std::vector<std::vector<bool>> sets_;
    std::size_t oldest_ = 0;
    std::int64_t steps_ = 0;
};

// What proves the bound of an operator: for each way to save, chains.
struct WayProof {
    Credits credits;
    std::vector<Chain> chains;
};
std::vector<WayProof> prove_cut(const Graph& graph, Index v);

// The same by one choice after another of the pairs that it may save with: a case is a choice, after which
// come the cases without the pair and those with it; or it is what chains show.
struct NeedCase {
    bool is_choice = false;
    std::vector<std::size_t> pairs;  // by their places in the operator's list: what is chosen, or by credit
    std::vector<Chain> chains;
    Bytes bytes = 0;  // what is needed then
};
std::vector<NeedCase> prove_need(const Graph& graph, Index v, Budget& budget);

// What proves that no set between two has fewer live bytes than the larger one, which is `done` and `more`.
std::vector<Chain> prove_commit(const Graph& graph, Cut& cut, const std::vector<Index>& done,
                                const std::vector<Index>& more);

struct Bound {
    Bytes bytes;
    Index op;       // -1: no operator's
    bool complete;  // no operator has a greater one
};

// A part of what is left, for cut bounds: one that is not the best is one as well.
Budget third_of(const Budget& budget);

// The greatest cut bound of all operators. By operator, `needs` is what it needs in some order: no less than
// its bound. Work counts arcs. `on_bound` hears each better one.
Bound cut_bound(const Graph& graph, const std::vector<Bytes>& needs, Budget& budget,
                const std::function<void(Bytes)>& on_bound);

}  // namespace memstow::order
