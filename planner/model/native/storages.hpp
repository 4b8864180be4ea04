// Storages of a graph: bytes that live as one, who writes and who reads them.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "graph.hpp"

namespace memstow::model {

struct Storages {
    static constexpr std::int64_t kWhole = -1;

    std::vector<std::int64_t> size;
    Lists writers;
    Lists readers;
    std::vector<std::int64_t> from_start;  // 1 where an input of the graph lies there
    std::vector<std::int64_t> to_end;      // 1 where an output does
    std::vector<std::int64_t> tensor;      // a tensor that lies there
    std::vector<std::int64_t> outer;       // the tensor around it
    std::vector<std::int64_t> begin;       // of a piece of a group, its first byte there; `kWhole` of others
    std::vector<std::int64_t> in_place;    // by pair: operator, storage of the input, storage of the output
};

// A tensor in a group of views: its number, its first byte in the tensor around the group, and its end.
using Member = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
// The tensor around the group, and all of the group, this tensor first.
using Group = std::pair<std::int64_t, std::vector<Member>>;

// The storages of data, in the order of the tensors; a group is cut where a member begins or ends.
Storages storages_of(const GraphColumns& graph, const std::vector<std::int64_t>& sizes,
                     const std::vector<Group>& groups);

}  // namespace memstow::model
