#include "proof/chain_tree.hpp"

#include <algorithm>
#include <utility>

#include "reuse/address_bound.hpp"

namespace memstow::proof {
namespace {

constexpr reuse::Wide kMostWeight = reuse::Wide{1} << 61;  // of all links: checkers read twice as much
constexpr double kShareOfPrices = 0.875;                   // of the budget; a tree takes less
constexpr std::int64_t kTurn = 1'000'000;
constexpr std::size_t kMostNodes = 1 << 18;
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
        Bytes sum = 0;
        std::int64_t steps = count_of(open);
        for (const Possible& one : open) {
            const auto mine = std::ranges::find_if(classes_, [&](const std::vector<Index>& some) {
                steps += count_of(some);
                return std::ranges::all_of(some, [&](Index k) { return toll(one.link, k) >= one.rest; });
            });
            if (mine != classes_.end()) {
                mine->push_back(one.link);
                continue;
            }
            classes_.push_back({one.link});
            sum += one.rest;
        }
        budget_.count(steps / 4);
        return sum;
    }

    void look(std::vector<Possible> open, Bytes worth) {
        best_ = std::max(best_, worth);
        for (;; open.erase(open.begin())) {
            is_late_ = is_late_ || tree_.nodes.size() >= kMostNodes || budget_.spent();
            if (is_late_) return;
            if (worth + gain(open) <= best_) break;
            const Possible first = open[0];
            tree_.nodes.push_back(first.link);
            std::vector<Possible> rest;
            for (const Possible& one : open) {
                const Bytes left = one.rest - toll(first.link, one.link);
                if (one.link != first.link && left > 0) rest.push_back({one.link, left});
            }
            look(std::move(rest), worth + first.rest);
        }
        tree_.nodes.push_back(ChainTree::kLeaf);
    }

    ChainTree& tree_;
    const reuse::LinkPairs& pairs_;
    const std::vector<std::uint64_t>& names_;
    Budget& budget_;
    std::vector<Possible> all_;
    std::vector<std::vector<Index>> classes_;
    Bytes best_ = 0;
    bool is_late_ = false;
};

}  // namespace

ChainLimits chain_limits(const std::vector<Bytes>& units, Bytes room, const reuse::LinkPairs& pairs,
                         const std::vector<std::uint64_t>& names, const std::vector<Range>& spans,
                         std::optional<Bytes> wanted, Budget& budget) {
    ChainLimits limits;
    if (units.empty() || units.size() > kMostLinks || pairs.all().empty()) return limits;
    reuse::AddressBound addresses(units, room, pairs);
    addresses.offer(spans);
    {
        const double seconds = budget.seconds_left();
        const std::int64_t work = budget.work_limit() - budget.work();
        Budget most(seconds < 0 ? -1 : seconds * kShareOfPrices,
                    static_cast<std::int64_t>(static_cast<double>(work) * kShareOfPrices), &budget);
        while (addresses.bound() < wanted.value_or(kLimit) && !most.spent()) {
            if (addresses.done() && !(wanted && addresses.resume())) break;
            addresses.run(kTurn, most);
        }
        budget.count(most.work());
    }
    const reuse::AddressBound::Prices& best = addresses.best();
    if (best.links.empty()) return limits;
    for (std::size_t set = 0; set < best.sets.size(); ++set) {
        if (best.sets[set] > 0) limits.crowds.push_back({addresses.sets()[set].links, best.sets[set]});
    }
    reuse::Wide weight = 0;
    for (Index link = 0; link < count_of(units); ++link)
        weight += reuse::Wide{best.links[link]} * units[link];
    const auto unit = static_cast<Bytes>(weight / kMostWeight + 1);
    const auto rounded = [&](Bytes amount) { return (amount + unit / 2) / unit; };
    std::ranges::transform(best.links, std::back_inserter(limits.tree.prices), rounded);
    std::ranges::transform(best.tolls, std::back_inserter(limits.tree.tolls), rounded);
    for (Crowd& crowd : limits.crowds) crowd.price = rounded(crowd.price);
    limits.scale = std::max<Bytes>(addresses.scale() / unit, 1);
    TreeSearch search(limits.tree, pairs, names, budget);
    if (!search.build(addresses.most_worth() / unit)) limits.tree = {};
    return limits;
}

}  // namespace memstow::proof
