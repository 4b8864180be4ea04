#include "run/one_pool.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/score.hpp"
#include "greedy/greedy.hpp"
#include "improve/improve.hpp"
#include "run/stages.hpp"
#include "search/windows.hpp"

namespace memstow::run {
namespace {

bool is_complete(const Layout& layout) {
    return std::ranges::all_of(layout, [](const Place& place) { return place.offset >= 0; });
}

// A layout of a turn; the better of two has the lesser rank.
struct Attempt {
    Layout layout;
    bool fits = false;
    std::optional<Bytes> height;  // where it counts: of one that fits, and of what a search came upon
    std::string solver;

    auto rank() const { return std::pair(!fits, height); }
};

class Run {
  public:
    Run(const Instance& instance, const Need& need, const OnePoolOptions& options, Budget& budget,
        const OnePoolEvents& events)
        : instance_(instance),
          options_(options),
          budget_(budget),
          events_(events),
          capacity_(instance.pools[0].capacity) {
        result_.bound = static_cast<Bytes>(need.height);
        result_.parts = need.parts;
        if (!options.start.empty()) take_start();
    }

    OnePoolResult result() && {
        take_turns();
        if (best_ && result_.status != Status::infeasible) {
            result_.height = pool_peaks(instance_, best_->layout)[0];
            result_.solver = best_->solver;
            const bool proven = options_.fit_only || result_.height == result_.bound;
            if (best_->fits) result_.status = proven ? Status::optimal : Status::feasible;
            result_.layout = std::move(best_->layout);
        }
        return std::move(result_);
    }

  private:
    void take_start() {
        const Bytes height = pool_peaks(instance_, options_.start)[0];
        const bool fits = height <= capacity_;
        learn({options_.start, fits, counted(fits, height), "start"});
    }

    void take_turns() {
        OnePoolStages stages(instance_, options_.fit_only ? 0 : result_.bound);
        while (!done() && result_.status != Status::infeasible) {
            const std::optional<Stage> stage = stages.next();
            if (!stage) break;
            Budget share = share_of(budget_, *stage);
            share_ = &share;
            take(stage->solver);
            budget_.count(share.work());
        }
    }

    bool done() const { return best_ && (budget_.spent() || is_enough()); }

    bool is_enough() const {
        if (!best_->fits) return false;
        return options_.fit_only || gap_of(*best_->height, result_.bound) <= options_.gap;
    }

    void take(Solver solver) {
        switch (solver) {
            case Solver::greedy:
                return place_greedily();
            case Solver::exact:
                return search();
            case Solver::improve:
                return improve();
            case Solver::windows:
                return look_at_windows();
            case Solver::reuse:
            case Solver::banks:
                return;  // has no turn at a peak alone
        }
    }

    void place_greedily() {
        greedy::GreedyOptions options;
        if (!options_.fit_only) options.lower_bounds = {result_.bound};
        options.seed = options_.seed;
        const std::vector<Term> terms =
            options_.fit_only ? std::vector<Term>{} : std::vector<Term>{{TermKind::peak}};
        greedy::GreedyResult greedy =
            greedy::solve_greedy(instance_, terms, {}, options, *share_,
                                 [&](const Layout& layout, const Score& score, const std::string&) {
                                     if (score.fits() && !score.values.empty())
                                         better(layout, static_cast<Bytes>(score.values[0]));
                                 });
        const bool fits = greedy.score.fits();
        std::optional<Bytes> height;
        if (fits && !greedy.score.values.empty()) height = static_cast<Bytes>(greedy.score.values[0]);
        learn({std::move(greedy.layout), fits, height, "greedy " + greedy.name});
    }

    void search() {
        const Bytes known = options_.fit_only ? 0 : result_.bound;
        if (instance_.item_count() > search::kMostItems &&
            !search::reach_of(instance_, start(), known).searchable) {
            return;
        }
        search::ExactOptions options;
        options.limit = capacity_;
        options.fit_only = options_.fit_only;
        options.bound = known;
        options.start = start();
        options.workers = options_.workers;
        options.deterministic = options_.deterministic;
        options.seed = options_.seed;
        search::ExactEvents events;
        events.incumbent = [&](const Layout& layout, Bytes height) { better(layout, height); };
        events.bound = [&](Bytes proven, std::int64_t) { raise(proven); };
        search::ExactResult exact = search::solve_exact(instance_, options, *share_, events);
        if (exact.status == search::ExactStatus::infeasible) {
            if (!best_ || !best_->fits) report_misfit(std::move(exact.dead));
            return;
        }
        if (!exact.layout.empty()) {
            const bool fits = exact.height <= capacity_;
            std::optional<Bytes> height;
            if (!options_.fit_only) height = exact.height;
            learn({std::move(exact.layout), fits, height, name_of(Solver::exact)});
        }
        if (options_.fit_only || exact.bound <= result_.bound) return;
        result_.bound = exact.bound;
        result_.prover = Prover::search;
        result_.refuted = std::move(exact.refuted);
        result_.parts.clear();
    }

    void report_misfit(std::vector<Index> dead) {
        if (dead.empty()) {
            dead.resize(instance_.item_count());
            std::iota(dead.begin(), dead.end(), 0);
        }
        const std::vector<Index> items =
            search::dead_set(instance_, std::move(dead), capacity_, *share_).items;
        result_.status = Status::infeasible;
        result_.prover = Prover::search;
        result_.parts.clear();
        for (const Index item : items) {
            for (Index p = instance_.item_parts[item]; p < instance_.item_parts[item + 1]; ++p) {
                result_.parts.push_back(p);
            }
        }
    }

    void improve() {
        if (!best_ || !is_complete(best_->layout)) return;
        improve::ImproveOptions options;
        options.limit = capacity_;
        options.fit_only = options_.fit_only;
        options.bound = options_.fit_only ? 0 : result_.bound;
        options.workers = options_.workers;
        options.deterministic = options_.deterministic;
        options.seed = options_.seed;
        improve::ImproveResult improved =
            improve::improve_layout(instance_, best_->layout, options, *share_,
                                    [&](const Layout& layout, Bytes height) { better(layout, height); });
        const bool fits = improved.height <= capacity_;
        learn({std::move(improved.layout), fits, counted(fits, improved.height), name_of(Solver::improve)});
    }

    void look_at_windows() {
        if (options_.fit_only || !best_ || !is_complete(best_->layout)) return;
        const Bytes height = pool_peaks(instance_, best_->layout)[0];
        search::WindowBound window = search::window_bound(instance_, result_.bound, height, *share_);
        if (window.bound <= result_.bound) return;
        result_.bound = window.bound;
        result_.prover = Prover::window;
        result_.refuted = {{window.bound - 1, window.nodes}};
        result_.window = window.rows;
        result_.parts = std::move(window.parts);
        if (events_.bound) events_.bound(result_.bound);
    }

    Layout start() const { return best_ ? best_->layout : Layout{}; }

    std::optional<Bytes> counted(bool fits, Bytes height) const {
        return fits && !options_.fit_only ? std::optional(height) : std::nullopt;
    }

    void learn(Attempt attempt) {
        if (!best_ || attempt.rank() < best_->rank()) best_ = std::move(attempt);
    }

    // Native code does not check the gap: the turn ends as soon as the layout is good enough.
    void better(const Layout& layout, Bytes height) {
        if (options_.fit_only || height > capacity_) return;
        if (events_.better) events_.better(layout, height);
        reached_ = reached_ ? std::min(*reached_, height) : height;
        stop_within_gap();
    }

    void raise(Bytes bound) {
        if (options_.fit_only) return;
        if (events_.bound) events_.bound(bound);
        raised_ = std::max(raised_, bound);
        stop_within_gap();
    }

    void stop_within_gap() {
        if (options_.gap <= 0) return;
        if (reached_ && gap_of(*reached_, std::max(raised_, result_.bound)) <= options_.gap) share_->cancel();
    }

    const Instance& instance_;
    const OnePoolOptions& options_;
    Budget& budget_;
    const OnePoolEvents& events_;
    Bytes capacity_;
    Budget* share_ = nullptr;
    std::optional<Attempt> best_;
    std::optional<Bytes> reached_;  // the lowest height that was reported
    Bytes raised_ = 0;              // the highest bound that was reported
    OnePoolResult result_;
};

}  // namespace

bool can_add(const Instance& instance, WideBytes stacked) {
    Bytes capacity = 0;
    for (const Pool& pool : instance.pools) capacity = std::max(capacity, pool.capacity);
    return std::min<WideBytes>(stacked, capacity) < kLimit;
}

OnePoolResult plan_one_pool(const Instance& instance, const Need& need, const OnePoolOptions& options,
                            Budget& budget, const OnePoolEvents& events) {
    return Run(instance, need, options, budget, events).result();
}

}  // namespace memstow::run
