// Decides whether a plain packing has a layout of at most a given height: a depth-first search over which
// item starts at the floor of a row (or ends at its ceiling), with floors that only ever move inwards. An
// exhausted search is a proof. See docs/search.md for the branching and why it is complete.
#pragma once

#include <span>
#include <vector>

#include "search/decision.hpp"
#include "search/depth.hpp"
#include "search/floors.hpp"
#include "search/packing.hpp"
#include "search/preferences.hpp"
#include "search/refuted.hpp"

namespace memstow::search {

class LevelSearch : public Decision {
  public:
    LevelSearch(const Packing& packing, std::size_t table_bytes);  // of refuted states

    Answer run(Bytes height, const Strategy& strategy, std::uint64_t seed, std::int64_t node_limit,
               const Stop& stop) override;

    const std::vector<Bytes>& offsets() const override { return offsets_; }
    std::int64_t nodes() const override { return nodes_; }

  private:
    using Side = Floors::Side;
    using Row = Floors::Row;

    struct Choice {
        Side side;
        Index row = -1;
    };
    // Entries of the arena from `first` up to, not including, `last`.
    struct Stretch {
        std::size_t first, last;
        std::size_t size() const { return last - first; }
    };

    Answer solve(Stretch items);
    Answer solve_parts(Stretch items, const std::vector<std::size_t>& cuts);
    Answer branch(Stretch items, RowRange rows);
    Stretch list_candidates(const Choice& choice);
    Answer try_each(const Choice& choice, Stretch candidates, Stretch items);
    Choice choose(RowRange rows);
    Bytes lowest_floor(Side side, RowRange rows);
    bool ready(Side side, Index row);
    std::span<const Index> listed(Stretch stretch) const {
        return std::span(arena_).subspan(stretch.first, stretch.size());
    }
    bool out_of_budget();
    Answer stop();

    const Packing& packing_;
    std::vector<Index> hull_begin_, hull_end_;  // by item: its first row, and one past its last
    Preferences preferences_;
    Floors floors_;
    RefutedStates refuted_;

    // Of the run at hand.
    Bytes height_ = 0;
    Strategy strategy_;
    std::int64_t nodes_ = 0, node_limit_ = 0;
    std::int64_t remembered_ = 0;  // nodes of earlier runs that the preferences were learnt in
    const Stop* stop_ = nullptr;
    bool stopped_ = false;
    int depth_ = 0;
    std::vector<Index> arena_;            // lists of unplaced items and of candidates, one stretch a node
    std::vector<IndexSet::Word> blamed_;  // what the children of each node on the path blamed so far
    std::vector<Bytes> offsets_;
};

}  // namespace memstow::search
