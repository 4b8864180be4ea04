// When a native run must stop: at a point in time, after an amount of work, or when told.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace memstow {

// Multiplies the work for the next turn, without an overflow.
inline std::int64_t times_more(std::int64_t work, std::int64_t times) {
    return work > std::numeric_limits<std::int64_t>::max() / times ? work : work * times;
}

class Budget {
  public:
    using Clock = std::chrono::steady_clock;

    Budget() = default;
    // seconds < 0: no time limit. work < 0: no work limit.
    // parent: a budget this one is a share of; when that is spent, so is this.
    // stop: somebody else's way to cancel it; outlives the budget.
    Budget(double seconds, std::int64_t work, const Budget* parent = nullptr,
           const std::atomic<bool>* stop = nullptr)
        : parent_(parent), stop_(stop) {
        if (seconds >= 0) {
            constexpr double kLongest = 1e9;
            deadline_ =
                Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(seconds < kLongest ? seconds : kLongest));
        }
        if (work >= 0) work_limit_ = work;
    }

    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
    bool cancelled() const {
        return cancelled_.load(std::memory_order_relaxed) ||
               (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) ||
               (parent_ != nullptr && parent_->cancelled());
    }

    // Looks at the clock: call it every few microseconds of work, not in the innermost loop.
    bool spent() const {
        if (work() >= work_limit_ || out_of_time()) return true;
        return parent_ != nullptr && parent_->spent();
    }

    // Whatever the work: what is not counted in steps must stop then as well, and never does without a time
    // limit unless it is cancelled.
    bool out_of_time() const {
        if (cancelled()) return true;
        if (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_) return true;
        return parent_ != nullptr && parent_->out_of_time();
    }

    // Negative when there is no time limit.
    double seconds_left() const {
        if (deadline_ == Clock::time_point::max()) return -1;
        const double left = std::chrono::duration<double>(deadline_ - Clock::now()).count();
        return left > 0 ? left : 0;
    }

    // Work is counted in the solver's own steps, the same on every machine.
    void count(std::int64_t steps) { work_.fetch_add(steps, std::memory_order_relaxed); }
    std::int64_t work() const { return work_.load(std::memory_order_relaxed); }
    std::int64_t work_limit() const { return work_limit_; }

  private:
    std::atomic<bool> cancelled_{false};
    std::atomic<std::int64_t> work_{0};
    std::int64_t work_limit_ = std::numeric_limits<std::int64_t>::max();
    Clock::time_point deadline_ = Clock::time_point::max();
    const Budget* parent_ = nullptr;
    const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace memstow
