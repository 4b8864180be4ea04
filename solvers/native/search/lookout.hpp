// Looks at the budget in loops whose steps are not counted as work, but take long in large rows.
#pragma once

#include "search/decision.hpp"

namespace memstow::search {

class Lookout {
  public:
    void start(const Decision::Stop& stop) {
        stop_ = &stop;
        since_ = 0;
        stopped_ = false;
    }
    // True once the search has to stop: what was being done is then incomplete, and says nothing.
    bool stops_after(std::int64_t steps) {
        since_ += steps;
        if (since_ >= Decision::kStepsBetweenStops && !stopped_) {
            since_ = 0;
            stopped_ = (*stop_)(0);  // asks without counting: work is the same wherever it is asked
        }
        return stopped_;
    }
    bool stopped() const { return stopped_; }

  private:
    const Decision::Stop* stop_ = nullptr;
    std::int64_t since_ = 0;
    bool stopped_ = false;
};

}  // namespace memstow::search
