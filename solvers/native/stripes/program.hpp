// Operators in an order, as the choice of stripes reads them.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/instance.hpp"

namespace memstow::stripes {

using Cost = std::int64_t;
using Place = std::int64_t;

inline constexpr Index kNobody = -1;

inline std::size_t at(Place place) { return static_cast<std::size_t>(place); }

// What is live at one moment, where everything begins at a multiple of a unit: whole units, as nothing else
// can use the rest of the last one, but for what is on top.
struct Load {
    Bytes bytes = 0;
    Bytes rest = 0;  // the most that one of them leaves of its last unit

    void add(Bytes size, Bytes unit) {
        const Bytes whole = ceil_div(size, unit) * unit;
        bytes += whole;
        rest = std::max(rest, whole - size);
    }
    void add(const Load& other) {
        bytes += other.bytes;
        rest = std::max(rest, other.rest);
    }
    Bytes height() const { return bytes - rest; }

    auto operator<=>(const Load&) const = default;
};

// Which places of an input, along rows or columns, place q needs.
struct Axis {
    Place extent = 0;
    Place step = 1;
    Place over = 1;
    Place before = 0;
    Place after = 1;

    Place first(Place q) const { return std::clamp(there(q) - before, Place{0}, extent); }
    Place end(Place q) const { return std::clamp(there(q) + after, Place{0}, extent); }

  private:
    // Without a division, which takes longer than all else, where that is possible.
    Place there(Place q) const { return over == 1 ? q * step : q * step / over; }
};

// How an operator reads an image.
struct Use {
    Index source = kNobody;  // where in the order it is made
    Axis rows;
    Axis columns;
};

struct Reader {
    Index at = 0;
    Index use = 0;
};

// What is live at least at an operator if other runs and copies add less to the cost than the next level
// does.
struct Level {
    Cost cost = 0;    // what they add
    Bytes alone = 0;  // while it runs by itself
    // Of a path: what others need while what it hands on is there as a whole. What those before it in this
    // range hand on may be a part of it.
    Bytes beside = 0;
    Index beside_begin = 0, beside_end = 0;
    // By place from -1 on, the same beside what that one hands on as well; empty if not known.
    std::vector<Bytes> beside_read = {};
    // By the same places, the same at the moment at which what that one hands on is last there, if it is not
    // any more when the next one runs.
    std::vector<Bytes> beside_gone = {};
    // By the last place of the stripe that begins then, from the next one on; empty: no more is known.
    std::vector<Bytes> beside_next = {};
    Bytes peak = 0;  // what is live at some moment of what they add, whatever else there is
};

struct Operator {
    bool can = false;      // be in a stripe
    bool reduces = false;  // makes all of its output of all of an image; rows and columns are those it reads
    bool kept = false;     // what it makes is always there as a whole
    bool shared = false;   // who is not here may read the rows that it makes, and sooner
    // Of a stripe with branches: it is on one, so that nothing is known of when it runs among the others; or
    // on the path, and after each of its rows some of what the one before has made are still needed.
    bool is_branch = false;
    Index before = kNobody;  // on the path
    bool overlaps = false;
    Index last_reader = kNobody;
    Place rows = 0;
    Place columns = 0;
    Bytes pixel = 0;        // of what it makes, kept by rows
    Load extra;             // temporaries
    Bytes sums = 0;         // in which a reduction adds up
    bool may_stay = false;  // of a path: as a whole in the middle of a stripe, which is as bad as two then
    std::vector<Level> levels;  // at least one; of all but paths the only one
    // Of a path: by place from -1 on, what is live while it runs by itself if what that one hands on is, too.
    std::vector<Bytes> alone_beside = {};
    bool continues = false;  // what runs again may be the same as at the one before, with the same levels
    Cost cost = 0;
    std::vector<Use> uses;
    std::vector<Reader> readers;  // of what it makes, ascending
};

// How an operator of a path reads the one before.
struct Reads {
    bool overlap = true;     // what each row needs begins before the end of what the row before needs
    Place step = 0;          // the first row that row q needs is at most q times this; 0: not known
    std::vector<Place> end;  // of the rows that row q needs, by q
};

// Bytes that live from one place of the order to another, both included.
struct Whole {
    Index begin = 0;
    Index end = 0;
    Bytes size = 0;
    Index maker = kNobody;  // whose rows may be kept instead
};

// Another way to run the operators [begin, end).
struct Other {
    Index begin = 0;
    Index end = 0;
    Bytes needs = 0;
    Cost cost = 0;
};

// One that is not on the path, or runs again: it may end a stripe of some that come after one place and
// before another.
struct OffPath {
    Place columns = 0;
    Index after = kNobody;
    Index before = 0;
    Cost cost = 0;    // of running again
    Bytes bytes = 0;  // what it makes, which is there as a whole if it is the last of a stripe
};

// All operators of the graph of a path, in an order, and which of them are the path.
struct Surroundings {
    std::vector<Operator> operators;
    std::vector<Index> path;
    // By operator that is not on the path, the place by whose run all is made that is counted in any case.
    std::vector<Index> made_before;
};

struct Program {
    std::vector<Operator> operators;
    std::vector<Whole> wholes;
    std::vector<Other> others;
    Bytes unit = 1;   // all that is live begins at multiples of it
    Load base;        // live always
    Bytes start = 0;  // live before the first operator
    // Not empty: the operators are a path among others that are not here; by operator.
    std::vector<Reads> reads;
    std::vector<OffPath> off_path;  // those others
    Surroundings around;            // without operators where these are not known
    bool has_branches = false;      // a path with branches that come back to it
    // Of a path: where only these must run, from the first to the last, those before may have run already.
    std::optional<std::pair<Index, Index>> must_run = {};

    Index count() const { return count_of(operators); }
};

// Of the operators of a path.
std::vector<Reads> reads_of(const std::vector<Operator>& path);

}  // namespace memstow::stripes
