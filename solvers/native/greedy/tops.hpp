// By row, the highest end of what is placed there: enough to put an item above all that it meets, without a
// look at gaps.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "core/instance.hpp"

namespace memstow::greedy {

// A segment tree: raising a range of rows, and the highest of one, take a time that grows with the logarithm
// of the rows.
class Tops {
  public:
    explicit Tops(Index rows)
        : leaves_(static_cast<Index>(std::bit_ceil(static_cast<std::uint32_t>(std::max<Index>(1, rows))))),
          highest_(2 * static_cast<std::size_t>(leaves_), 0),
          everywhere_(highest_.size(), 0) {}

    void raise(RowRange rows, Bytes end) {
        if (rows.begin >= rows.end) return;
        each_whole(rows, [&](std::size_t node) {
            highest_[node] = std::max(highest_[node], end);
            everywhere_[node] = std::max(everywhere_[node], end);
        });
        each_around(rows, [&](std::size_t node) { highest_[node] = std::max(highest_[node], end); });
    }

    Bytes highest(RowRange rows) const {
        Bytes most = 0;
        if (rows.begin >= rows.end) return most;
        each_whole(rows, [&](std::size_t node) { most = std::max(most, highest_[node]); });
        each_around(rows, [&](std::size_t node) { most = std::max(most, everywhere_[node]); });
        return most;
    }

  private:
    std::size_t leaf(Index row) const { return static_cast<std::size_t>(leaves_) + row; }

    // The few nodes that make up these rows.
    template <class See>
    void each_whole(RowRange rows, See see) const {
        for (std::size_t low = leaf(rows.begin), high = leaf(rows.end); low < high; low /= 2, high /= 2) {
            if (low % 2 == 1) see(low++);
            if (high % 2 == 1) see(--high);
        }
    }

    // All nodes that have the first of these rows, or the last, among others: those that have more than these
    // rows, and some that are part of a whole one, of which as much is true.
    template <class See>
    void each_around(RowRange rows, See see) const {
        std::size_t low = leaf(rows.begin) / 2, high = leaf(rows.end - 1) / 2;
        for (; low != high; low /= 2, high /= 2) {
            see(low);
            see(high);
        }
        for (; low > 0; low /= 2) see(low);
    }

    Index leaves_;                   // a power of two
    std::vector<Bytes> highest_;     // by node, heap order: in any of its rows
    std::vector<Bytes> everywhere_;  // by node: in all of its rows at least
};

}  // namespace memstow::greedy
