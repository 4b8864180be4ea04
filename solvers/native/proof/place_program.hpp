// Bounds what units cost by the pools that they are in, where limits leave room for some of them: a linear
// program whose prices, rounded, are a leaf of a tree as docs/proofs.md has it. In floating point, but what a
// leaf shows is counted in integers.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::proof {

class PlaceProgram {
  public:
    // A unit, by its place in the list of all, and some of its pools, by theirs in its own.
    struct Part {
        Index unit;
        std::vector<Index> places;
        Bytes weight;
    };
    struct Leaf {
        Bytes bound, scale;
        std::vector<std::pair<Index, Bytes>> prices;  // by the number of the limit, ascending
    };

    // By unit, what it costs in each of its pools.
    explicit PlaceProgram(std::vector<std::vector<Bytes>> costs);

    // Another limit; they are numbered from 0.
    void add(std::vector<Part> parts, Bytes room);
    // Prices of limits, ascending, that show much; leaves take them where theirs show less.
    void suggest(Bytes scale, std::vector<std::pair<Index, Bytes>> prices);
    // Let a unit be in these pools alone, from now on.
    void restrict_to(Index unit, std::vector<Index> places);

    // Ends at the optimum, as soon as that is known to be above the target, or where there is no solution.
    void solve(Bytes target, Budget& budget);
    // Prices that show the target, or else as much as is known.
    Leaf leaf(Bytes target) const;
    // Units that are together more than one of the first limits leaves room for, though the solution has all
    // of them but for less than one: the limits with them, those first that it breaks most.
    std::vector<std::pair<Index, std::vector<Index>>> covers(Index limits) const;
    // The same limits, and by what weights and room can be divided and rounded down so that the solution
    // breaks that; those first that it breaks most.
    std::vector<std::pair<Index, Bytes>> divisors(Index limits) const;
    // A unit of which a part is in this one of its pools, and another part elsewhere; one of the first so
    // many, if there is one.
    std::optional<std::pair<Index, Index>> divided(Index first) const;
    // By unit, how much of it is in each of its pools.
    std::vector<std::vector<double>> shares() const;
    // Where each unit is if none is divided; may be unlike the limits only where there is no solution.
    std::vector<Index> places() const;

  private:
    struct Limit {
        std::vector<Part> parts;
        Bytes room;
        double unit = 1;  // what weighs 1 in its row
        bool is_active = false;
    };
    // All variables: x is 1 where a unit is in a pool, but for its cheapest pool, whose x is what is left of
    // 1; then what is left of the rows.
    struct Column {
        Index unit, place;  // of a row: -1, and the number of its limit, or -1
        double low, high, cost = 0;
        bool at_high = false;
        Index row = -1;  // where it is basic
    };
    struct Row {
        Index basic;
        std::vector<double> amounts;  // by column; of the basic one 1, of the others 0
        double constant, value;
    };
    enum class End : std::uint8_t { open, optimal, above, impossible };

    Index column_of(Index unit, Index place) const { return first_[unit] + place; }
    double share(Index unit, Index place) const;
    double share(const Part& part) const;
    double value(const Column& column) const;
    void add_row(const std::vector<std::pair<Index, double>>& entries, double room, double high, Index limit);
    void activate(Limit& limit, Index number);
    void keep_whole(Index unit);
    bool add_violated();
    void drop_idle();
    void set_bounds(Index column, double low, double high);
    void find_values();
    void rebuild(Budget& budget);
    End improve(double target, Budget& budget);
    bool step(Index row, bool rises);
    void pivot(Index row, Index entering);
    double objective() const;
    Bytes shown(Bytes scale, const std::vector<std::pair<Index, Bytes>>& prices) const;

    std::vector<std::vector<Bytes>> costs_;
    std::vector<std::vector<Index>> allowed_;  // by unit: where it may be now
    std::vector<Index> base_, first_;          // by unit: its cheapest place, and the column of its first
    std::vector<Index> whole_;  // by unit: the column of the row that its x are at most 1, or -1
    std::vector<Limit> limits_;
    std::vector<Leaf> suggested_;
    std::vector<Column> columns_;
    std::vector<double> reduced_;  // by column
    std::vector<Row> rows_;
    std::vector<std::pair<std::vector<std::pair<Index, double>>, double>> originals_;  // rows as they were
    std::vector<Index> slacks_;                                                        // by row as they were
    double constant_ = 0;                                                              // of the costs
    End end_ = End::open;
    Index broken_ = -1;  // a row that has no solution, and whether its value would have to rise
    bool rises_ = false;
    int pivots_ = 0;  // since it was rebuilt
};

}  // namespace memstow::proof
