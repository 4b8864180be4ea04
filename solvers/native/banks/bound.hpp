// What pairs that should share no bank pay at the least: where more buffers must each touch one of some banks
// than there are, some two of them touch the same.
#pragma once

#include <cstdint>
#include <vector>

#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow::banks {

// Parts of which each must touch one of these many banks, and each two pay at least this where they touch a
// common one. What a pair pays in several crowds is together no more than its cost.
struct Crowd {
    std::vector<Index> parts;
    Bytes cost;
    Index banks;

    // So many pairs share a bank at the least: those of an even spread.
    std::int64_t pairs() const;
};

struct CrowdBound {
    Value value = 0;
    std::vector<Crowd> crowds;  // that add up to it
};

CrowdBound bound_of_crowds(const Instance& instance);

}  // namespace memstow::banks
