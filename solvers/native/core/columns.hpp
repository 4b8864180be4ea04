// An instance from columns: one pool, and for each buffer a size, a lifetime and an alignment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bounds.hpp"
#include "core/instance.hpp"

namespace memstow {

// One entry a buffer; `alignments` has one entry for each buffer, or one for all of them.
struct Columns {
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> begins;
    std::span<const std::int64_t> ends;
    std::span<const std::int64_t> alignments;
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

// The columns are valid; capacity is kLimit for a pool without an end.
FromColumns instance_of(const Columns& columns, Bytes capacity, ItemOrder order);

}  // namespace memstow
