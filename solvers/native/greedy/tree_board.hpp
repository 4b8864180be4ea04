// The placed parts, for any size: a segment tree over the rows of lifetimes. A node keeps the bytes that are
// taken anywhere in its rows (*touched*) and those taken by parts that span all of them (*covered*). The
// obstacles of a part are the touched bytes of the few nodes that make up its rows and the covered bytes of
// the nodes above: some dozens of sets that are short since packed ranges merge, however many parts
// overlap in time.
//
// Merged ranges cannot be separated again, so parts with exempt pairs stay out of the tree. They, and
// the explicit conflicts, are looked up pair by pair.
#pragma once

#include <compare>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "greedy/range_set.hpp"

namespace memstow::greedy {

class TreeBoard {
  public:
    // When the time of the budget is over, pairs are not looked up.
    explicit TreeBoard(const Instance& instance, const Budget* budget = nullptr);

    // The same walk as PairBoard's.
    struct Aim {
        struct Cursor {
            const Range* next;
            const Range* end;
        };
        std::vector<Cursor> cursors;
        std::vector<Range> listed;  // of the pairs looked up
        Bytes size = 0;
        Bytes reach = 0;
    };
    void aim(Index part, Index pool, bool apart, Aim& aim) const;
    Bytes next_free(Aim& aim, Bytes from) const;
    Bytes gap_end(Aim& aim) const;
    Bytes top(Aim& aim) const;
    bool free_at(Index part, Index pool, Bytes offset) const;

    void put(Index part, Index pool, Bytes offset);
    void clear();

    // False when there were too many pairs to look up, or no time for it: exempt pairs are then kept apart,
    // which is sound.
    bool knows_exempt() const { return knows_exempt_; }

  private:
    enum class Kind : char { hard, in_place, reuse };
    struct Neighbour {
        Index part;
        Kind kind;
        auto operator<=>(const Neighbour&) const = default;
    };
    struct Node {
        RangeSet touched;
        RangeSet covered;
    };
    struct Pair {
        Index first;
        Index second;
        Kind kind;
    };
    void list_pairs(const Budget* budget);
    bool collect_loose(std::vector<Pair>& pairs, const Budget* budget) const;
    void give_exempt_up(std::vector<Pair>& pairs);
    void list_neighbours(const std::vector<Pair>& pairs);
    void collect_explicit(std::vector<Pair>& pairs) const;
    template <class Whole, class Above>
    void walk(RowRange rows, Whole whole, Above above) const;
    // The ranges of a part that are rows of lifetimes; they come first.
    std::span<const RowRange> time_rows(Index part) const;
    void add(Aim& aim, const RangeSet& set) const;
    Range extent(Index part) const;  // of a placed part

    const Instance& instance_;
    bool knows_exempt_ = true;
    Index leaves_ = 1;                      // a power of two
    std::vector<bool> loose_;               // by part: not in the tree
    Lists<Neighbour> neighbours_;           // by part
    std::vector<std::vector<Node>> trees_;  // by pool, made when first used; heap order, the root is 1
    std::vector<Index> pool_of_;            // by part; -1 when not placed
    std::vector<Bytes> offset_of_;          // by part
};

}  // namespace memstow::greedy
