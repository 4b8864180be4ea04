// Operators to be ordered, and the storages that begin and end with them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/instance.hpp"

namespace memstow::order {

// A storage is live in a set of operators when one of `begins` is in it (or it is live from the start), and
// one of `ends` is not (or it is live to the end). Some operator is in both, or one of the flags is set.
struct Storage {
    Bytes size;
    std::vector<Index> begins, ends;  // ascending, each operator once
    bool from_start = false, to_end = false;
};

// Output `target` may lie in the bytes of input `source`, if that ends where the other begins.
struct InPlace {
    Index source, target;
    Bytes bytes;  // the smaller of the two
};

struct Graph {
    std::vector<Bytes> extra;  // by operator
    std::vector<Storage> storages;
    std::vector<std::vector<InPlace>> in_place;          // by operator
    std::vector<std::vector<Index>> before, after;       // by operator: neighbours, ascending, each once
    std::vector<std::vector<Index>> begins_at, ends_at;  // by operator: storages that list it
    Bytes base = 0;

    Index size() const { return count_of(extra); }
};

// The same with time running backwards: an order of one, reversed, is an order of the other, with the same
// needs.
Graph mirrored(const Graph& graph);

// Fills what follows from the rest: `after`, `begins_at`, `ends_at`; sorts lists, drops storages that are
// never live. Throws std::invalid_argument where operators wait for each other in a circle.
void complete(Graph& graph);

// An order in which every operator comes after those before it: the least number first.
std::vector<Index> topological(const Graph& graph);

bool is_order(const Graph& graph, std::span<const Index> order);

}  // namespace memstow::order
