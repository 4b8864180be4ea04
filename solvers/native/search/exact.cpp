#include "exact.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "ladder.hpp"
#include "level_search.hpp"
#include "pair_search.hpp"

namespace memstow {
namespace {

class Engine {
  public:
    Engine(const Instance& instance, const ExactOptions& options, Budget& budget, const ExactEvents& events)
        : in_(instance), options_(options), budget_(budget), events_(events) {
        for (Packing& packing : packings(instance)) {
            ladders_.push_back(std::make_unique<Ladder>(std::move(packing)));
        }
        limit_ = std::min(options.limit, kLimit - 1);
        if (!instance.pools.empty() && instance.choices.size() > 0) {
            const auto pool = static_cast<std::size_t>(instance.choices[0][0].pool);
            limit_ = std::min(limit_, instance.pools[pool].capacity);
        }
        bound_ = options.bound;
        for (const auto& ladder : ladders_) bound_ = std::max(bound_, ladder->bound());
        take_start();
        best_ = height();
    }

    ExactResult run();

  private:
    struct Task {
        std::size_t ladder;
        Attempt attempt;
    };

    void take_start();
    Bytes height() const;
    Layout layout() const;
    Bytes goal() const { return options_.fit_only ? limit_ : bound_; }
    bool searchable(const Ladder& ladder) const { return ladder.packing.count() <= kMostItems; }
    bool next(Task& task);
    void work();
    void take(const Task& task, Answer answer, const Decision& search);
    std::unique_ptr<Decision> make_search(const Packing& packing) const;

    const Instance& in_;
    const ExactOptions& options_;
    Budget& budget_;
    const ExactEvents& events_;
    Bytes limit_;

    std::mutex mutex_;  // guards all below, and the ladders
    std::vector<std::unique_ptr<Ladder>> ladders_;
    Bytes bound_ = 0;
    Bytes best_ = kLimit;
    std::vector<Refutation> refuted_;
    std::int64_t nodes_ = 0;
    std::exception_ptr failure_;
    std::atomic<bool> over_{false};
};

void Engine::take_start() {
    if (options_.start.size() != static_cast<std::size_t>(in_.item_count())) return;
    for (const auto& ladder : ladders_) {
        std::vector<Bytes> offsets;
        Bytes top = 0;
        for (const PackingItem& item : ladder->packing.items) {
            const Bytes offset = options_.start[static_cast<std::size_t>(item.original)].offset;
            offsets.push_back(offset);
            top = offset < 0 ? kLimit : std::max(top, offset + item.top);
        }
        ladder->improve(top, std::move(offsets), 0);
    }
}

Bytes Engine::height() const {
    Bytes top = 0;
    for (const auto& ladder : ladders_) top = std::max(top, ladder->top());
    return top;
}

Layout Engine::layout() const {
    Layout layout(static_cast<std::size_t>(in_.item_count()));
    for (const auto& ladder : ladders_) {
        for (std::size_t i = 0; i < ladder->packing.items.size(); ++i) {
            const Index item = ladder->packing.items[i].original;
            layout[static_cast<std::size_t>(item)] = {in_.choices[item][0].pool, ladder->offsets()[i]};
        }
    }
    return layout;
}

// The part that has had the least so far among those that still matter: every one of them has to come down to
// the goal.
bool Engine::next(Task& task) {
    const std::lock_guard lock(mutex_);
    if (over_ || bound_ > limit_ || best_ <= goal()) return false;
    std::size_t pick = ladders_.size();
    for (std::size_t k = 0; k < ladders_.size(); ++k) {
        if (ladders_[k]->top() <= goal() || !searchable(*ladders_[k])) continue;
        if (pick == ladders_.size() || ladders_[k]->nodes < ladders_[pick]->nodes) pick = k;
    }
    if (pick == ladders_.size()) return false;
    task = {pick, ladders_[pick]->next(bound_, limit_, options_.fit_only, options_.seed << 32)};
    ladders_[pick]->nodes += 1;  // the other workers look elsewhere first
    return true;
}

std::unique_ptr<Decision> Engine::make_search(const Packing& packing) const {
    if (!packing.plain) return std::make_unique<PairSearch>(packing);
    const auto workers = static_cast<std::size_t>(std::max(1, options_.workers));
    const std::size_t share = options_.memory / (workers * std::min<std::size_t>(ladders_.size(), 16));
    return std::make_unique<LevelSearch>(packing, share);
}

void Engine::work() {
    std::vector<std::unique_ptr<Decision>> searches(ladders_.size());
    Task task{};
    while (!budget_.spent() && next(task)) {
        const Ladder& ladder = *ladders_[task.ladder];
        auto& search = searches[task.ladder];
        if (search == nullptr) search = make_search(ladder.packing);
        const Decision::Stop stop = [&](std::int64_t steps) {
            budget_.count(steps);
            return budget_.spent() || over_.load(std::memory_order_relaxed) ||
                   ladder.settled(task.attempt.height);
        };
        const Answer answer = search->run(task.attempt.height, task.attempt.strategy, task.attempt.seed,
                                          task.attempt.node_limit, stop);
        take(task, answer, *search);
    }
}

void Engine::take(const Task& task, Answer answer, const Decision& search) {
    const std::lock_guard lock(mutex_);
    Ladder& ladder = *ladders_[task.ladder];
    nodes_ += search.nodes();
    ladder.nodes += search.nodes();
    budget_.count(1);
    if (answer == Answer::found) {
        if (!ladder.packing.holds(search.offsets())) throw std::logic_error("the search made a wrong layout");
        std::vector<Bytes> offsets = search.offsets();
        const Bytes height = ladder.packing.height(offsets);
        for (Bytes& offset : offsets) offset *= ladder.packing.unit;
        ladder.improve(height, std::move(offsets), task.attempt.turn);
        const Bytes best = this->height();
        if (best < best_) {
            best_ = best;
            if (events_.incumbent) events_.incumbent(layout(), best);
        }
    } else if (answer == Answer::refuted && ladder.refute(task.attempt.height) && ladder.bound() > bound_) {
        bound_ = ladder.bound();
        refuted_.push_back({task.attempt.height, ladder.nodes});
        if (events_.bound) events_.bound(bound_, ladder.nodes);
    }
}

ExactResult Engine::run() {
    const auto guarded = [this] {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            over_ = true;
        }
    };
    std::vector<std::thread> others;
    const int workers = options_.deterministic ? 1 : options_.workers;
    if (bound_ <= limit_ && best_ > goal()) {
        for (int k = 1; k < workers; ++k) others.emplace_back(guarded);
    }
    const std::int64_t before = budget_.work();
    guarded();
    over_ = true;
    for (std::thread& other : others) other.join();
    if (failure_) std::rethrow_exception(failure_);

    ExactResult result;
    result.bound = bound_;
    result.height = best_;
    if (best_ < kLimit) result.layout = layout();
    result.refuted = refuted_;
    result.nodes = nodes_;
    result.steps = budget_.work() - before;
    if (bound_ > limit_) {
        result.status = ExactStatus::infeasible;
    } else if (best_ <= limit_) {
        result.status = best_ <= bound_ ? ExactStatus::optimal : ExactStatus::feasible;
    }
    return result;
}

// Sets of conflicting parts grow with the square of their number.
ExactResult only_start(const Instance& instance, const ExactOptions& options) {
    ExactResult result;
    result.bound = options.bound;
    if (options.start.size() != static_cast<std::size_t>(instance.item_count())) return result;
    result.layout = options.start;
    result.height = 0;
    for (const Part& part : instance.parts) {
        const Bytes offset = options.start[static_cast<std::size_t>(part.item)].offset;
        result.height = std::max(result.height, offset + part.delta + part.size);
    }
    if (result.height <= options.limit) {
        result.status = result.height <= result.bound ? ExactStatus::optimal : ExactStatus::feasible;
    }
    return result;
}

}  // namespace

ExactResult solve_exact(const Instance& instance, const ExactOptions& options, Budget& budget,
                        const ExactEvents& events) {
    if (instance.parts.size() > kMostParts) return only_start(instance, options);
    return Engine(instance, options, budget, events).run();
}

}  // namespace memstow
