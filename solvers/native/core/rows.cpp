#include "core/rows.hpp"

#include <algorithm>
#include <functional>

#include "core/ascending.hpp"

namespace memstow {

TimeRows time_rows(std::span<const Lifetime> lifetimes) {
    const std::size_t n = lifetimes.size();
    std::vector<std::int64_t> moments(n);
    const auto in_order_of = [&](std::int64_t Lifetime::* moment) {
        std::transform(lifetimes.begin(), lifetimes.end(), moments.begin(), std::mem_fn(moment));
        return ascending(moments);
    };
    const std::vector<Index> by_begin = in_order_of(&Lifetime::begin);
    const std::vector<Index> by_end = in_order_of(&Lifetime::end);

    TimeRows result;
    result.ranges.resize(n);
    std::size_t ended = 0;
    bool ended_since_row = true;  // the first life opens the first row
    for (const Index i : by_begin) {
        const std::int64_t begin = lifetimes[i].begin;
        for (; ended < n && lifetimes[by_end[ended]].end <= begin; ++ended) ended_since_row = true;
        if (ended_since_row) {
            result.times.push_back(begin);
            ended_since_row = false;
        }
        // Lives that begin in one row before anything ends belong to the same set: its moment is the last
        // begin.
        result.times.back() = begin;
        result.ranges[i].begin = count_of(result.times) - 1;
    }
    std::size_t row = 0;
    for (const Index i : by_end) {
        while (row < result.times.size() && result.times[row] < lifetimes[i].end) ++row;
        result.ranges[i].end = static_cast<Index>(row);
    }
    return result;
}

}  // namespace memstow
