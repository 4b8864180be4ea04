// What a graph needs beside a path through it.
#pragma once

#include <vector>

#include "core/budget.hpp"
#include "stripes/program.hpp"

namespace memstow::stripes {

// Operators that read tensors and make some; who makes comes before who reads.
struct Wires {
    struct Tensor {
        Bytes size = 0;
        Index maker = kNobody;  // no operator: there from the start
        bool to_end = false;
    };
    std::vector<Tensor> tensors;
    std::vector<std::vector<Index>> reads;  // by operator
};

// By place of a path, the least that others need beside what it uses.
struct PathCuts {
    std::vector<Bytes> running;  // while it runs by itself
    std::vector<Bytes> after;    // where what it hands on is there as a whole, and neither end of it runs
    // Those before this one of which something may be among what is needed after it are in [begin, end).
    std::vector<Index> begin, end;
};

// Each operator of the path reads what the one before makes. What those after a moment still read, and what
// is left in the end, depends on what is there at that moment: a cut of all ways to it from what is there at
// the start, whatever runs again. With `once`, from all that has run before. Where the budget has ended,
// nothing is known.
PathCuts cuts_beside(const Wires& wires, const std::vector<Index>& path, bool once, Budget& budget);

}  // namespace memstow::stripes
