// Sets of links that take more together than there is, and of which no two share memory unless their pair
// pays: what is too much has to be shared by their pairs. Looks for sets whose pairs pay too little in the
// solution of a linear program.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "core/random.hpp"
#include "reuse/link_pairs.hpp"

namespace memstow::reuse {

struct OverfullSet {
    Bytes excess;              // units
    std::vector<Index> links;  // ascending
    std::vector<Index> pairs;  // all that the set has
};

// Of what is too much, what a pair of the set that is paid takes away at most.
inline Bytes relief(const OverfullSet& set, const LinkPair& pair) {
    return pair.shared < set.excess ? pair.shared : set.excess;
}

class OverfullSearch {
  public:
    // Of all there are `room` units.
    OverfullSearch(const std::vector<Bytes>& units, Bytes room, const LinkPairs& pairs)
        : units_(units), pairs_(pairs), room_(room), count_(count_of(units)) {}

    // Sets that were not found before and whose pairs take away clearly too little, worst first. `paid`: by
    // pair, the share that is paid.
    std::vector<OverfullSet> find(const std::vector<double>& paid, std::int64_t most_work, Budget& budget);
    // From now on it looks near the sets that it has found as well, and for those that miss less.
    void look_closer();

  private:
    // Pairs that take away all but a smaller part of what is too much are left alone.
    static constexpr double kMissing = 0.03;

    using Links = std::vector<Index>;
    using Shares = std::vector<double>;  // by pair
    Bytes excess_of(const Links& links) const;
    double met(const Links& links, const Shares& paid);
    Links begun();
    Links grown(Links links, const Shares& paid);
    bool better(Links& links, double& share, const Shares& paid);

    const std::vector<Bytes>& units_;
    const LinkPairs& pairs_;
    Bytes room_;
    Index count_;
    std::set<Links> known_;
    double least_missing_ = kMissing;
    bool looks_near_ = false;
    std::int64_t steps_ = 0;
    Random random_{1};
};

}  // namespace memstow::reuse
