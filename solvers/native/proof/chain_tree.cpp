#include "proof/chain_tree.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace memstow::proof {
namespace {

constexpr reuse::Wide kMostWeight = reuse::Wide{1} << 61;  // of all links: checkers read twice as much
constexpr double kShareOfPrices = 0.875;                   // of the budget; a tree takes less
constexpr std::int64_t kTurn = 1'000'000;
constexpr double kShareOfKnown = 0.9;  // where they fail, others are looked for
constexpr int kMostTrees = 6;          // of trees, each for less than the one before where that is too large
constexpr std::size_t kMostNodes = 1 << 19;
constexpr std::size_t kFewClasses = 5;   // one of so many
constexpr std::size_t kMostLinks = 800;  // checkers read no deeper trees

class TreeSearch {
  public:
    TreeSearch(ChainTree& tree, const reuse::LinkPairs& pairs, const std::vector<std::uint64_t>& names,
               Budget& budget)
        : tree_(tree), pairs_(pairs), names_(names), budget_(budget) {
        for (Index link = 0; link < count_of(tree.prices); ++link) {
            if (tree.prices[link] > 0) all_.push_back({link, tree.prices[link]});
        }
    }

    // Whether a tree shows that no chain is worth more than `enough`, or than the best one.
    bool build(Bytes enough) {
        best_ = enough;
        is_late_ = false;
        do {
            tree_.worth = best_;
            tree_.nodes.clear();
            look(all_, 0);
        } while (!is_late_ && best_ > tree_.worth);
        return !is_late_;
    }

  private:
    struct Possible {
        Index link;
        Bytes rest;  // of its price, without tolls to what is in the chain
    };
    // Of which a chain has one.
    struct Class {
        Bytes top;  // the greatest rest
        std::vector<Index> links;
    };

    // What having both takes away; nothing is worth as much as two that are apart.
    Bytes toll(Index a, Index b) const {
        const Index pair = pairs_(a, b);
        if (pair == reuse::LinkPairs::kApart) return kLimit;
        return pair < 0 ? 0 : tree_.tolls[pair];
    }

    // What a chain gains by these at most: of those that pay their rest for each other it has one.
    Bytes gain(std::vector<Possible>& open) {
        std::sort(open.begin(), open.end(), [&](const Possible& a, const Possible& b) {
            return a.rest != b.rest ? a.rest > b.rest : names_[a.link] < names_[b.link];
        });
        classes_.clear();
        class_of_.clear();
        Bytes sum = 0;
        std::int64_t steps = count_of(open);
        for (const Possible& one : open) {
            const auto mine = std::ranges::find_if(classes_, [&](const Class& some) {
                steps += count_of(some.links);
                return std::ranges::all_of(some.links,
                                           [&](Index k) { return toll(one.link, k) >= one.rest; });
            });
            class_of_.push_back(static_cast<Index>(mine - classes_.begin()));
            if (mine != classes_.end()) {
                mine->links.push_back(one.link);
                continue;
            }
            classes_.push_back({one.rest, {one.link}});
            sum += one.rest;
        }
        budget_.count(steps / 4);
        return sum;
    }

    // Which to branch on, where all gain so much more than is left: the dearest; or where few classes with
    // few in them would have to go, the dearest of those.
    std::ptrdiff_t choose(Bytes excess) {
        std::vector<Index> order(classes_.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](Index a, Index b) {
            return reuse::Wide{classes_[a].top} * count_of(classes_[b].links) >
                   reuse::Wide{classes_[b].top} * count_of(classes_[a].links);
        });
        const std::size_t most = classes_.size() / kFewClasses;
        std::vector<char> goes(classes_.size());
        std::size_t count = 0;
        for (; excess > 0 && count <= most; ++count) {
            goes[order[count]] = 1;
            excess -= classes_[order[count]].top;
        }
        if (count > most) return 0;
        // Not the first of them if the others are enough.
        for (const Index some : order) {
            if (goes[some] == 0 || excess + classes_[some].top > 0) continue;
            goes[some] = 0;
            excess += classes_[some].top;
        }
        return std::ranges::find_if(class_of_, [&](Index some) { return goes[some] != 0; }) -
               class_of_.begin();
    }

    void look(std::vector<Possible> open, Bytes worth) {
        best_ = std::max(best_, worth);
        for (;;) {
            is_late_ = is_late_ || tree_.nodes.size() >= kMostNodes || budget_.spent();
            if (is_late_) return;
            const Bytes more = worth + gain(open);
            if (more <= best_) break;
            const auto at = open.begin() + choose(more - best_);
            const Possible first = *at;
            tree_.nodes.push_back(first.link);
            std::vector<Possible> rest;
            for (const Possible& one : open) {
                const Bytes left = one.rest - toll(first.link, one.link);
                if (one.link != first.link && left > 0) rest.push_back({one.link, left});
            }
            open.erase(at);
            look(std::move(rest), worth + first.rest);
        }
        tree_.nodes.push_back(ChainTree::kLeaf);
    }

    ChainTree& tree_;
    const reuse::LinkPairs& pairs_;
    const std::vector<std::uint64_t>& names_;
    Budget& budget_;
    std::vector<Possible> all_;
    std::vector<Class> classes_;
    std::vector<Index> class_of_;  // of what is possible, in its order
    Bytes best_ = 0;
    bool is_late_ = false;
};

using reuse::AddressPrices;
using reuse::OverfullSet;
using reuse::Wide;

Budget part_of(const Budget& budget, double share) {
    const double seconds = budget.seconds_left();
    const auto work = static_cast<double>(budget.work_limit() - budget.work());
    return Budget(seconds < 0 ? -1 : seconds * share, static_cast<std::int64_t>(work * share), &budget);
}

// These links as a set, if they can be one: no two share memory for free, and all are too much together.
std::optional<OverfullSet> overfull(const Linked& linked, std::vector<Index> links) {
    std::ranges::sort(links);
    links.erase(std::ranges::unique(links).begin(), links.end());
    if (links.empty() || links[0] < 0 || links.back() >= count_of(linked.units)) return std::nullopt;
    Wide excess = -linked.room;
    for (auto link = links.begin(); link != links.end(); ++link) {
        excess += linked.units[*link];
        const auto shares_free = [&](Index other) {
            return linked.pairs(*link, other) == reuse::LinkPairs::kFree;
        };
        if (std::any_of(links.begin(), link, shares_free)) return std::nullopt;
    }
    if (excess <= 0 || excess > kLimit) return std::nullopt;
    return OverfullSet{static_cast<Bytes>(excess), links, linked.pairs.among(links)};
}

// What prices come to, before chains are taken off.
Wide sum_of_prices(const Linked& linked, const ChainLimits& limits) {
    Wide sum = 0;
    for (const reuse::Crowd& crowd : limits.crowds) {
        Wide excess = -linked.room;
        for (const Index link : crowd.links) excess += linked.units[link];
        sum += crowd.price * excess;
    }
    for (std::size_t link = 0; link < limits.tree.prices.size(); ++link)
        sum += Wide{limits.tree.prices[link]} * linked.units[link];
    return sum;
}

// What they show that layouts pay; without a tree crowds alone do.
Bytes shown(const Linked& linked, const ChainLimits& limits) {
    const Wide sum = sum_of_prices(linked, limits) - Wide{limits.tree.worth} * linked.room;
    return sum <= 0 ? 0 : static_cast<Bytes>(std::min<Wide>((sum - 1) / limits.scale + 1, kLimit));
}

// Makes the tree that shows most, of those that are no larger than can be read: this much is the aim.
void add_tree(const Linked& linked, ChainLimits& limits, Bytes aim, Budget& budget) {
    const Wide sum = sum_of_prices(linked, limits);
    ChainTree best, tree = std::move(limits.tree);
    TreeSearch search(tree, linked.pairs, linked.names, budget);
    Bytes low = 0, high = aim;
    for (int tries = 0; low < high && tries < kMostTrees && !budget.spent(); ++tries) {
        const Wide enough = (sum - Wide{limits.scale} * (aim - 1) - 1) / std::max<Bytes>(linked.room, 1);
        if (search.build(static_cast<Bytes>(std::clamp<Wide>(enough, 0, kLimit)))) {
            best = tree;
            low = aim;
            if (tree.worth > enough) break;  // these prices show no more
        } else {
            high = aim - 1;
        }
        aim = low + (high - low + 1) / 2;
    }
    limits.tree = std::move(best);
}

// Limits by these prices, as far as they can be that, in whole numbers that checkers read; and what they are
// said to show.
std::pair<ChainLimits, Bytes> limits_by(const Linked& linked, const AddressPrices& known, Budget& budget) {
    std::vector<Bytes> prices(linked.units.size());
    for (const auto& [link, price] : known.links) {
        if (link < 0 || link >= count_of(prices)) continue;
        prices[link] = std::clamp<Bytes>(price, 0, reuse::kMostToll + 1);
    }
    Wide weight = 0;
    for (std::size_t link = 0; link < prices.size(); ++link)
        weight += Wide{prices[link]} * linked.units[link];
    const auto unit = static_cast<Bytes>(weight / kMostWeight + 1);
    const auto rounded = [&](Bytes amount) { return (amount + unit / 2) / unit; };
    ChainLimits limits;
    std::ranges::transform(prices, std::back_inserter(limits.tree.prices), rounded);
    const Wide scale = Wide{known.scale} * known.unit / linked.cell / unit;
    limits.scale = static_cast<Bytes>(std::clamp<Wide>(scale, 1, kLimit));
    std::vector<OverfullSet> sets;
    std::vector<Bytes> set_prices;
    for (const reuse::Crowd& crowd : known.crowds) {
        std::optional<OverfullSet> set = overfull(linked, crowd.links);
        if (!set || crowd.price <= 0) continue;
        sets.push_back(std::move(*set));
        set_prices.push_back(rounded(std::min(crowd.price, reuse::kMostToll)));
    }
    limits.tree.tolls = reuse::tolls_beside(linked.pairs, sets, set_prices, limits.scale);
    for (std::size_t set = 0; set < sets.size(); ++set) {
        if (set_prices[set] > 0) limits.crowds.push_back({std::move(sets[set].links), set_prices[set]});
    }
    limits.tree.worth = std::clamp<Bytes>(known.worth, 0, kLimit) / unit;
    const Bytes said = shown(linked, limits);
    add_tree(linked, limits, said, budget);
    return {std::move(limits), said};
}

// Prices that show as much as is wanted, or else what soon comes of it.
std::optional<AddressPrices> found_prices(const Linked& linked, std::optional<Bytes> wanted, Budget& budget) {
    reuse::AddressBound addresses(linked.units, linked.room, linked.pairs);
    addresses.offer(linked.spans);
    Budget most = part_of(budget, kShareOfPrices);
    while (addresses.bound() < wanted.value_or(kLimit) && !most.spent()) {
        if (addresses.done() && !(wanted && addresses.resume())) break;
        addresses.run(kTurn, most);
    }
    budget.count(most.work());
    std::optional<AddressPrices> prices = addresses.known();
    if (prices) prices->unit = linked.cell;
    return prices;
}

}  // namespace

ChainLimits chain_limits(const Linked& linked, std::optional<Bytes> wanted, const AddressPrices* known,
                         Budget& budget) {
    ChainLimits limits;
    const std::size_t links = linked.units.size();
    if (links == 0 || links > kMostLinks || linked.pairs.all().empty()) return limits;
    if (known != nullptr) {
        Budget most = part_of(budget, kShareOfKnown);
        Bytes said = 0;
        std::tie(limits, said) = limits_by(linked, *known, most);
        budget.count(most.work());
        if (said > 0 && shown(linked, limits) >= wanted.value_or(said)) return limits;
    }
    const std::optional<AddressPrices> prices = found_prices(linked, wanted, budget);
    if (!prices) return limits;
    ChainLimits others = limits_by(linked, *prices, budget).first;
    return shown(linked, others) > shown(linked, limits) ? others : limits;
}

}  // namespace memstow::proof
