// The exact front of bytes against cost of an order of operators, over all ways to cut it into stripes.
#pragma once

#include <vector>

#include "core/budget.hpp"
#include "stripes/program.hpp"

namespace memstow::stripes {

// Operators [begin, end) in strips of so many columns; by itself, or in another way, where that is 0.
struct Choice {
    Index begin = 0;
    Index end = 0;
    Place columns = 0;
    Index other = kNobody;
};

struct Point {
    Bytes bytes = 0;
    Cost cost = 0;
    std::vector<Choice> choices;
};

struct Limits {
    Cost cost = 0;        // no point costs more
    Index longest = 0;    // operators in a stripe
    Bytes least = 0;      // points that need less count as if they needed this
    Bytes most = kLimit;  // no point needs more
};

struct Front {
    std::vector<Point> points;  // ascending in bytes
    bool complete = true;       // no other way is better in both
};

Front front(const Program& program, const Limits& limits, Budget& budget);

}  // namespace memstow::stripes
