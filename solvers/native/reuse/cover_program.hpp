// A linear program that covers links by chains at the least cost, in floating point: its prices are only a
// proposal. Columns are added as they are found, and so are rows: more that is needed.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::reuse {

class CoverProgram {
  public:
    // What a column has of a row.
    struct Entry {
        Index row;
        double amount;
    };
    // Each link needs so many chains; what is missing costs so much each. There are `most` chains at most:
    // the row after those of links counts them.
    CoverProgram(std::vector<double> needs, std::vector<double> caps, double most, std::uint32_t seed);

    // A column with a mark of 0 or more is never forgotten.
    void add(const std::vector<Entry>& entries, double cost, Index mark = kForgettable);
    static constexpr Index kForgettable = -1;
    // More rows that need so much, all of them short of it now, and what each column has of them.
    void add_rows(const std::vector<double>& needs, const std::vector<double>& caps,
                  const Lists<Entry>& more);
    // Ends after so many steps of the simplex method, at the optimum, or when it can make no progress.
    // Returns whether at the optimum.
    bool solve(std::int64_t most_steps, Budget& budget);

    bool stuck() const { return stuck_; }  // by rounding: more steps are of no use

    std::int64_t steps() const { return steps_; }  // so far
    double value() const;
    // A chain is of no use where its prices are worth more than it costs by less than this.
    double tolerance() const { return tolerance_; }
    const std::vector<double>& prices() const { return prices_; }  // by row; that of a chain more is below 0
    Index column_count() const { return columns_.size(); }
    std::span<const Entry> column(Index column) const { return columns_[column]; }
    Index mark(Index column) const { return marks_[column]; }
    // Columns that are used now, and how much.
    std::vector<std::pair<Index, double>> used() const;

  private:
    Index column_id(Index column) const { return rows_ * 2 + column; }
    double reduced_cost(Index id) const;
    Index entering();
    void list_candidates();
    void find_direction(Index id);
    bool rebuild();
    bool step(Index id);
    void forget();

    double tolerance_;
    Index chains_;  // the row that counts chains
    Index rows_;
    std::vector<double> needs_, caps_;
    Lists<Entry> columns_;
    std::vector<Index> marks_;
    std::vector<double> costs_;
    std::vector<char> in_basis_;  // by id
    // Ids: what is missing of a row, what is too much (of chains: what is missing), then columns.
    std::vector<Index> basis_;
    std::vector<double> inverse_, at_, prices_, direction_;
    std::vector<Index> candidates_;  // ids that may lower the value
    std::vector<Index> filled_;      // rows where the row of the last step is not 0
    std::int64_t since_rebuilt_ = 0, steps_ = 0;
    bool stuck_ = false;
};

}  // namespace memstow::reuse
