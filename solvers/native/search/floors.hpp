// Where the items of a packing can still be while a search places them from the bottom, from the top or from
// both: the least position of each, and what that leaves in each row. Positions only ever move inwards. Every
// change is on a trail, so that the search can go back.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "search/decision.hpp"
#include "search/index_set.hpp"
#include "search/lookout.hpp"
#include "search/packing.hpp"
#include "search/preferences.hpp"

namespace memstow::search {

class Floors {
  public:
    using Side = std::size_t;  // 0: positions from the bottom. 1: mirrored, from the ceiling down
    static constexpr std::array<Side, 2> kSides{0, 1};

    // A row as branching sees it. When stale, all but `reach` are from before some changes: floor,
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

    // Items that are unplaced at a dead end are told to `preferences`.
    Floors(const Packing& packing, Preferences& preferences);
    Floors(const Floors&) = delete;

    // Nothing is placed; false when an item has no position within the height even so, or when stopped.
    bool reset(Bytes height, Strategy::Sides sides, const Decision::Stop& stop);
    // Whether the search has to stop. What is false then is no dead end, and the only way on is a reset.
    bool stopped() const { return lookout_.stopped(); }
    bool stops_after(std::int64_t uncounted) { return lookout_.stops_after(uncounted); }

    bool used(Side side) const { return views_[side].used; }  // to place from
    bool placed(Index item) const { return placed_[item] != 0; }
    Bytes least(Side side, Index item) const { return views_[side].least[item]; }
    const Row& row(Side side, Index row) const { return views_[side].rows[row]; }
    Index unplaced_in(Index row) const { return unplaced_in_[row]; }
    // Offsets of the placed items; the others are where they can be lowest.
    std::vector<Bytes> offsets() const;

    // Each of these is false when stopped, and at a dead end: no layout goes on from here, and conflict()
    // says why.
    bool place(Side side, Index item);  // at its least position
    bool lift(Side side,
              std::span<const Index> items);  // off the floor, onto something that is not placed yet
    bool propagate();
    // All of the row would have to rise and cannot: that is a dead end, too.
    void blame_row(Index row);

    // Makes sure that what is known of the row is not stale.
    void refresh(Side side, Index row) {
        if (views_[side].rows[row].stale) measure_again(side, row);
    }

    Mark mark() const { return {least_trail_.size(), row_trail_.size(), placed_trail_.size()}; }
    void undo(const Mark& mark);

    // After a dead end: unplaced items that, from their least positions, have no layout whatever the others
    // do.
    IndexSet& conflict() { return conflict_; }
    // Whether the dead end needs a rise made since then: if not, it was dead already.
    bool blames_a_rise_since(const Mark& mark) const;

    std::int64_t steps = 0;  // of work; whoever counts them takes them

  private:
    // The packing as seen from one side.
    struct View {
        bool used = false;
        std::vector<Bytes> least;  // by item
        std::vector<Row> rows;
        std::vector<Index> order;         // by row: its items, kept roughly in the order of least positions
        std::vector<Index> touched;       // rows
        std::vector<char> is_touched;     // by row
        std::vector<Bytes> slack_before;  // by touched row
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

    bool set_least(Bytes height);
    bool sort_rows();
    void start_rows();
    Bytes next(Side side, Index item, Bytes x) const;
    bool raise(Side side, Index item, Bytes least);
    void touch(Side side, Index row, Bytes lost);
    void forget_touched();
    void measure_again(Side side, Index row);
    void measure(Side side, Index row);
    Index sort_unplaced(Side side, Index row);
    void learn(Index row);
    void blame_stack(Side side, Index row);

    const Packing& packing_;
    Preferences& preferences_;
    std::vector<Bytes> size_;  // by item, as in the packing
    std::vector<char> free_;
    Bytes top_ = 0;  // units; positions from the ceiling are measured from here

    View views_[2];
    bool sorted_ = false;             // whether the rows' orders have been made once
    std::vector<Bytes> keys_;         // of the row last measured: least positions in its order
    std::vector<char> placed_;        // by item
    std::vector<Bytes> offset_;       // by placed item
    std::vector<Index> unplaced_in_;  // by row

    std::vector<std::int64_t> placing_;  // by row: the number of the last placement in it
    std::int64_t placements_ = 0;
    Bytes end_ = 0;  // of the item being placed

    Lookout lookout_;
    std::vector<LeastChange> least_trail_;
    std::vector<RowChange> row_trail_;
    std::vector<Index> placed_trail_;
    IndexSet conflict_;
};

}  // namespace memstow::search
