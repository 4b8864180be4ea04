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
        // The least of it that may wait elsewhere, where each byte costs to be copied out and back; 0:
        // nothing.
        Bytes piece = 0;
    };
    struct Operation {
        std::vector<Index> reads;
        // What another run of it costs at least, and of a part of it; kLimit: there is no other.
        Cost again = kLimit;
        Cost part_again = kLimit;
    };
    // For those of the path from this place on, another run of one before adds this.
    struct Later {
        Index place = 0;
        Index operation = 0;
        Cost again = 0;
        Cost part_again = 0;
    };
    std::vector<Tensor> tensors;
    std::vector<Operation> operations;
    std::vector<Later> later;  // by place
    Index short_path = 0;      // paths of at most so many are looked at closely
};

// What others need at least beside what an operator of the path uses, if other runs and copies add less to
// the cost than the next level does.
struct CutLevel {
    Cost cost = 0;      // what other runs and copies add
    Bytes running = 0;  // while it runs by itself
    Bytes after = 0;    // where what it hands on is there as a whole, and neither end of it runs
    // Those before this one of which something may be among what is needed after it are in [begin, end); from
    // -1 on if what is there from the start may be among it.
    Index begin = 0, end = 0;
    // By place from -1 to the end, the same as `after` beside what that one hands on as well, which is there,
    // where those after that one are in a stripe: what they use does not wait elsewhere.
    std::vector<Bytes> beside_read;
    // By place from the next one on, the same as `after` where those up to that one are in a stripe; empty:
    // as `after`.
    std::vector<Bytes> beside_next;
    // By place from -1 on, the same beside what that one hands on when that is there for the last time before
    // the next one runs; kLimit: that one, or one after it, reads it. Empty if not known.
    std::vector<Bytes> beside_gone;
};

struct PathCut {
    std::vector<CutLevel> levels;  // ascending in cost, from none on
    // Whether what runs again, or waits, may be the same as at the operator before, which has the same levels
    // then.
    bool continues = false;
};

// By place of a path, each operator of which reads what the one before makes. What those after a moment still
// read, and what is left in the end, depends on what is there at that moment: a cut of all ways to it from
// what is there at the start. What is behind the cut, and has run before, runs again. The operators that do
// so for one moment have done so when all that was needed at that moment is read; those for a later moment
// add to them. So it is with what waits elsewhere instead. Where the budget has ended, nothing is known.
std::vector<PathCut> cuts_beside(const Wires& wires, const std::vector<Index>& path, Budget& budget);

}  // namespace memstow::stripes
