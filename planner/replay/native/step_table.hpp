// What a step that repeats allocates and frees, and where a plan puts it: the text that
// planner/formats/step_table.py writes.
//
// It has a table for each stream, one after the other; the first is that of the stream on which the step is.
// The first line of a table is `memstow-replay 1 UNIT ARENA EVENTS`, and each event of the step on its stream
// has a line, in their order: `+ SIZE OFFSET` for an allocation, `- NUMBER` for the free of an allocation,
// which are counted from 0 in each table. What has no free outlives the step. Sizes and offsets are multiples
// of UNIT and within ARENA, all in bytes.
#pragma once

#include <string_view>
#include <vector>

#include "live_ranges.hpp"

namespace memstow::replay {

struct PlannedAllocation {
    Bytes size;
    Bytes offset;
};

struct StepEvent {
    Index allocation;
    bool is_free;
};

struct StepTable {
    Bytes unit = 1;
    Bytes arena = 0;
    std::vector<PlannedAllocation> allocations;
    std::vector<StepEvent> events;
};

// Offsets at which allocations begin, and sizes that they have: ascending, each once.
std::vector<Bytes> offsets_of(const StepTable& table);
std::vector<Bytes> sizes_of(const StepTable& table);

// One table or more. Throws std::invalid_argument, which says what is wrong, where the text is not of this
// form, or where allocations that are live together overlap.
std::vector<StepTable> read_step_tables(std::string_view text);

}  // namespace memstow::replay
