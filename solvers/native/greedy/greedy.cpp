#include "greedy/greedy.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/random.hpp"
#include "greedy/improve.hpp"
#include "greedy/incumbent.hpp"
#include "greedy/orders.hpp"
#include "greedy/pair_board.hpp"
#include "greedy/placer.hpp"
#include "greedy/skyline.hpp"
#include "greedy/sweep.hpp"
#include "greedy/tree_board.hpp"

namespace memstow::greedy {

namespace {

struct Pass {
    Order order;
    Rule rule;
};

// The pass that wins most often comes first; none wins everywhere.
constexpr Pass kPasses[] = {
    {Order::size, Rule::lowest},
    {Order::start, Rule::best},
    {Order::life, Rule::best},
    {Order::size_degree, Rule::lowest},
    {Order::life, Rule::lowest},
    {Order::common_life, Rule::lowest},
    {Order::size, Rule::best},
    {Order::area, Rule::lowest},
    {Order::size_life, Rule::lowest},
    {Order::start_size, Rule::best},
    {Order::end, Rule::best},
    {Order::pressure_life, Rule::best},
    {Order::degree, Rule::best},
    {Order::pressure, Rule::lowest},
    {Order::density, Rule::lowest},
    {Order::pressure_life, Rule::lowest},
    {Order::pressure_area, Rule::lowest},
    {Order::degree, Rule::lowest},
    {Order::area, Rule::best},
    {Order::size_degree, Rule::best},
    {Order::start, Rule::lowest},
    {Order::end, Rule::lowest},
    {Order::start_size, Rule::lowest},
    {Order::input, Rule::lowest},
    {Order::size_degree, Rule::top},
    {Order::degree, Rule::top},
};

bool in_time(Order order) {
    return order == Order::start || order == Order::end || order == Order::start_size;
}

const char* name_of(Rule rule) {
    switch (rule) {
        case Rule::lowest:
            return "lowest";
        case Rule::best:
            return "best";
        case Rule::heap:
            return "heap";
        case Rule::top:
            return "top";
    }
    return "";
}

std::string name_of(const Pass& pass, const Tactics& tactics) {
    std::string name = std::string(name_of(pass.rule)) + "/" + std::string(name_of(pass.order));
    if (tactics.pools == PoolRule::cheapest) name += " cheapest";
    if (tactics.pools == PoolRule::flattest) name += " flattest";
    if (tactics.pools == PoolRule::level) name += " level";
    if (tactics.apart) name += " apart";
    if (!tactics.share) name += " unshared";
    return name;
}

bool has_term(const std::vector<Term>& terms, TermKind kind) {
    return std::any_of(terms.begin(), terms.end(), [&](const Term& term) { return term.kind == kind; });
}

// The ways to decide that can differ on this instance.
std::vector<Tactics> tactics(const Instance& instance, const std::vector<Term>& terms) {
    std::vector<Tactics> all{{}};
    const auto vary = [&](auto change) {
        const std::size_t before = all.size();
        for (std::size_t i = 0; i < before; ++i) {
            Tactics varied = all[i];
            change(varied);
            all.push_back(varied);
        }
    };
    const bool shares = std::any_of(instance.exempt.begin(), instance.exempt.end(),
                                    [](const ExemptPair& pair) { return pair.in_place; });
    if (!instance.reuse.empty() && has_term(terms, TermKind::reuse_cost)) {
        vary([](Tactics& s) { s.apart = true; });
        std::rotate(all.begin(), all.begin() + 1, all.end());
    }
    if (shares) vary([](Tactics& s) { s.share = false; });
    if (instance.pools.size() > 1) {
        const std::size_t before = all.size();
        const auto place_of = [&](TermKind kind) { return std::ranges::find(terms, kind, &Term::kind); };
        const auto highest = place_of(TermKind::max_peak);
        const auto cost = place_of(TermKind::placement_cost);
        const bool even = highest != terms.end();
        vary([&](Tactics& s) { s.pools = even ? PoolRule::level : PoolRule::flattest; });
        if (cost != terms.end()) {
            for (std::size_t i = 0; i < before; ++i) all[i].pools = PoolRule::cheapest;
        }
        if (even && highest < cost) std::rotate(all.begin(), all.begin() + before, all.end());
    }
    return all;
}

// Of more items a pass takes seconds. The traits are then made anew for each order: that takes far less time,
// and the board of the pass needs the memory.
constexpr Index kMany = 1 << 18;

template <class Board>
class Portfolio {
  public:
    Portfolio(const Instance& instance, const Scorer& scorer, const GreedyOptions& options, Budget& budget,
              Incumbent& incumbent)
        : instance_(instance), scorer_(scorer), options_(options), budget_(budget), incumbent_(incumbent) {}

    void run() {
        const std::vector<Tactics> all = tactics(instance_, scorer_.terms());
        const bool swept = !std::same_as<Board, PairBoard> && can_sweep(instance_);
        // A hint is kept where it is better, so it comes first.
        if (!scorer_.hint().empty()) from_hint(all.front());
        if (swept) sweeps();
        const bool repeats = swept && instance_.exempt.empty();
        const auto enough = [&] {
            const bool spent = incumbent_.perfect() || budget_.spent() || work_ >= options_.portfolio_work;
            return incumbent_.has_one() && spent;
        };
        for (const Pass& pass : kPasses) {
            if (repeats && pass.rule == Rule::best && in_time(pass.order)) continue;  // the sweep's layout
            // Of a million items, an order alone takes longer than a sweep.
            if (enough()) return;
            const std::vector<Index> order = arranged(pass.order);
            for (Tactics tactics : all) {
                if (enough()) return;
                tactics.rule = pass.rule;
                const bool complete = attempt(order, tactics, name_of(pass, tactics));
                // Given up, for lack of time. Of so many items the others take about as long.
                if (!complete && instance_.item_count() > kMany) return;
            }
        }
    }

    // Skylines by several priorities, then with noise on them. Only a lower peak is of use.
    void skylines() {
        if (!can_skyline(instance_) || !wants_low_peak()) return;
        const std::vector<double> area = product(traits().size, traits().life);
        const std::pair<const std::vector<double>*, const char*> priorities[] = {
            {&traits().size, "size"},
            {&area, "area"},
            {&traits().life, "life"},
            {&traits().pressure, "pressure"}};
        constexpr std::int64_t kKinds = 4;
        Random random(options_.seed);
        const std::int64_t n = instance_.item_count();
        // A step looks at all items that are left, so a pass grows with their square.
        const std::int64_t tries =
            kKinds + std::min<std::int64_t>(200, 25 * options_.improve_work / (n * n + 1));
        for (std::int64_t k = 0; k < tries; ++k) {
            if (incumbent_.perfect() || budget_.spent()) return;
            const auto& [base, name] = priorities[k % kKinds];
            const bool noisy = k >= kKinds;
            std::vector<double> priority = *base;
            constexpr double kNoise = 0.6;
            constexpr std::size_t kSteps = 1024;
            for (double& value : priority) {
                if (noisy) value *= 1 + kNoise * (static_cast<double>(random.below(kSteps)) / kSteps - 0.5);
            }
            const Layout layout = skyline(instance_, priority, useful_height(), budget_);
            budget_.count(n);
            if (layout.empty()) continue;
            incumbent_.offer(layout, scorer_(layout),
                             std::string("skyline/") + name + (noisy ? " noisy" : ""));
        }
    }

    // Tries to better the orders that did best.
    void improve_best()
        requires std::same_as<Board, PairBoard>
    {
        std::stable_sort(finishers_.begin(), finishers_.end(),
                         [](const Finisher& a, const Finisher& b) { return a.score < b.score; });
        constexpr std::size_t kStarts = 4;
        const std::size_t starts = std::min(kStarts, finishers_.size());
        const std::int64_t n = std::max(1, count_of(instance_.parts));
        const std::int64_t most = 100 + 40 * n;  // a handful of items has few orders
        const std::int64_t passes = std::min(most, options_.improve_work / n / std::int64_t{kStarts});
        for (std::size_t k = 0; k < starts; ++k) {
            if (incumbent_.perfect() || budget_.spent()) return;
            const Finisher& start = finishers_[k];
            improve(instance_, placer(), scorer_, start.order, start.tactics, options_.seed + k, passes,
                    budget_, incumbent_, "improved " + start.name);
        }
    }

  private:
    struct Finisher {
        Score score;
        std::vector<Index> order;
        Tactics tactics;
        std::string name;
    };

    bool wants_low_peak() const {
        if (scorer_.terms().empty()) return true;
        const TermKind first = scorer_.terms().front().kind;
        return first == TermKind::peak || first == TermKind::pool_peak || first == TermKind::max_peak;
    }

    Bytes useful_height() const {
        if (!incumbent_.score().fits() || incumbent_.score().values.empty()) return kLimit;
        return static_cast<Bytes>(incumbent_.score().values.front());
    }

    // Made when they are first needed: of a million items they take longer than a sweep, of which those of
    // rows take most.
    const Traits& traits(bool of_rows = true) {
        if (!traits_) traits_.emplace(instance_, of_rows);
        if (of_rows && !traits_->has_rows) traits_->look_at_rows(instance_);
        return *traits_;
    }

    std::vector<Index> arranged(Order order) {
        if (instance_.item_count() <= kMany) return arrange(traits(is_of_rows(order)), order);
        return arrange(Traits(instance_, is_of_rows(order)), order);
    }

    Placer<Board>& placer() {
        if (!placer_) placer_.emplace(instance_, scorer_.hint());
        return *placer_;
    }

    static std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b) {
        std::vector<double> result(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] * b[i];
        return result;
    }

    // False where it was given up.
    bool attempt(const std::vector<Index>& order, Tactics tactics, const std::string& name) {
        tactics.ceiling = ceiling();
        const WhenSpent when_spent = incumbent_.has_one() ? WhenSpent::give_up : WhenSpent::stack;
        const bool complete = placer().run(order, tactics, budget_, layout_, when_spent);
        if (complete) {
            Score score = scorer_(layout_);
            incumbent_.offer(layout_, score, name);
            if constexpr (std::same_as<Board, PairBoard>) {
                finishers_.push_back({std::move(score), order, tactics, name});
            }
        }
        work_ += count_of(order) * (tactics.rule == Rule::best ? 4 : 1);
        return complete;
    }

    // In the order of time, forwards and back: the quickest passes, and often the best at a great size.
    void sweeps() {
        for (const Order order : {Order::start, Order::end, Order::start_size, Order::end_size}) {
            if (incumbent_.has_one() && (incumbent_.perfect() || budget_.spent())) return;
            const bool backwards = order == Order::end || order == Order::end_size;
            Layout layout = sweep(instance_, sweep_order(instance_, order), backwards, budget_);
            Score score = scorer_(layout);
            const std::string name = "sweep/" + std::string(greedy::name_of(order));
            incumbent_.offer(std::move(layout), std::move(score), name);
        }
    }

    // Keeps the valid places of the hint, from the lowest offset up; then packs in the same order.
    void from_hint(Tactics tactics) {
        const Layout& hint = scorer_.hint();
        std::vector<Index> order = arranged(Order::size);
        const auto place = [&](Index item) { return hint[item]; };
        const auto hinted = std::stable_partition(
            order.begin(), order.end(), [&](Index item) { return place(item).offset != kUnplaced; });
        std::stable_sort(order.begin(), hinted,
                         [&](Index a, Index b) { return place(a).offset < place(b).offset; });
        std::stable_partition(order.begin(), order.end(),
                              [&](Index item) { return traits(false).pinned[item]; });
        attempt(order, tactics, "hint packed");
        tactics.keep = true;
        attempt(order, tactics, "hint");
    }

    // How high an item may end to avoid a reuse cost: anywhere in the pool when the cost comes before the
    // peak, below the peak to beat when it comes after.
    Bytes ceiling() const {
        for (std::size_t k = 0; k < scorer_.terms().size(); ++k) {
            const TermKind kind = scorer_.terms()[k].kind;
            if (kind == TermKind::reuse_cost) return kLimit;
            if (kind != TermKind::peak && kind != TermKind::max_peak) continue;
            if (k < options_.lower_bounds.size())
                return static_cast<Bytes>(std::min<Value>(options_.lower_bounds[k], kLimit));
            if (incumbent_.has_one())
                return static_cast<Bytes>(std::min<Value>(incumbent_.score().values[k], kLimit));
        }
        return kLimit;
    }

    const Instance& instance_;
    const Scorer& scorer_;
    const GreedyOptions& options_;
    Budget& budget_;
    Incumbent& incumbent_;
    std::optional<Traits> traits_;
    std::optional<Placer<Board>> placer_;
    Layout layout_;
    std::int64_t work_ = 0;
    std::vector<Finisher> finishers_;
};

}  // namespace

GreedyResult solve_greedy(const Instance& instance, const std::vector<Term>& terms, const Hint& hint,
                          const GreedyOptions& options, Budget& budget, const OnLayout& on_layout) {
    const Scorer scorer(instance, terms, hint);
    Incumbent incumbent(options.lower_bounds, on_layout);
    if (instance.parts.size() <= kMostPairParts) {
        Portfolio<PairBoard> portfolio(instance, scorer, options, budget, incumbent);
        portfolio.run();
        if (options.improve_work > 0) {
            portfolio.skylines();
            portfolio.improve_best();
        }
    } else if (scorer.hint().empty() && NarrowTreeBoard::reaches(instance)) {
        Portfolio<NarrowTreeBoard>(instance, scorer, options, budget, incumbent).run();
    } else {
        Portfolio<TreeBoard>(instance, scorer, options, budget, incumbent).run();
    }
    return incumbent.take();
}

}  // namespace memstow::greedy
