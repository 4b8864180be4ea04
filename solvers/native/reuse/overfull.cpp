#include "reuse/overfull.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace memstow::reuse {
namespace {

// Pairs that take away a larger part of what is too much are left alone.
constexpr double kMet = 0.97;
constexpr std::size_t kMostFound = 60;
constexpr double kNone = 1e30;
// Tries after which it gives up when none of them finds anything; one more for each link.
constexpr Index kIdle = 100;
// How much what links have paid with others counts against them, while a set grows.
constexpr double kPaidWeight = 5;

}  // namespace

OverfullSearch::OverfullSearch(const std::vector<Bytes>& units, Bytes room,
                               const std::vector<LinkPair>& pairs, const std::vector<char>& apart)
    : units_(units), pairs_(pairs), room_(room), count_(count_of(units)), pair_at_(apart.size(), kFree) {
    for (std::size_t k = 0; k < apart.size(); ++k) {
        if (apart[k] != 0) pair_at_[k] = kApart;
    }
    for (Index k = 0; k < count_of(pairs); ++k) {
        pair_at_[at(pairs[k].earlier, pairs[k].later)] = k;
        pair_at_[at(pairs[k].later, pairs[k].earlier)] = k;
    }
    paid_.assign(apart.size(), 0);
}

Bytes OverfullSearch::excess_of(const Links& links) const {
    Bytes sum = -room_;
    for (const Index link : links) sum += units_[link];
    return sum;
}

// The part of what is too much that pairs take away.
double OverfullSearch::met(const Links& links) {
    const Bytes excess = excess_of(links);
    if (excess <= 0) return kNone;
    double sum = 0;
    for (std::size_t a = 0; a < links.size(); ++a) {
        for (std::size_t b = a + 1; b < links.size(); ++b) {
            const double paid = paid_[at(links[a], links[b])];
            if (paid > 0) {
                sum += paid * static_cast<double>(std::min({units_[links[a]], units_[links[b]], excess}));
            }
        }
    }
    steps_ += count_of(links) * count_of(links) / 2;
    return sum / static_cast<double>(excess);
}

// Adds links to the first, large ones that have paid little first, until none is left that may be added.
OverfullSearch::Links OverfullSearch::grown(Index first) {
    Links links{first};
    std::vector<std::pair<Index, double>> rest;  // what they have paid with the links so far
    for (Index link = 0; link < count_; ++link) {
        if (link != first && pair_at_[at(first, link)] != kFree) rest.emplace_back(link, 0);
    }
    while (!rest.empty()) {
        const Index last = links.back();
        std::size_t pick = 0;
        double best = -1;
        for (std::size_t k = 0; k < rest.size(); ++k) {
            auto& [link, paid] = rest[k];
            paid += paid_[at(last, link)];
            const double score =
                static_cast<double>(units_[link]) * std::sqrt(random_.unit()) / (1 + kPaidWeight * paid);
            if (score > best) {
                best = score;
                pick = k;
            }
        }
        steps_ += count_of(rest);
        const Index next = rest[pick].first;
        links.push_back(next);
        std::erase_if(
            rest, [&](const auto& it) { return it.first == next || pair_at_[at(next, it.first)] == kFree; });
    }
    return links;
}

// The best step: one link less, one more, or one for another.
bool OverfullSearch::better(Links& links, double& share) {
    Links best;
    double least = share - 1e-9;
    const auto look = [&](Links&& other) {
        const double value = met(other);
        if (value >= least) return;
        least = value;
        best = std::move(other);
    };
    for (std::size_t k = 0; k < links.size(); ++k) {
        Links less = links;
        less.erase(less.begin() + static_cast<std::ptrdiff_t>(k));
        look(std::move(less));
    }
    for (Index link = 0; link < count_; ++link) {
        int against = 0;
        Index one = -1;
        for (const Index other : links) {
            if (other != link && pair_at_[at(link, other)] != kFree) continue;
            one = other;
            if (other == link || ++against > 1) {
                against = 2;
                break;
            }
        }
        if (against > 1) continue;
        Links more = links;
        if (against == 1) std::erase(more, one);
        more.push_back(link);
        look(std::move(more));
    }
    if (best.empty()) return false;
    links = std::move(best);
    share = least;
    return true;
}

OverfullSet OverfullSearch::set_of(const Links& links) const {
    OverfullSet set{excess_of(links), {}};
    for (std::size_t a = 0; a < links.size(); ++a) {
        for (std::size_t b = a + 1; b < links.size(); ++b) {
            const Index pair = pair_at_[at(links[a], links[b])];
            if (pair >= 0) set.pairs.push_back(pair);
        }
    }
    return set;
}

std::vector<OverfullSet> OverfullSearch::find(const std::vector<double>& paid, std::int64_t most_work,
                                              Budget& budget) {
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
        paid_[at(pairs_[k].earlier, pairs_[k].later)] = paid[k];
        paid_[at(pairs_[k].later, pairs_[k].earlier)] = paid[k];
    }
    std::vector<std::pair<double, Links>> all;
    steps_ = 0;
    for (Index idle = 0; idle < kIdle + count_ && steps_ < most_work && !budget.spent(); ++idle) {
        const std::int64_t before = steps_;
        steps_ += count_;
        Links links = grown(static_cast<Index>(random_.below(static_cast<std::size_t>(count_))));
        double share = met(links);
        if (share < kNone) {
            while (better(links, share)) {
            }
            std::sort(links.begin(), links.end());
            if (share < kMet && found_.insert(links).second) {
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
            found_.erase(all[k].second);
            continue;
        }
        OverfullSet set = set_of(all[k].second);
        if (!set.pairs.empty()) sets.push_back(std::move(set));
    }
    return sets;
}

}  // namespace memstow::reuse
