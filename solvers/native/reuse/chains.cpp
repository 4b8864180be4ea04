#include "reuse/chains.hpp"

#include <algorithm>
#include <map>

namespace memstow::reuse {
namespace {

constexpr std::size_t kMostDues = std::size_t{8} << 20;
// Chains that are merged are told apart by the link before the last, up to this many.
constexpr Index kMostMerged = 32;

}  // namespace

Chains::Chains(const ChainGraph& graph) : graph_(graph), labels_of_(graph.count) {
    std::vector<std::vector<Index>> leads(labels_of_.size());
    for (Index link = 0; link < graph.count; ++link) {
        for (Index at = graph.after.start[link]; at < graph.after.start[link + 1]; ++at) {
            leads[graph.after.values[at]].push_back(at);
            from_.push_back(link);
        }
    }
    for (const std::vector<Index>& all : leads) {
        for (const Index at : all) before_.values.push_back(at);
        before_.close();
    }
    hopes_.resize(from_.size());
    find_reached();
}

// All links that a chain may come to from a link; more than those that may be next where a pair that has
// moments in common is exempt.
void Chains::find_reached() {
    const auto words = (labels_of_.size() + 63) / 64;
    std::vector<std::vector<std::uint64_t>> sets(labels_of_.size(), std::vector<std::uint64_t>(words, 0));
    for (Index link = graph_.count; link-- > 0;) {
        std::vector<std::uint64_t>& mine = sets[link];
        for (const Index next : graph_.after[link]) {
            mine[static_cast<std::size_t>(next) / 64] |= std::uint64_t{1}
                                                         << (static_cast<std::size_t>(next) % 64);
            for (std::size_t word = 0; word < words; ++word) mine[word] |= sets[next][word];
        }
    }
    for (Index link = 0; link < graph_.count; ++link) {
        for (Index later = link + 1; later < graph_.count; ++later) {
            const auto at = static_cast<std::size_t>(later);
            if ((sets[link][at / 64] >> (at % 64) & 1) != 0) reached_.values.push_back(later);
        }
        reached_.close();
    }
    transitive_ = reached_.values.size() == graph_.after.values.size();
}

Index Chains::widest() const {
    const std::size_t square = labels_of_.size() * labels_of_.size() / 2 + 1;
    const std::size_t most = kMostDues / square;
    return most <= kMostMerged ? 0 : static_cast<Index>(std::min<std::size_t>(most - kMostMerged, 4096));
}

void Chains::clear() {
    labels_.clear();
    dues_.clear();
    dues_at_.clear();
    for (std::vector<Index>& all : labels_of_) all.clear();
}

Bytes Chains::due(Index label, Index link) const { return dues_[dues_at_[label] + link]; }

std::vector<Chains::Offer> Chains::offers(const std::vector<Bytes>& prices, Index link) const {
    std::vector<Offer> all{{prices[link], 0, -1}};
    for (const Index at : before_[link]) {
        for (const Index label : labels_of_[from_[at]]) {
            all.push_back({labels_[label].worth + prices[link] - due(label, link), hopes_[at], label});
        }
    }
    return all;
}

Index Chains::keep(const Offer& offer, Index link) {
    const Index label = count_of(labels_);
    labels_.push_back({offer.worth, link, offer.before});
    labels_of_[link].push_back(label);
    dues_at_.push_back(dues_.size() - link);
    for (Index later = link; later < graph_.count; ++later) {
        dues_.push_back(graph_.toll(link, later) + (offer.before < 0 ? 0 : due(offer.before, later)));
    }
    return label;
}

// A link that costs its price adds nothing, so that is all that it can cost: it may be left out.
Index Chains::keep_capped(const Offer& offer, Index link, const std::vector<Bytes>& prices) {
    const Index label = keep(offer, link);
    for (Index later = link; later < graph_.count; ++later) {
        Bytes& mine = dues_[dues_at_[label] + later];
        mine = std::min(mine, prices[later]);
    }
    return label;
}

// The label stands for both chains from now on: the more is their worth, and the less what each has to pay.
void Chains::merge(Index label, const Offer& offer) {
    Label& both = labels_[label];
    if (offer.worth > both.worth) {
        both.worth = offer.worth;
        both.before = offer.before;
    }
    for (Index later = both.link; later < graph_.count; ++later) {
        Bytes& mine = dues_[dues_at_[label] + later];
        mine =
            std::min(mine, graph_.toll(both.link, later) + (offer.before < 0 ? 0 : due(offer.before, later)));
    }
}

// What may come after two links that follow each other, if only tolls of links next to each other, and those
// of the first of these two with the next, had to be paid. No link takes away from it: see `keep_capped`.
void Chains::find_hopes(const std::vector<Bytes>& prices) {
    for (std::size_t at = hopes_.size(); at-- > 0;) {
        const Index first = from_[at], second = graph_.after.values[at];
        Bytes best = 0;
        for (Index next = graph_.after.start[second]; next < graph_.after.start[second + 1]; ++next) {
            const Index third = graph_.after.values[next];
            const Bytes tolls = graph_.toll(first, third) + graph_.toll(second, third);
            best = std::max(best, std::max<Bytes>(0, prices[third] - tolls) + hopes_[next]);
        }
        hopes_[at] = best;
    }
}

// Leaves the offers that may become worth more than `enough`, best first.
void Chains::sort_out(const std::vector<Bytes>& prices, Index link, Bytes enough,
                      std::vector<Offer>& all) const {
    for (Offer& offer : all) {
        const bool first = offer.before < 0;
        const bool idle = transitive_ && offer.worth <= (first ? 0 : labels_[offer.before].worth);
        if (idle || (!first && offer.worth + offer.hope <= enough)) {
            offer.hope = enough;
            continue;
        }
        Bytes more = 0;
        for (Index at = graph_.after.start[link]; at < graph_.after.start[link + 1]; ++at) {
            const Index next = graph_.after.values[at];
            const Bytes dues = graph_.toll(link, next) + (first ? 0 : due(offer.before, next));
            more = std::max(more, std::max<Bytes>(0, prices[next] - dues) + hopes_[at]);
        }
        offer.hope = offer.worth + more;
    }
    std::erase_if(all, [&](const Offer& offer) { return offer.hope <= enough; });
    std::stable_sort(all.begin(), all.end(), [](const Offer& a, const Offer& b) { return a.hope > b.hope; });
}

// Whether what may come after a label adds no more to it than to another that is worth at least as much.
bool Chains::dominated(Index label) const {
    const Label& mine = labels_[label];
    for (const Index other : labels_of_[mine.link]) {
        Bytes slack = labels_[other].worth - mine.worth;
        if (other == label || slack < 0) continue;
        for (const Index later : reached_[mine.link]) {
            const Bytes more = due(other, later) - due(label, later);
            if (more > 0) slack -= more;
            if (slack < 0) break;
        }
        if (slack >= 0) return true;
    }
    return false;
}

void Chains::drop() {
    labels_of_[labels_.back().link].pop_back();
    dues_.resize(dues_at_.back() + labels_.back().link);
    dues_at_.pop_back();
    labels_.pop_back();
}

std::vector<Index> Chains::links_to(Index label) const {
    std::vector<Index> links;
    for (; label >= 0; label = labels_[label].before) links.push_back(labels_[label].link);
    std::reverse(links.begin(), links.end());
    return links;
}

std::vector<Chain> Chains::some(const std::vector<Bytes>& prices, Bytes floor, Index width, Budget& budget) {
    clear();
    std::fill(hopes_.begin(), hopes_.end(), 0);
    for (Index link = 0; link < graph_.count && !budget.spent(); ++link) {
        std::vector<Offer> all = offers(prices, link);
        const auto kept = std::min(all.size(), static_cast<std::size_t>(width));
        std::partial_sort(all.begin(), all.begin() + kept, all.end(), [](const Offer& a, const Offer& b) {
            return a.worth != b.worth ? a.worth > b.worth : a.before < b.before;
        });
        for (std::size_t k = 0; k < kept; ++k) keep(all[k], link);
        budget.count(count_of(all) + count_of(labels_of_[link]) * (graph_.count - link) / 8);
    }
    return best_of_each(floor);
}

std::vector<Chain> Chains::most(const std::vector<Bytes>& prices, Bytes enough, Index width, Budget& budget) {
    clear();
    find_hopes(prices);
    budget.count(count_of(hopes_));
    for (Index link = 0; link < graph_.count; ++link) {
        if (budget.spent()) return {{{}, kLimit}};
        std::vector<Offer> all = offers(prices, link);
        const std::int64_t seen = count_of(all);
        sort_out(prices, link, enough, all);
        std::map<Index, Index> merged;  // by link before the last: the label
        Index kept = 0;
        for (std::size_t k = 0; k < all.size(); ++k) {
            if (kept < width) {
                const Index label = keep_capped(all[k], link, prices);
                if (dominated(label)) {
                    drop();
                } else {
                    ++kept;
                }
                continue;
            }
            const Index before = all[k].before < 0 ? -1 : labels_[all[k].before].link % kMostMerged;
            const auto known = merged.find(before);
            if (known == merged.end()) {
                merged[before] = keep_capped(all[k], link, prices);
            } else {
                merge(known->second, all[k]);
            }
        }
        budget.count(seen + count_of(all) * (graph_.count - link) / 8);
    }
    return best_of_each(enough);
}

// Of each link the chain of most worth that ends there; best first.
std::vector<Chain> Chains::best_of_each(Bytes floor) const {
    std::vector<Chain> chains;
    for (const std::vector<Index>& all : labels_of_) {
        Index best = -1;
        for (const Index label : all) {
            if (best < 0 || labels_[label].worth > labels_[best].worth) best = label;
        }
        if (best >= 0 && labels_[best].worth > floor) chains.push_back({links_to(best), labels_[best].worth});
    }
    std::stable_sort(chains.begin(), chains.end(),
                     [](const Chain& a, const Chain& b) { return a.worth > b.worth; });
    return chains;
}

}  // namespace memstow::reuse
