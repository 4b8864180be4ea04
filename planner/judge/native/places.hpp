// Judges offsets that are given as columns: one pool, one lifetime a buffer. It shares no code with the
// solvers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace memstow::judge {

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

// What else may hold of the buffers and their memory. Buffers are numbers, ranges are half-open.
struct Rules {
    using Range = std::pair<std::int64_t, std::int64_t>;
    using Pair = std::pair<std::int64_t, std::int64_t>;
    struct Tie {
        std::int64_t buffer;
        std::int64_t base;
        std::int64_t distance;  // of the buffer's offset from that of the base
    };
    std::vector<Range> reserved;
    std::vector<std::int64_t> pins;         // by buffer, -1 for none; empty: none has one
    std::vector<std::vector<Range>> lives;  // by buffer, instead of begins and ends; empty: those
    std::vector<Pair> conflicts;            // may never share a byte
    std::vector<Pair> exclusive;            // are never live together, unless they conflict as well
    std::vector<Pair> in_place;             // may share bytes where they begin at one offset
    // What is tied, through buffers without bytes as well, keeps its distances and may share bytes, unless it
    // conflicts.
    std::vector<Tie> ties;
};

// The first thing that is wrong with these offsets by the rules: buffers are compared two by two, so that
// this takes longer than `judge` does.
Finding judge_by_rules(const Columns& columns, const Rules& rules, std::span<const std::int64_t> offsets,
                       std::int64_t capacity);

// The least peak alone, but at most 2^63 - 1; 0 of columns that are not valid.
std::int64_t least_peak(const Columns& columns);

// What these buffers prove: no layout has a lower peak, since all of them live at that moment. Nothing where
// one of them does not, has no bytes or is named twice, or where there is none.
std::optional<std::int64_t> proven(const Columns& columns, std::span<const std::int64_t> members,
                                   std::int64_t moment);

}  // namespace memstow::judge
