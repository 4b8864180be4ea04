// A run of a program in little memory: what does not fit is dropped or copied out, and made again when
// needed.
#pragma once

#include <vector>

#include "core/budget.hpp"
#include "recompute/program.hpp"

namespace memstow::recompute {

// How victims are chosen: the least weight x cost to have it again / bytes / (distance to its next
// reader)^far.
struct Taste {
    double far = 0;       // exponent of the distance
    double indirect = 1;  // factor for what only serves to make others again
};

struct Copy {
    Index item;
    Index out, back;  // by index in `runs`: after the one, before the other
};

struct Rehearsed {
    std::vector<Index> runs;  // operators, as they run
    std::vector<Copy> copies;
    Bytes peak = 0;
    std::int64_t cost = 0;  // of all that runs more than once, and of copies; kLimit: that or more
    std::int64_t steps = 0;
};

// Keeps live bytes within the limit where it can. Weights are by item. Has no runs where the time is over
// first.
Rehearsed rehearse(const Program& program, Bytes limit, const std::vector<double>& weights,
                   const Taste& taste, const Budget& budget);

// Leaves out runs and copies that nobody needs, and counts the peak and the cost anew.
void settle(const Program& program, Rehearsed& rehearsed);

// Leaves out every run and copy without which the peak stays within the limit, the most expensive first.
void polish(const Program& program, Rehearsed& rehearsed, Bytes limit, const Budget& budget);

}  // namespace memstow::recompute
