// What runs of the same problem elsewhere have found: the lowest layout and the highest bound. A search looks
// at it now and then; whoever hears of the other runs tells it, from any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include "core/instance.hpp"

namespace memstow {

class Exchange {
  public:
    // rank: which of the runs this one is. Each begins with other strategies.
    explicit Exchange(std::int64_t rank) : rank_(rank) {}

    std::int64_t rank() const { return rank_; }
    // Of the lowest layout of others; kLimit while there is none.
    Bytes height() const { return height_.load(std::memory_order_relaxed); }
    // No layout is lower, as another run has proven; 0 while nothing is known.
    Bytes bound() const { return bound_.load(std::memory_order_relaxed); }

    // A search for a layout of at most this height is pointless.
    bool settles(Bytes height) const { return this->height() <= height || bound() > height; }

    Layout layout() const {
        const std::lock_guard lock(mutex_);
        return layout_;
    }

    // The layout is valid and complete.
    void offer(Layout layout, Bytes height) {
        const std::lock_guard lock(mutex_);
        if (height >= this->height()) return;
        layout_ = std::move(layout);
        height_.store(height, std::memory_order_relaxed);
    }

    void raise_bound(Bytes bound) {
        const std::lock_guard lock(mutex_);
        if (bound > this->bound()) bound_.store(bound, std::memory_order_relaxed);
    }

  private:
    const std::int64_t rank_;
    mutable std::mutex mutex_;
    Layout layout_;
    std::atomic<Bytes> height_{kLimit};
    std::atomic<Bytes> bound_{0};
};

}  // namespace memstow
