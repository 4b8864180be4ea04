// Which parts conflict, and cliques of parts that cover every conflict. Rows with exempt pairs are no
// cliques, and rows of two from explicit conflicts are often part of a larger one; sums over a clique are
// lower bounds.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../instance.hpp"

namespace memstow {

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

class PartConflicts {
  public:
    Index count() const { return near_.size(); }
    // The parts of other items that p may not overlap, or only where both start at one offset; ascending.
    std::span<const Index> near(Index p) const { return near_[p]; }
    bool tieable(Index p, Index q) const;
    const std::vector<std::pair<Index, Index>>& tieable_pairs() const { return tieable_; }

  private:
    friend PartConflicts part_conflicts(const Instance& instance);
    Lists<Index> near_;
    std::vector<std::pair<Index, Index>> tieable_;  // first < second, sorted
};

PartConflicts part_conflicts(const Instance& instance);

// Every conflict that is not tieable is in a clique, and every part that has one. Roughly in time order.
std::vector<std::vector<Index>> cover_by_cliques(const Instance& instance, const PartConflicts& conflicts);

}  // namespace memstow
