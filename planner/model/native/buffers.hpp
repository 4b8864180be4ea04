// Buffers, pairs and placements as columns and text: for those who go through all of them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace memstow::model {

struct BufferColumns {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> kind;     // equal for those of one alignment that name the same pools
    std::vector<std::int64_t> largest;  // by kind, the largest of these buffers
};

// The columns of instances of `Buffer`; nothing where one has not one life of 64-bit times, or one of the
// rare fields.
std::optional<BufferColumns> columns_of_buffers(nanobind::handle buffers,
                                                const std::vector<nanobind::str>& rare);

// Pairs of buffers by number, without a direction: the smaller first.
struct PairNumbers {
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    bool all = true;  // whether each was a pair of two buffers that are known
};

// The pairs that are of two buffers that are known: `sorted`, each once, or as they are listed.
PairNumbers pair_numbers(const nanobind::dict& numbers, const nanobind::list& ones,
                         const nanobind::list& others, bool sorted);

// Instances of `Placement` as elements of a list in JSON; nothing where a name is no UTF-8.
std::optional<std::string> placement_lines(nanobind::handle placements);

}  // namespace memstow::model
