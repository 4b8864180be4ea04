#include "improve/improve.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "improve/throughout.hpp"
#include "improve/worker.hpp"

namespace memstow::improve {

namespace {

// Steps of a round of a deterministic run, by worker: they meet at its end.
constexpr std::int64_t kRound = 50'000'000;
// A step here touches memory at random and takes about twice as long as one of the exact search. Work is
// counted in units of the latter, so that a work limit is worth about the same time whoever works.
constexpr std::int64_t kWorkOfStep = 2;

// All heights of layouts that are packed downwards are multiples of it; 1 when that cannot be told.
Bytes common_unit(const Instance& instance, Index pool) {
    Bytes unit = 0;
    for (const Part& part : instance.parts) unit = std::gcd(unit, std::gcd(part.size, part.delta));
    for (const Range& range : instance.pools[pool].reserved) {
        unit = std::gcd(unit, std::gcd(range.begin, range.end));
    }
    for (const Choice& choice : instance.choices.all()) {
        if (choice.pool != pool) continue;
        unit = std::gcd(unit, std::gcd(choice.low, choice.residue));
        if (choice.modulus > 1) unit = std::gcd(unit, choice.modulus);
    }
    return std::max<Bytes>(1, unit);
}

// No layout is lower: every item ends somewhere.
Bytes least_height(const Instance& instance, const ImproveOptions& options, const Layout& start) {
    Bytes least = options.bound;
    for (const Part& part : instance.parts) {
        if (start[part.item].pool != options.pool) continue;
        for (const Choice& choice : instance.choices[part.item]) {
            if (choice.pool == options.pool) least = std::max(least, choice.low + part.delta + part.size);
        }
    }
    return least;
}

class Run {
  public:
    Run(const Instance& instance, const Layout& start, const ImproveOptions& options, Budget& budget,
        const OnImproved& on_improved)
        : options_(options), budget_(budget), on_improved_(on_improved) {
        result_.layout = start;
        result_.height = height_of(instance, options.pool, start);
        bound_ = least_height(instance, options, start);
        if (done()) return;
        const Worker::Goal goal{options.pool, bound_, common_unit(instance, options.pool)};
        const int workers = std::max(1, options.workers);
        for (int k = 0; k < workers && !budget.spent(); ++k) {
            const std::uint64_t seed = options.seed + 0x9E37u * k;
            workers_.push_back(std::make_unique<Worker>(instance, goal, start, seed, k % 2 == 1, budget));
        }
    }

    ImproveResult run() {
        if (options_.deterministic) {
            while (!done() && !budget_.spent() && !workers_.empty()) round();
        } else {
            in_parallel([this](Worker& worker) { search(worker); });
        }
        for (const auto& worker : workers_) result_.moves += worker->moves();
        return std::move(result_);
    }

  private:
    bool done() const {
        return result_.height <= bound_ || (options_.fit_only && result_.height <= options_.limit);
    }

    template <class Job>
    void in_parallel(Job job) {
        std::vector<std::thread> threads;
        for (std::size_t k = 1; k < workers_.size(); ++k) {
            threads.emplace_back([&job, &worker = *workers_[k]] { job(worker); });
        }
        if (!workers_.empty()) job(*workers_[0]);
        for (std::thread& thread : threads) thread.join();
    }

    void offer(const Worker& worker) {
        if (worker.height() >= result_.height) return;
        result_.layout = worker.layout();
        result_.height = worker.height();
        shared_height_.store(result_.height, std::memory_order_relaxed);
        if (on_improved_) on_improved_(result_.layout, result_.height);
        if (done()) finished_.store(true, std::memory_order_relaxed);
    }

    void search(Worker& worker) {
        const Worker::Stop stop = [&](std::int64_t steps) {
            budget_.count(kWorkOfStep * steps);
            return finished_.load(std::memory_order_relaxed) || budget_.spent() ||
                   shared_height_.load(std::memory_order_relaxed) < worker.height();
        };
        for (;;) {
            const bool improved = worker.work(stop);
            const std::lock_guard lock(mutex_);
            if (improved) offer(worker);
            worker.adopt(result_.layout, result_.height);
            if (finished_.load(std::memory_order_relaxed) || done() || budget_.spent()) return;
        }
    }

    // Each worker on its own for a while; then the lowest layout is everyone's.
    void round() {
        const std::int64_t count = count_of(workers_);
        const std::int64_t left = budget_.work_limit() - budget_.work();
        const std::int64_t share = std::max<std::int64_t>(1, std::min(kRound, left / count / kWorkOfStep));
        std::vector<std::int64_t> used(workers_.size(), 0);
        in_parallel([&](Worker& worker) {
            std::size_t self = 0;
            while (workers_[self].get() != &worker) ++self;
            std::int64_t mine = 0;
            const Worker::Stop stop = [&](std::int64_t steps) {
                mine += steps;
                return mine >= share || budget_.spent();
            };
            while (mine < share && worker.height() > bound_ && !budget_.spent()) {
                worker.work(stop);
                if (options_.fit_only && worker.height() <= options_.limit) break;
            }
            used[self] = mine;
        });
        for (const auto& worker : workers_) offer(*worker);
        for (const auto& worker : workers_) worker->adopt(result_.layout, result_.height);
        const std::int64_t steps = std::accumulate(used.begin(), used.end(), std::int64_t{0});
        budget_.count(kWorkOfStep * std::max<std::int64_t>(1, steps));
    }

    const ImproveOptions& options_;
    Budget& budget_;
    const OnImproved& on_improved_;
    Bytes bound_ = 0;
    ImproveResult result_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::mutex mutex_;
    std::atomic<Bytes> shared_height_{kLimit};
    std::atomic<bool> finished_{false};
};

}  // namespace

ImproveResult improve_layout(const Instance& instance, const Layout& start, const ImproveOptions& options,
                             Budget& budget, const OnImproved& on_improved) {
    const std::optional<AboveThroughout> above = AboveThroughout::of(instance, options.pool, start);
    if (!above) return Run(instance, start, options, budget, on_improved).run();
    // Moved to whole steps of the grid, the start may be higher than it was, by less than a step.
    Bytes height = height_of(instance, options.pool, start);
    const Bytes base = above->base();
    ImproveOptions rest = options;
    rest.bound = std::max<Bytes>(0, options.bound - base);
    rest.limit = std::max<Bytes>(0, options.limit - base);
    const OnImproved on_rest = [&](const Layout& layout, Bytes lower) {
        if (lower + base >= height) return;
        height = lower + base;
        if (on_improved) on_improved(above->whole(layout), height);
    };
    ImproveResult result = Run(above->instance(), above->start(), rest, budget, on_rest).run();
    result.height += base;
    if (result.height > height) {
        result.height = height;
        result.layout = start;
    } else {
        result.layout = above->whole(result.layout);
    }
    return result;
}

}  // namespace memstow::improve
