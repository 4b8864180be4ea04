#include "reuse/address_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace memstow::reuse {
namespace {

// The program holds the square of this in floating point.
constexpr Index kMostParts = 800;
constexpr Bytes kFinest = 1 << 16;  // of the smallest toll of an average cost
// A chain is added only where it is worth more than what is known by this share.
constexpr double kLeastGain = 1e-5;
constexpr Index kRoundsBetweenProofs = 2;
constexpr Bytes kOldShare = 3;  // of four
constexpr std::size_t kMostAdded = 100;
constexpr std::int64_t kStepsAtOnce = 50;
// What is proven first, as a share of what the program says.
constexpr double kFirstAim = 0.95;

Wide up(Wide value, Wide by) { return value >= 0 ? (value + by - 1) / by : -(-value / by); }

}  // namespace

AddressBound::AddressBound(const Instance& instance, const Costs& costs, Bytes height) : width_(kNarrow) {
    const Pool& pool = instance.pools[instance.choices[0][0].pool];
    height = std::min(height, pool.capacity);
    rows_ = height;
    for (const Range& range : pool.reserved) {
        rows_ -= std::max<Bytes>(0, std::min(range.end, height) - std::min(range.begin, height));
    }
    done_ = costs.pairs.empty() || height >= kLimit || count_of(instance.parts) > kMostParts;
    if (done_) return;
    order_parts(instance);
    unit_ = rows_;
    for (const Part& part : instance.parts) unit_ = std::gcd(unit_, part.size);
    pairs_.emplace(count_of(order_));
    for (Index link = 0; link < count_of(order_); ++link) {
        const Index part = order_[link];
        units_.push_back(instance.parts[part].size / unit_);
        for (const Index other : costs.conflicts.near(part)) {
            if (!costs.conflicts.tieable(part, other)) pairs_->set_apart(link, link_of_[other]);
        }
    }
    for (const ReuseCost& pair : costs.pairs) {
        const auto [a, b] = std::minmax(link_of_[pair.first], link_of_[pair.second]);
        pairs_->add({a, b, std::min(units_[a], units_[b]), pair.cost});
    }
    start();
}

AddressBound::AddressBound(std::vector<Bytes> units, Bytes room, LinkPairs pairs)
    : rows_(room), units_(std::move(units)), pairs_(std::move(pairs)), width_(kNarrow) {
    done_ = pairs_->all().empty() || count_of(units_) > kMostParts;
    if (!done_) start();
}

void AddressBound::order_parts(const Instance& instance) {
    const auto first_row = [&](Index part) {
        const auto ranges = instance.rows[part];
        return ranges.empty() ? -1 : ranges.front().begin;
    };
    order_.resize(instance.parts.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](Index a, Index b) { return first_row(a) < first_row(b); });
    link_of_.resize(order_.size());
    for (Index link = 0; link < count_of(order_); ++link) link_of_[order_[link]] = link;
}

void AddressBound::start() {
    graph_.count = count_of(units_);
    for (Index link = 0; link < graph_.count; ++link) {
        for (Index later = link + 1; later < graph_.count; ++later) {
            if ((*pairs_)(link, later) != LinkPairs::kApart) graph_.after.values.push_back(later);
        }
        graph_.after.close();
    }
    list_tolls();
    start_program();
    chains_.emplace(graph_);
    overfull_.emplace(units_, rows_ / unit_, *pairs_);
}

void AddressBound::list_tolls() {
    Wide sum = 0;
    for (const LinkPair& pair : pairs_->all()) sum += pair.cost;
    const Bytes average = static_cast<Bytes>(sum / count_of(pairs_->all()));
    const Bytes largest = *std::max_element(units_.begin(), units_.end());
    const Wide wanted = Wide{kFinest} * largest / std::max<Bytes>(average, 1);
    scale_ = static_cast<Bytes>(std::clamp<Wide>(wanted, 1, Wide{1} << 60));
    graph_.tolls.assign(graph_.at(graph_.count, 0), 0);
    for (Index pair = 0; pair < count_of(pairs_->all()); ++pair) {
        const LinkPair& link = pairs_->all()[pair];
        graph_.tolls[graph_.at(link.earlier, link.later)] = full_toll(pair);
    }
    sets_of_.assign(pairs_->all().size(), {});
}

// Where nothing of the cost goes to sets.
Bytes AddressBound::full_toll(Index pair) const {
    const LinkPair& link = pairs_->all()[pair];
    return toll_for(Wide{link.cost} * scale_, link);
}

void AddressBound::start_program() {
    caps_.clear();
    std::vector<double> worth(units_.size(), 0);
    double dearest = 0;
    for (const LinkPair& pair : pairs_->all()) {
        const double cost = pair.cost;
        worth[pair.earlier] += cost;
        worth[pair.later] += cost;
        dearest = std::max(dearest, cost);
    }
    std::vector<double> needs, caps;
    for (Index link = 0; link < graph_.count; ++link) {
        const double most = 2 * (worth[link] + dearest) * scale_ / units_[link];
        caps_.push_back(static_cast<Bytes>(std::min(most, static_cast<double>(kMostToll))) + 1);
        needs.push_back(units_[link]);
        caps.push_back(caps_.back());
    }
    program_.emplace(std::move(needs), std::move(caps), rows_ / unit_, seed_);
}

void AddressBound::offer(const Instance& instance, const std::vector<Bytes>& offsets) {
    if (done_) return;
    std::vector<Range> spans;
    for (const Index part : order_) {
        const Part& other = instance.parts[part];
        const Bytes begin = offsets[other.item] + other.delta;
        spans.push_back({begin, begin + other.size});
    }
    offer(spans);
}

void AddressBound::offer(const std::vector<Range>& spans) {
    if (done_) return;
    std::vector<Bytes> cuts;
    for (const Range& span : spans) cuts.push_back(span.begin);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (const Bytes address : cuts) {
        std::vector<Index> links;
        for (Index link = 0; link < graph_.count; ++link) {
            if (spans[link].begin <= address && address < spans[link].end) links.push_back(link);
        }
        add(links);
    }
}

void AddressBound::add(const std::vector<Index>& links) {
    std::vector<CoverProgram::Entry> entries;
    for (const Index link : links) entries.push_back({link, 1});
    entries.push_back({graph_.count, 1});
    const std::vector<Index> pairs = pairs_->among(links);
    for (const CoverProgram::Entry& entry : entries_of(pairs, 0)) entries.push_back(entry);
    Bytes cost = 0;
    for (const Index pair : pairs) cost += full_toll(pair);
    program_->add(entries, cost);
}

void AddressBound::add(const std::vector<Chain>& chains) {
    for (std::size_t k = 0; k < std::min(chains.size(), kMostAdded); ++k) add(chains[k].links);
}

// With the tolls that go with them.
AddressBound::Prices AddressBound::take_prices() {
    Prices prices;
    for (Index link = 0; link < graph_.count; ++link) {
        prices.links.push_back(std::clamp<Bytes>(std::llround(program_->prices()[link]), 0, caps_[link]));
    }
    for (std::size_t set = 0; set < sets_.size(); ++set) {
        const double price = program_->prices()[graph_.count + 1 + set];
        prices.sets.push_back(std::clamp<Bytes>(std::llround(price), 0, kMostToll));
    }
    set_tolls(prices);
    return prices;
}

// The bound that follows when no chain is worth more than `most`.
Bytes AddressBound::proven_by(const Prices& prices, Bytes most) const {
    Wide sum = 0;
    for (Index link = 0; link < graph_.count; ++link) sum += Wide{prices.links[link]} * units_[link];
    for (std::size_t set = 0; set < prices.sets.size(); ++set)
        sum += Wide{prices.sets[set]} * sets_[set].excess;
    const Wide least = sum - Wide{rows_ / unit_} * most;
    return least <= 0 ? 0 : static_cast<Bytes>(up(least, scale_));
}

std::optional<AddressPrices> AddressBound::known() const {
    if (best_.links.empty()) return std::nullopt;
    const auto name = [&](Index link) { return order_.empty() ? link : order_[link]; };
    AddressPrices prices{{}, {}, scale_, unit_, enough_for(best_, bound_)};
    for (Index link = 0; link < graph_.count; ++link) {
        if (best_.links[link] > 0) prices.links.emplace_back(name(link), best_.links[link]);
    }
    for (std::size_t set = 0; set < best_.sets.size(); ++set) {
        if (best_.sets[set] == 0) continue;
        Crowd crowd{{}, best_.sets[set]};
        for (const Index link : sets_[set].links) crowd.links.push_back(name(link));
        prices.crowds.push_back(std::move(crowd));
    }
    return prices;
}

// The greatest worth of a chain with which the bound still follows; below 0 when none is small enough.
Bytes AddressBound::enough_for(const Prices& prices, Bytes bound) const {
    Bytes low = -1, high = kMostToll * 1024;
    while (low < high) {
        const Bytes middle = low + (high - low + 1) / 2;
        if (proven_by(prices, middle) >= bound) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

void AddressBound::find_chains(Budget& budget) {
    const std::vector<Bytes> prices = take_prices().links;
    const double row = -program_->prices()[graph_.count];
    const auto floor = static_cast<Bytes>(row + 2 + row * kLeastGain + 2 * program_->tolerance());
    std::vector<Chain> chains;
    if (!smooth_.empty()) {
        // Prices jump about from one optimum to the next; chains that fit their average are of use for
        // longer.
        for (Index link = 0; link < graph_.count; ++link) {
            smooth_[link] = (smooth_[link] * kOldShare + prices[link] * (4 - kOldShare)) / 4;
        }
        chains = chains_->some(smooth_, 0, width_, budget);
        for (Chain& chain : chains) {
            chain.worth = 0;
            for (const Index link : chain.links) chain.worth += prices[link];
            for (const Index pair : pairs_->among(chain.links)) {
                const LinkPair& link_pair = pairs_->all()[pair];
                chain.worth -= graph_.toll(link_pair.earlier, link_pair.later);
            }
        }
        std::erase_if(chains, [&](const Chain& chain) { return chain.worth <= floor; });
    }
    if (chains.empty()) {
        chains = chains_->some(prices, floor, width_, budget);
        smooth_ = prices;
    }
    add(chains);
    if (budget.spent()) return;
    if (!chains.empty()) {
        if (++rounds_ % kRoundsBetweenProofs == 0) prove(budget);
        return;
    }
    if (width_ < kWide) {
        width_ = kWide;
    } else {
        prove(budget);
    }
}

void AddressBound::prove(Budget& budget) {
    const double value = program_->value() / scale_;
    const Bytes best = static_cast<Bytes>(std::ceil(value - 1e-6));
    if (best <= bound_) {
        strengthen(budget);
        return;
    }
    if (aim_ <= bound_ || aim_ > best) {
        aim_ = std::clamp(static_cast<Bytes>(value * kFirstAim), bound_ + 1, best);
        if (aim_ == bound_ + 1 && bound_ > 0) aim_ = bound_ + (best - bound_ + 1) / 2;
    }
    const Prices prices = take_prices();
    const Bytes enough = enough_for(prices, aim_);
    if (enough < 0 || chains_->widest() < 1) {
        done_ = true;
        return;
    }
    const std::vector<Chain> chains = chains_->most(prices.links, enough, chains_->widest(), budget);
    const Chain chain = chains.empty() ? Chain{{}, enough} : chains[0];
    if (chain.worth >= kLimit) return;
    const Bytes proven = proven_by(prices, chain.worth);
    if (proven > bound_) {
        bound_ = proven;
        best_ = prices;
    }
    // Where chains were found before and the program took no step for them, floating point has come to its
    // end.
    const bool idle = chain.worth > enough && proved_at_ == program_->steps();
    proved_at_ = program_->steps();
    if (idle) {
        strengthen(budget);
        return;
    }
    add(chains);
}

void AddressBound::run(std::int64_t work, Budget& budget) {
    // A search for chains that has begun is not given up where this turn ends.
    for (const std::int64_t until = budget.work() + work;
         !done_ && budget.work() < until && !budget.spent();) {
        if (program_->solve(kStepsAtOnce, budget)) {
            find_chains(budget);
        } else if (program_->stuck()) {
            done_ = true;
        }
    }
}

}  // namespace memstow::reuse
