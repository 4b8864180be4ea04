// Decides whether any packing has a layout of at most a given height, rigid groups and pairs that may tie
// included: a depth-first search over which of two overlapping parts is below the other, or whether they tie,
// with bounds on every offset. It needs no normal form, so it serves where the level search does not apply,
// and as its referee in tests. Much slower on large plain packings.
#pragma once

#include <vector>

#include "search/decision.hpp"
#include "search/depth.hpp"
#include "search/lookout.hpp"
#include "search/packing.hpp"

namespace memstow::search {

class PairSearch : public Decision {
  public:
    explicit PairSearch(const Packing& packing);
    Answer run(Bytes height, const Strategy& strategy, std::uint64_t seed, std::int64_t node_limit,
               const Stop& stop) override;
    const std::vector<Bytes>& offsets() const override { return low_; }
    std::int64_t nodes() const override { return nodes_; }

  private:
    enum Order : char { kFirstBelow = 1, kSecondBelow = 2, kTied = 4 };
    enum class What : char { low, high, open };
    struct Change {
        What what;
        Index at;
        Bytes before;
    };
    struct Shift {  // second's offset is at least first's plus this when first is below, and so on
        Bytes up, down, level;
    };

    Answer solve();
    Index pick() const;
    bool propagate();
    bool visit(Index item);
    bool enforce(Index pair);
    bool rows_stack();
    bool raise(Index item, Bytes low);
    bool lower(Index item, Bytes high);
    void queue(Index item);
    void undo(std::size_t mark);
    char possible(std::size_t pair) const;

    const Packing& packing_;
    const std::vector<PartPair> of_rows_;  // of a plain packing, which lists no pairs
    const std::vector<PartPair>& pairs_;
    std::vector<Shift> shift_;
    Lists<Index> pairs_of_;
    std::vector<Bytes> low_, high_;
    std::vector<char> open_;  // by pair: the orders that are still possible
    std::vector<double> weight_;
    std::vector<double> noise_;
    std::vector<Change> trail_;
    std::vector<Index> queue_;
    std::vector<char> queued_;
    std::vector<std::pair<Bytes, Bytes>> jobs_;
    std::int64_t nodes_ = 0, node_limit_ = 0, steps_ = 0;
    const Stop* stop_ = nullptr;
    Lookout lookout_;
    bool stopped_ = false;
    int depth_ = 0;
};

}  // namespace memstow::search
