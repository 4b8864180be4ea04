// Prices of room in rows, for choices of ways and their bounds.
#pragma once

#include <vector>

#include "assign/cheap_ways.hpp"

namespace memstow::assign {

// What all items cost with prices, each where that is the least, less what full rows pay, is a lower bound of
// all costs. Prices are where it is about the greatest.
class Prices {
  public:
    explicit Prices(const Ways& ways) : ways_(ways), price_(ways.room.size(), 0.0), load_(ways.room.size()) {}

    double of(Index row) const { return price_[row]; }
    // The cost of a way, and the price of its loads.
    double dear(Index item, Index way) const;
    // Goes along subgradients, each with a part of those before; not as far where that gains nothing.
    void rise(Budget& budget);

  private:
    double bound();

    const Ways& ways_;
    std::vector<double> price_;  // by row
    std::vector<double> load_;   // by row, where each item has its cheapest way
};

}  // namespace memstow::assign
