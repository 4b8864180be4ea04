// An instance from columns: one pool, and for each buffer a size, a lifetime and an alignment.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/bounds.hpp"
#include "core/instance.hpp"

namespace memstow {

// One entry a buffer, whose numbers the constraints below have; `alignments` has one entry for each buffer,
// or one for all of them.
struct Columns {
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> begins;
    std::span<const std::int64_t> ends;
    std::span<const std::int64_t> alignments;
};

// What else may hold of the buffers and their pool.
struct Constraints {
    std::vector<Range> reserved;               // sorted, disjoint, not touching, within the capacity
    std::vector<Bytes> pins;                   // by buffer, its offset, or kUnplaced; empty: none has one
    std::vector<std::vector<Lifetime>> lives;  // by buffer, instead of begins and ends; empty: one life each
    std::vector<std::pair<Index, Index>> conflicts;  // may never share a byte
    std::vector<std::pair<Index, Index>> exclusive;  // are never live together
    std::vector<std::pair<Index, Index>> in_place;   // may share bytes where they begin at one offset
};

// The buffers that have bytes as items, with sizes and alignments in units.
struct FromColumns {
    Instance instance;
    std::vector<std::int64_t> times;  // by time row
    std::vector<Index> buffers;       // by item
    Bytes unit = 1;
    WideBytes stacked = 0;  // units up to which the items reach at most, one on top of the other
};

// With many buffers those that are live at one time should be neighbours in memory.
enum class ItemOrder { as_given, by_begin };

// The columns are valid, and so are the constraints; capacity is kLimit for a pool without an end.
FromColumns instance_of(const Columns& columns, Bytes capacity, ItemOrder order,
                        const Constraints& constraints = {});

}  // namespace memstow
