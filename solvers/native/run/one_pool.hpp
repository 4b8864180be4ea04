// A whole run for one pool: solvers take turns, each from the best layout and the best bound so far, until
// the plan is proven, or good enough, or the budget is spent. The only header that a caller without Python
// needs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/bounds.hpp"
#include "core/budget.hpp"
#include "core/instance.hpp"
#include "search/exact.hpp"

namespace memstow::run {

struct OnePoolOptions {
    bool fit_only = false;  // any layout within the capacity will do; else the lowest is looked for
    double gap = 0;         // a layout will do that is at most this fraction of itself above the bound
    std::uint64_t seed = 0;
    int workers = 1;
    bool deterministic = false;  // nothing but the work limit and a cancel can stop the run
    Layout start;                // a layout that is complete and valid but for the capacity, or empty
};

// Called from the threads of solvers, one call at a time. Heights fall and bounds rise from call to call.
struct OnePoolEvents {
    std::function<void(const Layout& layout, Bytes height)> better;
    std::function<void(Bytes bound)> bound;
};

enum class Status {
    optimal,     // with a bound that is the height, or, where any layout will do, with a layout that fits
    feasible,    // a layout that fits
    infeasible,  // proven: none fits
    unknown      // none that fits is known, and no proof that there is none
};

// How the bound was proven.
enum class Prover { live, search, window };

struct OnePoolResult {
    Status status = Status::unknown;
    Layout layout;       // empty where none is known; beyond the capacity where the status is `unknown`
    Bytes height = 0;    // of the layout
    std::string solver;  // that found the layout
    Bytes bound = 0;     // no layout is lower
    Prover prover = Prover::live;
    std::vector<search::Refutation> refuted;  // of a search
    RowRange window{0, 0};                    // that was searched
    std::vector<Index> parts;                 // that need as much there; that have no place, where none fits
};

// Every item has one choice, all of them in the pool of this number, and heights can be added up (`can_add`).
// `need` is that of `need_of`, and within the capacity.
OnePoolResult plan_one_pool(const Instance& instance, const Need& need, const OnePoolOptions& options,
                            Budget& budget, const OnePoolEvents& events = {});

// Whether heights that solvers of one pool count with stay below kLimit. `stacked`: the units up to which the
// items reach at most, one on top of the other.
bool can_add(const Instance& instance, WideBytes stacked);

}  // namespace memstow::run
