// Lower bounds from windows of rows. Lifetimes are clipped to a window. What spans all of it conflicts with
// everything in it, so that it may as well be at the bottom, where it adds its size. What is left is a small
// problem: when a complete search of it runs dry at some height, no layout of the whole is that low.
#pragma once

#include <cstdint>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::search {

struct WindowBound {
    Bytes bound = 0;           // no layout is lower; 0: no window shows more than was known
    RowRange rows{0, 0};       // the window
    std::vector<Index> parts;  // that need so much there, ascending
    std::int64_t nodes = 0;    // of the search that ran dry
};

// The best bound above `bound` that small windows around the fullest rows show, in an instance of one pool.
// `height`, of a known layout: no window can show more. What windows know nothing of (ranges of offsets,
// groups, several lifetimes, listed conflicts, pairs that may share) is left out, which lowers the bound.
// Nothing in it looks at a clock but to end: the work decides. A single question takes some milliseconds.
WindowBound window_bound(const Instance& instance, Bytes bound, Bytes height, Budget& budget);

}  // namespace memstow::search
