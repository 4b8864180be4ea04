#include "search/allowed_offsets.hpp"

#include <algorithm>

#include "core/arithmetic.hpp"

namespace memstow::search {

void forbid(std::vector<Range>& allowed, Bytes begin, Bytes end) {
    std::vector<Range> kept;
    for (const Range& range : allowed) {
        if (range.end < begin || range.begin >= end) {
            kept.push_back(range);
            continue;
        }
        if (range.begin < begin) kept.push_back({range.begin, begin - 1});
        if (range.end >= end) kept.push_back({end, range.end});
    }
    allowed.swap(kept);
}

std::vector<Range> allowed_offsets(const Instance& instance, Index item, Bytes unit) {
    const Choice& choice = instance.choices[item][0];
    const Pool& pool = instance.pools[choice.pool];
    Bytes top = 0;
    for (const Part& part : instance.parts_of(item)) top = std::max(top, part.delta + part.size);
    const Bytes low = std::max<Bytes>(0, ceil_div(choice.low, unit));
    const Bytes high = floor_div(std::min(choice.high, pool.capacity - top), unit);
    std::vector<Range> allowed;
    if (low <= high) allowed.push_back({low, high});
    for (const Range& reserved : pool.reserved) {
        for (const Part& part : instance.parts_of(item)) {
            // In bytes, since an item may end in the middle of a unit, right below the reserved range.
            forbid(allowed, floor_div(reserved.begin - part.size - part.delta, unit) + 1,
                   ceil_div(reserved.end - part.delta, unit));
        }
    }
    return allowed;
}

}  // namespace memstow::search
