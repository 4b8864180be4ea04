#include "reuse/cheapest.hpp"

#include <algorithm>

#include "reuse/beside.hpp"
#include "search/exact.hpp"

namespace memstow::reuse {
namespace {

constexpr std::int64_t kNearbyFirst = 20'000;
// Before it hears again of a bound that is searched for beside it.
constexpr std::int64_t kLongestNearby = 20'000'000;
constexpr std::size_t kMostLayouts = 64;
// Work on cores after which addresses have their turns as well: a small problem is proven before.
constexpr std::int64_t kBeforeAddresses = 2'000'000;
// The share of the work that cores get while their own bound is below that of the addresses: one in so many.
constexpr std::int64_t kShareBehind = 8;

std::vector<Bytes> weights_of(const Costs& costs) {
    std::vector<Bytes> weights;
    for (const ReuseCost& pair : costs.pairs) weights.push_back(pair.cost);
    return weights;
}

}  // namespace

Cheapest::Cheapest(Instance instance, std::uint64_t seed, bool two_threads)
    : instance_(std::move(instance)),
      costs_(costs_of(instance_)),
      weights_(weights_of(costs_)),
      nearby_(instance_, costs_, seed),
      seed_(seed),
      two_threads_(two_threads) {}

ElementSet Cheapest::all_but(const ElementSet& pairs) const {
    ElementSet rest;
    for (Index k = 0; k < count_of(weights_); ++k) {
        if (!std::binary_search(pairs.begin(), pairs.end(), k)) rest.push_back(k);
    }
    return rest;
}

void Cheapest::learn(const Offsets& offsets) {
    Known known{offsets, costs_.fixed, 0, {}};
    for (const Part& part : instance_.parts) {
        known.top = std::max(known.top, offsets[part.item] + part.delta + part.size);
    }
    for (std::size_t k = 0; k < costs_.pairs.size(); ++k) {
        const Part& a = instance_.parts[costs_.pairs[k].first];
        const Part& b = instance_.parts[costs_.pairs[k].second];
        const Bytes x = offsets[a.item] + a.delta, y = offsets[b.item] + b.delta;
        if (x >= y + b.size || y >= x + a.size) continue;
        known.paid.push_back(k);
        known.cost += weights_[k];
    }
    const Known* before = best({height_}, false);
    const bool better = known.top <= height_ && (before == nullptr || known.cost < before->cost);
    const Bytes cost = known.cost;
    // A layout that another equals or beats in cost and in top only shows which pairs can be apart.
    if (layouts_.size() >= kMostLayouts) {
        const auto worse = [this](const Known& one) {
            return std::any_of(layouts_.begin(), layouts_.end(), [&](const Known& other) {
                return &other != &one && other.cost <= one.cost && other.top <= one.top &&
                       (other.cost < one.cost || other.top < one.top || &other < &one);
            });
        };
        const auto oldest = std::find_if(layouts_.begin(), layouts_.end(), worse);
        if (oldest != layouts_.end()) layouts_.erase(oldest);
    }
    layouts_.push_back(std::move(known));
    if (better && events_ != nullptr && events_->value) events_->value(cost, layouts_.back().offsets);
}

// The cheapest within the limits, or the lowest; of several the one that is better in the other too.
const Cheapest::Known* Cheapest::best(const Limits& limits, bool lowest) const {
    const Known* best_known = nullptr;
    const auto key = [lowest](const Known& known) {
        return lowest ? std::pair(known.top, known.cost) : std::pair(known.cost, known.top);
    };
    for (const Known& known : layouts_) {
        if (known.top > limits.height || known.cost > limits.cost) continue;
        if (best_known == nullptr || key(known) < key(*best_known)) best_known = &known;
    }
    return best_known;
}

bool Cheapest::settled(std::optional<Bytes> enough) const {
    if (none_) return true;
    const Known* known = best({height_}, false);
    if (known != nullptr && bound_ >= known->cost) return true;
    if (!enough) return false;
    return bound_ > *enough || (known != nullptr && known->cost <= *enough);
}

bool Cheapest::known_to_hold(const ElementSet& apart) const {
    std::vector<char> wanted(weights_.size(), 0);
    for (const Index pair : apart) wanted[pair] = 1;
    return std::any_of(layouts_.begin(), layouts_.end(), [&](const Known& known) {
        return known.top <= height_ && std::none_of(known.paid.begin(), known.paid.end(),
                                                    [&](Index pair) { return wanted[pair] != 0; });
    });
}

// Is there a layout within the height that keeps these pairs apart?
Cheapest::Answer Cheapest::ask(const ElementSet& apart, std::int64_t most_work, Budget& budget) {
    if (known_to_hold(apart)) return Answer::layout;
    const Instance instance = kept_apart(instance_, costs_, apart);
    if (find_clique(instance, budget)) {
        ++refuted_;
        dead_ = clique_;
        return Answer::none;
    }
    search::ExactOptions options;
    options.limit = height_;
    options.fit_only = true;
    options.memory = kTables;
    options.seed = seed_;
    Budget part(-1, most_work, &budget);
    const search::ExactResult result = search::solve_exact(instance, options, part);
    budget.count(part.work());
    if (result.status == search::ExactStatus::infeasible) {
        ++refuted_;
        dead_ = result.dead;
        return Answer::none;
    }
    if (result.status == search::ExactStatus::unknown) return Answer::unknown;
    learn(offsets_of(result.layout));
    return Answer::layout;
}

void Cheapest::search_nearby(std::int64_t steps, Bytes enough, Budget& budget) {
    const Known* known = best({height_}, false);
    if (known == nullptr) return;
    if (nearby_height_ != height_ || nearby_.cost() > known->cost - costs_.fixed) {
        nearby_.start(height_, known->offsets);
        nearby_height_ = height_;
    }
    const Bytes before = nearby_.cost();
    nearby_.run(steps, enough - costs_.fixed, budget);
    if (nearby_.cost() < before) learn(nearby_.offsets());
}

// The bound from what each address holds starts from the best layout known.
void Cheapest::begin_with_addresses() {
    if (addresses_) return;
    addresses_.emplace(instance_, costs_, height_);
    const Known* known = best({height_}, false);
    if (known != nullptr) addresses_->offer(instance_, known->offsets);
}

void Cheapest::search_addresses(std::int64_t work, Budget& budget) {
    begin_with_addresses();
    addresses_->run(work, budget);
    raise_bound(addresses_->bound() + costs_.fixed);
}

Cheapest::Offsets Cheapest::offsets_of(const Layout& layout) {
    Cheapest::Offsets offsets;
    for (const Place& place : layout) offsets.push_back(place.offset);
    return offsets;
}

Layout Cheapest::layout_of(const Known& known) const {
    Layout layout;
    for (const Bytes offset : known.offsets) layout.push_back({instance_.choices[0][0].pool, offset});
    return layout;
}

// Any layout within the height, or that there is none.
void Cheapest::find_any(Budget& budget) {
    while (best({height_}, false) == nullptr && !none_ && !budget.spent()) {
        if (ask({}, effort_, budget) == Answer::none) {
            none_ = true;
        } else if (best({height_}, false) == nullptr) {
            Budget part(-1, effort_, &budget);
            improve(height_, true, 0, part);
            budget.count(part.work());
        }
        effort_ = times_more(effort_, 2);
    }
    effort_ = kFirstEffort;
}

void Cheapest::raise_bound(Bytes bound) {
    if (bound <= bound_) return;
    bound_ = bound;
    const Known* known = best({height_}, false);
    if (events_ != nullptr && events_->bound && (known == nullptr || bound <= known->cost)) {
        events_->bound(bound);
    }
}

// Lowers the cost and raises its bound until they meet, or until it is clear whether it can be `enough`.
void Cheapest::decide(Bytes height, std::optional<Bytes> enough, Budget& budget) {
    if (height != height_ || effort_ == 0) {
        height_ = height;
        bound_ = core_bound_ = costs_.fixed;
        core_work_ = work_ = 0;
        addresses_.reset();
        none_ = false;
        effort_ = kFirstEffort;
    }
    find_any(budget);
    std::int64_t turn = kNearbyFirst;
    std::optional<Beside> beside;
    while (!settled(enough) && !budget.spent()) {
        const std::int64_t before = budget.work();
        for (std::int64_t left = turn; left > 0 && !settled(enough) && !budget.spent();) {
            const std::int64_t steps = beside ? std::min(left, kLongestNearby) : left;
            search_nearby(steps, std::max(enough.value_or(0), bound_), budget);
            if (beside) raise_bound(beside->bound() + costs_.fixed);
            left -= steps;
        }
        if (!beside && core_work_ > kBeforeAddresses && !settled(enough)) {
            if (two_threads_) {
                begin_with_addresses();
                beside.emplace(*addresses_, budget);
            } else {
                search_addresses(2 * turn, budget);  // these steps are shorter
            }
        }
        if (settled(enough) || budget.spent()) break;
        if (core_bound_ >= bound_ || core_work_ <= work_ / kShareBehind) {
            const std::int64_t from = budget.work();
            search_cores(enough, budget);
            core_work_ += budget.work() - from;
            turn = std::max(kNearbyFirst, budget.work() - from);
        }
        work_ += budget.work() - before;
    }
    if (!beside) return;
    beside.reset();
    raise_bound(addresses_->bound() + costs_.fixed);
}

// Raises the bound by the cheapest way to hit all cores, and asks whether it is enough to pay for that.
void Cheapest::search_cores(std::optional<Bytes> enough, Budget& budget) {
    std::vector<ElementSet> sets;
    for (const Core& core : cores_) {
        if (core.height >= height_) sets.push_back(core.pairs);
    }
    const HittingSet paid = cheapest_hitting_set(sets, weights_, core_bound_ - costs_.fixed, effort_, budget);
    budget.count(paid.steps);
    core_bound_ = std::max(core_bound_, paid.bound + costs_.fixed);
    raise_bound(core_bound_);
    if (settled(enough)) return;
    const ElementSet apart = all_but(paid.chosen);
    if (ask(apart, effort_, budget) == Answer::none) {
        find_cores(apart, budget);
    } else {
        effort_ = times_more(effort_, 2);
    }
}

Cheapest::Result Cheapest::result_within(const Limits& limits, bool lowest, Bytes bound) const {
    Result result;
    const Known* known = best(limits, lowest);
    if (known != nullptr) {
        result.offsets = known->offsets;
        result.cost = known->cost;
        result.top = known->top;
        bound = std::min(bound, lowest ? known->top : known->cost);
    }
    result.bound = bound;
    result.none = none_ && height_ >= limits.height;
    if (result.none) result.dead = dead_;
    result.refuted = refuted_;
    if (bound_ > core_bound_) result.by_addresses = addresses_->known();
    return result;
}

Cheapest::Result Cheapest::cheapest(const CheapestOptions& options, Budget& budget, const Events& events) {
    events_ = &events;
    decide(options.height, options.enough, budget);
    events_ = nullptr;
    return result_within({options.height}, false, bound_);
}

}  // namespace memstow::reuse
