// The best layout and bound of an exact run so far, of the pool and of each of its components. Reports each
// improvement.
#pragma once

#include <atomic>
#include <set>
#include <span>
#include <vector>

#include "search/components.hpp"
#include "search/exact.hpp"

namespace memstow::search {

class Progress {
  public:
    Progress(const Instance& instance, const Components& components, const ExactOptions& options,
             const ExactEvents& events);

    Bytes limit() const { return limit_; }
    Bytes bound() const { return bound_; }
    Bytes best() const { return by_top_.empty() ? 0 : *by_top_.rbegin(); }
    // Below this height nothing is gained.
    Bytes goal() const { return options_.fit_only ? limit_ : bound_; }
    Bytes top(Index component) const { return tops_[component]; }
    bool settled(Index component) const { return top(component) <= goal(); }
    const Layout& layout() const { return layout_; }

    bool over() const { return ended_ || bound_ > limit_ || best() <= goal(); }
    bool ended() const { return ended_.load(std::memory_order_relaxed); }
    void end() { ended_ = true; }

    // No layout of the component is lower than the bound; nothing happens where none of the pool is either.
    void raise_bound(Index component, Bytes bound, const Refutation& how);
    // Items of the component have new offsets, and its layout now ends at `top`.
    void lower(Index component, Bytes top, std::span<const Index> items, std::span<const Bytes> offsets);

    ExactResult result() const;

  private:
    const Instance& in_;
    const Components& components_;
    const ExactOptions& options_;
    const ExactEvents& events_;
    Bytes limit_;
    Bytes bound_;
    std::vector<Bytes> tops_;      // by component: where the layout ends
    std::multiset<Bytes> by_top_;  // the same
    Layout layout_;
    std::vector<Refutation> refuted_;
    std::vector<Index> dead_;
    std::atomic<bool> ended_{false};
};

}  // namespace memstow::search
