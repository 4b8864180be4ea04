// The improver: lowers the height of one pool from a valid layout, for some hundred to some hundred thousand
// items. It proves nothing; it is told the bound and stops there. The only header a caller needs.
#pragma once

#include <cstdint>
#include <functional>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::improve {

struct ImproveOptions {
    Index pool = 0;        // items the start has elsewhere stay there and are not looked at
    Bytes bound = 0;       // no layout is lower: reached, the run ends
    Bytes limit = kLimit;  // with fit_only: reached, the run ends
    bool fit_only = false;
    std::uint64_t seed = 1;
    int workers = 1;
    // The same instance, start, options and work limit give the same result, whatever the machine's load.
    bool deterministic = false;
};

// Called from the worker threads, one call at a time, with lower and lower heights.
using OnImproved = std::function<void(const Layout& layout, Bytes height)>;

struct ImproveResult {
    Layout layout;  // valid; the start when nothing better was found
    Bytes height = 0;
    std::int64_t moves = 0;
};

ImproveResult improve_layout(const Instance& instance, const Layout& start, const ImproveOptions& options,
                             Budget& budget, const OnImproved& on_improved = {});

}  // namespace memstow::improve
