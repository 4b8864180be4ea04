// A program whose operators may run again: operators in the order of their first runs, and what they pass on.
#pragma once

#include <vector>

#include "core/instance.hpp"

namespace memstow::recompute {

struct InPlace {
    Index input, output;
};

struct Item {
    Bytes size;
    Index producer;  // -1: it is there before the first operator
    bool kept;       // there must be a version of it in the end
    bool spillable;
    std::vector<Index> readers;  // ascending
};

struct Operator {
    Bytes extra;  // its temporaries
    Bytes fixed;  // what is live during its first run and cannot be dropped
    Bytes gap;    // the same between the operator before and this one
    std::int64_t cost;
    bool once;  // must not run again
    std::vector<Index> inputs, outputs;
    std::vector<InPlace> pairs;
};

struct Program {
    std::vector<Operator> operators;
    std::vector<Item> items;
    Bytes start = 0;  // what is live before the first operator
    Bytes end = 0;    // what is live after the last and cannot be dropped
    Bytes base = 0;   // what is live always
};

}  // namespace memstow::recompute
