// A linear program that covers links by chains at the least cost, in floating point: its prices are only a
// proposal. Chains are added as they are found.
#pragma once

#include <cstdint>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::reuse {

class CoverProgram {
  public:
    // Each link needs so many chains; what is missing costs so much each. There are `rows` chains at most.
    CoverProgram(std::vector<double> needs, std::vector<double> caps, double rows);

    void add(const std::vector<Index>& links, double cost);
    // Ends after so many steps of the simplex method, at the optimum, or when it can make no progress.
    // Returns whether at the optimum.
    bool solve(std::int64_t most_steps, Budget& budget);

    bool stuck() const { return stuck_; }  // by rounding: more steps are of no use

    std::int64_t steps() const { return steps_; }  // so far
    double value() const;
    // A chain is of no use where its prices are worth more than it costs by less than this.
    double tolerance() const { return tolerance_; }
    const std::vector<double>& prices() const { return prices_; }  // by link; the last is minus that of a row
    Index column_count() const { return columns_.size(); }

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
    Index rows_;  // links, and one for the number of chains
    std::vector<double> needs_, caps_;
    Lists<Index> columns_;
    std::vector<double> costs_;
    std::vector<char> in_basis_;  // by id
    // Ids: what is missing of a link, what is too much (of the last row: what is missing), then columns.
    std::vector<Index> basis_;
    std::vector<double> inverse_, at_, prices_, direction_;
    std::vector<Index> candidates_;  // ids that may lower the value
    std::vector<Index> filled_;      // rows where the row of the last step is not 0
    std::int64_t since_rebuilt_ = 0, steps_ = 0;
    bool stuck_ = false;
};

}  // namespace memstow::reuse
