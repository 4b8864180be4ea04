#include "cheapest.hpp"

#include <algorithm>

#include "../bounds.hpp"
#include "../improve/improve.hpp"
#include "../search/exact.hpp"

namespace memstow {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// Steps of the first search; where it does not answer the next one may take twice as many.
constexpr std::int64_t kFirstEffort = 500'000;
// What one search may take when a core is made smaller: what cannot be shown quickly is kept.
constexpr std::int64_t kShrinkEffort = 200'000;
constexpr std::int64_t kNearbyFirst = 20'000;
constexpr std::size_t kMostLayouts = 64;
// Looking for a heavy clique takes time with the square of the items.
constexpr Index kMostInClique = 512;
constexpr std::int64_t kCliqueNodes = 2'000;
constexpr std::size_t kTables = std::size_t{16} << 20;

Bytes sum_of(const std::vector<Bytes>& values) {
    Bytes sum = 0;
    for (const Bytes value : values) sum += value;
    return sum;
}

std::vector<Bytes> weights_of(const Costs& costs) {
    std::vector<Bytes> weights;
    for (const ReuseCost& pair : costs.pairs) weights.push_back(pair.cost);
    return weights;
}

Cheapest::Offsets offsets_of(const Layout& layout) {
    Cheapest::Offsets offsets;
    for (const Place& place : layout) offsets.push_back(place.offset);
    return offsets;
}

}  // namespace

Cheapest::Cheapest(Instance instance, std::uint64_t seed)
    : instance_(std::move(instance)),
      costs_(costs_of(instance_)),
      weights_(weights_of(costs_)),
      nearby_(instance_, costs_, seed),
      seed_(seed) {}

ElementSet Cheapest::all_but(const ElementSet& pairs) const {
    ElementSet rest;
    for (Index k = 0; k < static_cast<Index>(weights_.size()); ++k) {
        if (!std::binary_search(pairs.begin(), pairs.end(), k)) rest.push_back(k);
    }
    return rest;
}

void Cheapest::learn(const Offsets& offsets) {
    Known known{offsets, costs_.fixed, 0, {}};
    for (const Part& part : instance_.parts) {
        known.top = std::max(known.top, offsets[at(part.item)] + part.delta + part.size);
    }
    for (std::size_t k = 0; k < costs_.pairs.size(); ++k) {
        const Part& a = instance_.parts[at(costs_.pairs[k].first)];
        const Part& b = instance_.parts[at(costs_.pairs[k].second)];
        const Bytes x = offsets[at(a.item)] + a.delta, y = offsets[at(b.item)] + b.delta;
        if (x >= y + b.size || y >= x + a.size) continue;
        known.paid.push_back(static_cast<Index>(k));
        known.cost += weights_[k];
    }
    const Known* before = best({height_}, false);
    const bool better = known.top <= height_ && (before == nullptr || known.cost < before->cost);
    const Bytes cost = known.cost;
    // What another is at least as good as in both is of use only to show that pairs can be apart.
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
    if (better && events_ != nullptr && events_->value) events_->value(cost);
}

// The cheapest within the limits, or the lowest; of several the one that is better in the other too.
const Cheapest::Known* Cheapest::best(const Limits& limits, bool lowest) const {
    const Known* found = nullptr;
    const auto key = [lowest](const Known& known) {
        return lowest ? std::pair(known.top, known.cost) : std::pair(known.cost, known.top);
    };
    for (const Known& known : layouts_) {
        if (known.top > limits.height || known.cost > limits.cost) continue;
        if (found == nullptr || key(known) < key(*found)) found = &known;
    }
    return found;
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
    for (const Index pair : apart) wanted[at(pair)] = 1;
    return std::any_of(layouts_.begin(), layouts_.end(), [&](const Known& known) {
        return known.top <= height_ && std::none_of(known.paid.begin(), known.paid.end(),
                                                    [&](Index pair) { return wanted[at(pair)] != 0; });
    });
}

// Is there a layout within the height that keeps these pairs apart?
Cheapest::Answer Cheapest::ask(const ElementSet& apart, std::int64_t most_work, Budget& budget) {
    if (known_to_hold(apart)) return Answer::layout;
    const Instance asked = kept_apart(instance_, costs_, apart);
    if (find_clique(asked, budget)) {
        ++refuted_;
        dead_ = clique_;
        return Answer::none;
    }
    ExactOptions options;
    options.limit = height_;
    options.fit_only = true;
    options.memory = kTables;
    options.seed = seed_;
    Budget part(-1, most_work, &budget);
    const ExactResult result = solve_exact(asked, options, part);
    budget.count(part.work());
    if (result.status == ExactStatus::infeasible) {
        ++refuted_;
        dead_ = result.dead;
        return Answer::none;
    }
    if (result.status == ExactStatus::unknown) return Answer::unknown;
    learn(offsets_of(result.layout));
    return Answer::layout;
}

// Whether there are items that must all be apart and are larger together than the height.
bool Cheapest::find_clique(const Instance& asked, Budget& budget) {
    clique_.clear();
    const Index n = instance_.item_count();
    if (n > kMostInClique) return false;
    budget.count(std::int64_t{n} * n * 8);
    const std::vector<bool> all(instance_.pools.size(), true);
    const LiveBound bound = clique_bound(asked, all, 1, kCliqueNodes, height_);
    if (bound.bytes <= height_) return false;
    for (const Index part : bound.parts) clique_.push_back(instance_.parts[at(part)].item);
    std::sort(clique_.begin(), clique_.end());
    clique_.erase(std::unique(clique_.begin(), clique_.end()), clique_.end());
    return true;
}

ElementSet Cheapest::pairs_among(const ElementSet& apart, std::vector<Index> items) const {
    std::sort(items.begin(), items.end());
    const auto among = [&](Index part) {
        return std::binary_search(items.begin(), items.end(), instance_.parts[at(part)].item);
    };
    ElementSet found;
    for (const Index k : apart) {
        if (among(costs_.pairs[at(k)].first) && among(costs_.pairs[at(k)].second)) found.push_back(k);
    }
    return found;
}

// The pairs within the clique, once it is without the items that it can do without; those of most pairs go
// first.
ElementSet Cheapest::within_clique(const ElementSet& apart) const {
    std::vector<Index> items = clique_;
    ElementSet pairs = pairs_among(apart, items);
    const auto size = [&](Index item) {
        Bytes largest = 0;
        for (const Part& part : instance_.parts_of(item)) largest = std::max(largest, part.size);
        return largest;
    };
    Bytes sum = 0;
    for (const Index item : items) sum += size(item);
    for (;;) {
        std::vector<Index> degree(instance_.parts.size(), 0);
        for (const Index k : pairs) {
            ++degree[at(instance_.parts[at(costs_.pairs[at(k)].first)].item)];
            ++degree[at(instance_.parts[at(costs_.pairs[at(k)].second)].item)];
        }
        const auto key = [&](Index item) { return std::pair(degree[at(item)], -size(item)); };
        auto drop = items.end();
        for (auto item = items.begin(); item != items.end(); ++item) {
            if (sum - size(*item) <= height_) continue;
            if (drop == items.end() || key(*item) > key(*drop)) drop = item;
        }
        if (drop == items.end()) return pairs;
        sum -= size(*drop);
        items.erase(drop);
        pairs = pairs_among(pairs, items);
    }
}

// A part of these pairs, of which it is known that they cannot all be apart, that cannot either.
ElementSet Cheapest::shrunk(ElementSet apart, Budget& budget) {
    if (!clique_.empty()) return within_clique(apart);
    std::vector<Index> items = dead_;
    if (items.empty()) {
        for (Index i = 0; i < instance_.item_count(); ++i) items.push_back(i);
    }
    items = dead_set(kept_apart(instance_, costs_, apart), items, height_, budget, kShrinkEffort).items;
    apart = pairs_among(apart, items);
    const auto dies = [&](const ElementSet& some) {
        if (known_to_hold(some)) return false;
        ExactOptions options;
        options.limit = height_;
        options.fit_only = true;
        options.memory = kTables;
        Budget part(-1, kShrinkEffort, &budget);
        const ExactResult result =
            solve_exact(restrict_to(kept_apart(instance_, costs_, some), items), options, part);
        budget.count(part.work());
        return result.status == ExactStatus::infeasible;
    };
    for (std::size_t chunk = (apart.size() + 1) / 2; chunk >= 1; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
        for (std::size_t from = 0; from < apart.size() && !budget.spent();) {
            const std::size_t to = std::min(apart.size(), from + chunk);
            ElementSet rest(apart.begin(), apart.begin() + static_cast<std::ptrdiff_t>(from));
            rest.insert(rest.end(), apart.begin() + static_cast<std::ptrdiff_t>(to), apart.end());
            if (dies(rest)) {
                apart = std::move(rest);
            } else {
                from = to;
            }
        }
    }
    return apart;
}

// These pairs cannot all be apart: which of them, and which of the rest, and so on.
void Cheapest::find_cores(ElementSet apart, Budget& budget) {
    for (const std::int64_t until = budget.work() + effort_; budget.work() < until && !budget.spent();) {
        const ElementSet core = shrunk(apart, budget);
        if (core.empty()) {
            none_ = true;
            return;
        }
        cores_.push_back({core, height_});
        std::erase_if(apart, [&](Index k) { return std::binary_search(core.begin(), core.end(), k); });
        if (ask(apart, effort_, budget) != Answer::none) return;
    }
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

Layout Cheapest::layout_of(const Known& known) const {
    Layout layout;
    for (const Bytes offset : known.offsets) layout.push_back({instance_.choices[0][0].pool, offset});
    return layout;
}

// Lowers the lowest layout known, whatever it costs then.
void Cheapest::improve(Bytes height, bool fit_only, Bytes bound, Budget& budget) {
    const Known* known = best({}, true);
    if (known == nullptr) return;
    improver::ImproveOptions options;
    options.pool = instance_.choices[0][0].pool;
    options.deterministic = true;
    options.bound = bound;
    options.limit = height;
    options.fit_only = fit_only;
    options.seed = seed_;
    const improver::ImproveResult result =
        improver::improve(instance_, layout_of(*known), options, budget, {});
    if (result.height < known->top) learn(offsets_of(result.layout));
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
        effort_ *= 2;
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
        bound_ = costs_.fixed;
        none_ = false;
        effort_ = kFirstEffort;
    }
    find_any(budget);
    std::int64_t nearby = kNearbyFirst;
    while (!settled(enough) && !budget.spent()) {
        search_nearby(nearby, std::max(enough.value_or(0), bound_), budget);
        if (settled(enough) || budget.spent()) break;
        const std::int64_t searched = budget.work();
        std::vector<ElementSet> sets;
        for (const Core& core : cores_) {
            if (core.height >= height_) sets.push_back(core.pairs);
        }
        const HittingSet paid = cheapest_hitting_set(sets, weights_, bound_ - costs_.fixed, effort_, budget);
        budget.count(paid.steps);
        raise_bound(paid.bound + costs_.fixed);
        if (settled(enough)) break;
        const ElementSet apart = all_but(paid.chosen);
        const Answer answer = ask(apart, effort_, budget);
        if (answer == Answer::none) {
            find_cores(apart, budget);
        } else {
            effort_ *= 2;
        }
        nearby = std::max(kNearbyFirst, budget.work() - searched);
    }
}

Cheapest::Found Cheapest::found(const Limits& limits, bool lowest, Bytes bound) const {
    Found result;
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
    return result;
}

Cheapest::Found Cheapest::cheapest(Bytes height, std::optional<Bytes> enough, Budget& budget,
                                   const Events& events) {
    events_ = &events;
    decide(height, enough, budget);
    events_ = nullptr;
    return found({height}, false, bound_);
}

// Of the pairs that the lowest layout known keeps apart, none needs to be given up to lower it further,
// perhaps.
void Cheapest::press(const Limits& limits, Bytes bound, std::int64_t most_work, Budget& budget) {
    const Known* known = best(limits, true);
    if (known == nullptr || known->top <= bound) return;
    ExactOptions options;
    options.bound = bound;
    options.limit = limits.height;
    options.memory = kTables;
    options.seed = seed_;
    options.start = layout_of(*known);
    Budget part(-1, most_work, &budget);
    const ExactResult result =
        solve_exact(kept_apart(instance_, costs_, all_but(known->paid)), options, part);
    budget.count(part.work());
    if (!result.layout.empty() && result.height < known->top) learn(offsets_of(result.layout));
}

// The exact search for the lowest layout whatever it costs; returns the bound on its height.
Bytes Cheapest::search_all(Bytes height, Bytes bound, Budget& budget, const Events& events) {
    ExactOptions options;
    options.bound = bound;
    options.limit = height;
    options.seed = seed_;
    const Known* known = best({height}, true);
    if (known != nullptr) options.start = layout_of(*known);
    ExactEvents told;
    if (events.value) told.incumbent = [&](const Layout&, Bytes value) { events.value(value); };
    if (events.bound) told.bound = [&](Bytes proven, std::int64_t) { events.bound(proven); };
    const ExactResult result = solve_exact(instance_, options, budget, told);
    refuted_ += static_cast<std::int64_t>(result.refuted.size());
    if (result.status == ExactStatus::infeasible) {
        height_ = height;
        none_ = true;
        dead_ = result.dead;
    } else if (result.status != ExactStatus::unknown) {
        learn(offsets_of(result.layout));
    }
    return result.bound;
}

// The same, with turns for the improver where the search alone does not get to the end.
Bytes Cheapest::ignore_costs(Bytes height, Bytes bound, Budget& budget, const Events& events) {
    for (std::int64_t work = kFirstEffort; !budget.spent() && !none_; work *= 4) {
        Budget search(-1, work, &budget);
        bound = search_all(height, bound, search, events);
        budget.count(search.work());
        const Known* known = best({height}, true);
        const Bytes before = known == nullptr ? height + 1 : known->top;
        if (before <= bound) break;
        Budget nearby(-1, work / 2, &budget);
        improve(height, false, bound, nearby);
        budget.count(nearby.work());
        known = best({height}, true);
        if (known != nullptr && known->top < before && events.value) events.value(known->top);
    }
    return bound;
}

Cheapest::Found Cheapest::lowest(const Limits& limits, Bytes bound, Budget& budget, const Events& events) {
    if (limits.cost >= costs_.fixed + sum_of(weights_)) {
        bound = ignore_costs(limits.height, bound, budget, events);
        return found(limits, true, bound);
    }
    std::int64_t work = kFirstEffort;
    Bytes told = std::numeric_limits<Bytes>::max();
    const auto top = [&] {
        const Known* known = best(limits, true);
        if (known == nullptr) return limits.height + 1;
        if (known->top < told && events.value) events.value(told = known->top);
        return known->top;
    };
    // Heights below `bound` are refuted; each is tried for a while, the least one and the middle in turns.
    while (bound < top() && !budget.spent()) {
        press(limits, bound, work, budget);
        for (const bool middle : {false, true}) {
            const Bytes high = top();
            if (bound >= high || budget.spent()) break;
            const Bytes height = middle ? bound + (high - 1 - bound) / 2 : bound;
            Budget part(-1, work, &budget);
            decide(height, limits.cost, part);
            budget.count(part.work());
            if ((none_ || bound_ > limits.cost) && height >= bound) {
                bound = height + 1;
                if (events.bound && bound <= top()) events.bound(bound);
            }
        }
        work *= 2;
    }
    return found(limits, true, bound);
}

}  // namespace memstow
