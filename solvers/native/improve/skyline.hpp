// Orders items by building a layout from the ground up: always at the lowest stretch of the skyline that the
// placed items make over the rows, and there for the row with the fewest items that fit. Knows sizes and rows
// only; the order is then decoded by a placer that honours everything else.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/instance.hpp"
#include "core/random.hpp"
#include "improve/ground.hpp"

namespace memstow::improve {

// About e^x for x from -1 to 1, but the same on every machine, unlike the library's.
inline double growth(double x) { return (2 + x) / (2 - x); }

class Skyline {
  public:
    // Every item has exactly one choice, all of the same pool.
    explicit Skyline(const Instance& instance);

    std::vector<double> keys(int rule, double noise, Random& random) const;
    // Items with higher keys come first; `height` is what rows should not exceed. Fills order, ends and top.
    // False when told to stop, which it asks now and then with the steps made since.
    using Stop = std::function<bool(std::int64_t steps)>;
    bool run(const std::vector<double>& keys, Bytes height, std::vector<Index>& order, const Stop& stop);
    // Whether what it builds is a valid layout as it is, when no item ends up above its window.
    bool exact() const { return exact_; }
    // The layout of the last run; empty when it is not valid.
    Layout layout(Index pool) const;
    Bytes top = 0;
    std::vector<Bytes> ends;  // by item: where it ended

    struct Box {
        Index begin;
        Index end;
        Bytes size;
        Index item;
        const Choice* choice;
    };
    const std::vector<Box>& boxes() const { return boxes_; }

  private:
    void restart();
    std::span<const Index> list_candidates(const Ground::Stretch& on);
    Index scarcest_row(const Ground::Stretch& on, std::span<const Index> candidates, Bytes height);
    Index choose(const Ground::Stretch& on, std::span<const Index> candidates,
                 const std::vector<double>& keys, Bytes height);
    Bytes put(Index at, Bytes floor);
    Index alive(Index box);

    const Instance& instance_;
    std::vector<Box> boxes_;        // by begin
    std::vector<Index> first_box_;  // by row: the first box that begins there or later
    std::vector<Bytes> load_;       // by row
    std::vector<Index> next_alive_;
    std::vector<Bytes> remainder_;
    bool exact_ = true;
    std::vector<Index> loose_;  // items without rows of lifetimes
    Ground ground_;
    // Of the stretch at hand: the boxes that fit, and by row how many more do than in the row before. Both
    // are as long as they can ever be.
    std::vector<Index> candidates_;
    std::vector<Index> covers_;
    std::int64_t steps_ = 0;  // since it last asked whether to stop
};

}  // namespace memstow::improve
