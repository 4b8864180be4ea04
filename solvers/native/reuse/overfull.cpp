#include "reuse/overfull.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace memstow::reuse {
namespace {

constexpr std::size_t kMostFound = 60;
constexpr double kNone = 1e30;
// Tries after which it gives up when none of them finds anything; one more for each link.
constexpr Index kIdle = 100;
// How much what links have paid with others counts against them, while a set grows.
constexpr double kPaidWeight = 5;
// Of tries, once it looks near sets that it has found.
constexpr double kNear = 0.8;

}  // namespace

Bytes OverfullSearch::excess_of(const Links& links) const {
    Bytes sum = -room_;
    for (const Index link : links) sum += units_[link];
    return sum;
}

// The part of what is too much that pairs take away.
double OverfullSearch::met(const Links& links, const Shares& paid) {
    const Bytes excess = excess_of(links);
    if (excess <= 0) return kNone;
    double sum = 0;
    for (std::size_t a = 0; a < links.size(); ++a) {
        for (std::size_t b = a + 1; b < links.size(); ++b) {
            const Index pair = pairs_(links[a], links[b]);
            if (pair >= 0 && paid[pair] > 0) sum += paid[pair] * std::min(pairs_.all()[pair].shared, excess);
        }
    }
    steps_ += count_of(links) * count_of(links) / 2;
    return sum / excess;
}

void OverfullSearch::look_closer() {
    looks_near_ = true;
    least_missing_ /= 2;
}

// A link, or some of a set that was found before.
OverfullSearch::Links OverfullSearch::begun() {
    Links links;
    if (looks_near_ && !known_.empty() && random_.unit() < kNear) {
        const double part = random_.unit();
        const auto near =
            std::next(known_.begin(), static_cast<std::ptrdiff_t>(random_.below(known_.size())));
        std::ranges::copy_if(*near, std::back_inserter(links), [&](Index) { return random_.unit() < part; });
    }
    if (links.empty()) links.push_back(static_cast<Index>(random_.below(count_)));
    return links;
}

// Adds links to some, large ones that have paid little first, until none is left that may be added.
OverfullSearch::Links OverfullSearch::grown(Links links, const Shares& paid) {
    std::vector<std::pair<Index, double>> rest;  // with what they have paid with the links so far
    for (Index link = 0; link < count_; ++link) {
        double before = 0;
        const auto may_join = [&](Index other) {
            const Index pair = pairs_(other, link);
            if (pair >= 0 && other != links.back()) before += paid[pair];
            return link != other && pair != LinkPairs::kFree;
        };
        if (std::ranges::all_of(links, may_join)) rest.emplace_back(link, before);
    }
    while (!rest.empty()) {
        const Index last = links.back();
        std::size_t pick = 0;
        double best = -1;
        for (std::size_t k = 0; k < rest.size(); ++k) {
            auto& [link, before] = rest[k];
            const Index pair = pairs_(last, link);
            if (pair >= 0) before += paid[pair];
            const double score = units_[link] * std::sqrt(random_.unit()) / (1 + kPaidWeight * before);
            if (score > best) {
                best = score;
                pick = k;
            }
        }
        steps_ += count_of(rest);
        const Index next = rest[pick].first;
        links.push_back(next);
        std::erase_if(rest, [&](const auto& entry) {
            return entry.first == next || pairs_(next, entry.first) == LinkPairs::kFree;
        });
    }
    return links;
}

// The best step: one link less, one more, or one for another.
bool OverfullSearch::better(Links& links, double& share, const Shares& paid) {
    Links best;
    double least = share - 1e-9;
    const auto look = [&](Links&& other) {
        const double value = met(other, paid);
        if (value >= least) return;
        least = value;
        best = std::move(other);
    };
    for (std::size_t k = 0; k < links.size(); ++k) {
        Links less = links;
        less.erase(less.begin() + k);
        look(std::move(less));
    }
    for (Index link = 0; link < count_; ++link) {
        if (std::find(links.begin(), links.end(), link) != links.end()) continue;
        Links more;
        for (const Index other : links) {
            if (pairs_(link, other) != LinkPairs::kFree) more.push_back(other);
        }
        if (more.size() + 1 < links.size()) continue;
        more.push_back(link);
        look(std::move(more));
    }
    if (best.empty()) return false;
    links = std::move(best);
    share = least;
    return true;
}

std::vector<OverfullSet> OverfullSearch::find(const Shares& paid, std::int64_t most_work, Budget& budget) {
    std::vector<std::pair<double, Links>> all;
    steps_ = 0;
    for (Index idle = 0; idle < kIdle + count_ && steps_ < most_work && !budget.spent(); ++idle) {
        const std::int64_t before = steps_;
        steps_ += count_;
        Links links = grown(begun(), paid);
        double share = met(links, paid);
        if (share < kNone) {
            while (better(links, share, paid)) {
            }
            std::sort(links.begin(), links.end());
            if (share < 1 - least_missing_ && known_.insert(links).second) {
                all.emplace_back(share, std::move(links));
                idle = 0;
            }
        }
        budget.count(steps_ - before);
    }
    std::sort(all.begin(), all.end());
    std::vector<OverfullSet> sets;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (k >= kMostFound) {
            known_.erase(all[k].second);
            continue;
        }
        OverfullSet set{excess_of(all[k].second), all[k].second, pairs_.among(all[k].second)};
        if (!set.pairs.empty()) sets.push_back(std::move(set));
    }
    return sets;
}

}  // namespace memstow::reuse
