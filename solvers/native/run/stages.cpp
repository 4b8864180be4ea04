#include "run/stages.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "search/exact.hpp"

namespace memstow::run {
namespace {

// With a largest component below this size the exact search finds plans sooner than the improver; above it
// the improver goes first, except where there is no slack at any time, or hardly any.
constexpr Index kSmall = 500;
// With more items than this some components may be too large for the exact search, so the improver has the
// last turn.
constexpr Index kLarge = 4096;
// Windows of time show most of what they show with little work; with more it is better spent on the whole.
constexpr Stage kWindows{Solver::windows, 0.05, 50'000'000};

Stage first_passes(const Instance& instance) {
    return {Solver::greedy, 1.0, kFirstPasses * instance.item_count()};
}

}  // namespace

double gap_of(Value value, Value bound) {
    return value > bound ? static_cast<double>(value - bound) / static_cast<double>(value) : 0.0;
}

const char* name_of(Solver solver) {
    switch (solver) {
        case Solver::greedy:
            return "greedy";
        case Solver::exact:
            return "exact";
        case Solver::improve:
            return "improve";
        case Solver::windows:
            return "windows";
        case Solver::reuse:
            return "reuse";
        case Solver::banks:
            return "banks";
    }
    return "";
}

Budget share_of(const Budget& budget, const Stage& stage) {
    std::int64_t work = stage.most_work;
    if (budget.work_limit() != std::numeric_limits<std::int64_t>::max()) {
        const std::int64_t left = std::max<std::int64_t>(budget.work_limit() - budget.work(), 0);
        const std::int64_t share =
            stage.share >= 1.0 ? left : static_cast<std::int64_t>(static_cast<double>(left) * stage.share);
        work = work < 0 ? share : std::min(work, share);
    }
    const double seconds = budget.seconds_left();
    return Budget(seconds < 0 ? -1.0 : seconds * stage.share, work, &budget);
}

OnePoolStages::OnePoolStages(const Instance& instance, Bytes bound) : instance_(instance) {
    const bool searchable =
        instance.item_count() <= search::kMostItems || search::reach_of(instance, {}, bound).searchable;
    if (!searchable) {
        stages_ = {{Solver::greedy}, kWindows, {Solver::improve}};
        complete_ = true;
    } else if (instance.item_count() <= kLarge) {
        stages_ = {first_passes(instance)};
    }
}

std::optional<Stage> OnePoolStages::next() {
    if (next_ == stages_.size() && !complete_) add_rest();
    if (next_ == stages_.size()) return std::nullopt;
    return stages_[next_++];
}

void OnePoolStages::add_rest() {
    complete_ = true;
    const bool large = instance_.item_count() > kLarge;
    const search::Reach reach = search::reach_of(instance_, {}, 0);
    const auto add = [&](std::initializer_list<Stage> more) { stages_.insert(stages_.end(), more); };
    if (reach.largest < kSmall) {
        if (large) add({first_passes(instance_)});
        add({{Solver::exact, 0.5}, {Solver::improve, 0.3}, kWindows, {Solver::exact}});
    } else if (reach.nearly_full && !large) {
        // What sweeps over time miss in one turn they would miss in the next.
        add({{Solver::exact, 0.75}, kWindows, {Solver::improve}});
    } else if (!large) {
        add({{Solver::improve, 0.15}, kWindows, {Solver::exact}});
    } else if (reach.nearly_full) {
        add({{Solver::greedy}, {Solver::exact, 0.8}, kWindows, {Solver::improve}});
    } else {
        add({{Solver::greedy}, kWindows, {Solver::improve, 0.3}, {Solver::exact, 0.5}, {Solver::improve}});
    }
}

}  // namespace memstow::run
