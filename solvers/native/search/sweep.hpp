// A layout in which every row is filled to the top, found by a sweep over time (docs/search.md, "Tilings").
#pragma once

#include <vector>

#include "search/decision.hpp"
#include "search/equal_sums.hpp"
#include "search/order_trees.hpp"

namespace memstow::search {

// One part that lives through the rows [begin, end).
struct Tile {
    Bytes size;
    Index begin, end;
};

class Sweep {
  public:
    // The sizes of the tiles of each row add up to the same height. `trust`: by how many bits it has to be
    // more likely that what ends at one time was apart than that it was together, before it is taken for
    // apart.
    Sweep(const std::vector<Tile>& tiles, Index rows, int trust, std::size_t memory);

    // Never `refuted`: not every way of filling is tried, and no search is complete that goes back as this
    // one.
    Answer run(std::int64_t most_steps, const Decision::Stop& stop);
    const std::vector<Bytes>& offsets() const { return offsets_; }  // after `found`
    std::int64_t steps() const { return steps_ + trees_.steps(); }

  private:
    using Set = PlaceSet;
    // A group: pieces of what ends, and the tiles of what begins that take their place.
    struct Choice {
        Set pieces, born;
        std::int64_t doubt;  // the less the likelier, in the unit of log2_of
    };
    // How far the sweep has come.
    struct Stand {
        Index row = 0;  // the next to be filled
        OrderTrees::Node tree = OrderTrees::kNone;
        std::vector<std::vector<Index>> pieces;  // of what ends, as long as the row is not filled
        Set pieces_left = 0, born_left = 0;
        Index groups = 0;
        Index cause = 0;         // of the order of what ends
        Index forks_before = 0;  // this row
    };
    struct Fork {
        Stand stand;
        OrderTrees::Mark mark;
        std::size_t causes;
        std::vector<Choice> choices;
        std::size_t next;
        std::vector<Index> blame;  // forks before that have to do with what failed so far
    };

    void begin_row();
    void end_row();
    std::vector<Choice> choices();
    std::vector<Choice> equal_choices();
    std::vector<Choice> clearest(std::vector<Choice> found) const;
    bool gathers(Choice& choice);
    void take(const Choice& choice);
    bool go_back();
    std::vector<Index> reasons() const;
    Index cause_of(std::vector<Index> forks);
    void mark_pieces(Set pieces, char value);
    void extract();
    void stack(OrderTrees::Node tree, std::vector<Bytes>& key);

    const std::vector<Tile>& tiles_;
    Index rows_;
    std::int64_t trust_;
    std::size_t memory_;
    Lists<Index> ends_, begins_;  // by row
    OrderTrees trees_;
    Stand now_;
    std::vector<Fork> forks_;
    std::vector<std::vector<Index>> causes_;            // each a set of forks, latest first
    std::vector<OrderTrees::Node> gathered_;            // by row: the tree before it, each group together
    std::vector<Index> group_of_end_, group_of_begin_;  // by tile
    std::vector<Index> leaving_;                        // by tile: its group while its row is ended, else -1
    std::vector<char> chosen_;                          // by tile
    std::vector<Bytes> offsets_;
    std::int64_t steps_ = 0;
};

}  // namespace memstow::search
