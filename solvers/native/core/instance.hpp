// The arrays every native solver reads. An *item* is what gets one offset: a buffer, or a rigid group of
// buffers. A *part* is one buffer of an item, at a fixed delta from the item's offset. A *row* is a set of
// parts that may not share a byte when they are in the same pool, unless the pair is exempt. Rows made from
// lifetimes are ordered in time, so that a part covers few contiguous ranges of rows however long it lives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace memstow {

using Bytes = std::int64_t;
using Index = std::int32_t;

// No offset, end or capacity is above this. The sum of two such values may overflow, by one: compare an
// offset with kLimit - size.
inline constexpr Bytes kLimit = Bytes{1} << 62;
inline constexpr Bytes kUnplaced = -1;

// How many there are, as an index: nothing here holds more than an Index counts.
template <class Container>
constexpr Index count_of(const Container& all) {
    return static_cast<Index>(all.size());
}

// Half-open.
struct Range {
    Bytes begin;
    Bytes end;
    bool operator==(const Range&) const = default;
};

// Half-open in time.
struct Lifetime {
    std::int64_t begin;
    std::int64_t end;
};

// Half-open range of rows.
struct RowRange {
    Index begin;
    Index end;
    bool operator==(const RowRange&) const = default;
};

// One pool an item may go to. Its offset there is `residue` modulo `modulus`, and within [low, high]; high is
// kLimit where only the end of the pool limits it.
struct Choice {
    Index pool;
    Bytes modulus;
    Bytes residue;
    Bytes low;
    Bytes high;
    std::int64_t cost;  // placement cost of the whole item in this pool; the sum over items is below kLimit
    std::int64_t rank = 0;  // bytes times their place in the order of preference, where that is asked for
    bool operator==(const Choice&) const = default;
    // Whether more than the end of the pool limits where an item may be.
    bool is_bounded() const { return low > 0 || high < kLimit; }
};

struct Part {
    Index item;
    Bytes delta;  // from the item's offset; not negative
    Bytes size;   // at least 1
};

struct Pool {
    Bytes capacity;               // kLimit when unbounded
    std::vector<Range> reserved;  // sorted, disjoint, not touching, within [0, kLimit]
};

// Two parts that share rows but need not be apart.
struct ExemptPair {
    Index first;    // part
    Index second;   // part
    bool in_place;  // false: free to overlap. true: free to overlap only where both start at one offset
};

struct ReuseCost {
    Index first;   // part
    Index second;  // part
    Bytes cost;
};

// Compressed lists: the entries of list i are values[start[i] .. start[i + 1]).
template <class T>
struct Lists {
    std::vector<Index> start{0};
    std::vector<T> values;

    std::span<const T> operator[](Index i) const {
        return {values.data() + start[i], values.data() + start[i + 1]};
    }
    Index size() const { return count_of(start) - 1; }
    void close() { start.push_back(count_of(values)); }
};

// Where each item may go. Items that may go to the same places share one list: of a million buffers most
// differ in nothing but size and life, and a choice takes more memory than all else that is known of a
// buffer.
class Choices {
  public:
    // Of the next item, preferred first; at least one.
    void add(std::span<const Choice> choices);
    void add(const Choice& only) { add({&only, 1}); }
    void reserve(std::size_t items) { list_of_.reserve(items); }

    std::span<const Choice> operator[](Index item) const { return lists_[list_of_[item]]; }
    Index items() const { return count_of(list_of_); }

    // Each that some item has, those of earlier items first; one may be there more than once.
    std::span<const Choice> all() const { return lists_.values; }

  private:
    Lists<Choice> lists_;
    std::vector<Index> list_of_;  // by item
    // The last list with each remainder of the hash, or -1. It does not grow: lists that all differ need no
    // more memory for having been compared.
    std::vector<Index> known_;
};

// What depends on the banks of pools. Empty unless something does: only some solvers know of them.
// The windows of a choice are ranges of offsets, ends included, that alone the item may have there.
struct Banks {
    std::vector<std::vector<Range>> of_pool;     // by address; empty where nothing depends on banks
    std::vector<Index> first_choice;             // by item, among all choices; empty: no item has a window
    Lists<Range> windows;                        // by choice; none: banks do not bind the item there
    std::vector<std::pair<Index, Index>> apart;  // parts that may not touch one bank, also within an item
    std::vector<ReuseCost> costs;                // of parts that do, likewise

    bool matter() const { return !of_pool.empty(); }
    std::span<const Range> windows_of(Index item, Index choice) const {
        if (first_choice.empty()) return {};
        return windows[first_choice[item] + choice];
    }
    // The first bank of the pool that these bytes touch, and the one behind the last.
    std::pair<Index, Index> touched(Index pool, Bytes begin, Bytes end) const {
        const std::vector<Range>& banks = of_pool[pool];
        const auto first = std::ranges::upper_bound(banks, begin, {}, &Range::end);
        const auto last = std::ranges::lower_bound(first, banks.end(), end, {}, &Range::begin);
        return {static_cast<Index>(first - banks.begin()), static_cast<Index>(last - banks.begin())};
    }
};

struct Instance {
    std::vector<Pool> pools;
    Choices choices;
    std::vector<Part> parts;           // ordered by item
    std::vector<Index> item_parts{0};  // parts of item i: item_parts[i] .. item_parts[i + 1]
    Lists<RowRange> rows;  // by part; sorted, disjoint; empty for a part that conflicts with nothing
    // Rows [0, time_rows) come from lifetimes, the rest from explicit conflicts. No range has both.
    Index row_count = 0;
    Index time_rows = 0;
    Lists<Lifetime>
        lives;  // by part, as the problem gives them: for orders and the classics, not for conflicts
    std::vector<ExemptPair> exempt;
    std::vector<ReuseCost> reuse;
    Banks banks;

    Index item_count() const { return count_of(item_parts) - 1; }
    std::span<const Part> parts_of(Index item) const {
        return {parts.data() + item_parts[item], parts.data() + item_parts[item + 1]};
    }
};

// Where an item is. An item that has no place has offset kUnplaced.
struct Place {
    Index pool = -1;
    Bytes offset = kUnplaced;
    bool operator==(const Place&) const = default;
};

using Layout = std::vector<Place>;  // by item

}  // namespace memstow
