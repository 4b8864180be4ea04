// A whole run for any terms of an objective, by the solver that knows all of them.
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
    std::vector<Value> lower_bounds;  // by term
    Hint hint;
    double gap = 0;  // of a single term: a layout will do that is at most this fraction of it above its bound
    std::uint64_t seed = 0;
};

struct TermsResult {
    Layout layout;
    Score score;         // fits() tells whether it is a plan, or the closest attempt
    std::string solver;  // that found the layout
};

// Called with each better layout that fits.
using OnTerms = std::function<void(const Layout& layout, const std::vector<Value>& values)>;

TermsResult plan_by_terms(const Instance& instance, const TermsOptions& options, Budget& budget,
                          const OnTerms& on_better = {});

}  // namespace memstow::run
