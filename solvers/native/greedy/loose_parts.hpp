// Lives of parts by their rows, in a tree of a few arrays: finds those that share a row with others, without
// a list of pairs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/instance.hpp"

namespace memstow::greedy {

class LooseParts {
  public:
    struct Life {
        RowRange rows;
        Index part;
    };

    LooseParts() = default;
    explicit LooseParts(std::vector<Life> lives) : lives_(std::move(lives)) {
        std::sort(lives_.begin(), lives_.end(),
                  [](const Life& a, const Life& b) { return a.rows.begin < b.rows.begin; });
        std::vector<Index> ends;
        for (const Life& life : lives_) ends.push_back(life.rows.end);
        while (ends.size() > 1) {
            std::vector<Index> latest;
            for (std::size_t i = 0; i < ends.size(); i += kFanOut) {
                const auto last = ends.begin() + std::min(i + kFanOut, ends.size());
                latest.push_back(*std::max_element(ends.begin() + i, last));
            }
            ends = latest;
            latest_.push_back(std::move(latest));
        }
    }

    // Calls `see` with the part of each life that shares one of these rows.
    template <class See>
    void meet(RowRange rows, See see) const {
        const auto last = std::partition_point(lives_.begin(), lives_.end(),
                                               [&](const Life& life) { return life.rows.begin < rows.end; });
        visit(latest_.size(), 0, last - lives_.begin(), rows.begin, see);
    }

  private:
    static constexpr std::size_t kFanOut = 16;

    // Of the node at this level, 0 for a single life, the lives that are among the first `count` and end
    // after the row.
    template <class See>
    void visit(std::size_t level, std::size_t node, std::size_t count, Index row, const See& see) const {
        if (level == 0) {
            if (node < count && lives_[node].rows.end > row) see(lives_[node].part);
            return;
        }
        if (latest_[level - 1][node] <= row) return;
        std::size_t width = 1;  // of a child, in lives
        for (std::size_t below = 1; below < level; ++below) width *= kFanOut;
        for (std::size_t child = kFanOut * node; child < kFanOut * (node + 1) && child * width < count;
             ++child) {
            visit(level - 1, child, count, row, see);
        }
    }

    std::vector<Life> lives_;                 // by the begin of their rows
    std::vector<std::vector<Index>> latest_;  // by level: by node, the last end of the lives below
};

// How many of these pairs of lives share a row.
inline std::size_t meetings(const std::vector<LooseParts::Life>& lives) {
    std::vector<Index> begins, ends;
    for (const LooseParts::Life& life : lives) {
        begins.push_back(life.rows.begin);
        ends.push_back(life.rows.end);
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    std::size_t count = 0, ended = 0;
    for (std::size_t i = 0; i < begins.size(); ++i) {
        while (ends[ended] <= begins[i]) ++ended;
        count += i - ended;
    }
    return count;
}

}  // namespace memstow::greedy
