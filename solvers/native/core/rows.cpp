#include "core/rows.hpp"

#include <algorithm>
#include <numeric>

namespace memstow {

TimeRows time_rows(std::span<const Lifetime> lifetimes) {
    const std::size_t n = lifetimes.size();
    std::vector<std::size_t> by_begin(n);
    std::iota(by_begin.begin(), by_begin.end(), std::size_t{0});
    std::sort(by_begin.begin(), by_begin.end(),
              [&](std::size_t a, std::size_t b) { return lifetimes[a].begin < lifetimes[b].begin; });
    std::vector<std::int64_t> ends(n);
    for (std::size_t i = 0; i < n; ++i) ends[i] = lifetimes[i].end;
    std::sort(ends.begin(), ends.end());

    TimeRows result;
    result.ranges.resize(n);
    std::size_t ended = 0;
    bool ended_since_row = true;  // the first life opens the first row
    for (std::size_t i : by_begin) {
        const std::int64_t begin = lifetimes[i].begin;
        for (; ended < n && ends[ended] <= begin; ++ended) ended_since_row = true;
        if (ended_since_row) {
            result.times.push_back(begin);
            ended_since_row = false;
        }
        // Lives that begin in one row before anything ends belong to the same set: its moment is the last
        // begin.
        result.times.back() = begin;
        result.ranges[i].begin = count_of(result.times) - 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const auto after = std::lower_bound(result.times.begin(), result.times.end(), lifetimes[i].end);
        result.ranges[i].end = after - result.times.begin();
    }
    return result;
}

}  // namespace memstow
