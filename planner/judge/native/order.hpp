// Judges an order of buffers: which of them are above which, whatever their sizes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frame.hpp"

namespace memstow::judge {

class Order {
  public:
    struct Parts {
        std::span<const std::int64_t> start,
            below;                            // buffer i is above below[start[i]] to below[start[i + 1]]
        std::span<const std::int64_t> pools;  // by buffer
        std::span<const BufferPair> shared;   // each begins where the other does: pairs in place
        std::span<const std::int64_t> empty;  // buffers that are said to have no bytes at any value
    };

    // `largest`: by buffer a size that it never exceeds. Nothing where the order is not sound: numbers that
    // are none, pools that may not hold a buffer, ties, pins and alignments that contradict each other, what
    // is above a buffer at a fixed distance or in another pool, or above itself in a circle.
    static std::optional<Order> of(const Frame& frame, const Parts& parts,
                                   std::span<const std::int64_t> largest);

    // Whether of every two buffers that conflict one begins at or after the end of the other at every size:
    // it is above it, or above one that is, and so on, or they keep a distance that is large enough. False as
    // well where that would take too long to see.
    bool keeps_apart() const;

    // By pool the peak where each unit is as low as what it is above of and its alignment allow, or where its
    // pin says. Nothing where a buffer ends beyond the capacity, an offset is above 2^62, or a pin is below
    // the end of what its unit is above of.
    std::optional<std::vector<std::int64_t>> peaks(std::span<const std::int64_t> sizes) const;

  private:
    class Levels;
    class Meetings;

    Order(const Frame& frame, std::span<const std::int64_t> largest);

    bool set_above(const Parts& parts);
    bool set_units(const Parts& parts);
    bool set_starts();
    bool set_sequence();

    const Frame* frame_;
    std::vector<std::int64_t> largest_;
    std::vector<std::size_t> pools_;  // by buffer
    ListsOf<std::size_t> below_;      // by buffer
    Units units_;
    std::vector<Grid> grids_;                        // by unit, where its lowest member may begin
    std::vector<std::optional<std::int64_t>> pins_;  // by unit, where its lowest member must begin
    std::vector<std::size_t> sequence_;              // units, each after all that it is above of
};

}  // namespace memstow::judge
