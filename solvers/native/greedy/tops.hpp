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

    void raise(RowRange rows, Bytes end) { raise(1, 0, leaves_, rows, end); }
    Bytes highest(RowRange rows) const { return highest(1, 0, leaves_, rows); }

  private:
    void raise(std::size_t node, Index begin, Index end, RowRange rows, Bytes to) {
        if (rows.end <= begin || end <= rows.begin) return;
        highest_[node] = std::max(highest_[node], to);
        if (rows.begin <= begin && end <= rows.end) {
            everywhere_[node] = std::max(everywhere_[node], to);
            return;
        }
        const Index middle = begin + (end - begin) / 2;
        raise(2 * node, begin, middle, rows, to);
        raise(2 * node + 1, middle, end, rows, to);
    }
    Bytes highest(std::size_t node, Index begin, Index end, RowRange rows) const {
        if (rows.end <= begin || end <= rows.begin) return 0;
        if (rows.begin <= begin && end <= rows.end) return highest_[node];
        const Index middle = begin + (end - begin) / 2;
        return std::max({everywhere_[node], highest(2 * node, begin, middle, rows),
                         highest(2 * node + 1, middle, end, rows)});
    }

    Index leaves_;                   // a power of two
    std::vector<Bytes> highest_;     // by node, heap order: in any of its rows
    std::vector<Bytes> everywhere_;  // by node: in all of its rows at least
};

}  // namespace memstow::greedy
