#include "frame.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "sorting.hpp"

namespace memstow::judge {
namespace {

using std::int64_t;

// Moments with the most live bytes that are compared where these need not add up.
constexpr std::size_t kMoments = 8;

// Puts values into the lists that `list_of` says.
template <class Value, class Key>
ListsOf<Value> lists_by(std::size_t count, const std::vector<std::pair<Key, Value>>& entries) {
    ListsOf<Value> lists;
    lists.start.assign(count + 1, 0);
    for (const auto& [list, value] : entries) ++lists.start[list + 1];
    std::partial_sum(lists.start.begin(), lists.start.end(), lists.start.begin());
    lists.values.resize(entries.size());
    std::vector<std::size_t> next(lists.start.begin(), lists.start.end() - 1);
    for (const auto& [list, value] : entries) lists.values[next[list]++] = value;
    return lists;
}

// Ascending, each once; nothing where one is of one buffer, or of what is none.
bool tidy(std::vector<BufferPair>& pairs, std::size_t count) {
    for (BufferPair& pair : pairs) {
        if (pair.first > pair.second) std::swap(pair.first, pair.second);
        if (pair.first == pair.second || pair.second >= count) return false;
    }
    std::ranges::sort(pairs);
    const auto rest = std::ranges::unique(pairs);
    pairs.erase(rest.begin(), rest.end());
    return true;
}

ListsOf<Partner> partners_of(std::size_t count, const std::vector<BufferPair>& exclusive,
                             const std::vector<BufferPair>& in_place) {
    std::vector<std::pair<std::size_t, Partner>> entries;
    const auto add = [&](const BufferPair& pair, bool together) {
        entries.push_back({pair.first, {pair.second, together}});
        entries.push_back({pair.second, {pair.first, together}});
    };
    for (const BufferPair& pair : exclusive) add(pair, false);
    for (const BufferPair& pair : in_place) {
        if (!std::ranges::binary_search(exclusive, pair)) add(pair, true);
    }
    std::ranges::sort(entries, {},
                      [](const auto& entry) { return std::pair(entry.first, entry.second.other); });
    return lists_by(count, entries);
}

Wide divisor(Wide one, Wide other) {
    while (other != 0) one = std::exchange(other, one % other);
    return one < 0 ? -one : one;
}

int64_t clamped(Wide value) {
    return static_cast<int64_t>(std::min<Wide>(value, std::numeric_limits<int64_t>::max()));
}

// The number x for which x * value is 1 modulo the modulus; they have no common divisor.
Wide inverse(Wide value, Wide modulus) {
    Wide one = modulus, other = value % modulus, was = 0, now = 1;
    while (other != 0) {
        const Wide times = one / other;
        one = std::exchange(other, one - times * other);
        was = std::exchange(now, was - times * now);
    }
    return (was % modulus + modulus) % modulus;
}

Wide in_steps(Wide size, Wide step) { return (size + step - 1) / step * step; }

}  // namespace

std::optional<Grid> both(const Grid& one, const Grid& other) {
    const Wide common = divisor(one.step, other.step);
    const Wide rest = other.step / common, step = one.step * rest, between = other.first - one.first;
    if (between % common != 0 || step > kMostBytes) return std::nullopt;
    if (rest == 1) return one;
    const Wide missing = (between / common % rest + rest) % rest;
    return Grid{step, one.first + missing * inverse(one.step / common, rest) % rest * one.step};
}

std::optional<Grid> Units::grid_of(std::span<const std::size_t> members,
                                   std::span<const int64_t> alignments) const {
    std::optional<Grid> grid = Grid{};
    for (const std::size_t i : members) {
        const Wide step = alignments[i];
        if (grid) grid = both(*grid, {step, (step - at[i] % step) % step});
    }
    return grid;
}

std::optional<Units> Units::of(std::size_t count, std::span<const Tie> ties, const std::vector<bool>& loose) {
    using Neighbour = std::pair<std::size_t, int64_t>;
    std::vector<std::pair<std::size_t, Neighbour>> entries;
    for (const Tie& tie : ties) {
        if (tie.distance < -kMostBytes || tie.distance > kMostBytes) return std::nullopt;
        entries.push_back({tie.buffer, {tie.base, -tie.distance}});
        entries.push_back({tie.base, {tie.buffer, tie.distance}});
    }
    const ListsOf<Neighbour> neighbours = lists_by(count, entries);
    constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    Units units;
    units.unit.assign(count, kNone);
    std::vector<Wide> at(count);
    std::size_t number = 0;
    std::vector<std::size_t> reached;
    for (std::size_t first = 0; first < count; ++first) {
        if (units.unit[first] != kNone) continue;
        units.unit[first] = number;
        reached.assign(1, first);
        for (std::size_t next = 0; next < reached.size(); ++next) {
            for (const auto& [other, distance] : neighbours[reached[next]]) {
                if (units.unit[other] != kNone) continue;
                units.unit[other] = number;
                at[other] = at[reached[next]] + distance;
                reached.push_back(other);
            }
        }
        ++number;
    }
    for (const Tie& tie : ties) {
        if (at[tie.buffer] - at[tie.base] != tie.distance) return std::nullopt;
    }
    for (std::size_t i = 0; i < loose.size(); ++i) {
        if (loose[i]) units.unit[i] = number++;
    }
    std::vector<std::pair<std::size_t, std::size_t>> members;
    members.reserve(count);
    for (std::size_t i = 0; i < count; ++i) members.push_back({units.unit[i], i});
    units.members = lists_by(number, members);
    units.at.assign(count, 0);
    for (std::size_t u = 0; u < number; ++u) {
        const std::span<std::size_t> own{units.members.values.data() + units.members.start[u],
                                         units.members[u].size()};
        if (own.size() < 2) continue;
        std::ranges::stable_sort(own, {}, [&](std::size_t i) { return at[i]; });
        for (const std::size_t i : own) {
            if (at[i] - at[own[0]] > kMostBytes) return std::nullopt;
            units.at[i] = static_cast<int64_t>(at[i] - at[own[0]]);
        }
    }
    return units;
}

std::optional<Frame> Frame::of(Parts parts) {
    const std::size_t count = parts.begins.size();
    const auto is_complete = [&](const auto& column) { return column.size() == count; };
    if (!is_complete(parts.ends) || !is_complete(parts.alignments) || !is_complete(parts.allowed) ||
        !(parts.pins.empty() || is_complete(parts.pins)))
        return std::nullopt;
    const std::size_t pools = parts.capacities.size();
    if (pools == 0 || pools > 62) return std::nullopt;
    for (const int64_t capacity : parts.capacities) {
        if (capacity < 0 || capacity > kMostBytes) return std::nullopt;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (parts.begins[i] >= parts.ends[i] || parts.alignments[i] < 1 || parts.alignments[i] > kMostBytes ||
            parts.allowed[i] >> pools != 0 || (!parts.pins.empty() && parts.pins[i] > kMostBytes))
            return std::nullopt;
    }
    if (!tidy(parts.conflicts, count) || !tidy(parts.exclusive, count) || !tidy(parts.in_place, count))
        return std::nullopt;
    std::erase_if(parts.exclusive,
                  [&](const BufferPair& pair) { return std::ranges::binary_search(parts.conflicts, pair); });
    for (const Tie& tie : parts.ties) {
        if (tie.buffer == tie.base || std::max(tie.buffer, tie.base) >= count) return std::nullopt;
    }
    Frame frame;
    frame.has_groups_ = !parts.ties.empty();
    if (frame.has_groups_) {
        std::optional<Units> groups = Units::of(count, parts.ties, {});
        if (!groups) return std::nullopt;
        frame.groups_ = std::move(*groups);
    }
    frame.parts_ = std::move(parts);
    frame.partners_ = partners_of(count, frame.parts_.exclusive, frame.parts_.in_place);
    frame.beginning_ = in_order(frame.parts_.begins);
    frame.ending_ = in_order(frame.parts_.ends);
    return frame;
}

bool Frame::is_sound(std::span<const int64_t> sizes) const {
    return sizes.size() == count() &&
           std::ranges::all_of(sizes, [](int64_t size) { return 0 <= size && size <= kMostBytes; });
}

// Bytes that live at one moment and share none: pieces that begin where a buffer begins.
struct Frame::Load {
    Wide bytes = 0;
    Wide rounded = 0;  // each piece up to whole steps, at which they begin, from `first` on
    Wide first = 0;
    std::vector<Wide> wasted;  // what each gets more by that, the most first
    std::vector<Wide> pieces;
    std::uint64_t pools = 0;  // where they may be

    // Of the only pool.
    Wide height() const { return wasted.empty() ? 0 : std::max(bytes, first + rounded - wasted[0]); }

    // Of so many pools together. In each the topmost need not take whole steps.
    Wide sum(std::size_t in_pools) const {
        Wide steps = rounded;
        for (std::size_t k = 0; k < std::min(in_pools, wasted.size()); ++k) steps -= wasted[k];
        return std::max(bytes, steps);
    }

    // Of the fullest of so many pools: of one more piece than so many for each pool, some are together, and
    // what is in a pool is a sum of pieces.
    Wide fullest(std::size_t in_pools) const {
        Wide step = 0;
        for (const Wide piece : pieces) step = divisor(step, piece);
        if (step == 0) return 0;
        Wide most = (bytes + step * in_pools - 1) / (step * in_pools) * step;
        for (std::size_t last = 0; last < pieces.size(); last += in_pools) {
            Wide together = 0;
            for (std::size_t k = last - last / in_pools; k <= last; ++k) together += pieces[k];
            most = std::max(most, together);
        }
        return most;
    }
};

// By buffer, the pools that may hold it, and of a group all its members with bytes.
std::vector<std::uint64_t> Frame::pools_for(std::span<const int64_t> sizes) const {
    std::vector<std::uint64_t> pools = parts_.allowed;
    for (std::size_t i = 0; i < count(); ++i) {
        for (std::size_t pool = 0; pool < this->pools(); ++pool) {
            if (sizes[i] > parts_.capacities[pool]) pools[i] &= ~(std::uint64_t{1} << pool);
        }
    }
    if (!has_groups_) return pools;
    for (std::size_t u = 0; u < groups_.members.count(); ++u) {
        const std::span<const std::size_t> members = groups_.members[u];
        if (members.size() < 2) continue;
        std::uint64_t common = ~std::uint64_t{0};
        for (const std::size_t i : members) {
            if (sizes[i] > 0) common &= pools[i];
        }
        for (const std::size_t i : members) pools[i] &= common;
    }
    return pools;
}

// Those that live at the moment, have bytes and may be in these pools alone; of any that may share bytes the
// larger are kept.
std::vector<std::size_t> Frame::apart(std::span<const int64_t> sizes, std::span<const std::uint64_t> pools,
                                      std::uint64_t only, int64_t moment) const {
    std::vector<std::size_t> live;
    for (std::size_t i = 0; i < count(); ++i) {
        const bool lives = parts_.begins[i] <= moment && moment < parts_.ends[i];
        if (lives && sizes[i] > 0 && (only == 0 || pools[i] == only)) live.push_back(i);
    }
    if (partners_.values.empty()) return live;
    std::ranges::stable_sort(live, std::greater<>{}, [&](std::size_t i) { return sizes[i]; });
    std::vector<bool> is_kept(count());
    std::erase_if(live, [&](std::size_t i) {
        const auto shares = [&](const Partner& partner) { return is_kept[partner.other]; };
        is_kept[i] = std::ranges::none_of(partners_[i], shares);
        return !is_kept[i];
    });
    return live;
}

Frame::Load Frame::load_of(std::span<const int64_t> sizes, std::span<const std::size_t> buffers) const {
    Load load;
    Grid starts{0, 0};  // all begin at one of these
    const auto begin_at = [&](const Grid& grid) {
        if (starts.step == 0) {
            starts = grid;
        } else {
            starts.step = divisor(divisor(starts.step, grid.step), grid.first - starts.first);
        }
        starts.first %= starts.step;
    };
    std::vector<std::size_t> tied;
    for (const std::size_t i : buffers) {
        if (group_of(i).size() > 1) {
            tied.push_back(i);
            continue;
        }
        load.pieces.push_back(sizes[i]);
        begin_at({parts_.alignments[i], 0});
    }
    std::ranges::sort(tied, {}, [&](std::size_t i) { return std::pair(groups_.unit[i], groups_.at[i]); });
    std::optional<Grid> grid;
    std::vector<std::size_t> sized;
    for (std::size_t k = 0; k < tied.size();) {
        const std::size_t lowest = tied[k], unit = groups_.unit[lowest];
        if (k == 0 || groups_.unit[tied[k - 1]] != unit) {
            sized.clear();
            for (const std::size_t i : groups_.members[unit]) {
                if (sizes[i] > 0) sized.push_back(i);
            }
            grid = groups_.grid_of(sized, parts_.alignments);
        }
        // Members of a group may lie on each other: the bytes that they cover together count.
        Wide end = groups_.at[lowest];
        for (; k < tied.size() && groups_.unit[tied[k]] == unit && groups_.at[tied[k]] <= end; ++k)
            end = std::max(end, Wide{groups_.at[tied[k]]} + sizes[tied[k]]);
        load.pieces.push_back(end - groups_.at[lowest]);
        const Wide step = grid ? grid->step : 1;
        begin_at({step, grid ? (grid->first + groups_.at[lowest]) % step : 0});
    }
    for (const Wide piece : load.pieces) {
        const Wide rounded = in_steps(piece, starts.step);
        load.bytes += piece;
        load.rounded += rounded;
        load.wasted.push_back(rounded - piece);
    }
    load.first = starts.first;
    std::ranges::sort(load.wasted, std::greater<>{});
    std::ranges::sort(load.pieces, std::greater<>{});
    return load;
}

// What surely shares no byte at moments with the most live bytes; `only`: of buffers that may be in these
// pools alone, 0: of all.
std::vector<Frame::Load> Frame::loads(std::span<const int64_t> sizes, std::span<const std::uint64_t> pools,
                                      std::uint64_t only) const {
    const auto counts = [&](std::size_t i) { return sizes[i] > 0 && (only == 0 || pools[i] == only); };
    int64_t step = 0;
    for (std::size_t i = 0; i < count() && step != 1; ++i) {
        if (counts(i)) step = std::gcd(step, parts_.alignments[i]);
    }
    if (step == 0) return {};
    struct Total {
        Wide bytes;
        int64_t moment;
    };
    std::vector<Total> totals;  // where no more begin to live before one ends
    Total now{0, 0};
    bool is_rising = false;
    auto ended = ending_.begin();
    for (const std::size_t i : beginning_) {
        if (!counts(i)) continue;
        for (; parts_.ends[*ended] <= parts_.begins[i]; ++ended) {
            if (!counts(*ended)) continue;
            if (std::exchange(is_rising, false)) totals.push_back(now);
            now.bytes -= in_steps(sizes[*ended], step);
        }
        now = {now.bytes + in_steps(sizes[i], step), parts_.begins[i]};
        is_rising = true;
    }
    if (is_rising) totals.push_back(now);
    const bool is_exact = step == 1 && !has_groups_ && partners_.values.empty();
    const std::size_t some = std::min(is_exact ? std::size_t{1} : kMoments, totals.size());
    std::ranges::partial_sort(totals, totals.begin() + static_cast<std::ptrdiff_t>(some), {},
                              [](const Total& total) { return std::pair(-total.bytes, total.moment); });
    std::vector<Load> loads;
    for (std::size_t k = 0; k < some; ++k) {
        const std::vector<std::size_t> kept = apart(sizes, pools, only, totals[k].moment);
        loads.push_back(load_of(sizes, kept));
        for (const std::size_t i : kept) loads.back().pools |= pools.empty() ? 1 : pools[i];
    }
    return loads;
}

// The least peak of the pool that is the only one for some buffers.
Wide Frame::least_in(std::span<const int64_t> sizes, std::span<const std::uint64_t> pools,
                     std::uint64_t only) const {
    Wide best = 0;
    for (const Load& load : loads(sizes, pools, only)) best = std::max(best, load.height());
    for (std::size_t i = 0; i < parts_.pins.size(); ++i) {
        const bool is_there = parts_.pins[i] >= 0 && sizes[i] > 0 && (only == 0 || pools[i] == only);
        if (is_there) best = std::max(best, Wide{parts_.pins[i]} + sizes[i]);
    }
    return best;
}

int64_t Frame::least(std::span<const int64_t> sizes, Goal goal, std::size_t pool) const {
    if (!is_sound(sizes)) return 0;
    if (pools() == 1) return clamped(least_in(sizes, {}, 0));
    const std::vector<std::uint64_t> may_hold = pools_for(sizes);
    Wide best = 0;
    for (std::size_t p = 0; p < pools(); ++p) {
        if (goal == Goal::one && p != pool) continue;
        const Wide here = least_in(sizes, may_hold, std::uint64_t{1} << p);
        best = goal == Goal::sum ? best + here : std::max(best, here);
    }
    for (const Load& load : loads(sizes, may_hold, 0)) {
        const auto in_pools = static_cast<std::size_t>(std::popcount(load.pools));
        if (in_pools == 0) continue;  // nothing holds one of them
        if (goal == Goal::sum) best = std::max(best, load.sum(in_pools));
        if (goal == Goal::largest) best = std::max(best, load.fullest(in_pools));
        if (goal == Goal::one && (load.pools >> pool & 1) != 0) {
            // What the others cannot hold.
            Wide rest = load.bytes;
            for (std::size_t p = 0; p < pools(); ++p) {
                if (p != pool && (load.pools >> p & 1) != 0) rest -= parts_.capacities[p];
            }
            best = std::max(best, rest);
        }
    }
    return clamped(best);
}

}  // namespace memstow::judge
