// From lifetimes to rows: one row for each maximal set of parts that are live together.
#pragma once

#include <span>
#include <vector>

#include "core/instance.hpp"

namespace memstow {

struct TimeRows {
    std::vector<RowRange> ranges;     // by lifetime given: the rows it covers, never empty
    std::vector<std::int64_t> times;  // by row: the first moment at which its whole set is live
};

// Whether parts that cover these rows meet. Here, so that loops over pairs call nothing.
inline bool share_a_row(std::span<const RowRange> a, std::span<const RowRange> b) {
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i].end <= b[j].begin) {
            ++i;
        } else if (b[j].end <= a[i].begin) {
            ++j;
        } else {
            return true;
        }
    }
    return false;
}

// Near-linear. A row is opened where a life begins after another has ended: the sets in between are
// subsets of it. So there are at most as many rows as lifetimes.
TimeRows time_rows(std::span<const Lifetime> lifetimes);

}  // namespace memstow
