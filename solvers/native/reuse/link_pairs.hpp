// Which links may share memory: never, for free, or at a cost.
#pragma once

#include <algorithm>
#include <vector>

#include "core/instance.hpp"

namespace memstow::reuse {

// Two links that may share memory, at most so many units, at a cost.
struct LinkPair {
    Index earlier;
    Index later;
    Bytes shared;
    Bytes cost;
};

class LinkPairs {
  public:
    // Instead of a pair.
    static constexpr Index kFree = -1, kApart = -2;

    // At first all are free.
    explicit LinkPairs(Index links) : links_(links), at_(at(links, 0), kFree) {}

    // Both ways: the number of the pair, or what it is instead.
    Index operator()(Index a, Index b) const { return at_[at(a, b)]; }
    const std::vector<LinkPair>& all() const { return all_; }

    void set_apart(Index a, Index b) { at_[at(a, b)] = at_[at(b, a)] = kApart; }
    void add(const LinkPair& pair) {
        at_[at(pair.earlier, pair.later)] = at_[at(pair.later, pair.earlier)] = count_of(all_);
        all_.push_back(pair);
    }

    // The pairs of these links.
    std::vector<Index> among(const std::vector<Index>& links) const {
        std::vector<Index> pairs;
        for (std::size_t a = 0; a < links.size(); ++a) {
            for (std::size_t b = a + 1; b < links.size(); ++b) {
                const Index pair = (*this)(links[a], links[b]);
                if (pair >= 0) pairs.push_back(pair);
            }
        }
        return pairs;
    }

  private:
    std::size_t at(Index a, Index b) const {
        return static_cast<std::size_t>(a) * static_cast<std::size_t>(links_) + static_cast<std::size_t>(b);
    }

    Index links_;
    std::vector<Index> at_;
    std::vector<LinkPair> all_;
};

}  // namespace memstow::reuse
