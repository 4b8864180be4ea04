#include "run/pool_bounds.hpp"

#include <algorithm>
#include <functional>
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
        std::vector<char> chosen(pools, 0);
        std::fill_n(chosen.begin(), size, 1);
        do {
            std::vector<Index>& set = sets.emplace_back();
            for (Index pool = 0; pool < pools; ++pool) {
                if (chosen[pool]) set.push_back(pool);
            }
        } while (std::ranges::prev_permutation(chosen).found);
    }
    sets.emplace_back(pools);
    std::iota(sets.back().begin(), sets.back().end(), 0);
    return sets;
}

}  // namespace

PoolBounds::PoolBounds(const Instance& instance, Bytes unit, std::span<const Bytes> capacities)
    : instance_(instance),
      unit_(unit),
      capacities_(capacities.begin(), capacities.end()),
      usable_(capacities_) {
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
    needs_.push_back(largest_item());
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
    const WideBytes overflow = have_end ? of_all().need.bytes * unit_ - others : 0;
    if (overflow > own) return {overflow, {count_of(needs_) - 2}};
    return own > 0 ? Bound{own, {pool}} : Bound{};
}

PoolBounds::Bound PoolBounds::of_largest() const {
    Bound most = of_pool(0);
    for (Index pool = 1; pool < count_of(usable_); ++pool) {
        Bound bound = of_pool(pool);
        if (bound.bytes > most.bytes) most = std::move(bound);
    }
    for (Index i = count_of(usable_); i < count_of(needs_); ++i) {
        const WideBytes bytes = fullest(needs_[i]);
        if (bytes > most.bytes) most = {bytes, {i}};
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
    const WideBytes together = of_all().need.bytes * unit_;
    if (apart.bytes > together) return apart;
    return together > 0 ? Bound{together, {count_of(needs_) - 2}} : Bound{};
}

WideBytes PoolBounds::fullest(const PoolNeed& of_pools) const {
    const auto& [pools, need] = of_pools;
    const auto holds = [&](WideBytes height) {
        WideBytes room = 0;
        for (const Index pool : pools) room += free_below(pool, height);
        return room >= need.bytes * unit_;
    };
    WideBytes low = 0;
    WideBytes high = kLimit;
    if (pools.empty() || !holds(high)) return 0;
    while (low < high) {
        const WideBytes middle = (low + high) / 2;
        if (holds(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // What is in one pool is a sum of sizes. Of as many parts as are more than pools some are together.
    std::vector<Index> items;
    std::vector<WideBytes> sizes;
    Bytes common = 0;
    for (const Index part : need.parts) {
        items.push_back(instance_.parts[part].item);
        sizes.push_back(WideBytes{instance_.parts[part].size} * unit_);
        common = std::gcd(common, instance_.parts[part].size);
    }
    std::ranges::sort(items);
    if (common == 0 || std::ranges::adjacent_find(items) != items.end()) return high;
    const auto count = static_cast<WideBytes>(pools.size());
    const WideBytes step = WideBytes{common} * unit_ * count;
    high = std::max(high, (need.bytes * unit_ + step - 1) / step * (step / count));
    std::ranges::sort(sizes, std::greater{});
    for (std::size_t more = 0; more * pools.size() < sizes.size(); ++more) {
        const auto last = sizes.begin() + static_cast<std::ptrdiff_t>(more * pools.size());
        high =
            std::max(high, std::accumulate(last - static_cast<std::ptrdiff_t>(more), last + 1, WideBytes{0}));
    }
    return high;
}

WideBytes PoolBounds::free_below(Index pool, WideBytes height) const {
    height = std::min<WideBytes>(height, capacities_[pool]);
    WideBytes free = height;
    for (const Range& range : instance_.pools[pool].reserved) {
        const WideBytes begin = std::min(height, WideBytes{range.begin} * unit_);
        free -= std::min(height, WideBytes{range.end} * unit_) - begin;
    }
    return free;
}

PoolNeed PoolBounds::largest_item() const {
    PoolNeed largest;
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        const auto& [item, size] =
            std::pair(instance_.parts[part].item, WideBytes{instance_.parts[part].size});
        if (size <= largest.need.bytes || instance_.choices[item].empty()) continue;
        largest.need = {size, 0, -1, {part}};
        largest.pools.clear();
        for (const Choice& choice : instance_.choices[item]) largest.pools.push_back(choice.pool);
    }
    std::ranges::sort(largest.pools);
    largest.pools.erase(std::ranges::unique(largest.pools).begin(), largest.pools.end());
    return largest;
}

WideBytes PoolBounds::usable(std::span<const Index> pools) const {
    WideBytes all = 0;
    for (const Index pool : pools) all += usable_[pool];
    return all;
}

}  // namespace memstow::run
