#include "run/pool_bounds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace memstow::run {
namespace {

// With more pools than this only single pools and all of them together have a bound.
constexpr Index kMostCombined = 4;

// Each pool, then sets by size and in order, then all.
std::vector<std::vector<Index>> sets_of(Index pools) {
    std::vector<std::vector<Index>> sets;
    for (Index size = 1; size < std::min(pools, pools <= kMostCombined ? pools : 2); ++size) {
        std::vector<char> chosen(static_cast<std::size_t>(pools), 0);
        std::fill_n(chosen.begin(), size, 1);
        do {
            std::vector<Index>& set = sets.emplace_back();
            for (Index pool = 0; pool < pools; ++pool) {
                if (chosen[pool]) set.push_back(pool);
            }
        } while (std::ranges::prev_permutation(chosen).found);
    }
    sets.emplace_back(static_cast<std::size_t>(pools));
    std::iota(sets.back().begin(), sets.back().end(), 0);
    return sets;
}

}  // namespace

PoolBounds::PoolBounds(const Instance& instance, Bytes unit, std::span<const Bytes> capacities)
    : unit_(unit), capacities_(capacities.begin(), capacities.end()), usable_(capacities_) {
    for (std::size_t pool = 0; pool < usable_.size(); ++pool) {
        for (const Range& range : instance.pools[pool].reserved) {
            usable_[pool] -= (range.end - range.begin) * unit;
        }
    }
    // Pools that some item must be in: of single ones only those have a bound of their own.
    std::vector<char> required(usable_.size(), 0);
    for (Index item = 0; item < instance.item_count(); ++item) {
        const auto choices = instance.choices[item];
        if (choices.size() == 1) required[choices[0].pool] = 1;
    }
    for (std::vector<Index>& pools : sets_of(count_of(usable_))) {
        std::vector<bool> is_in(usable_.size(), false);
        for (const Index pool : pools) is_in[pool] = true;
        const bool counts = pools.size() > 1 || required[pools[0]];
        Need need = counts ? need_of(instance, is_in) : Need{};
        needs_.push_back({std::move(pools), std::move(need)});
    }
}

std::optional<Index> PoolBounds::misfit() const {
    for (Index i = 0; i < count_of(needs_); ++i) {
        const auto& [pools, need] = needs_[i];
        const bool is_too_high = pools.size() == 1 && need.height * unit_ > capacities_[pools[0]];
        if (is_too_high || need.bytes * unit_ > usable(pools)) return i;
    }
    return std::nullopt;
}

PoolBounds::Bound PoolBounds::of_pool(Index pool) const {
    WideBytes others = 0;
    bool have_end = usable_.size() > 1;
    for (std::size_t other = 0; other < usable_.size(); ++other) {
        if (static_cast<Index>(other) == pool) continue;
        others += usable_[other];
        have_end = have_end && capacities_[other] < kLimit;
    }
    const WideBytes own = needs_[pool].need.height * unit_;
    const WideBytes overflow = have_end ? needs_.back().need.bytes * unit_ - others : 0;
    if (overflow > own) return {overflow, {count_of(needs_) - 1}};
    return own > 0 ? Bound{own, {pool}} : Bound{};
}

PoolBounds::Bound PoolBounds::of_largest() const {
    Bound most = of_pool(0);
    for (Index pool = 1; pool < count_of(usable_); ++pool) {
        Bound bound = of_pool(pool);
        if (bound.bytes > most.bytes) most = std::move(bound);
    }
    return most;
}

PoolBounds::Bound PoolBounds::of_sum() const {
    if (usable_.size() == 1) return of_pool(0);
    Bound apart;
    for (Index pool = 0; pool < count_of(usable_); ++pool) {
        if (needs_[pool].need.height == 0) continue;
        apart.bytes += needs_[pool].need.height * unit_;
        apart.needs.push_back(pool);
    }
    const WideBytes together = needs_.back().need.bytes * unit_;
    if (apart.bytes > together) return apart;
    return together > 0 ? Bound{together, {count_of(needs_) - 1}} : Bound{};
}

WideBytes PoolBounds::usable(std::span<const Index> pools) const {
    WideBytes all = 0;
    for (const Index pool : pools) all += usable_[pool];
    return all;
}

}  // namespace memstow::run
