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

namespace memstow::reuse {

// Two links that may share memory, at most so many units, at a cost.
struct LinkPair {
    Index earlier;
    Index later;
    Bytes shared;
    Bytes cost;
};

struct OverfullSet {
    Bytes excess;              // units
    std::vector<Index> pairs;  // all that the set has
};

// Of what is too much, what a pair of the set that is paid takes away at most.
inline Bytes relief(const OverfullSet& set, const LinkPair& pair) {
    return pair.shared < set.excess ? pair.shared : set.excess;
}

class OverfullSearch {
  public:
    // `apart`: by link and link, whether they never share memory. Of all there are `room` units.
    OverfullSearch(const std::vector<Bytes>& units, Bytes room, const std::vector<LinkPair>& pairs,
                   const std::vector<char>& apart);

    // Sets that were not found before and whose pairs take away clearly too little, worst first. `paid`: by
    // pair, the share that is paid.
    std::vector<OverfullSet> find(const std::vector<double>& paid, std::int64_t most_work, Budget& budget);

  private:
    using Links = std::vector<Index>;
    std::size_t at(Index a, Index b) const {
        return static_cast<std::size_t>(a) * static_cast<std::size_t>(count_) + static_cast<std::size_t>(b);
    }
    Bytes excess_of(const Links& links) const;
    double met(const Links& links);
    Links grown(Index first);
    bool better(Links& links, double& share);
    OverfullSet set_of(const Links& links) const;

    const std::vector<Bytes>& units_;
    const std::vector<LinkPair>& pairs_;
    Bytes room_;
    Index count_;
    std::vector<Index> pair_at_;  // by link and link: the pair, or one of these
    static constexpr Index kApart = -1, kFree = -2;
    std::vector<double> paid_;  // by link and link
    std::set<Links> found_;
    std::int64_t steps_ = 0;
    Random random_{1};
};

}  // namespace memstow::reuse
