#include "places.hpp"

#include <algorithm>
#include <limits>
#include <memory_resource>
#include <numeric>
#include <set>
#include <vector>

namespace memstow::judge {
namespace {

using std::int64_t;
__extension__ typedef __int128 Wide;

constexpr int64_t kLimit = int64_t{1} << 62;

int64_t alignment_of(const Columns& columns, std::size_t buffer) {
    return columns.alignments.size() == 1 ? columns.alignments[0] : columns.alignments[buffer];
}

Finding finding(Defect defect, std::size_t first) { return {defect, static_cast<int64_t>(first), -1}; }

using Buffers = std::vector<std::size_t>;

// The buffers that have bytes, in the order of these times.
Buffers in_order_of(std::span<const int64_t> times, std::span<const int64_t> sizes) {
    std::vector<std::pair<int64_t, std::size_t>> keyed;
    keyed.reserve(times.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (sizes[i] > 0) keyed.emplace_back(times[i], i);
    }
    std::sort(keyed.begin(), keyed.end());
    Buffers order(keyed.size());
    std::transform(keyed.begin(), keyed.end(), order.begin(), [](const auto& pair) { return pair.second; });
    return order;
}

// Goes through the buffers by begin; before each it tells of those that have ended by then.
template <class Begin, class End>
bool sweep(const Columns& columns, const Buffers& by_begin, const Buffers& by_end, Begin begin, End end) {
    std::size_t ended = 0;
    for (const std::size_t buffer : by_begin) {
        for (; columns.ends[by_end[ended]] <= columns.begins[buffer]; ++ended) end(by_end[ended]);
        if (!begin(buffer)) return false;
    }
    return true;
}

// The number of which all alignments are multiples.
int64_t common_step(const Columns& columns) {
    int64_t step = 0;
    for (std::size_t i = 0; i < columns.sizes.size() && step != 1; ++i) {
        if (columns.sizes[i] > 0) step = std::gcd(step, alignment_of(columns, i));
    }
    return std::max<int64_t>(step, 1);
}

// The first buffer beyond the pool, or at an offset that is no multiple of its alignment.
Finding misplaced(const Columns& columns, std::span<const int64_t> offsets, int64_t capacity) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        if (offsets[i] < 0 || offsets[i] > capacity - columns.sizes[i]) return finding(Defect::place, i);
        if (offsets[i] % alignment_of(columns, i) != 0) return finding(Defect::unaligned, i);
    }
    return {};
}

// Two buffers that are live at one time and share a byte.
Finding overlapping(const Columns& columns, const Buffers& by_begin, const Buffers& by_end,
                    std::span<const int64_t> offsets) {
    // Among buffers that are apart a new one can only meet its neighbours.
    std::pmr::unsynchronized_pool_resource nodes;
    std::pmr::set<std::pair<int64_t, std::size_t>> live(&nodes);
    Finding found;
    const auto meet = [&](std::size_t below, std::size_t above) {
        if (offsets[below] + columns.sizes[below] <= offsets[above]) return false;
        found = {Defect::overlap, static_cast<int64_t>(below), static_cast<int64_t>(above)};
        return true;
    };
    sweep(
        columns, by_begin, by_end,
        [&](std::size_t buffer) {
            const auto here = live.emplace(offsets[buffer], buffer).first;
            const auto after = std::next(here);
            return !(here != live.begin() && meet(std::prev(here)->second, buffer)) &&
                   !(after != live.end() && meet(buffer, after->second));
        },
        [&](std::size_t buffer) { live.erase({offsets[buffer], buffer}); });
    return found;
}

int64_t peak_of(const Columns& columns, std::span<const int64_t> offsets) {
    int64_t peak = 0;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        if (columns.sizes[i] > 0) peak = std::max(peak, offsets[i] + columns.sizes[i]);
    }
    return peak;
}

int64_t least_peak(const Columns& columns, const Buffers& by_begin, const Buffers& by_end) {
    const int64_t step = common_step(columns);
    const auto rounded = [&](std::size_t i) { return (Wide{columns.sizes[i]} + step - 1) / step * step; };
    Wide live = 0;
    Wide most = 0;
    int64_t moment = 0;
    sweep(
        columns, by_begin, by_end,
        [&](std::size_t buffer) {
            live += rounded(buffer);
            if (live > most) {
                most = live;
                moment = columns.begins[buffer];
            }
            return true;
        },
        [&](std::size_t buffer) { live -= rounded(buffer); });
    // The topmost need not take a whole multiple.
    Wide spare = 0;
    for (const std::size_t buffer : by_begin) {
        if (columns.begins[buffer] > moment) break;
        if (columns.ends[buffer] > moment) spare = std::max(spare, rounded(buffer) - columns.sizes[buffer]);
    }
    return static_cast<int64_t>(std::min<Wide>(most - spare, std::numeric_limits<int64_t>::max()));
}

}  // namespace

Finding check_columns(const Columns& columns) {
    const std::size_t count = columns.sizes.size();
    const bool aligned = columns.alignments.size() == 1 || columns.alignments.size() == count;
    if (columns.begins.size() != count || columns.ends.size() != count || !aligned) {
        return {Defect::length, -1, -1};
    }
    for (std::size_t i = 0; i < columns.alignments.size(); ++i) {
        if (columns.alignments[i] < 1 || columns.alignments[i] > kLimit) {
            return finding(Defect::alignment, i);
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (columns.sizes[i] < 0 || columns.sizes[i] > kLimit) return finding(Defect::size, i);
        if (columns.begins[i] >= columns.ends[i]) return finding(Defect::lifetime, i);
    }
    return {};
}

Verdict judge(const Columns& columns, std::span<const int64_t> offsets, int64_t capacity) {
    Verdict verdict;
    Finding& finding = verdict.finding;
    finding = check_columns(columns);
    if (finding.defect == Defect::none && offsets.size() != columns.sizes.size()) {
        finding = {Defect::length, -1, -1};
    }
    if (finding.defect != Defect::none) return verdict;
    const Buffers by_begin = in_order_of(columns.begins, columns.sizes);
    const Buffers by_end = in_order_of(columns.ends, columns.sizes);
    verdict.least_peak = least_peak(columns, by_begin, by_end);
    finding = misplaced(columns, offsets, capacity);
    if (finding.defect == Defect::none) finding = overlapping(columns, by_begin, by_end, offsets);
    if (finding.defect == Defect::none) verdict.peak = peak_of(columns, offsets);
    return verdict;
}

}  // namespace memstow::judge
