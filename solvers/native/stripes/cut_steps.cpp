#include "stripes/cut_steps.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <ranges>

#include "core/bounds.hpp"

namespace memstow::stripes {
namespace {

// Where parts run again or wait, there is all between two steps: so many of these are told apart.
constexpr Cost kBetween = 8;
constexpr std::size_t kMostSums = 6;
constexpr std::size_t kMostSteps = 24;

std::int64_t share_of(std::int64_t all, std::int64_t share, std::int64_t shares) {
    return static_cast<std::int64_t>(WideBytes{all} * share / shares);
}

void add(Steps& steps, Cost cost, Bytes bytes) {
    if (bytes >= steps.back().bytes) return;
    if (cost > steps.back().cost)
        steps.push_back({cost, bytes});
    else
        steps.back().bytes = bytes;
}

// Whether the step in the middle is below the line from the one before to the one after.
bool is_below(const Step& before, const Step& middle, const Step& after) {
    return WideBytes{before.bytes - middle.bytes} * (after.cost - before.cost) >
           WideBytes{before.bytes - after.bytes} * (middle.cost - before.cost);
}

}  // namespace

bool Step::is_as(const Step& other) const {
    return bytes == other.bytes && on_ways == other.on_ways && beside_read == other.beside_read &&
           beside_next == other.beside_next && beside_gone == other.beside_gone;
}

const Step& step_at(const Steps& steps, Cost cost) {
    return *std::prev(std::ranges::upper_bound(steps, cost, {}, &Step::cost));
}

std::vector<Cost> few_of(std::vector<Cost> costs, std::size_t most) {
    std::ranges::sort(costs);
    costs.erase(std::ranges::unique(costs).begin(), costs.end());
    if (costs.size() <= most + 1) return costs;
    // The one that is the least above what is left before it goes next, of several the cheapest.
    using Gap = std::pair<Cost, std::size_t>;
    std::priority_queue<Gap, std::vector<Gap>, std::greater<>> gaps;
    std::vector<std::size_t> before(costs.size()), after(costs.size());
    for (std::size_t i = 1; i < costs.size(); ++i) {
        before[i] = i - 1;
        after[i - 1] = i;
        if (i > 1) gaps.emplace(costs[i] - costs[i - 1], i);
    }
    std::vector<bool> is_gone(costs.size());
    for (std::size_t left = costs.size(); left > most + 1;) {
        const auto [gap, i] = gaps.top();
        gaps.pop();
        if (is_gone[i] || gap != costs[i] - costs[before[i]]) continue;
        is_gone[i] = true;
        --left;
        const std::size_t next = after[i];
        if (next == 0) continue;
        before[next] = before[i];
        after[before[i]] = next;
        gaps.emplace(costs[next] - costs[before[next]], next);
    }
    std::vector<Cost> few;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        if (!is_gone[i]) few.push_back(costs[i]);
    }
    return few;
}

Cost most_of(const std::vector<Cost>& few, std::size_t i) {
    return i + 1 < few.size() ? few[i + 1] - 1 : kLimit - 1;
}

Steps in_parts(const Steps& steps, Cost first) {
    if (steps.size() < 2) return steps;
    Steps hull;
    for (const Step& step : steps) {
        while (hull.size() > 1 && !is_below(hull[hull.size() - 2], hull.back(), step)) hull.pop_back();
        hull.push_back(step);
    }
    Steps all{steps.front()};
    for (std::size_t i = 0; i + 1 < hull.size(); ++i) {
        const Cost cost = hull[i + 1].cost - hull[i].cost;
        const Bytes saved = hull[i].bytes - hull[i + 1].bytes;
        for (Cost share = 0; share < kBetween; ++share) {
            // Until the next one begins.
            const Cost begin = hull[i].cost + share_of(cost, share, kBetween);
            const Cost end = hull[i].cost + share_of(cost, share + 1, kBetween);
            const Bytes bytes = hull[i].bytes - share_of(saved, share + 1, kBetween);
            if (end > first) add(all, std::max(begin, first), bytes);
        }
    }
    add(all, std::max(first, hull.back().cost), hull.back().bytes);
    return all;
}

Bytes Line::bytes(Cost cost) const {
    const WideBytes left = WideBytes{least} - WideBytes{price} * cost;
    return left > 0 ? static_cast<Bytes>((left + scale - 1) / scale) : 0;
}

Steps above(const std::vector<Line>& lines, const Steps& steps) {
    if (lines.empty()) return steps;
    std::vector<Cost> costs;
    for (const Step& step : steps) costs.push_back(step.cost);
    for (const Line& line : lines) {
        for (std::int64_t share = 1; share <= kBetween; ++share) {
            costs.push_back(share_of(line.end(), share, kBetween) + 1);
        }
    }
    costs = few_of(std::move(costs), kMostSteps);
    Steps all;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        const Cost most = most_of(costs, i);
        Step step = step_at(steps, most);
        step.cost = costs[i];
        for (const Line& line : lines) step.bytes = std::max(step.bytes, line.bytes(most));
        for (Bytes& bytes : step.beside_next) bytes = std::max(bytes, step.bytes);
        if (all.empty() || !all.back().is_as(step)) all.push_back(std::move(step));
    }
    return all;
}

bool Savings::let_wait(std::vector<Cost> adds) {
    if (adds == adds_) return false;
    adds_ = std::move(adds);
    savings_.clear();
    for (const Step& step : steps_) savings_.push_back(of(step));
    return true;
}

std::vector<Cost> Savings::costs() const {
    std::vector<Cost> costs;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        for (const Saving& saving : savings_[i]) {
            if (saving.cost < kLimit - steps_[i].cost) costs.push_back(steps_[i].cost + saving.cost);
        }
    }
    return few_of(std::move(costs), kMostSteps);
}

Bytes Savings::least(Cost cost, std::optional<std::size_t> read) const {
    Bytes least = kLimit;
    for (std::size_t i = 0; i < steps_.size() && steps_[i].cost <= cost; ++i) {
        const std::vector<Bytes>& beside_read = steps_[i].beside_read;
        const bool is_known = read && *read < beside_read.size();
        const Bytes bytes = is_known ? beside_read[*read] : steps_[i].bytes;
        const auto next = std::ranges::upper_bound(savings_[i], cost - steps_[i].cost, {}, &Saving::cost);
        least = std::min(least, bytes - std::prev(next)->bytes);
    }
    return std::max<Bytes>(least, 0);
}

// What runs again on the way of one that waits may be a part of what adds to the cost in this step.
Savings::OfStep Savings::of(const Step& step) const {
    std::vector<std::pair<Cost, const Waiting*>> by_cost;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        const Cost more = std::max<Cost>(waiting_[i].on_way - step.cost, 0);
        if (more < kLimit - adds_[i]) by_cost.emplace_back(adds_[i] + more, &waiting_[i]);
    }
    std::ranges::sort(by_cost);
    OfStep all{{0, 0}};
    const auto save = [&](Cost adds, Bytes copied, Bytes bytes) {
        if (kCopies * copied < kLimit - adds) all.push_back({adds + kCopies * copied, bytes});
    };
    std::vector<Bytes> sums{0};  // of some of those so far
    Bytes piece = kLimit;
    bool is_split = false;
    for (std::size_t i = 0; i < by_cost.size(); ++i) {
        const auto& [adds, one] = by_cost[i];
        piece = std::min(piece, one->piece);
        is_split = is_split || one->piece < one->size || sums.size() > kMostSums;
        if (!is_split) {
            for (std::size_t k = sums.size(); k-- > 0;)
                sums.push_back(std::min(step.bytes, sums[k] + one->size));
            std::ranges::sort(sums);
            sums.erase(std::ranges::unique(sums).begin(), sums.end());
        }
        if (i + 1 < by_cost.size() && by_cost[i + 1].first == adds) continue;
        if (!is_split) {
            for (const Bytes sum : sums | std::views::drop(1)) save(adds, sum, sum);
            continue;
        }
        // Any share of it, but for less than a piece.
        for (std::int64_t share = 0; share < kBetween; ++share) {
            const Bytes copied = std::max(piece, share_of(step.bytes, share, kBetween));
            save(adds, copied, share_of(step.bytes, share + 1, kBetween));
        }
    }
    std::ranges::sort(all, {}, &Saving::cost);
    Bytes bytes = 0;
    for (Saving& one : all) bytes = one.bytes = std::max(bytes, one.bytes);
    return all;
}

}  // namespace memstow::stripes
