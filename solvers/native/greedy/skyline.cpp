#include "greedy/skyline.hpp"

#include <algorithm>
#include <optional>

#include "greedy/placer.hpp"

namespace memstow::greedy {

namespace {

class Skyline {
  public:
    Skyline(const Instance& instance, const std::vector<double>& priority)
        : instance_(instance),
          priority_(priority),
          floor_(instance.row_count, 0),
          resting_(instance.row_count, 0),
          least_(instance.item_count(), 0),
          stale_(instance.item_count(), true),
          layout_(instance.item_count()) {
        for (Index item = 0; item < instance.item_count(); ++item) left_.push_back(item);
    }

    Layout run(Bytes give_up_above) {
        while (!left_.empty()) {
            const Index item = next();
            if (least_[item] > std::min(give_up_above, kLimit) - size(item)) return {};
            const Bytes end = least_[item] + size(item);
            layout_[item] = {0, least_[item]};
            for (const RowRange& rows : instance_.rows[item]) {
                std::fill(floor_.begin() + rows.begin, floor_.begin() + rows.end, end);
            }
            left_.erase(std::find(left_.begin(), left_.end(), item));
            for (const Index other : left_) {
                if (!stale_[other]) stale_[other] = meet(item, other);
            }
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
            floor =
                std::max(floor, *std::max_element(floor_.begin() + rows.begin, floor_.begin() + rows.end));
        }
        least_[item] = align_up(instance_.choices[item][0], floor).value_or(kLimit);
        stale_[item] = false;
    }

    Index next() {
        Bytes level = kLimit;
        for (const Index item : left_) {
            if (stale_[item]) refresh(item);
            level = std::min(level, least_[item]);
        }
        std::fill(resting_.begin(), resting_.end(), 0);
        for (const Index item : left_) {
            if (least_[item] != level) continue;
            for (const RowRange& rows : instance_.rows[item]) {
                for (Index row = rows.begin; row < rows.end; ++row) ++resting_[row];
            }
        }
        Index best = -1;
        Index fewest = 0;
        for (const Index item : left_) {
            if (least_[item] != level) continue;
            Index fewest_here = count_of(left_) + 1;
            for (const RowRange& rows : instance_.rows[item]) {
                fewest_here = std::min(fewest_here, *std::min_element(resting_.begin() + rows.begin,
                                                                      resting_.begin() + rows.end));
            }
            if (best < 0 || fewest_here < fewest ||
                (fewest_here == fewest && priority_[item] > priority_[best])) {
                best = item;
                fewest = fewest_here;
            }
        }
        return best;
    }

    const Instance& instance_;
    const std::vector<double>& priority_;
    std::vector<Bytes> floor_;    // by row: the top of what is placed
    std::vector<Index> resting_;  // by row: items that can rest at the level
    std::vector<Bytes> least_;    // by item
    std::vector<bool> stale_;     // by item: a row of it has risen since
    std::vector<Index> left_;
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

Layout skyline(const Instance& instance, const std::vector<double>& priority, Bytes give_up_above) {
    return Skyline(instance, priority).run(give_up_above);
}

}  // namespace memstow::greedy
