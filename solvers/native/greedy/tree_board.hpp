// The placed parts, for any size: a segment tree over the rows of lifetimes. A node keeps the bytes that are
// taken anywhere in its rows (*touched*) and those taken by parts that span all of them (*covered*). The
// obstacles of a part are the touched bytes of the few nodes that make up its rows and the covered bytes of
// the nodes above: some dozens of sets that are short since packed ranges merge, however many parts
// overlap in time.
//
// Merged ranges cannot be separated again, so parts with exempt pairs stay out of the tree. They are looked
// up one by one by their rows, and explicit conflicts pair by pair.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "core/instance.hpp"
#include "greedy/loose_parts.hpp"
#include "greedy/range_set.hpp"

namespace memstow::greedy {

// `Offset`: what counts bytes in the tree, where these are most of the memory.
template <class Offset>
class TreeBoardOf {
  public:
    explicit TreeBoardOf(const Instance& instance);

    // Whether it counts to the end of all parts, wherever a pass without a hint puts them.
    static bool reaches(const Instance& instance);

    // The same walk as PairBoard's.
    struct Aim {
        struct Cursor {
            const Taken<Offset>* next;
            const Taken<Offset>* end;
        };
        std::vector<Cursor> cursors;
        std::vector<Taken<Offset>> listed;  // of those looked up
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

    // False when there are too many to look up: exempt pairs are then kept apart, which is sound.
    bool knows_exempt() const { return knows_exempt_; }

  private:
    enum class Kind : char { hard, in_place, reuse };
    struct Neighbour {
        Index part;
        Kind kind;
        auto operator<=>(const Neighbour&) const = default;
    };
    struct Node {
        RangeSet<Offset> touched;
        RangeSet<Offset> covered;
    };
    struct Pair {
        Index first;
        Index second;
        Kind kind;
    };
    // What a part may share bytes with: everywhere, or in place.
    struct Exempt {
        Index part;
        bool in_place;
        auto operator<=>(const Exempt&) const = default;
    };
    void list_exempt();
    void set_loose_apart();
    void list_neighbours();
    std::vector<Pair> explicit_pairs() const;
    const Exempt* exempt(Index part, Index other) const;
    // Calls `see` with each loose part in this pool that may not share all bytes with the part, and whether
    // it may in place.
    template <class See>
    void each_loose(Index part, Index pool, See see) const;
    template <class Whole, class Above>
    void walk(RowRange rows, Whole whole, Above above) const;
    // The ranges of a part that are rows of lifetimes; they come first.
    std::span<const RowRange> time_rows(Index part) const;
    void add(Aim& aim, const RangeSet<Offset>& set) const;
    Taken<Offset> extent(Index part) const;  // of a placed part

    const Instance& instance_;
    bool knows_exempt_ = true;
    Index leaves_ = 1;                      // a power of two
    LooseParts loose_parts_;                // not in the tree: those with exempt pairs, where these are known
    Lists<Exempt> exempt_;                  // by part
    Lists<Neighbour> neighbours_;           // by part: explicit conflicts and reuse costs
    std::vector<std::vector<Node>> trees_;  // by pool, made when first used; heap order, the root is 1
    std::vector<Index> pool_of_;            // by part; -1 when not placed
    std::vector<Bytes> offset_of_;          // by part
};

using TreeBoard = TreeBoardOf<Bytes>;
using NarrowTreeBoard = TreeBoardOf<std::uint32_t>;

}  // namespace memstow::greedy
