// The best layout of a run, and whether more is wanted.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "greedy/greedy.hpp"

namespace memstow::greedy {

class Incumbent {
  public:
    Incumbent(std::vector<Value> lower_bounds, OnLayout on_layout)
        : lower_bounds_(std::move(lower_bounds)), on_layout_(std::move(on_layout)) {}

    // Takes the layout when it is better than all before.
    bool offer(const Layout& layout, Score score, const std::string& name) {
        return is_better(score) && keep(Layout(layout), std::move(score), name);
    }
    bool offer(Layout&& layout, Score score, const std::string& name) {
        return is_better(score) && keep(std::move(layout), std::move(score), name);
    }

    bool has_one() const { return has_one_; }
    bool perfect() const { return best_.bound_met; }
    const Score& score() const { return best_.score; }
    const GreedyResult& best() const { return best_; }
    GreedyResult take() { return std::move(best_); }

  private:
    bool is_better(const Score& score) const { return !has_one_ || score < best_.score; }

    bool keep(Layout layout, Score score, const std::string& name) {
        has_one_ = true;
        best_.layout = std::move(layout);
        best_.score = std::move(score);
        best_.name = name;
        best_.bound_met = meets_bounds();
        if (on_layout_) on_layout_(best_.layout, best_.score, best_.name);
        return true;
    }

    bool meets_bounds() const {
        if (!best_.score.fits()) return false;
        for (std::size_t i = 0; i < best_.score.values.size(); ++i) {
            const Value bound = i < lower_bounds_.size() ? lower_bounds_[i] : 0;
            if (best_.score.values[i] > bound) return false;
        }
        return true;
    }

    std::vector<Value> lower_bounds_;
    OnLayout on_layout_;
    bool has_one_ = false;
    GreedyResult best_;
};

}  // namespace memstow::greedy
