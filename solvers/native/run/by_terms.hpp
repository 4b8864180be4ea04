// A whole run for any terms of an objective and any number of pools: greedy, then the search for the least
// reuse cost where that counts and no item has a choice of pool; at last items move to pools they prefer.
// Where something depends on banks, the search that knows them is the whole run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow::run {

struct TermsOptions {
    std::vector<Term> terms;          // in lexicographic order; empty: any layout that fits
    std::vector<Value> lower_bounds;  // by term, each as many times what solvers count as its scale says
    std::vector<Bytes> scales;        // by term
    Hint hint;
    double gap = 0;  // a layout will do each of whose terms is at most this fraction of it above its bound
    std::uint64_t seed = 0;
    int workers = 1;
    bool deterministic = false;
};

struct TermBound {
    Value bound;             // with equal values of earlier terms nothing is lower; scaled
    bool is_of_run = false;  // else it was known before
    std::int64_t searches;   // complete ones that prove that of a run; 0: what each address holds
};

struct TermsResult {
    Layout layout;
    Score score;                    // fits() tells whether it is a plan, or the closest attempt
    std::vector<TermBound> bounds;  // by term
    bool is_optimal = false;        // each term is at its bound
    std::string solver;             // that found the layout, or that there is none
    std::vector<Index> misfit;      // proven: these items have no layout; then the rest is empty
};

// Called with each better layout that fits, and each higher bound on the first term, which is scaled.
struct TermsEvents {
    std::function<void(const Layout& layout)> better;
    std::function<void(Value bound)> bound;
};

// Whether all layouts of so few items may be looked through before a model is.
bool are_few(const Instance& instance);

// Whether only solvers that know of banks can place the items.
bool depends_on_banks(const Instance& instance, const std::vector<Term>& terms);

TermsResult plan_by_terms(const Instance& instance, const TermsOptions& options, Budget& budget,
                          const TermsEvents& events = {});

}  // namespace memstow::run
