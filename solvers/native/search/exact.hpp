// The exact engine for one pool: from a first layout and a bound down (and up) a ladder of heights until the
// two meet, the height asked for is reached, or the budget is spent. The only header a caller needs.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::search {

struct ExactOptions {
    Bytes limit = kLimit;   // layouts above this height are no answer; the pool's capacity counts as well
    bool fit_only = false;  // stop at the first layout within the limit
    Bytes bound = 0;        // a known lower bound on the height
    Layout start;           // a known valid layout, or empty
    int workers = 1;
    bool deterministic = false;  // one thread, and nothing but the budget's work limit and cancel can stop it
    std::uint64_t seed = 1;
    std::size_t memory = std::size_t{128} << 20;  // bytes for tables of refuted states, all workers together
};

// An exhausted search: there is no layout of at most this height.
struct Refutation {
    Bytes height;
    std::int64_t nodes;
};

// Called from worker threads, one call at a time; keep them short. Heights fall and bounds rise from call to
// call. `bound` comes with the nodes of the search that ran dry.
struct ExactEvents {
    std::function<void(const Layout& layout, Bytes height)> incumbent;
    std::function<void(Bytes bound, std::int64_t nodes)> bound;
};

enum class ExactStatus {
    optimal,     // height == bound
    feasible,    // a layout within the limit
    infeasible,  // proven: no layout within the limit
    unknown      // none within the limit found, and no proof; the layout, if any, is the lowest known
};

struct ExactResult {
    ExactStatus status = ExactStatus::unknown;
    Layout layout;  // empty when none is known
    Bytes height = kLimit;
    Bytes bound = 0;                  // proven; above the limit when infeasible
    std::vector<Refutation> refuted;  // ascending heights
    std::vector<Index> dead;          // when infeasible: items that have no layout within the limit, if known
    std::int64_t nodes = 0;
    std::int64_t steps = 0;  // what was counted in the budget
};

// The height of the pool, or of all items stacked, is below kLimit.
// Every item needs exactly one choice, all in the same pool. Reuse costs play no part. The height is the
// greatest end of an item. The instance may be of any size: its independent components are searched on their
// own, and only those that matter. A component of more than `kMostItems` items or `kMostParts` parts is
// bounded by its rows but not searched, unless all of its rows are full: then a sweep is tried (tiling.hpp).
// Smaller ones that are full, or nearly, have a short sweep and a short search, then a sweep that takes up to
// five sixths of what is left and options.memory.
//
// Memory: about 200 bytes for each part and row of the instance; options.memory for the tables; beyond that,
// for the components that are open, at most `kMostOpen` and, unless it is only one, `kMostEntries` entries in
// rows: with p parts, r rows and e entries in all of these, about 32 bytes per e, and 32 bytes per e, 200 per
// p and r for each worker. While a component of p parts is opened, p * p * 3 / 8 bytes.
inline constexpr Index kMostItems = 4096;
inline constexpr std::size_t kMostParts = 8192;
inline constexpr std::size_t kMostOpen = 16;
inline constexpr std::int64_t kMostEntries = 2'000'000;
ExactResult solve_exact(const Instance& instance, const ExactOptions& options, Budget& budget,
                        const ExactEvents& events = {});

// How far a search could get from here, found in near-linear time.
struct Reach {
    Index largest = 0;  // items of the largest independent component
    // Whether a component that decides is small enough to be searched: one that is above the bound in the
    // start, or, without a start, one of those whose rows need the most.
    bool searchable = false;
    // Whether sweeps are tried on such a component: all of its rows are equally full, or, where it can be
    // searched, nearly.
    bool nearly_full = false;
};
Reach reach_of(const Instance& instance, const Layout& start, Bytes bound);

// A small set of items that alone have no layout of at most `height`, found by deletion within the budget;
// ascending. `items` must be such a set already (all items, or the ones of a dead part); it is returned as it
// is when nothing can be shown in time. No single question takes more than `most_work`: what cannot be shown
// with it is kept. `smallest` says whether each single item was shown to be needed.
struct DeadSet {
    std::vector<Index> items;
    bool smallest = false;
};
DeadSet dead_set(const Instance& instance, std::vector<Index> items, Bytes height, Budget& budget,
                 std::int64_t most_work = 20'000'000);

// The instance of some of the items, in the order given.
Instance restrict_to(const Instance& instance, const std::vector<Index>& items);

}  // namespace memstow::search
