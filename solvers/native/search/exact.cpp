#include "search/exact.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "search/components.hpp"
#include "search/ladder.hpp"
#include "search/level_search.hpp"
#include "search/pair_search.hpp"
#include "search/progress.hpp"
#include "search/tiling.hpp"
#include "search/turns.hpp"

namespace memstow::search {
namespace {

// Steps of sweeps for each component, and then of a search, before each of them may take long.
constexpr std::int64_t kFirstSweeps = 1'000'000, kFirstSearch = 1'500'000;

bool small_enough(const Components& components, Index c) {
    return components.items(c).size() <= kMostItems && components.parts(c) <= kMostParts;
}

// Components that can be searched. The highest decide, and of these the ones that need most show how low the
// others have to come.
std::vector<Index> searchable(const Components& components, const Progress& progress) {
    std::vector<Index> all;
    for (Index c = 0; c < components.count(); ++c) {
        if (small_enough(components, c)) all.push_back(c);
    }
    std::stable_sort(all.begin(), all.end(), [&](Index a, Index b) {
        return std::pair(progress.top(a), components.bound(a)) >
               std::pair(progress.top(b), components.bound(b));
    });
    return all;
}

// Workers that search one height of one packing after the other.
class Engine {
  public:
    Engine(const Instance& instance, const ExactOptions& options, Budget& budget, const ExactEvents& events)
        : options_(options),
          budget_(budget),
          components_(instance),
          progress_(instance, components_, options, events),
          turns_(components_, searchable(components_, progress_), progress_, budget) {}
    ExactResult run();

  private:
    struct Task {
        Turns::Pick what;
        std::size_t slots;  // searches that share the memory for tables, by worker
        Attempt attempt;
    };
    struct Held {
        std::shared_ptr<Opened> opened;
        std::unique_ptr<Decision> search;
    };
    using Searches = std::map<const Opened*, Held>;

    bool may_be_tiled(Index component) const;
    void try_tiling(Index component, Budget& part);
    void try_tilings();
    void lay(Index component, const std::vector<Bytes>& offsets);
    void search(Budget& part);
    void work_guarded(Budget& part);
    void work(Budget& part);
    bool next(const Budget& part, Task& task);
    Decision& search_of(Searches& searches, const Task& task) const;
    void take(const Task& task, Answer answer, const Decision& search);
    void take_layout(const Task& task, std::vector<Bytes> offsets);

    const ExactOptions& options_;
    Budget& budget_;
    const Components components_;

    std::mutex mutex_;  // guards all below, and the ladders
    Progress progress_;
    Turns turns_;
    std::int64_t nodes_ = 0;
    std::exception_ptr failure_;
};

// Whether every row is full, or nearly, so that a layout has no gaps, or hardly any.
bool Engine::may_be_tiled(Index component) const {
    if (progress_.settled(component) || !components_.nearly_full(component)) return false;
    return components_.level(component) || small_enough(components_, component);
}

// A sweep finds a layout without gaps where a search would not.
void Engine::try_tiling(Index component, Budget& part) {
    if (part.spent() || progress_.over() || !may_be_tiled(component)) return;
    std::optional<FullRows> full = full_rows(components_.instance_of(component));
    if (!full || full->base + full->height > progress_.limit()) return;
    full->room = std::min(full->room, progress_.limit() - full->base);
    const auto offsets =
        tile(*full, options_.memory, options_.deterministic ? 1 : options_.workers, [&](std::int64_t steps) {
            budget_.count(steps);
            part.count(steps);
            return part.spent();
        });
    if (offsets) lay(component, *offsets);
}

// Sweeps and a search take turns, where both have a chance: what the one soon ends does not wait for the
// other.
void Engine::try_tilings() {
    std::vector<Index> searched, alone;
    for (Index c = 0; c < components_.count(); ++c) {
        if (may_be_tiled(c)) (small_enough(components_, c) ? searched : alone).push_back(c);
    }
    if (!searched.empty()) {
        for (const Index c : searched) {
            Budget sweeps(-1, kFirstSweeps, &budget_);
            try_tiling(c, sweeps);
        }
        Budget first(-1, kFirstSearch * count_of(searched), &budget_);
        search(first);
    }
    Budget all(-1, -1, &budget_);
    for (const Index c : alone) try_tiling(c, all);
    const std::int64_t work_left = budget_.work_limit() - budget_.work();
    const double seconds_left = options_.deterministic ? -1 : budget_.seconds_left();
    Budget most(seconds_left < 0 ? -1 : seconds_left * 5 / 6, work_left / 6 * 5, &budget_);
    for (const Index c : searched) try_tiling(c, most);
}

void Engine::lay(Index component, const std::vector<Bytes>& offsets) {
    const auto items = components_.items(component);
    Layout laid = progress_.layout();
    for (std::size_t i = 0; i < offsets.size(); ++i) laid[items[i]].offset = offsets[i];
    const Bytes top = components_.height(component, laid);
    if (top < progress_.top(component)) progress_.lower(component, top, items, offsets);
}

// False when nothing is left to be searched, or this part of the budget is spent.
bool Engine::next(const Budget& part, Task& task) {
    const std::lock_guard lock(mutex_);
    if (progress_.over()) return false;
    turns_.refill();
    if (progress_.over() || part.spent()) return false;
    task.what = turns_.least_searched();
    Ladder* const ladder = task.what.ladder;
    if (ladder == nullptr) return false;
    task.attempt = ladder->next(task.what.opened->packing, progress_.bound(), progress_.limit(),
                                options_.fit_only, options_.seed << 32);
    ladder->nodes += 1;  // the other workers look elsewhere first
    task.slots = std::min(turns_.count(), kMostOpen);
    return true;
}

// The worker's own search of this packing. Its searches of packings that were closed since are dropped.
Decision& Engine::search_of(Searches& searches, const Task& task) const {
    const auto known = searches.find(task.what.opened.get());
    if (known != searches.end()) return *known->second.search;
    std::erase_if(searches,
                  [](const auto& one) { return one.second.opened->closed.load(std::memory_order_relaxed); });
    const Packing& packing = task.what.opened->packing;
    std::unique_ptr<Decision> search;
    if (packing.plain) {
        const Index workers = std::max(1, options_.workers);
        search = std::make_unique<LevelSearch>(packing, options_.memory / (workers * task.slots));
    } else {
        search = std::make_unique<PairSearch>(packing);
    }
    return *searches.emplace(task.what.opened.get(), Held{task.what.opened, std::move(search)})
                .first->second.search;
}

void Engine::work(Budget& part) {
    Searches searches;
    Task task{};
    while (!part.spent() && next(part, task)) {
        const Ladder& ladder = *task.what.ladder;
        Decision& search = search_of(searches, task);
        const Decision::Stop stop = [&](std::int64_t steps) {
            budget_.count(steps);
            part.count(steps);
            return part.spent() || progress_.ended() || ladder.settled(task.attempt.height);
        };
        const Answer answer = search.run(task.attempt.height, task.attempt.strategy, task.attempt.seed,
                                         task.attempt.node_limit, stop);
        take(task, answer, search);
    }
}

void Engine::take(const Task& task, Answer answer, const Decision& search) {
    const std::lock_guard lock(mutex_);
    Ladder& ladder = *task.what.ladder;
    nodes_ += search.nodes();
    ladder.nodes += search.nodes();
    budget_.count(1);
    if (answer == Answer::found) {
        take_layout(task, search.offsets());
    } else if (answer == Answer::refuted && ladder.refute(task.what.opened->packing, task.attempt.height)) {
        progress_.raise_bound(task.what.component, ladder.bound(), {task.attempt.height, ladder.nodes});
    }
}

void Engine::take_layout(const Task& task, std::vector<Bytes> offsets) {
    Ladder& ladder = *task.what.ladder;
    const Packing& packing = task.what.opened->packing;
    if (!packing.holds(offsets)) throw std::logic_error("the search made a wrong layout");
    const Bytes height = packing.height(offsets);
    if (height >= ladder.top()) return;
    std::vector<Index> items;
    for (const PackingItem& item : packing.items) items.push_back(item.original);
    for (Bytes& offset : offsets) offset *= packing.unit;
    ladder.improve(height, offsets, task.attempt.turn);
    progress_.lower(task.what.component, turns_.top(task.what.component), items, offsets);
}

void Engine::work_guarded(Budget& part) {
    try {
        work(part);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        progress_.end();
    }
}

// Searches until a part of the budget is spent, with all workers.
void Engine::search(Budget& part) {
    std::vector<std::thread> others;
    const int workers = options_.deterministic || progress_.over() ? 1 : options_.workers;
    for (int k = 1; k < workers; ++k) others.emplace_back([this, &part] { work_guarded(part); });
    work_guarded(part);
    for (std::thread& other : others) other.join();
    if (failure_) std::rethrow_exception(failure_);
}

ExactResult Engine::run() {
    const std::int64_t before = budget_.work();
    try_tilings();
    Budget rest(-1, -1, &budget_);
    search(rest);
    progress_.end();

    ExactResult result = progress_.result();
    result.nodes = nodes_;
    result.steps = budget_.work() - before;
    return result;
}

}  // namespace

ExactResult solve_exact(const Instance& instance, const ExactOptions& options, Budget& budget,
                        const ExactEvents& events) {
    return Engine(instance, options, budget, events).run();
}

Reach reach_of(const Instance& instance, const Layout& start, Bytes bound) {
    const Components components(instance);
    Reach reach;
    Bytes most = 0;
    for (Index c = 0; c < components.count(); ++c) {
        reach.largest = std::max(reach.largest, count_of(components.items(c)));
        most = std::max(most, components.bound(c));
    }
    const bool started = count_of(start) == instance.item_count();
    for (Index c = 0; c < components.count(); ++c) {
        const bool decides =
            started ? components.height(c, start) > std::max(bound, most) : components.bound(c) == most;
        if (!decides) continue;
        const bool is_level = components.level(c), is_small = small_enough(components, c);
        reach.nearly_full = reach.nearly_full || is_level || (is_small && components.nearly_full(c));
        reach.searchable = reach.searchable || is_level || is_small;
    }
    return reach;
}

}  // namespace memstow::search
