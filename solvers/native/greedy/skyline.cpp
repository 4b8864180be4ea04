#include "greedy/skyline.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "greedy/placer.hpp"

namespace memstow::greedy {

namespace {

class Skyline {
  public:
    Skyline(const Instance& instance, const std::vector<double>& priority)
        : instance_(instance),
          priority_(priority),
          floor_(instance.row_count, 0),
          raised_(instance.row_count + 1, 0),
          resting_(instance.row_count, 0),
          least_(instance.item_count(), 0),
          left_(instance.item_count()),
          layout_(instance.item_count()) {
        std::iota(left_.begin(), left_.end(), 0);
        for (const Index item : left_) refresh(item);
    }

    Layout run(Bytes give_up_above, const Budget& budget) {
        while (!left_.empty()) {
            rise();
            if (level_ == kLimit) return {};
            while (!at_level_.empty()) {
                if (budget.out_of_time()) return {};
                const Index item = next();
                if (level_ > std::min(give_up_above, kLimit) - size(item)) return {};
                settle(item);
            }
            std::erase_if(left_, [&](Index item) { return layout_[item].offset != kUnplaced; });
        }
        return std::move(layout_);
    }

  private:
    Bytes size(Index item) const { return instance_.parts[item].size; }

    bool meet(Index a, Index b) const {
        for (const RowRange& x : instance_.rows[a]) {
            for (const RowRange& y : instance_.rows[b]) {
                if (x.begin < y.end && y.begin < x.end) return true;
            }
        }
        return false;
    }

    void refresh(Index item) {
        Bytes floor = 0;
        for (const RowRange& rows : instance_.rows[item]) {
            for (Index row = rows.begin; row < rows.end; ++row) floor = std::max(floor, floor_[row]);
        }
        least_[item] = align_up(instance_.choices[item][0], floor).value_or(kLimit);
    }

    // To the lowest offset of any item. What is placed ends above the level, so that until nothing can rest
    // there any more no other item is at it.
    void rise() {
        // Up to each row, how many have risen.
        Index before = 0;
        for (Index& rows : raised_) before = std::exchange(rows, before) + before;
        level_ = kLimit;
        for (const Index item : left_) {
            const bool is_stale = std::ranges::any_of(instance_.rows[item], [&](const RowRange& rows) {
                return raised_[rows.begin] != raised_[rows.end];
            });
            if (is_stale) refresh(item);
            level_ = std::min(level_, least_[item]);
        }
        std::fill(raised_.begin(), raised_.end(), 0);
        std::fill(resting_.begin(), resting_.end(), 0);
        at_level_.clear();
        for (const Index item : left_) {
            if (least_[item] != level_) continue;
            at_level_.push_back(item);
            add_resting(item, 1);
        }
    }

    void add_resting(Index item, Index count) {
        for (const RowRange& rows : instance_.rows[item]) {
            for (Index row = rows.begin; row < rows.end; ++row) resting_[row] += count;
        }
    }

    // Of what can rest at the level, the item that is in the way of the fewest others somewhere.
    Index next() const {
        Index best = -1;
        Index fewest = 0;
        for (const Index item : at_level_) {
            Index fewest_here = count_of(left_) + 1;
            for (const RowRange& rows : instance_.rows[item]) {
                for (Index row = rows.begin; row < rows.end; ++row) {
                    fewest_here = std::min(fewest_here, resting_[row]);
                }
            }
            if (best < 0 || fewest_here < fewest ||
                (fewest_here == fewest && priority_[item] > priority_[best])) {
                best = item;
                fewest = fewest_here;
            }
        }
        return best;
    }

    void settle(Index item) {
        layout_[item] = {0, level_};
        for (const RowRange& rows : instance_.rows[item]) {
            std::fill(floor_.begin() + rows.begin, floor_.begin() + rows.end, level_ + size(item));
            std::fill(raised_.begin() + rows.begin, raised_.begin() + rows.end, 1);
        }
        std::erase_if(at_level_, [&](Index other) {
            if (other != item && !meet(item, other)) return false;
            add_resting(other, -1);
            return true;
        });
    }

    const Instance& instance_;
    const std::vector<double>& priority_;
    std::vector<Bytes> floor_;    // by row: the top of what is placed
    std::vector<Index> raised_;   // by row: 1 where it has risen since the last level
    std::vector<Index> resting_;  // by row: items that can rest at the level
    std::vector<Bytes> least_;    // by item, at the last level
    std::vector<Index> left_;     // not placed, by number
    Bytes level_ = 0;
    std::vector<Index> at_level_;  // by number
    Layout layout_;
};

}  // namespace

bool can_skyline(const Instance& instance) {
    if (instance.pools.size() != 1 || !instance.pools[0].reserved.empty() || !instance.exempt.empty() ||
        count_of(instance.parts) != instance.item_count()) {
        return false;
    }
    const bool shifted = std::any_of(instance.parts.begin(), instance.parts.end(),
                                     [](const Part& part) { return part.delta != 0; });
    return !shifted && std::ranges::none_of(instance.choices.all(), &Choice::is_bounded);
}

Layout skyline(const Instance& instance, const std::vector<double>& priority, Bytes give_up_above,
               const Budget& budget) {
    return Skyline(instance, priority).run(give_up_above, budget);
}

}  // namespace memstow::greedy
