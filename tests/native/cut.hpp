// Rectangles cut into pieces without a gap: rows are full, and the optimum is the height.
#pragma once

#include <utility>
#include <vector>

#include "core/instance.hpp"
#include "core/random.hpp"
#include "core/rows.hpp"

namespace cut {

using namespace memstow;

struct Box {
    std::int64_t begin, end;
    Bytes low, high;
};

inline Instance instance_of(const std::vector<Box>& boxes) {
    Instance in;
    in.pools.push_back({kLimit, {}});
    std::vector<Lifetime> lives;
    for (const Box& box : boxes) {
        lives.push_back({box.begin, box.end});
        in.choices.add({0, 1, 0, 0, kLimit - (box.high - box.low), 0});
        in.parts.push_back({in.item_count(), 0, box.high - box.low});
        in.item_parts.push_back(static_cast<Index>(in.parts.size()));
    }
    const TimeRows rows = time_rows(lives);
    for (const RowRange& range : rows.ranges) {
        in.rows.values.push_back(range);
        in.rows.close();
    }
    in.row_count = in.time_rows = static_cast<Index>(rows.times.size());
    return in;
}

// A rectangle cut into pieces: the optimum is its height, and a greedy layout does not find it.
inline Instance rectangle(std::uint64_t seed, Index count, Bytes height) {
    Random random(seed);
    std::vector<Box> boxes{{0, 4 * count, 0, height}};
    while (static_cast<Index>(boxes.size()) < count) {
        Box& box = boxes[random.below(boxes.size())];
        Box other = box;
        const auto cut = [&](std::int64_t from, std::int64_t to) {
            return from + 1 +
                   static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(to - from - 1)));
        };
        if (random.below(2) == 0) {
            if (box.end - box.begin < 2) continue;
            box.end = other.begin = cut(box.begin, box.end);
        } else {
            if (box.high - box.low < 2) continue;
            box.high = other.low = cut(box.low, box.high);
        }
        boxes.push_back(other);
    }
    return instance_of(boxes);
}

}  // namespace cut
