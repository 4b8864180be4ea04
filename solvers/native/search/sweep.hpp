// A layout whose rows are full, or nearly, found by a sweep over time that keeps many possible orders of each
// row (docs/search.md, "Tilings").
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/bounds.hpp"
#include "search/decision.hpp"
#include "search/equal_sums.hpp"
#include "search/order_trees.hpp"
#include "search/retrace.hpp"
#include "search/tile_rows.hpp"

namespace memstow::search {

class Sweep {
  public:
    // How many ways to fill what is swept so far are kept, and how many ways to go on are looked for from
    // each.
    struct Breadth {
        std::size_t kept, tried;
    };
    // A way to fill all rows up to now. Costs are the less the likelier, in the unit of log2_of.
    struct Way {
        OrderTrees::Node tree;
        std::int64_t cost;
        Index step;  // the last of the way
    };
    // All that is known before a row is filled.
    struct Milestone {
        Index row;
        OrderTrees::Saved trees;
        std::vector<Way> ways;
        std::size_t steps_taken, groups;

        std::size_t bytes() const { return trees.bytes() + ways.size() * sizeof(Way); }
    };
    // What a sweep from the other end may meet.
    struct Reached {
        std::vector<std::shared_ptr<const Milestone>> milestones;  // by row; the first is the beginning
        SweepSteps steps;
    };
    // There are milestones before all rows that leave `phase` when divided by this.
    static constexpr Index kBetweenMilestones = 8;

    // `loss`: the part of a sum of sizes, in parts of 2^kShareBits, by which what begins may differ from
    // what it takes the place of. Something begins and something ends in each row but the first. `doubt`: by
    // how many bits it has to be more likely that what ends at one time was apart than that it was together.
    Sweep(const TileRows& rows, std::int64_t loss, int doubt, Index phase, std::size_t memory);

    // Whether the last row was reached. Never `refuted`, since not all ways are tried. The breadth of rows
    // before `changed` is what it was in the run before, so that these are not swept again.
    Answer run(const std::vector<Breadth>& breadths, Index changed, const Decision::Stop& stop);
    // The row that was not reached, after `stopped`.
    Index failed() const { return failed_; }
    Reached reached() const { return {milestones_, steps_taken_}; }
    std::int64_t steps() const { return steps_ + trees_.steps(); }

    // After `found`: how many ways were kept, the likeliest first, and the layout of one. None if it takes
    // too much memory. `stop` is only told of the steps.
    std::size_t kept() const { return ways_.size(); }
    std::optional<std::vector<Bytes>> layout_of(std::size_t way, const Decision::Stop& stop);

  private:
    using Set = PlaceSet;
    static constexpr std::size_t kMostPlaces = 64;  // more pieces, or tiles that begin, are one group
    // Pieces of what ends, and the tiles of what begins that take their place.
    struct Group {
        Set pieces = 0, born = 0;
    };
    // A row that is partly filled; the last group is not in the tree yet.
    struct Part {
        OrderTrees::Node tree;
        Set pieces, born;  // those that are left
        std::int64_t cost;
        std::int64_t regret;  // by how much its groups are less likely than the best at the time
        std::vector<Group> groups;
    };
    struct Filled {
        std::size_t way;
        OrderTrees::Node tree;
        std::int64_t cost;
        std::vector<Group> groups;
    };
    // What tiles are taken to need, and the sum of the squares of what each may have lost.
    struct Room {
        Bytes bytes = 0;
        WideBytes squares = 0;  // an integer, so that the sum is the same on every machine

        void operator+=(const Room& other) {
            bytes += other.bytes;
            squares += other.squares;
        }
    };
    struct Choice {
        Group group;
        std::int64_t cost;
    };
    using Pieces = std::vector<std::vector<Index>>;

    bool is_over();
    Index resume(Index changed);
    void remember(Index row);
    void fill_row(Index row, std::size_t way, EqualSets& sets, std::size_t tried);
    void take_likeliest(Index row, std::size_t kept);
    Pieces pieces_of(Index row, OrderTrees::Node tree);
    void add_whole(const Part& part, const Pieces& pieces);
    void add_choices(const Part& part, const Pieces& pieces, const EqualSets::Sets& sets);
    std::optional<std::int64_t> lost_freedom(const Part& part, const Pieces& pieces, Set set);
    static Part with(const Part& part, const Choice& choice, std::int64_t regret);
    OrderTrees::Node together(OrderTrees::Node tree, const Pieces& pieces, Set set);
    std::vector<Choice> clearest(const Part& part, const Pieces& pieces, bool complete);
    Room room_of(std::span<const Index> tiles) const;
    static Room room_of(const std::vector<Room>& rooms, Set set);
    std::int64_t misfit(const Room& ended, const Room& begun) const;
    std::int64_t worth(const Room& ended, const Room& begun) const;
    void write_groups(Index row, const Pieces& pieces, const std::vector<Group>& groups);

    const TileRows& rows_;
    const std::vector<Tile>& tiles_;
    Index phase_;
    std::int64_t loss_, doubt_;
    std::size_t memory_;
    OrderTrees trees_;
    std::vector<Way> ways_;
    SweepSteps steps_taken_;
    std::vector<std::shared_ptr<const Milestone>> milestones_;  // by row; the first is the beginning
    std::size_t remembered_ = 0;                                // their bytes
    // Of the row that is filled:
    std::vector<Filled> filled_;
    std::vector<Pieces> pieces_;  // by way
    std::vector<Part> parts_;     // a heap
    std::vector<Choice> choices_;
    std::vector<Room> ended_, begun_;  // by piece, and by tile that begins
    std::vector<char> chosen_;         // by tile
    std::vector<Index> leaving_;       // by tile: its group while its row is ended, else -1
    Index failed_ = 0;
    std::int64_t steps_ = 0;
    // Of the run:
    const Decision::Stop* stop_ = nullptr;
    std::int64_t counted_ = 0;  // steps that it knows of
    bool over_ = false;
};

}  // namespace memstow::search
