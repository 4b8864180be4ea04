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

class PartSet {
  public:
    explicit PartSet(std::size_t count) : words_((count + 63) / 64, 0) {}
    void add(Index p) { words_[at(p)] |= bit(p); }
    void remove(Index p) { words_[at(p)] &= ~bit(p); }
    bool has(Index p) const { return (words_[at(p)] & bit(p)) != 0; }
    bool within(const PartSet& other) const {
        for (std::size_t k = 0; k < words_.size(); ++k) {
            if ((words_[k] & ~other.words_[k]) != 0) return false;
        }
        return true;
    }
    PartSet& operator|=(const PartSet& other) {
        for (std::size_t k = 0; k < words_.size(); ++k) words_[k] |= other.words_[k];
        return *this;
    }
    PartSet& operator&=(const PartSet& other) {
        for (std::size_t k = 0; k < words_.size(); ++k) words_[k] &= other.words_[k];
        return *this;
    }
    std::vector<Index> list() const;

  private:
    static std::size_t at(Index p) { return static_cast<std::size_t>(p) / 64; }
    static std::uint64_t bit(Index p) { return std::uint64_t{1} << (static_cast<std::size_t>(p) % 64); }
    std::vector<std::uint64_t> words_;
};

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

// What both return is of no use when patience is over.
PartConflicts part_conflicts(const Instance& instance, Patience& patience);

// Every conflict that is not tieable is in a clique, and every part that has one. Roughly in time order.
std::vector<std::vector<Index>> cover_by_cliques(const Instance& instance, const PartConflicts& conflicts,
                                                 Patience& patience);

}  // namespace memstow::search
