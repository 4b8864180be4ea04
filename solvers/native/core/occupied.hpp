// The most bytes that a layout occupies at one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/instance.hpp"

namespace memstow {

struct Occupied {
    Bytes bytes = 0;
    std::optional<std::int64_t> time;  // the first with that many bytes; none where nothing has a lifetime
};

// By pool, over the lifetimes. Bytes that several parts share count once.
std::vector<Occupied> most_occupied(const Instance& instance, const Layout& layout);

}  // namespace memstow
