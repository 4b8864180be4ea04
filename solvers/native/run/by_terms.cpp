#include "run/by_terms.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "banks/complete.hpp"
#include "banks/search.hpp"
#include "core/reduction.hpp"
#include "greedy/greedy.hpp"
#include "run/one_pool.hpp"
#include "run/prefer.hpp"
#include "run/reuse_costs.hpp"
#include "run/stages.hpp"

namespace memstow::run {
namespace {

// The share of greedy before the search for the least cost: a start is found quickly or not at all.
constexpr double kStartShare = 0.25;

struct TermsAttempt {
    Layout layout;
    Score score;
    std::string solver;

    auto rank() const { return std::tuple(!score.fits(), values()); }
    // Those of an attempt that does not fit say nothing.
    std::vector<Value> values() const { return score.fits() ? score.values : std::vector<Value>(); }
};

class TermsRun {
  public:
    TermsRun(const Instance& instance, const TermsOptions& options, Budget& budget, const TermsEvents& events)
        : instance_(instance),
          options_(options),
          budget_(budget),
          events_(events),
          knows_banks_(depends_on_banks(instance, options.terms)) {
        for (const Value bound : options.lower_bounds) result_.bounds.push_back({bound, false, 0});
    }

    TermsResult result() && {
        if (knows_banks_) {
            take({Solver::banks, 1.0, kBanksAlone});
        } else if (reuse_has_a_turn()) {
            take({Solver::greedy, kStartShare, kFirstPasses * instance_.item_count()});
            if (!is_done()) take({Solver::reuse});
        } else {
            take({Solver::greedy});
            if (!is_done() && are_few(instance_)) take({Solver::banks, 1.0, kFewItemsWork});
        }
        if (best_ && result_.misfit.empty()) tell_best();
        return std::move(result_);
    }

  private:
    bool reuse_has_a_turn() const {
        const auto counts = std::ranges::find(options_.terms, TermKind::reuse_cost, &Term::kind);
        return counts != options_.terms.end() && !declined_by_reuse(instance_, options_.terms) &&
               can_add(instance_, stacked(instance_));
    }

    void take(const Stage& stage) {
        Budget share = share_of(budget_, stage);
        share_ = &share;
        reached_.reset();
        if (best_ && best_->score.fits() && !options_.terms.empty()) reached_ = best_->score.values[0];
        raised_ = options_.terms.empty() ? 0 : in_units(0);
        if (stage.solver == Solver::banks) {
            place_in_banks();
        } else {
            stage.solver == Solver::greedy ? place_greedily() : minimise_reuse();
        }
        budget_.count(share.work());
    }

    std::vector<Value> bounds_in_units() const {
        std::vector<Value> bounds;
        for (Index term = 0; term < count_of(options_.terms); ++term) bounds.push_back(in_units(term));
        return bounds;
    }

    void place_in_banks() {
        const Scorer scorer(instance_, options_.terms, options_.hint);
        const auto better = [&](const Layout& layout, const Score& score) {
            if (!score.values.empty()) note(layout, score);
        };
        banks::Placed placed =
            banks::search(instance_, scorer, bounds_in_units(), options_.seed, *share_, better);
        if (!placed.misfit.empty()) {
            result_.misfit = std::move(placed.misfit);
            result_.solver = name_of(Solver::banks);
            return;
        }
        learn({std::move(placed.layout), std::move(placed.score), name_of(Solver::banks)});
        prove(placed.bounds);
    }

    void place_greedily() {
        greedy::GreedyOptions options;
        options.lower_bounds = bounds_in_units();
        options.seed = options_.seed;
        const auto better = [&](const Layout& layout, const Score& score, const std::string&) {
            if (score.fits() && !score.values.empty()) note(layout, score);
        };
        greedy::GreedyResult greedy =
            greedy::solve_greedy(instance_, options_.terms, options_.hint, options, *share_, better);
        learn({std::move(greedy.layout), std::move(greedy.score), "greedy " + greedy.name});
    }

    void minimise_reuse() {
        ReuseOptions options;
        options.terms = options_.terms;
        options.lower_bounds = bounds_in_units();
        if (best_ && std::ranges::find(best_->layout, kUnplaced, &Place::offset) == best_->layout.end()) {
            options.start = best_->layout;
        }
        options.seed = options_.seed;
        options.two_threads = options_.workers > 1 && !options_.deterministic;
        ReuseEvents events;
        const Scorer scorer(instance_, options_.terms, options_.hint);
        events.better = [&](const Layout& layout, Value) { note(layout, scorer(layout)); };
        events.bound = [&](Value bound) { raise(bound); };
        ReuseResult least = run::minimise_reuse(instance_, options, *share_, events);
        if (!least.misfit.empty() && !(best_ && best_->score.fits())) {
            result_.misfit = std::move(least.misfit);
            result_.solver = name_of(Solver::reuse);
            return;
        }
        if (!least.layout.empty()) {
            learn({std::move(least.layout), std::move(least.score), name_of(Solver::reuse)});
        }
        if (best_ && best_->score.fits()) prove(least.bounds);
    }

    // Takes over the bounds that hold for layouts with the values of the best one.
    void prove(const std::vector<LockedBound>& bounds) {
        for (const LockedBound& bound : bounds) {
            TermBound& known = result_.bounds[bound.term];
            const Value value = bound.value * options_.scales[bound.term];
            bool holds = known.bound < value && bound.value <= best_->score.values[bound.term];
            for (std::size_t term = 0; term < bound.locks.size(); ++term) {
                holds = holds && best_->score.values[term] <= bound.locks[term];
            }
            if (holds) known = {value, true, bound.searches};
        }
    }

    bool is_done() const {
        return !result_.misfit.empty() || (best_ && (budget_.spent() || is_enough(options_.gap)));
    }

    bool is_enough(double gap) const {
        if (!best_->score.fits()) return false;
        for (std::size_t term = 0; term < options_.terms.size(); ++term) {
            const Value value = best_->score.values[term] * options_.scales[term];
            if (gap_of(value, result_.bounds[term].bound) > gap) return false;
        }
        return true;
    }

    // The last change: no term becomes worse, and some that are not of the objective better.
    void tell_best() {
        if (best_->score.fits() && instance_.pools.size() > 1 && !knows_banks_) {
            best_->layout =
                in_preferred_pools(instance_, options_.terms, options_.hint, std::move(best_->layout));
            best_->score = Scorer(instance_, options_.terms, options_.hint)(best_->layout);
        }
        result_.is_optimal = is_enough(0.0);
        result_.layout = std::move(best_->layout);
        result_.score = std::move(best_->score);
        result_.solver = std::move(best_->solver);
    }

    // What solvers are told, at most the bound.
    Value in_units(Index term) const { return result_.bounds[term].bound / options_.scales[term]; }

    void learn(TermsAttempt attempt) {
        if (!best_ || attempt.rank() < best_->rank()) best_ = std::move(attempt);
    }

    // Solvers do not check the gap: the turn ends as soon as a single term is good enough.
    // Each solver begins anew, and what is told gets better from one to the next as well.
    void note(const Layout& layout, const Score& score) {
        if (!told_ || score < *told_) {
            told_ = score;
            if (events_.better) events_.better(layout);
        }
        reached_ = score.values[0];
        stop_within_gap();
    }

    void raise(Value bound) {
        if (events_.bound) events_.bound(bound * options_.scales[0]);
        raised_ = bound;
        stop_within_gap();
    }

    void stop_within_gap() {
        if (options_.gap <= 0 || options_.terms.size() != 1) return;
        if (reached_ && gap_of(*reached_, raised_) <= options_.gap) share_->cancel();
    }

    const Instance& instance_;
    const TermsOptions& options_;
    Budget& budget_;
    const TermsEvents& events_;
    bool knows_banks_;
    Budget* share_ = nullptr;
    std::optional<TermsAttempt> best_;
    std::optional<Score> told_;
    std::optional<Value> reached_;  // of the first term in this turn, in units
    Value raised_ = 0;              // the bound on it
    TermsResult result_;
};

}  // namespace

bool are_few(const Instance& instance) {
    return instance.item_count() <= kFewItems && banks::can_look_through(instance);
}

bool depends_on_banks(const Instance& instance, const std::vector<Term>& terms) {
    return instance.banks.matter() ||
           std::ranges::find(terms, TermKind::bank_cost, &Term::kind) != terms.end();
}

TermsResult plan_by_terms(const Instance& instance, const TermsOptions& options, Budget& budget,
                          const TermsEvents& events) {
    return TermsRun(instance, options, budget, events).result();
}

}  // namespace memstow::run
