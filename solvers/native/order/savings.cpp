#include "order/savings.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace memstow::order {
namespace {

constexpr Bytes kNone = std::numeric_limits<Bytes>::min() / 2;

// A matching that grows by the path that adds the most, until none adds any: the best one of each size in
// turn.
class Matching {
  public:
    explicit Matching(std::span<const InPlace> pairs) : pairs_(pairs), used_(pairs.size(), false) {
        for (const InPlace& pair : pairs) {
            sources_.push_back(pair.source);
            targets_.push_back(pair.target);
        }
        for (auto* ends : {&sources_, &targets_}) {
            std::sort(ends->begin(), ends->end());
            ends->erase(std::unique(ends->begin(), ends->end()), ends->end());
        }
    }

    Bytes most() {
        Bytes total = 0;
        while (const Bytes gain = grow()) total += gain;
        return total;
    }

  private:
    static std::size_t number(const std::vector<Index>& ends, Index end) {
        return std::lower_bound(ends.begin(), ends.end(), end) - ends.begin();
    }

    // Longest paths (Bellman and Ford) from free sources to free targets, over pairs that are not used
    // forwards and pairs that are used backwards.
    Bytes grow() {
        std::vector<Bytes> at_source(sources_.size(), 0), at_target(targets_.size(), kNone);
        std::vector<std::size_t> to_source(sources_.size(), pairs_.size()), to_target(targets_.size());
        for (std::size_t p = 0; p < pairs_.size(); ++p) {
            if (used_[p]) at_source[number(sources_, pairs_[p].source)] = kNone;
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t p = 0; p < pairs_.size(); ++p) {
                const std::size_t s = number(sources_, pairs_[p].source);
                const std::size_t t = number(targets_, pairs_[p].target);
                if (!used_[p] && at_source[s] != kNone && at_source[s] + pairs_[p].bytes > at_target[t]) {
                    at_target[t] = at_source[s] + pairs_[p].bytes;
                    to_target[t] = p;
                    changed = true;
                } else if (used_[p] && at_target[t] != kNone &&
                           at_target[t] - pairs_[p].bytes > at_source[s]) {
                    at_source[s] = at_target[t] - pairs_[p].bytes;
                    to_source[s] = p;
                    changed = true;
                }
            }
        }
        return take(at_target, to_source, to_target);
    }

    Bytes take(std::vector<Bytes>& at_target, const std::vector<std::size_t>& to_source,
               const std::vector<std::size_t>& to_target) {
        for (std::size_t p = 0; p < pairs_.size(); ++p) {
            if (used_[p]) at_target[number(targets_, pairs_[p].target)] = kNone;
        }
        const auto best = std::max_element(at_target.begin(), at_target.end());
        const Bytes gain = best == at_target.end() ? 0 : std::max<Bytes>(*best, 0);
        if (gain == 0) return 0;
        std::size_t t = best - at_target.begin();
        for (;;) {
            const std::size_t forward = to_target[t];
            used_[forward] = true;
            const std::size_t back = to_source[number(sources_, pairs_[forward].source)];
            if (back == pairs_.size()) return gain;
            used_[back] = false;
            t = number(targets_, pairs_[back].target);
        }
    }

    std::span<const InPlace> pairs_;
    std::vector<bool> used_;
    std::vector<Index> sources_, targets_;
};

}  // namespace

Bytes most_saved(std::span<const InPlace> pairs) {
    bool star = true;
    Bytes most = 0;
    for (const InPlace& pair : pairs) {
        star = star && pair.target == pairs.front().target;
        most = std::max(most, pair.bytes);
    }
    return star ? most : Matching(pairs).most();
}

}  // namespace memstow::order
