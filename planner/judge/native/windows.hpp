// Whether buffers of a window of time can be laid out below a height: a complete search of the judge's own.
#pragma once

#include <cstdint>
#include <span>

namespace memstow::judge {

enum class Room {
    none,      // no layout is that low
    some,      // there is a layout
    too_much,  // to be known with so many steps
};

// Buffers of these sizes (at least 1), alive from begin to end, at any offset from 0 on, none above the
// height. Sizes add up to less than 2^62. A step looks at a buffer or at a moment.
Room room_for(std::span<const std::int64_t> sizes, std::span<const std::int64_t> begins,
              std::span<const std::int64_t> ends, std::int64_t height, std::int64_t steps);

}  // namespace memstow::judge
