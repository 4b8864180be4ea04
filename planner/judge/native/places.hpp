// Judges offsets that are given as columns: one pool, one lifetime a buffer. It shares no code with the
// solvers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace memstow::judge {

// No size, no offset and no end of a buffer is above this.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

// Sums of many 64-bit numbers.
__extension__ typedef __int128 Wide;

// One entry a buffer; `alignments` has one entry for each buffer, or one for all of them.
struct Columns {
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> begins;
    std::span<const std::int64_t> ends;
    std::span<const std::int64_t> alignments;
};

// What is wrong with a column, or with the places.
enum class Defect {
    none,
    length,     // the columns differ in length
    size,       // below 0, or above 2^62
    lifetime,   // ends before it has begun, or where it begins
    alignment,  // below 1, or above 2^62
    place,      // below 0, or beyond the capacity
    unaligned,  // no multiple of the alignment
    overlap,    // two that are live at one time share a byte
    reserved,   // on a range that no buffer may use
    pin,        // elsewhere than it must be
    tie,        // at another distance than it is tied at
    pool,       // in a pool that is none, or that the buffer may not go to
    across,     // not within one bank
    bank,       // not in the banks that the buffer may be in
    shared,     // two that may touch no common bank do
};

struct Finding {
    Defect defect = Defect::none;
    std::int64_t first = -1;   // the buffer
    std::int64_t second = -1;  // the other one of an overlap
};

// The first thing that is wrong with the columns themselves.
Finding check_columns(const Columns& columns);

struct Verdict {
    Finding finding;
    std::int64_t peak = 0;  // the end of the last buffer, of valid places
    // The most bytes that are live at one moment, and the first such moment. At most 2^63 - 1.
    std::int64_t live = 0;
    std::int64_t moment = 0;
    // No layout has a peak below this: buffers that are live at one time must be apart, and if all offsets
    // are multiples of one number, each but the topmost takes whole multiples of it.
    Wide least_peak = 0;
};

// Judges these offsets. Nothing is counted of columns that are not valid.
Verdict judge(const Columns& columns, std::span<const std::int64_t> offsets, std::int64_t capacity);

struct Pool {
    std::int64_t capacity;
    std::int64_t alignment = 1;  // of its addresses
    std::int64_t base = 0;       // the address of offset 0
    std::int64_t cost = 0;       // of one access
};

// Banks of pools, and what depends on them. Buffers without bytes touch none.
struct Banks {
    // Equal banks one after the other; those of a pool do not overlap, and are counted by address.
    struct Run {
        std::int64_t pool;
        std::int64_t begin;
        std::int64_t size;
        std::int64_t count;
    };
    // No two of these buffers may touch one bank, or it costs this much for each two that do.
    struct Conflict {
        std::size_t first;  // the buffers are members[first] to [last]
        std::size_t last;
        std::int64_t cost;  // -1: they may not
    };
    std::span<const Run> runs;
    std::span<const std::int64_t> within;  // by buffer, 0 or more: all of its bytes are in one bank
    std::span<const std::int64_t>
        list_of;  // by buffer, the list of the banks that its bytes may be in, or -1
    std::span<const std::size_t> list_start;
    std::span<const std::size_t> list_banks;
    std::span<const Conflict> conflicts;
    std::span<const std::size_t> members;
};

// What else may hold of the buffers and their pools, which are numbers. Lists by buffer may be shorter than
// there are buffers: of the others they say nothing.
struct Rules {
    using Pair = std::pair<std::int64_t, std::int64_t>;
    struct Reserved {
        std::int64_t pool;
        std::int64_t begin;
        std::int64_t end;
    };
    struct Life {
        std::int64_t buffer;
        std::int64_t begin;
        std::int64_t end;
    };
    struct Tie {
        std::int64_t buffer;
        std::int64_t base;
        std::int64_t distance;  // of the buffer's offset from that of the base
    };
    std::span<const Pool> pools;  // at least one
    std::span<const Reserved> reserved;
    std::span<const std::int64_t> pins;       // by buffer, -1 for none
    std::span<const std::int64_t> list_of;    // by buffer, the list of its pools, -1: it may go to any
    std::span<const std::size_t> list_start;  // list i is list_pools[list_start[i]] to [list_start[i + 1]]
    std::span<const std::size_t> list_pools;  // preferred first
    std::span<const Life> lives;              // beside those of the columns
    std::span<const Pair> conflicts;          // may never share a byte
    std::span<const Pair> exclusive;          // are never live together, unless they conflict as well
    std::span<const Pair> in_place;           // may share bytes where they begin at one offset
    // What is tied, through buffers without bytes as well, is in one pool, keeps its distances and may share
    // bytes, unless it conflicts.
    std::span<const Tie> ties;
    Banks banks = {};
};

// By buffer.
struct Places {
    std::span<const std::int64_t> offsets;
    std::span<const std::size_t> pools;  // empty: all are in the first

    std::size_t pool(std::size_t buffer) const { return pools.empty() ? 0 : pools[buffer]; }
};

// The most bytes in use at one moment, and the first such moment.
struct Most {
    Wide bytes = 0;
    std::int64_t moment = 0;
};

// The first thing that is wrong with these places by the rules. `most`: where nothing is, it gets those of
// each pool, each byte counted once.
Finding judge_by_rules(const Columns& columns, const Rules& rules, const Places& places,
                       std::vector<Most>* most = nullptr);

// What is paid for.
struct Costs {
    struct Reuse {
        std::int64_t one;
        std::int64_t other;
        std::int64_t cost;
    };
    std::span<const std::int64_t> accesses;  // by buffer as far as it goes, -1: as many as bytes
    std::span<const Reuse> reuse;
    Places start;  // moves are counted from it: by buffer, or nothing; an offset below 0: from nowhere
};

// What valid places are worth.
struct Worth {
    std::vector<std::int64_t> peaks;  // by pool
    Wide placement_cost = 0;
    Wide reuse_cost = 0;
    Wide bank_cost = 0;
    Wide preference = 0;
    std::int64_t moves = 0;
};
Worth worth_of(const Columns& columns, const Rules& rules, const Costs& costs, const Places& places);

// By pool the end of the last buffer that has bytes, of valid places.
std::vector<std::int64_t> peaks_of(std::span<const std::int64_t> sizes, const Places& places,
                                   std::size_t pools);

// What these buffers prove: no layout has a lower peak, since all of them live at that moment. Nothing where
// one of them does not, has no bytes or is named twice, or where there is none.
std::optional<std::int64_t> proven(const Columns& columns, std::span<const std::int64_t> members,
                                   std::int64_t moment);

}  // namespace memstow::judge
