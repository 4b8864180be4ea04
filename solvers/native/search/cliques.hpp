// Which parts conflict, and cliques of parts that cover every conflict. Rows with exempt pairs are no
// cliques, and rows of two from explicit conflicts are often part of a larger one; sums over a clique are
// lower bounds.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::search {

// Both jobs below take time with the cube of the parts at worst, so they watch the budget.
class Patience {
  public:
    explicit Patience(Budget* budget) : budget_(budget) {}
    // Called before sets of `count` bits are touched `times` times.
    bool over(std::size_t times = 0, std::size_t count = 0) {
        if (budget_ == nullptr || over_) return over_;
        budget_->count(times * (1 + count / 512));
        return over_ = budget_->spent();
    }

  private:
    Budget* budget_;
    bool over_ = false;
};

class PartConflicts {
  public:
    Index count() const { return near_.size(); }
    // The parts of other items that p may not overlap, or only where both start at one offset; ascending.
    std::span<const Index> near(Index p) const { return near_[p]; }
    bool tieable(Index p, Index q) const;
    const std::vector<std::pair<Index, Index>>& tieable_pairs() const { return tieable_; }

  private:
    friend PartConflicts part_conflicts(const Instance& instance, Patience& patience);
    Lists<Index> near_;
    std::vector<std::pair<Index, Index>> tieable_;  // first < second, sorted
};

// The results of both are incomplete when patience is over.
PartConflicts part_conflicts(const Instance& instance, Patience& patience);

// Every conflict that is not tieable is in a clique, and every part that has one. Roughly in time order.
std::vector<std::vector<Index>> cover_by_cliques(const Instance& instance, const PartConflicts& conflicts,
                                                 Patience& patience);

}  // namespace memstow::search
