// The order of operators with the least peak, and the proof that none has less.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/budget.hpp"
#include "order/dead_sets.hpp"
#include "order/graph.hpp"
#include "order/narrowing.hpp"

namespace memstow::order {

struct LeastPeakOptions {
    Bytes enough = -1;                          // an order that needs no more ends the search
    Bytes bound = 0;                            // no order needs less; from elsewhere
    int workers = 1;                            // threads; one where every run must be the same
    std::size_t memory = std::size_t{1} << 28;  // bytes for the sets that all searches remember
    std::size_t most_kept = 20'000;             // sets of a refutation that are handed out
};

// Called from any thread, one at a time.
struct LeastPeakEvents {
    std::function<void(Bytes peak, const std::vector<Index>& order)> order;
    std::function<void(Bytes bound)> bound;
};

// A search that ran dry: no order needs `limit` or less. Its sets are of the graph without late operators,
// seen forwards or backwards.
struct Refuted {
    Bytes limit;
    bool backwards;
    std::size_t sets;           // how many were dead
    std::vector<DeadSet> kept;  // all of them, or none where there were too many
};

// What must come first leaves no order that needs `limit` or less: what was shown, each with what was shown
// before it, and then an operator that needs more whatever ran before. Operators are those of the graph
// without late ones.
struct Blocked {
    Bytes limit;
    std::vector<Ordering> shown;
    Index needy;
};

struct LeastPeak {
    std::vector<Index> order;
    Bytes peak = 0;
    Bytes bound = 0;
    Index cut = -1;  // the operator with the greatest cut bound found, and that bound
    Bytes cut_bytes = 0;
    std::optional<Refuted> refuted;  // where that proves more
    std::optional<Blocked> blocked;  // the last that has raised the bound
};

// What a proof of the same graph rests on, as numbers for another process, and back: of a search its
// direction alone. Numbers that cannot be that are refused.
std::vector<Bytes> proven_numbers(const LeastPeak& from);
LeastPeak proven_from(std::span<const Bytes> numbers);

// `listed`: an order of the graph, to begin with.
LeastPeak least_peak(const Graph& graph, const std::vector<Index>& listed, const LeastPeakOptions& options,
                     Budget& budget, const LeastPeakEvents& events);

// An order that needs no more than `limit`, as far as one is found in the budget; another for each seed.
std::vector<Index> order_within(const Graph& graph, Bytes limit, std::uint64_t seed, Budget& budget);

}  // namespace memstow::order
