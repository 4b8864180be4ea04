// Orders items by building a layout from the ground up: always at the lowest stretch of the skyline that the
// placed items make over the rows, and there for the row with the fewest items that fit. Knows sizes and rows
// only; the order is then decoded by a placer that honours everything else.
#pragma once

#include <cstdint>
#include <vector>

#include "greedy/random.hpp"
#include "instance.hpp"

namespace memstow::improver {

struct Dive {
    double noise = 0;  // of the order among the items of a row
    int rule = 0;
};

class Skyline {
  public:
    // Items that count are those with takes_part.
    Skyline(const Instance& instance, const std::vector<char>& takes_part);

    // The order; `weights` by item. What the skyline reached is `top`.
    void run(const Dive& dive, const std::vector<double>& weights, Bytes height, Random& random,
             std::vector<Index>& order);
    Bytes top = 0;
    std::int64_t steps = 0;
    std::vector<Bytes> ends;  // by item: where it ended

  private:
    struct Box {
        Index begin;
        Index end;
        Bytes size;
        Index item;
    };
    struct Segment {
        Index begin;
        Index end;
        Index left;   // -1: none
        Index right;
        Bytes floor;
        int version;
    };
    static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
    Index alive(Index box);

    const Instance& instance_;
    std::vector<Box> boxes_;          // by begin
    std::vector<Index> first_box_;    // by row: the first box that begins there or later
    std::vector<Bytes> load_;         // by row
    std::vector<Index> next_alive_;
    std::vector<Bytes> remainder_;
    std::vector<double> key_;
    std::vector<Index> loose_;        // items without rows of lifetimes
};

}  // namespace memstow::improver
