// Whether a pass over many items can end in time, judged by how long its first ones took: a pass that is cut
// off leaves nothing, so the sooner it is, the better.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "core/budget.hpp"

namespace memstow::greedy {

class Pace {
  public:
    explicit Pace(std::size_t items) : items_(items), next_look_(items / kFirstPart) {
        if (items < kLeast) next_look_ = items;
    }

    // Looks at a 32nd of the items, at a 16th and so on up to half of them. An item takes longer the more are
    // placed: the rest takes at least as long as it would at the pace so far, and probably so much longer as
    // the last look found. Both must be too long: what comes first, such as pinned items, can be of another
    // kind.
    bool too_slow(std::size_t placed, const Budget& budget) {
        if (placed < next_look_ || next_look_ == items_) return false;
        const double left = budget.seconds_left();
        if (left < 0) return false;  // no limit
        const double took = std::chrono::duration<double>(Budget::Clock::now() - began_).count();
        const double took_before = std::exchange(last_took_, took);
        const std::size_t looked_at = std::exchange(next_look_, std::min(2 * next_look_, items_));
        if (took_before == 0) return false;
        const double growth = std::clamp(took / took_before, kLinear, kQuadratic);
        double steady = took, growing = took;
        for (std::size_t done = looked_at; done < items_; done *= 2) {
            steady *= kLinear;
            growing *= growth;
        }
        return steady - took > left && growing - took > kDoubt * left;
    }

  private:
    static constexpr std::size_t kFirstPart = 32;
    // Fewer take some milliseconds.
    static constexpr std::size_t kLeast = 1 << 14;
    // How much longer twice as many items take.
    static constexpr double kLinear = 2;
    static constexpr double kQuadratic = 4;
    static constexpr double kDoubt = 1.25;

    Budget::Clock::time_point began_ = Budget::Clock::now();
    std::size_t items_;
    std::size_t next_look_;
    double last_took_ = 0;
};

}  // namespace memstow::greedy
