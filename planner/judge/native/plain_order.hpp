// Judges an order of buffers of one pool that have a lifetime each: which of them are above which, whatever
// their sizes are. Some may be pinned, and pairs may conflict whenever they live.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "places.hpp"

namespace memstow::judge {

class PlainOrder {
  public:
    // Buffer i is above `below[start[i]]` to, but not including, `below[start[i + 1]]`. Nothing where that is
    // no list for each buffer, names what is no buffer, or is above itself in a circle.
    static std::optional<PlainOrder> of(std::span<const std::int64_t> start,
                                        std::span<const std::int64_t> below);

    std::size_t count() const { return start_.size() - 1; }

    struct Pair {
        std::size_t low, high;
    };

    // Whether of every two buffers that have bytes and live at one time, or are a pair of `conflicts`, one
    // begins at or after the end of the other, at every size: it is above it, or above one that is, and so
    // on. The columns are valid, and as many; of a pair either may be first.
    bool keeps_apart(const Columns& columns, std::span<const Pair> conflicts) const;

    // The peak where each buffer is as low as what it is above of and its alignment allow, or where its pin
    // says: `pins` has an offset for each buffer, below 0 where it is free, or nothing at all. Nothing where
    // a buffer ends beyond the capacity, an offset is above 2^62, or a pin is not aligned, or below the end
    // of what the buffer is above of.
    std::optional<std::int64_t> peak(const Columns& columns, std::span<const std::int64_t> pins,
                                     std::int64_t capacity) const;

  private:
    std::span<const std::size_t> below(std::size_t buffer) const {
        return {below_.data() + start_[buffer], below_.data() + start_[buffer + 1]};
    }
    std::vector<Pair> neighbours(const Columns& columns, std::span<const std::size_t> place) const;

    std::vector<std::size_t> start_, below_;
    std::vector<std::size_t> sequence_;  // each after all that it is above of
};

}  // namespace memstow::judge
