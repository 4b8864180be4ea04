#include "shapes/exact.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/arithmetic.hpp"

namespace memstow::shapes {
namespace {

constexpr std::size_t kMostStates = 200'000;
constexpr std::size_t kMostFloors = 8;  // kept for one set of items
constexpr std::int64_t kStepsAtOnce = 4'096;
// A step of work is about as long as comparing so many numbers in a row.
constexpr std::int64_t kNumbersAStep = 4;
constexpr std::int64_t kPut = 8;     // an item is placed and taken away
constexpr std::int64_t kKept = 32;   // a set of items is looked up and kept
constexpr std::int64_t kSorted = 1;  // for each number

// Sequences are tried item by item. With one pool, what is left depends on its floors alone: where the same
// items were placed before and left floors no higher, nothing new can be found. With several pools, of
// sequences that differ only in the order of items that are not in each other's way, one is tried: that where
// the smaller number is first.
class Search {
  public:
    Search(const Shaped& shaped, const std::vector<Bytes>& limits, Budget& budget)
        : shaped_(shaped),
          limits_(limits),
          budget_(budget),
          columns_(shaped.columns()),
          placed_(shaped.items(), false),
          choice_(shaped.items(), 0),
          floors_(shaped.items() * columns_ * shaped.pools, 0),
          offset_(shaped.items() * columns_),
          pool_peaks_(shaped.pools * columns_, 0),
          linked_(shaped.items()),
          cliques_of_(shaped.items()),
          looked_at_(shaped.cliques.size(), 0) {
        for (Index item = 0; item < shaped.items(); ++item) {
            for (const Link link : shaped.links[item]) linked_[item].push_back(link.other);
            std::sort(linked_[item].begin(), linked_[item].end());
            one_pool_ = one_pool_ && shaped.choices[item].size() == 1;
        }
        one_pool_ = one_pool_ && shaped.pools == 1;
        for (Index clique = 0; clique < shaped.cliques.size(); ++clique) {
            for (const Index item : shaped.cliques[clique]) cliques_of_[item].push_back(clique);
        }
    }

    Exact run() {
        Exact exact;
        const bool stays = extend();
        budget_.count(steps_);
        exact.nodes = nodes_;
        exact.complete = !stopped_;
        if (stays) {
            exact.best = Best{sequence_, choice_, objective(), true};
        }
        return exact;
    }

  private:
    Bytes* floor(Index item, Index pool) {
        return floors_.data() + (std::int64_t{item} * shaped_.pools + pool) * columns_;
    }
    Bytes* offset(Index item) { return offset_.data() + item * columns_; }
    Bytes* pool_peaks(Index pool) { return pool_peaks_.data() + pool * columns_; }

    bool linked(Index a, Index b) const {
        return std::binary_search(linked_[a].begin(), linked_[a].end(), b);
    }

    // True: all are placed, within the limits; the sequence stays as it is.
    bool extend() {
        if (count_of(sequence_) == shaped_.items()) return true;
        ++nodes_;
        if (steps_ >= kStepsAtOnce) {
            budget_.count(steps_);
            steps_ = 0;
            stopped_ = stopped_ || budget_.spent();
        }
        if (stopped_ || known()) return false;
        for (Index item = 0; item < shaped_.items(); ++item) {
            if (placed_[item] || (!one_pool_ && !in_turn(item))) continue;
            for (Index choice = 0; choice < count_of(shaped_.choices[item]); ++choice) {
                const std::size_t undo = undo_.size();
                const std::vector<Bytes> peaks = pool_peaks_;
                if (put(item, choice) && extend()) return true;
                take(item, undo, peaks);
                if (stopped_) return false;
            }
        }
        return false;
    }

    // Whether no smaller number could have changed places with those behind it.
    bool in_turn(Index item) {
        for (auto before = sequence_.rbegin(); before != sequence_.rend(); ++before) {
            ++steps_;
            if (linked(*before, item)) return true;
            if (*before > item) return false;
        }
        return true;
    }

    // Whether the item, and all that are left, may still be within the limits.
    bool put(Index item, Index number) {
        const Choice& choice = shaped_.choices[item][number];
        // The peaks are kept and restored.
        steps_ += kPut + 3 * numbers(shaped_.pools) + numbers(2);
        placed_[item] = true;
        choice_[item] = number;
        sequence_.push_back(item);
        Bytes* own = offset(item);
        const Bytes* from = floor(item, choice.pool);
        for (Index k = 0; k < columns_; ++k) {
            own[k] = std::max(from[k], choice.low);
            if (choice.modulus > 1) own[k] = align_up(own[k], choice.modulus, choice.residue);
        }
        if (own[columns_ - 1] > choice.high) return false;
        if (choice.low == choice.high) std::fill_n(own, columns_, choice.low);
        Bytes* peaks = pool_peaks(choice.pool);
        const Bytes* top = shaped_.top(item);
        for (Index k = 0; k < shaped_.points; ++k) {
            if (top[k] > 0) peaks[k] = std::max(peaks[k], own[k] + top[k]);
        }
        const std::vector<Bytes> now = objective();
        for (Index k = 0; k < shaped_.points; ++k) {
            if (now[k] > limits_[k]) return false;
        }
        for (const Link link : shaped_.links[item]) {
            if (!placed_[link.other]) raise(link.other, item, choice.pool);
        }
        return !one_pool_ || all_may_fit(item);
    }

    // What is left begins at or above the end of the item.
    void raise(Index other, Index item, Index pool) {
        steps_ += 1 + numbers(1);
        const Links::OfItem links = shaped_.links[other];
        auto link = links.begin();
        while ((*link).other != item) ++link;
        const Gap gap = shaped_.gap(*link);
        const Bytes* row = shaped_.row(gap);
        Bytes* to = floor(other, pool);
        const Bytes* own = offset(item);
        bool saved = false;
        for (Index k = 0; k < columns_; ++k) {
            const Bytes end = own[k] + row[k] + gap.distance;
            if (end <= to[k]) continue;
            if (!saved) {
                undo_.push_back({other, pool, saved_.size()});
                saved_.insert(saved_.end(), to, to + columns_);
                saved = true;
            }
            to[k] = end;
        }
    }

    void take(Index item, std::size_t undo, const std::vector<Bytes>& peaks) {
        while (undo_.size() > undo) {
            const Undo& last = undo_.back();
            std::copy_n(saved_.data() + last.from, columns_, floor(last.item, last.pool));
            saved_.resize(last.from);
            undo_.pop_back();
        }
        pool_peaks_ = peaks;
        sequence_.pop_back();
        placed_[item] = false;
    }

    // Items that pairwise conflict are a stack: those that begin at or above a floor are above it all
    // together.
    bool all_may_fit(Index item) {
        ++round_;
        for (const Link link : shaped_.links[item]) {
            if (placed_[link.other]) continue;
            for (const Index clique : cliques_of_[link.other]) {
                if (std::exchange(looked_at_[clique], round_) == round_) continue;
                if (!may_fit(clique)) return false;
            }
        }
        return true;
    }

    bool may_fit(Index clique) {
        for (Index k = 0; k < shaped_.points; ++k) {
            stack_.clear();
            steps_ += kSorted * count_of(shaped_.cliques[clique]);
            for (const Index item : shaped_.cliques[clique]) {
                const Bytes size = shaped_.top(item)[k];
                const Bytes low = std::max(floor(item, 0)[k], shaped_.choices[item][0].low);
                if (!placed_[item] && size > 0) stack_.emplace_back(low, size);
            }
            std::sort(stack_.begin(), stack_.end(), std::greater<>());
            Bytes sum = 0;
            for (const auto& [low, size] : stack_) {
                sum += size;
                if (low + sum > limits_[k]) return false;
            }
        }
        return true;
    }

    std::vector<Bytes> objective() {
        std::vector<Bytes> result;
        for (Index k = 0; k < shaped_.points; ++k) {
            Bytes sum = 0, most = 0;
            for (Index pool = 0; pool < shaped_.pools; ++pool) {
                sum += pool_peaks(pool)[k];
                most = std::max(most, pool_peaks(pool)[k]);
            }
            if (shaped_.measure == Measure::kOnePool) sum = pool_peaks(shaped_.pool)[k];
            result.push_back(shaped_.measure == Measure::kLargest ? most : sum);
        }
        return result;
    }

    // Whether the same items were placed before, without success, and left floors no higher.
    bool known() {
        if (!one_pool_) return false;
        steps_ += kKept + numbers(shaped_.items() - count_of(sequence_));
        std::string key(placed_.size(), '0');
        std::vector<Bytes> floors;
        for (Index item = 0; item < shaped_.items(); ++item) {
            if (placed_[item]) {
                key[item] = '1';
            } else {
                const Bytes* from = floor(item, 0);
                floors.insert(floors.end(), from, from + columns_);
            }
        }
        auto state = states_.find(key);
        if (state == states_.end()) {
            if (states_.size() < kMostStates) states_[key].push_back(std::move(floors));
            return false;
        }
        for (const std::vector<Bytes>& old : state->second) {
            ++steps_;
            if (std::equal(old.begin(), old.end(), floors.begin(), [](Bytes a, Bytes b) { return a <= b; }))
                return true;
        }
        if (state->second.size() < kMostFloors) state->second.push_back(std::move(floors));
        return false;
    }

    // The work of so many rows.
    std::int64_t numbers(Index rows) const { return rows * columns_ / kNumbersAStep; }

    struct Undo {
        Index item;
        Index pool;
        std::size_t from;  // in saved_
    };

    const Shaped& shaped_;
    const std::vector<Bytes>& limits_;
    Budget& budget_;
    std::int64_t columns_;
    bool one_pool_ = true;
    bool stopped_ = false;
    std::int64_t nodes_ = 0;
    std::int64_t steps_ = 0;  // not in the budget yet
    std::vector<bool> placed_;
    std::vector<Index> choice_;
    std::vector<Index> sequence_;
    std::vector<Bytes> floors_;  // by item, pool and column
    std::vector<Bytes> offset_;
    std::vector<Bytes> pool_peaks_;
    std::vector<std::vector<Index>> linked_;
    std::vector<std::vector<Index>> cliques_of_;
    std::vector<std::int64_t> looked_at_;  // by clique: the round
    std::int64_t round_ = 0;
    std::vector<std::pair<Bytes, Bytes>> stack_;
    std::vector<Undo> undo_;
    std::vector<Bytes> saved_;
    std::unordered_map<std::string, std::vector<std::vector<Bytes>>> states_;
};

}  // namespace

Exact below(const Shaped& shaped, const std::vector<Bytes>& limits, Budget& budget) {
    return Search(shaped, limits, budget).run();
}

}  // namespace memstow::shapes
