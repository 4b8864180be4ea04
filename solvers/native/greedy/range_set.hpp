// A set of bytes as sorted, disjoint ranges that do not touch. Well packed memory is a few long ranges.
#pragma once

#include <algorithm>
#include <vector>

#include "core/instance.hpp"

namespace memstow::greedy {

class RangeSet {
  public:
    void insert(Range added) {
        const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), added.begin,
                                            [](const Range& r, Bytes begin) { return r.end < begin; });
        if (first == ranges_.end() || first->begin > added.end) {
            ranges_.insert(first, added);
            return;
        }
        auto last = first;
        while (last + 1 != ranges_.end() && (last + 1)->begin <= added.end) ++last;
        first->begin = std::min(first->begin, added.begin);
        first->end = std::max(last->end, added.end);
        ranges_.erase(first + 1, last + 1);
    }
    bool empty() const { return ranges_.empty(); }
    void clear() { ranges_.clear(); }
    const Range* begin() const { return ranges_.data(); }
    const Range* end() const { return ranges_.data() + ranges_.size(); }

  private:
    std::vector<Range> ranges_;
};

}  // namespace memstow::greedy
