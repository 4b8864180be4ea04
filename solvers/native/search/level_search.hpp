// Decides whether a plain packing has a layout of at most a given height: a depth-first search over which
// item starts at the floor of a row (or ends at its ceiling), with floors that only ever move inwards. An
// exhausted search is a proof. See docs/search.md for the branching and why it is complete.
#pragma once

#include <vector>

#include "search/decision.hpp"
#include "search/packing.hpp"
#include "search/refuted.hpp"

namespace memstow::search {

class LevelSearch : public Decision {
  public:
    LevelSearch(const Packing& packing, std::size_t table_bytes);  // of refuted states

    Answer run(Bytes height, const Strategy& strategy, std::uint64_t seed, std::int64_t node_limit,
               const Stop& stop) override;

    const std::vector<Bytes>& offsets() const override { return offset_; }
    std::int64_t nodes() const override { return nodes_; }

  private:
    using Side = std::size_t;  // 0: offsets from the bottom. 1: mirrored, from the ceiling down

    // What branching needs to know of a row. When stale, all but `reach` are from before some changes: floor,
    // slack and ends are then lower bounds, which is enough to know that the row still stacks.
    struct Row {
        Bytes floor;      // the least position of an unplaced item
        Bytes slack;      // what is left above the stack of unplaced items, each from its least position
        Bytes room;       // what is left above all of it when it starts at the floor without a gap
        Bytes first_end;  // the least end of an unplaced item, and the least of the others
        Bytes second_end;
        Index first_item;
        Index startable;  // items whose least position is the floor
        Index reach;      // all unplaced items of the row are among this many first ones in its order
        bool stale;
    };
    struct Mark {
        std::size_t least, rows, placed;
    };
    struct LeastChange {
        Side side;
        Index item;
        Bytes before;
    };
    struct RowChange {
        Side side;
        Index row;
        Row before;
    };
    struct Choice {
        Side side;
        Index row = -1;
    };

    bool reset(Bytes height, const Strategy& strategy, std::uint64_t seed);
    void use(const Strategy& strategy);
    bool set_least(Bytes height);
    void sort_rows();
    void set_preferences(std::uint64_t seed);
    void start_rows();
    Answer solve(std::size_t first, std::size_t last);
    Answer solve_parts(std::size_t first, std::size_t last, const std::vector<std::size_t>& cuts);
    Answer branch(std::size_t first, std::size_t last, Index row_begin, Index row_end);
    void list_candidates(const Choice& choice);
    Answer try_each(const Choice& choice, std::size_t candidates, std::size_t first, std::size_t last);
    Choice choose(Index row_begin, Index row_end);
    Bytes lowest_floor(Side side, Index row_begin, Index row_end);
    bool ready(Side side, Index row);
    bool none_starts(Side side, std::size_t first, std::size_t count);
    bool place(Side side, Index item);
    bool raise(Side side, Index item, Bytes least);
    bool propagate();
    void measure(Side side, Index row);
    void refresh(Side side, Index row);
    void touch(Side side, Index row, Bytes lost);
    void forget_touched();
    void learn(Index row);
    void blame_stack(Side side, Index row);
    void blame_row(Index row);
    void blame(Index item) { conflict_[item / 64] |= bit(item); }
    bool blamed_a_rise(std::size_t trail) const;
    static std::uint64_t bit(Index item) { return std::uint64_t{1} << (static_cast<std::size_t>(item) % 64); }
    Bytes next(Side side, Index item, Bytes x) const;
    Mark mark() const { return {least_trail_.size(), row_trail_.size(), placed_trail_.size()}; }
    void undo(const Mark& mark);
    bool out_of_budget();

    const Packing& packing_;
    RefutedStates refuted_;
    Strategy strategy_;
    bool uses_[2] = {true, false};
    Bytes height_ = 0;  // bytes
    Bytes top_ = 0;     // units; positions from the ceiling are measured from here

    std::vector<Bytes> size_;
    std::vector<Index> hull_begin_, hull_end_;  // by item: its first row, and one past its last
    std::vector<char> free_;
    std::vector<Bytes> least_[2];
    std::vector<char> placed_;
    std::vector<Bytes> offset_;
    std::vector<Index> slot_start_;
    std::vector<Index> order_[2];  // by row: its items, kept roughly in the order of least positions
    bool sorted_ = false;          // whether they have been put into it once
    std::vector<Bytes> keys_;      // scratch: least positions in that order
    std::vector<Row> rows_[2];
    std::vector<Index> unplaced_in_;  // by row
    std::vector<char> touched_flag_[2];
    std::vector<Bytes> slack_before_[2];  // by touched row
    std::vector<std::int64_t> placing_;   // by row: the number of the last placement in it
    std::int64_t placements_ = 0;
    Bytes end_ = 0;  // of the item being placed
    std::vector<Index> touched_[2];
    std::vector<LeastChange> least_trail_;
    std::vector<RowChange> row_trail_;
    std::vector<Index> placed_trail_;
    std::vector<Index> arena_;  // lists of unplaced items and of candidates, one stretch a node
    // After a dead end: unplaced items that, from their least positions, have no layout whatever the others
    // do.
    std::vector<std::uint64_t> conflict_;
    std::vector<std::uint64_t> blamed_;  // what the children of each node on the path blamed so far
    // Learnt, by item; each kind of strategy has its own, which live across restarts.
    static constexpr std::size_t kKinds = 4 * 3 * 2 * 2;  // orders, sides, choice of row, height
    std::vector<std::vector<double>> weights_;
    std::vector<double>* weight_ = nullptr;
    std::vector<double> preference_;

    std::int64_t nodes_ = 0, node_limit_ = 0, steps_ = 0;
    const Stop* stop_ = nullptr;
    bool stopped_ = false;
};

}  // namespace memstow::search
