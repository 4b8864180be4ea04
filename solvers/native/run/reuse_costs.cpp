#include "run/reuse_costs.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "reuse/cheapest.hpp"
#include "run/stages.hpp"
#include "search/exact.hpp"

namespace memstow::run {
namespace {

using reuse::Cheapest;

// Tables of overlap costs grow with the square of this.
constexpr Index kMostInPool = 2000;
// Sums of costs must stay below 2^63; a factor of four is left.
constexpr Bytes kMostCost = Bytes{1} << 61;
// The share of the time left for a term that is not the last.
constexpr double kLevelShare = 0.8;
constexpr std::int64_t kLongerTurns = 4;
constexpr std::int64_t kLongestTurn = std::int64_t{1} << 60;

bool is_sum(TermKind kind) { return kind == TermKind::placement_cost || kind == TermKind::preference; }

// One pool: the limits that the terms so far put on its layout, and the best layout.
struct PoolRun {
    Index number;
    std::vector<Index> items;
    Cheapest search;
    Bytes height;  // allowed
    Bytes cost = kMostCost;
    Cheapest::Offsets offsets;                           // empty: none is known
    Bytes paid = 0, top = 0;                             // of the layout
    Bytes bound = 0;                                     // on the term at hand
    std::int64_t searches = 0;                           // complete ones
    std::optional<reuse::AddressPrices> by_addresses{};  // where the bound on its costs is of no search
    bool none = false;                                   // proven: it has no layout within the height
    std::vector<Index> dead{};                           // then: items that are enough for that

    PoolRun(const Instance& instance, Index pool, std::vector<Index> mine, const ReuseOptions& options)
        : number(pool),
          items(std::move(mine)),
          search(search::restrict_to(instance, items), options.seed, options.two_threads),
          height(instance.pools[pool].capacity) {}

    void take(Cheapest::Result result) {
        none = result.none;
        dead = std::move(result.dead);
        for (Index& item : dead) item = items[item];
        searches = result.refuted;
        by_addresses = std::move(result.by_addresses);
        bound = std::max(bound, result.bound);
        if (result.offsets.empty()) return;
        offsets = std::move(result.offsets);
        paid = result.cost;
        top = result.top;
    }

    void fit(Budget& budget) { take(search.cheapest({height, kMostCost}, budget, {})); }
    void lower_cost(Budget& budget, const Cheapest::Events& events) {
        take(search.cheapest({height, std::nullopt}, budget, events));
    }
    void lower_top(Budget& budget, const Cheapest::Events& events) {
        take(search.lowest({{height, cost}, bound}, budget, events));
    }
};

using Pools = std::vector<PoolRun*>;

class ReuseRun {
  public:
    ReuseRun(const Instance& instance, const ReuseOptions& options, Budget& budget, const ReuseEvents& events)
        : instance_(instance), options_(options), budget_(budget), events_(events) {
        std::vector<std::vector<Index>> items(instance.pools.size());
        for (Index item = 0; item < instance.item_count(); ++item) {
            items[instance.choices[item][0].pool].push_back(item);
        }
        for (Index pool = 0; pool < count_of(items); ++pool) {
            if (!items[pool].empty()) pools_.emplace_back(instance, pool, std::move(items[pool]), options);
        }
        for (PoolRun& pool : pools_) all_.push_back(&pool);
        if (options.start.empty()) return;
        for (PoolRun& pool : pools_) {
            Cheapest::Offsets offsets;
            for (const Index item : pool.items) offsets.push_back(options.start[item].offset);
            pool.search.offer(offsets);
        }
    }

    ReuseResult result() && {
        const auto waiting = [&] {
            Pools wait;
            if (std::ranges::any_of(pools_, &PoolRun::none)) return wait;
            for (PoolRun& pool : pools_) {
                if (pool.offsets.empty()) wait.push_back(&pool);
            }
            return wait;
        };
        take_turns(budget_, waiting, [](PoolRun& pool, Budget& part) { pool.fit(part); });
        for (const PoolRun& pool : pools_) {
            if (!pool.none) continue;
            const Bytes capacity = instance_.pools[pool.number].capacity;
            result_.misfit =
                search::dead_set(instance_, pool.dead.empty() ? pool.items : pool.dead, capacity, budget_)
                    .items;
            return std::move(result_);
        }
        if (std::ranges::any_of(pools_, [](const PoolRun& pool) { return pool.offsets.empty(); })) {
            return std::move(result_);
        }
        for (Index at = 0; at < count_of(options_.terms); ++at) minimise_term(at);
        result_.layout = layout();
        result_.score = Scorer(instance_, options_.terms)(result_.layout);
        return std::move(result_);
    }

  private:
    struct Settled {
        Value value;
        Value bound;
    };

    // Gives the waiting pools turns, longer in each round, until none waits.
    template <class Waiting, class Act>
    void take_turns(Budget& budget, Waiting waiting, Act act) {
        std::int64_t turn = options_.first_turn;
        for (Pools pools = waiting(); !pools.empty() && !budget.spent(); pools = waiting()) {
            for (PoolRun* pool : pools) {
                if (pools.size() == 1) {
                    act(*pool, budget);
                    continue;
                }
                Budget part(-1.0, turn, &budget);
                act(*pool, part);
                budget.count(part.work());
            }
            turn = std::min(turn * kLongerTurns, kLongestTurn);
        }
    }

    // Minimises one term, and limits the pools by the result.
    void minimise_term(Index at) {
        const Term& term = options_.terms[at];
        Settled settled{};
        if (is_sum(term.kind)) {
            const auto weight = term.kind == TermKind::placement_cost ? &Choice::cost : &Choice::rank;
            for (Index item = 0; item < instance_.item_count(); ++item) {
                settled.value += instance_.choices[item][0].*weight;
            }
            settled.bound = settled.value;
        } else if (term.kind == TermKind::reuse_cost) {
            settled = minimise(at, all_, &PoolRun::lower_cost, &PoolRun::paid, false);
            for (PoolRun& pool : pools_) {
                pool.cost = pool.paid;
                if (pool.by_addresses) result_.prices.push_back(of_all_parts(pool));
            }
        } else {
            const bool largest = term.kind == TermKind::max_peak;
            Pools mine;
            for (PoolRun& pool : pools_) {
                if (term.kind != TermKind::pool_peak || term.pool == pool.number) mine.push_back(&pool);
            }
            settled = minimise(at, mine, &PoolRun::lower_top, &PoolRun::top, largest);
            for (PoolRun* pool : mine) {
                pool->height =
                    largest ? static_cast<Bytes>(std::min<Value>(pool->height, settled.value)) : pool->top;
            }
        }
        // A bound that needed no search was proven at the root of one; that of addresses by none.
        std::int64_t searches = 0;
        if (std::ranges::none_of(pools_, [](const PoolRun& pool) { return pool.by_addresses.has_value(); })) {
            for (const PoolRun& pool : pools_) searches += pool.searches;
            searches = std::max<std::int64_t>(searches, 1);
        }
        if (separate_) result_.bounds.push_back({at, settled.bound, locks_, searches});
        locks_.push_back(settled.value);
        // Without a proof, an equally good layout could trade one pool for another.
        separate_ = separate_ && (settled.value == settled.bound || pools_.size() == 1);
    }

    using Lower = void (PoolRun::*)(Budget& budget, const Cheapest::Events& events);

    // The value and the bound of a term after the turns of these pools: the largest, or the sum.
    Settled minimise(Index at, const Pools& pools, Lower lower, Bytes PoolRun::* value, bool largest) {
        // The last term has everything that is left.
        if (at + 1 == count_of(options_.terms)) return settle(at, pools, lower, value, largest, budget_);
        Budget share = share_of(budget_, {Solver::reuse, kLevelShare});
        const Settled settled = settle(at, pools, lower, value, largest, share);
        budget_.count(share.work());
        return settled;
    }

    Settled settle(Index at, const Pools& pools, Lower lower, Bytes PoolRun::* value, bool largest,
                   Budget& budget) {
        for (PoolRun* pool : pools) {
            pool->bound = pools_.size() == 1 ? static_cast<Bytes>(options_.lower_bounds[at]) : 0;
        }
        // With what is given instead of that of one pool.
        const auto together = [&](Bytes PoolRun::* what, const PoolRun* instead, Bytes given) {
            Value all = 0;
            for (const PoolRun* pool : pools) {
                const Bytes own = pool == instead ? given : pool->*what;
                all = largest ? std::max<Value>(all, own) : all + own;
            }
            return all;
        };
        const auto waiting = [&] {
            const Value enough = largest ? together(&PoolRun::bound, nullptr, 0) : 0;
            Pools wait;
            for (PoolRun* pool : pools) {
                if (pool->*value > std::max<Value>(pool->bound, enough)) wait.push_back(pool);
            }
            return wait;
        };
        const auto act = [&](PoolRun& pool, Budget& part) {
            Cheapest::Events events;
            if (at == 0 && events_.better) {
                events.value = [&](Bytes now, const Cheapest::Offsets& offsets) {
                    events_.better(layout(&pool, &offsets), together(value, &pool, now));
                };
            }
            if (at == 0 && events_.bound) {
                events.bound = [&](Bytes now) { events_.bound(together(&PoolRun::bound, &pool, now)); };
            }
            (pool.*lower)(part, events);
        };
        take_turns(budget, waiting, act);
        return {together(value, nullptr, 0), together(&PoolRun::bound, nullptr, 0)};
    }

    // The prices of a pool by part of the whole instance.
    reuse::AddressPrices of_all_parts(const PoolRun& pool) const {
        std::vector<Index> parts;
        for (const Index item : pool.items) {
            for (Index part = instance_.item_parts[item]; part < instance_.item_parts[item + 1]; ++part)
                parts.push_back(part);
        }
        reuse::AddressPrices prices = *pool.by_addresses;
        for (auto& [part, price] : prices.links) part = parts[part];
        for (reuse::Crowd& crowd : prices.crowds) {
            for (Index& part : crowd.links) part = parts[part];
        }
        return prices;
    }

    // The layouts of all pools, with these offsets in one.
    Layout layout(const PoolRun* instead = nullptr, const Cheapest::Offsets* given = nullptr) const {
        Layout all(instance_.item_count());
        for (const PoolRun& pool : pools_) {
            const Cheapest::Offsets& offsets = &pool == instead ? *given : pool.offsets;
            for (std::size_t i = 0; i < pool.items.size(); ++i)
                all[pool.items[i]] = {pool.number, offsets[i]};
        }
        return all;
    }

    const Instance& instance_;
    const ReuseOptions& options_;
    Budget& budget_;
    const ReuseEvents& events_;
    std::deque<PoolRun> pools_;  // those that have items
    Pools all_;
    std::vector<Value> locks_;
    bool separate_ = true;  // whether the pools are independent of each other
    ReuseResult result_;
};

}  // namespace

std::optional<std::string> declined_by_reuse(const Instance& instance, const std::vector<Term>& terms) {
    std::vector<Index> counts(instance.pools.size(), 0);
    for (Index item = 0; item < instance.item_count(); ++item) {
        if (instance.choices[item].size() > 1) return "buffers that have a choice of pool";
        ++counts[instance.choices[item][0].pool];
    }
    if (std::ranges::find(terms, TermKind::moves, &Term::kind) != terms.end()) return "moves";
    if (std::ranges::any_of(counts, [](Index count) { return count > kMostInPool; })) {
        return "more than " + std::to_string(kMostInPool) + " buffers in a pool";
    }
    Value costs = 0;
    for (const ReuseCost& pair : instance.reuse) costs += pair.cost;
    if (costs >= kMostCost) return "reuse costs that add up to 2^61 or more";
    return std::nullopt;
}

ReuseResult minimise_reuse(const Instance& instance, const ReuseOptions& options, Budget& budget,
                           const ReuseEvents& events) {
    return ReuseRun(instance, options, budget, events).result();
}

}  // namespace memstow::run
