// The bound from addresses in a thread of its own, for as long as this exists.
#pragma once

#include <atomic>
#include <new>
#include <thread>

#include "core/budget.hpp"
#include "reuse/address_bound.hpp"

namespace memstow::reuse {

class Beside {
  public:
    // Nobody else uses `addresses` meanwhile. The work is counted at the end.
    Beside(AddressBound& addresses, Budget& budget)
        : addresses_(addresses), budget_(budget), own_(-1, -1, &budget), thread_([this] { run(); }) {}
    ~Beside() {
        own_.cancel();
        thread_.join();
        budget_.count(own_.work());
    }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

    Bytes bound() const { return bound_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::int64_t kTurn = 2'000'000;

    void run() {
        try {
            while (!addresses_.done() && !own_.spent()) {
                addresses_.run(kTurn, own_);
                bound_.store(addresses_.bound(), std::memory_order_relaxed);
            }
        } catch (const std::bad_alloc&) {  // what is proven by then holds
        }
    }

    AddressBound& addresses_;
    Budget& budget_;
    Budget own_;
    std::atomic<Bytes> bound_{0};
    std::thread thread_;
};

}  // namespace memstow::reuse
