// One pool's packing problem in the form the exact search reads: lengths divided by their common unit, pins
// and reserved ranges turned into the offsets each item may have, and every conflict covered by a clique of
// entries. Built from an Instance, one Packing for each independent part of its conflicts.
#pragma once

#include <utility>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::search {

// A footprint of an item in one clique row, in units from the item's offset. Entries of one row that belong
// to different items may not share a byte; those of one item are disjoint and move together.
struct Entry {
    Index item;
    Bytes delta;
    Bytes size;
};

struct PackingItem {
    Index original;  // in the Instance
    Bytes size;      // units; the end of its highest part, rounded up
    Bytes top;       // bytes; the end of its highest part, exactly
    Bytes modulus;   // units
    Bytes residue;   // units
    bool free;       // modulus 1 and one allowed interval, from 0
};

// Two parts of different items that may not share a byte, in units. Tieable: unless both start at one offset.
struct PartPair {
    Index first, second;  // items
    Bytes first_delta, first_size;
    Bytes second_delta, second_size;
    bool tieable;
};

class Packing {
  public:
    Bytes unit = 1;
    std::vector<Range> reserved;  // bytes, sorted, disjoint; `allowed` counts with them already
    std::vector<PackingItem> items;
    Lists<Range> allowed;     // by item: offsets in units, sorted, disjoint; both ends belong to the interval
    Lists<Entry> rows;        // maximal cliques, roughly in time order, no pair that may tie
    Lists<Index> rows_of;     // by item, ascending
    Lists<Index> near;        // by item: the items it shares a row with, ascending
    std::vector<Index> twin;  // by item: the item before it that is the same in all that matters, or -1
    bool plain = true;        // every item is one part with delta 0, and no pair may tie
    std::vector<PartPair> pairs;  // every conflict; only when not plain

    Index count() const { return count_of(items); }
    // The least offset >= x the item may have, or kLimit; and the greatest <= x, or -1.
    Bytes next(Index item, Bytes x) const;
    Bytes previous(Index item, Bytes x) const;
    // The greatest offset at which the item ends within a height in bytes; negative when there is none.
    Bytes highest(Index item, Bytes height) const;
    // The greatest height below `height` (bytes) at which an item's end can be; -1 when there is none.
    Bytes step_down(Bytes height) const;
    // The least height at least `height` at which an item's end can be.
    Bytes step_up(Bytes height) const;
    // Bytes that no layout can be lower than: each row stacked from the least offsets of its items. Of the
    // rows that are reached before the budget is spent, if one is given.
    Bytes bound(const Budget* budget = nullptr) const;
    Bytes height(const std::vector<Bytes>& offsets) const;  // bytes, of offsets in units
    bool holds(const std::vector<Bytes>& offsets) const;    // checks every constraint
};

// The items must have one choice each, all in one pool. Items whose fixed places already clash, or that have
// no place at all, come back as one packing with an item whose `allowed` is empty. The work is counted in the
// budget, if one is given; nothing comes back when that is spent first.
std::vector<Packing> packings(const Instance& instance, Budget* budget = nullptr);

}  // namespace memstow::search
