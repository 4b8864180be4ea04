// The cheapest way to run a tiny program in memories of limited size, by a complete search.
//
// A state is which operators have run for the first time, what is here, and what waits elsewhere; Dijkstra's
// search over states finds the least cost. A state is left by a run, a copy, or by letting an item go.
#pragma once

#include <cstdint>
#include <vector>

#include "core/budget.hpp"
#include "recompute/program.hpp"

namespace memstow::recompute {

using Set = std::uint64_t;                       // operators, or items, in bits
inline constexpr std::size_t kMostMembers = 62;  // operators, or items, of a program that is tiny

// What counts in one memory of a limited size.
struct Memory {
    const Program* counted;  // what is no item and can be nowhere else
    Bytes room;              // the bytes there are; the search has a limit of its own for the first memory
    Set holds;               // items that may be in it
    Set waits;               // items that may wait in it
};

// Items that are in limited memories, whatever the plan; the peak of the first memory counts.
struct TinyProgram {
    const Program* program;
    // By operator, the ways to have its temporaries in memories: by memory, the bytes.
    std::vector<std::vector<std::vector<Bytes>>> extras;
    std::vector<Memory> memories;
    Set waits;  // items that may wait where there is room for all
};

// When operators may run: sets of operators, by operator.
struct Turns {
    std::vector<Set> needs;  // those that have run before it runs for the first time
    std::vector<Set> ends;   // those of which none has run when it runs for the last time
    bool free;  // whether first runs are in any order that this allows: what is no item counts where it does
                // in all of them
};

struct Waiting {
    Index item;
    Index out, back;  // by index in `runs`: after the one, before the other
    Index where;      // in which memory; their number: where there is room for all
};

struct Path {
    enum class End { kFound, kNone, kStopped } end = End::kStopped;
    std::int64_t cost = 0;
    Bytes peak = 0;  // live at the fullest moment of the first memory
    std::vector<Index> runs;
    std::vector<Waiting> copies;
    std::int64_t states = 0;  // that were looked at
};

// The cheapest run that never has more live bytes than the limit, nor costs more than `most` (below 0:
// whatever it costs). Stops after so many states, or when the budget is spent.
Path cheapest_path(const TinyProgram& tiny, const Turns& turns, Bytes limit, std::int64_t most,
                   std::int64_t most_states, Budget& budget);

}  // namespace memstow::recompute
