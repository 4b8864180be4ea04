#include "run/by_terms.hpp"

#include <utility>

#include "greedy/greedy.hpp"
#include "run/stages.hpp"

namespace memstow::run {

TermsResult plan_by_terms(const Instance& instance, const TermsOptions& options, Budget& budget,
                          const OnTerms& on_better) {
    Budget share = share_of(budget, {Solver::greedy});
    greedy::GreedyOptions greedy_options;
    greedy_options.lower_bounds = options.lower_bounds;
    greedy_options.seed = options.seed;
    const auto better = [&](const Layout& layout, const Score& score, const std::string&) {
        if (!score.fits() || score.values.empty()) return;
        if (on_better) on_better(layout, score.values);
        if (options.gap <= 0 || score.values.size() != 1) return;
        const auto above = static_cast<double>(score.values[0] - options.lower_bounds[0]);
        if (above <= options.gap * static_cast<double>(score.values[0])) share.cancel();
    };
    greedy::GreedyResult greedy =
        greedy::solve_greedy(instance, options.terms, options.hint, greedy_options, share, better);
    budget.count(share.work());
    return {std::move(greedy.layout), std::move(greedy.score), "greedy " + greedy.name};
}

}  // namespace memstow::run
