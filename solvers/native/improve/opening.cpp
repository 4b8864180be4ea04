#include "improve/opening.hpp"

#include <algorithm>

#include "search/exact.hpp"

namespace memstow::improve {

namespace {

// A window has at least so many items more than what is live in the fullest row.
constexpr std::size_t kLeastMore = 128;

std::size_t wider(std::size_t count) { return count + count / 2 + kLeastMore; }

// Rows in which nothing begins or ends say what the row before them says.
void drop_idle_rows(Instance& instance) {
    std::vector<Index> marks;
    for (const RowRange& rows : instance.rows.values) {
        if (rows.begin >= instance.time_rows) return;
        marks.push_back(rows.begin);
        marks.push_back(rows.end);
    }
    std::sort(marks.begin(), marks.end());
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    const auto at = [&](Index row) {
        return static_cast<Index>(std::lower_bound(marks.begin(), marks.end(), row) - marks.begin());
    };
    for (RowRange& rows : instance.rows.values) rows = {at(rows.begin), at(rows.end)};
    instance.time_rows = instance.row_count = count_of(marks);
}

}  // namespace

Opening::Opening(const Instance& instance, Index pool, Bytes target, const std::vector<Index>& order,
                 std::size_t least, std::int64_t steps, std::uint64_t seed, const Budget& budget)
    : instance_(instance),
      pool_(pool),
      target_(target),
      order_(order),
      next_(std::min(order.size(), least + kLeastMore)),
      steps_(steps),
      seed_(seed),
      budget_(budget) {}

// The next window; false when all are laid out, or when dives know too little of the items.
bool Opening::open() {
    if (count_ == order_.size()) return false;
    const std::vector<Index> items(order_.begin(), order_.begin() + next_);
    window_ = std::make_unique<Window>(Window{search::restrict_to(instance_, items), nullptr, steps_ / 2});
    drop_idle_rows(window_->instance);
    if (!Skyline(window_->instance).exact()) return false;
    window_->keys = std::make_unique<KeySearch>(window_->instance, pool_, target_, seed_, budget_);
    return true;
}

bool Opening::run(const Skyline::Stop& stop) {
    bool stopped = false;
    const Skyline::Stop limited = [&](std::int64_t steps) {
        window_->left -= steps;
        steps_ -= steps;
        stopped = stopped || stop(steps);
        return stopped || window_->left <= 0;
    };
    for (;;) {
        if (!window_ && !open()) return true;
        const bool reached = window_->keys->run(target_ + 1, limited);
        if (stopped) return false;
        if (!reached) return true;
        count_ = next_;
        layout_ = std::move(window_->keys->layout);
        next_ = std::min(order_.size(), wider(next_));
        window_.reset();
    }
}

void Opening::save(Layout& layout) const {
    for (std::size_t k = 0; k < count_; ++k) layout[order_[k]] = layout_[k];
}

}  // namespace memstow::improve
