// The most bytes that a layout occupies at one moment.
#pragma once

#include <vector>

#include "instance.hpp"

namespace memstow {

struct Occupied {
    Bytes bytes = 0;
    Index row = -1;  // the first row with so many; -1 when nothing there has a lifetime
};

// By pool, over the rows that come from lifetimes. Bytes that several parts share count once.
std::vector<Occupied> most_occupied(const Instance& instance, const Layout& layout);

}  // namespace memstow
