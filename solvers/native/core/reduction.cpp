#include "core/reduction.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <tuple>

#include "core/arithmetic.hpp"

namespace memstow {
namespace {

WideBytes common_divisor(WideBytes a, WideBytes b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a < 0 ? -a : a;
}

// All offsets that are `residue` modulo `modulus`. Beyond kLimit the modulus leaves one offset at most, and
// nothing is lost where it is no more than a divisor of the whole.
struct Congruence {
    WideBytes modulus = 1;
    WideBytes residue = 0;

    bool is_single() const { return modulus > kLimit; }
    WideBytes from(WideBytes low) const { return low + floor_mod(residue - low, modulus); }
};

// The inverse of `value` modulo `modulus`, which have no divisor in common.
WideBytes inverse(WideBytes value, WideBytes modulus) {
    WideBytes one = floor_mod(value, modulus), other = modulus, x = 1, y = 0;
    while (other != 0) {
        const WideBytes times = one / other;
        one = std::exchange(other, one - times * other);
        x = std::exchange(y, x - times * y);
    }
    return floor_mod(x, modulus);
}

// The offsets in both, if there are any.
std::optional<Congruence> meet(Congruence one, Congruence other) {
    if (other.is_single()) std::swap(one, other);
    if (one.is_single()) {
        if (floor_mod(one.residue - other.residue, other.modulus) != 0) return std::nullopt;
        return one;
    }
    const WideBytes common = common_divisor(one.modulus, other.modulus);
    const WideBytes apart = other.residue - one.residue;
    if (apart % common != 0) return std::nullopt;
    const WideBytes step = other.modulus / common;
    const WideBytes times =
        floor_mod(floor_mod(apart / common, step) * inverse(one.modulus / common, step), step);
    const WideBytes modulus = one.modulus / common * other.modulus;
    return Congruence{modulus, (one.residue + one.modulus * times) % modulus};
}

// The offsets of a group at which a buffer, `delta` above it, is aligned in the pool.
Congruence aligned(std::int64_t alignment, const PoolDescription& pool, Bytes delta) {
    const WideBytes modulus =
        WideBytes{alignment} / common_divisor(alignment, pool.alignment) * pool.alignment;
    return {modulus, floor_mod(-(WideBytes{delta} + pool.base), modulus)};
}

// What a buffer takes above the offset of its item.
struct Footprint {
    Bytes delta;
    Bytes size;
};

// The space of a pool between its reserved ranges.
class PoolSpace {
  public:
    explicit PoolSpace(const PoolDescription& pool) : end_(pool.capacity) {
        std::vector<Range> sorted = pool.reserved;
        std::ranges::sort(sorted, {}, &Range::begin);
        for (const Range& range : sorted) {
            if (range.begin == range.end) continue;
            if (!reserved_.empty() && range.begin <= reserved_.back().end) {
                reserved_.back().end = std::max(reserved_.back().end, range.end);
            } else {
                reserved_.push_back(range);
            }
        }
        Bytes begin = 0;
        for (const Range& range : reserved_) {
            widest_ = std::max(widest_, range.begin - begin);
            begin = range.end;
        }
        widest_ = std::max(widest_, end_ - begin);
    }

    Bytes end() const { return end_; }
    Bytes widest() const { return widest_; }
    const std::vector<Range>& reserved() const { return reserved_; }

    // Whether the footprints fit at an allowed offset within [low, high].
    bool has(const Congruence& where, WideBytes low, WideBytes high,
             std::span<const Footprint> footprints) const {
        WideBytes start = where.from(low);
        for (bool moved = true; moved;) {
            if (start > high) return false;
            moved = false;
            for (const Footprint& footprint : footprints) {
                if (start + footprint.delta + footprint.size > end_) return false;
            }
            for (const Footprint& footprint : footprints) {
                const WideBytes begin = start + footprint.delta;
                const auto after = std::ranges::upper_bound(reserved_, begin, {}, &Range::end);
                if (footprint.size == 0 || after == reserved_.end() || after->begin >= begin + footprint.size)
                    continue;
                start = where.from(WideBytes{after->end} - footprint.delta);
                moved = true;
            }
        }
        return true;
    }

  private:
    Bytes end_;
    Bytes widest_ = 0;
    std::vector<Range> reserved_;  // sorted, disjoint, not touching
};

// A pool that an item may go to, and the offsets at which it is aligned there.
struct Spot {
    Index pool;
    Congruence where;
};

using Spots = std::vector<Spot>;

// By spot, ranges of offsets, ends included: empty where banks do not bind an item.
using Windows = std::vector<std::vector<Range>>;

// A buffer or a rigid group on its way to become an item, in bytes.
struct Body {
    Index first;         // buffer
    const Group* group;  // none: the buffer alone
    const Spots* spots;
    WideBytes low;
    WideBytes high;
    const Windows* windows = nullptr;  // none: banks do not bind it
};

// In which banks the bytes of a buffer may be.
struct BankRule {
    bool within = false;
    std::vector<Index> banks;  // none: in any
};

// Where a buffer may begin so that its bytes are where the rule has them, less its distance from its item.
std::vector<Range> bank_windows(const BankRule& rule, std::span<const Range> banks,
                                const Footprint& footprint) {
    std::vector<Range> stretches;
    const auto add = [&](const Range& bank) {
        if (!rule.within && !stretches.empty() && stretches.back().end == bank.begin) {
            stretches.back().end = bank.end;
        } else {
            stretches.push_back(bank);
        }
    };
    if (rule.banks.empty()) {
        for (const Range& bank : banks) add(bank);
    }
    for (const Index number : rule.banks) {
        if (number < count_of(banks)) add(banks[number]);
    }
    std::vector<Range> windows;
    for (const Range& stretch : stretches) {
        const Range window{std::max<Bytes>(stretch.begin - footprint.delta, 0),
                           stretch.end - footprint.size - footprint.delta};
        if (window.begin <= window.end) windows.push_back(window);
    }
    return windows;
}

// Both sorted and disjoint, ends included.
std::vector<Range> in_both(const std::vector<Range>& one, const std::vector<Range>& other) {
    std::vector<Range> both;
    for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
        const Range common{std::max(one[i].begin, other[j].begin), std::min(one[i].end, other[j].end)};
        if (common.begin <= common.end) both.push_back(common);
        if (one[i].end < other[j].end) {
            ++i;
        } else {
            ++j;
        }
    }
    return both;
}

class Reducer {
  public:
    explicit Reducer(const Description& description) : from_(description) {
        for (const PoolDescription& pool : from_.pools) spaces_.emplace_back(pool);
        kinds_.resize(from_.kinds.size());
        for (const Index buffer : from_.within_bank) rules_[buffer].within = true;
        for (const auto& [buffer, bank] : from_.in_banks) rules_[buffer].banks.push_back(bank);
        for (const PoolDescription& pool : from_.pools) has_banks_ = has_banks_ || !pool.banks.empty();
    }

    Reduction reduced() && {
        if (!find_bodies()) return std::move(to_);
        set_unit();
        for (std::size_t pool = 0; pool < spaces_.size(); ++pool) {
            Pool& unit_pool = to_.instance.pools.emplace_back();
            unit_pool.capacity = spaces_[pool].end() / to_.unit;
            for (const Range& range : spaces_[pool].reserved()) {
                unit_pool.reserved.push_back({range.begin / to_.unit, range.end / to_.unit});
            }
        }
        add_banks();
        to_.instance.choices.reserve(bodies_.size());
        for (const Body& body : bodies_) {
            add_parts(body);
            add_choices(body);
        }
        add_pairs();
        to_.least_cost = least_cost();
        return std::move(to_);
    }

  private:
    // What all buffers of a kind share.
    struct OfKind {
        bool known = false;
        Spots spots;
        WideBytes roomy = 0;  // what is no larger fits into each of the spots
    };

    std::span<const Index> members(const Body& body) const {
        return body.group == nullptr ? std::span(&body.first, 1) : std::span(body.group->members);
    }

    Bytes delta(const Body& body, std::size_t member) const {
        return body.group == nullptr ? 0 : body.group->deltas[member];
    }

    Bytes pin(Index buffer) const { return from_.pins.empty() ? kUnplaced : from_.pins[buffer]; }

    // False where one has no place.
    bool find_bodies() {
        groups_ = rigid_groups(from_.sizes, from_.ties);
        std::vector<const Group*> group_of(groups_.empty() ? 0 : from_.sizes.size(), nullptr);
        for (const Group& group : groups_) {
            for (const Index member : group.members) group_of[member] = &group;
        }
        for (Index buffer = 0; buffer < count_of(from_.sizes); ++buffer) {
            const Group* group = group_of.empty() ? nullptr : group_of[buffer];
            if (group != nullptr && group->members[0] != buffer) continue;
            Body body = group == nullptr ? single(buffer) : whole(*group);
            if (!rules_.empty()) restrict_to_banks(body);
            if (body.spots->empty()) {
                const std::span<const Index> homeless = members(body);
                to_ = {};
                to_.homeless.assign(homeless.begin(), homeless.end());
                return false;
            }
            if (from_.sizes[buffer] > 0) {
                bodies_.push_back(body);
            } else {
                const Spot& first = body.spots->front();
                to_.alone.push_back({buffer, {first.pool, static_cast<Bytes>(first.where.from(body.low))}});
            }
        }
        return true;
    }

    Body single(Index buffer) {
        const Bytes size = from_.sizes[buffer];
        const Index kind = from_.kind_of[buffer];
        const OfKind& of_kind = kind_of(kind);
        const Bytes at = pin(buffer);
        Body body{buffer, nullptr, &of_kind.spots, 0, kLimit};
        if (at == kUnplaced) {
            if (size <= of_kind.roomy) return body;
        } else {
            body.low = body.high = at;
        }
        const auto [known, is_new] = fitting_.try_emplace({kind, size, at});
        if (is_new) {
            const Footprint footprint{0, size};
            known->second = fitting(of_kind.spots, body, {&footprint, 1});
        }
        body.spots = &known->second;
        return body;
    }

    const OfKind& kind_of(Index kind) {
        OfKind& of_kind = kinds_[kind];
        if (of_kind.known) return of_kind;
        of_kind.known = true;
        of_kind.roomy = kLimit;
        for (const Index pool : from_.kinds[kind].pools) {
            const Congruence where = aligned(from_.kinds[kind].alignment, from_.pools[pool], 0);
            of_kind.spots.push_back({pool, where});
            of_kind.roomy = std::min(of_kind.roomy, spaces_[pool].widest() - where.modulus);
        }
        return of_kind;
    }

    Body whole(const Group& group) {
        Body body{group.members[0], &group, nullptr, 0, kLimit};
        std::vector<Footprint> footprints;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            footprints.push_back({group.deltas[i], from_.sizes[group.members[i]]});
            const Bytes at = pin(group.members[i]);
            if (at == kUnplaced) continue;
            body.low = std::max<WideBytes>(body.low, WideBytes{at} - group.deltas[i]);
            body.high = std::min<WideBytes>(body.high, WideBytes{at} - group.deltas[i]);
        }
        const auto allowed = [&](Index pool) {
            return std::ranges::all_of(group.members, [&](Index member) {
                const std::vector<Index>& pools = from_.kinds[from_.kind_of[member]].pools;
                return std::ranges::find(pools, pool) != pools.end();
            });
        };
        Spots spots;
        for (const Index pool : from_.kinds[from_.kind_of[group.members[0]]].pools) {
            if (!allowed(pool)) continue;
            std::optional<Congruence> where = Congruence{};
            for (std::size_t i = 0; i < group.members.size() && where; ++i) {
                const std::int64_t alignment = from_.kinds[from_.kind_of[group.members[i]]].alignment;
                where = meet(*where, aligned(alignment, from_.pools[pool], group.deltas[i]));
            }
            if (where) spots.push_back({pool, *where});
        }
        body.spots = &of_groups_.emplace_back(fitting(spots, body, footprints));
        return body;
    }

    Spots fitting(const Spots& spots, const Body& body, std::span<const Footprint> footprints) const {
        Spots some;
        for (const Spot& spot : spots) {
            if (spaces_[spot.pool].has(spot.where, body.low, body.high, footprints)) some.push_back(spot);
        }
        return some;
    }

    // Leaves the spots that have a place where banks let the body be.
    void restrict_to_banks(Body& body) {
        std::vector<std::pair<const BankRule*, Footprint>> rules;
        std::vector<Footprint> footprints;
        for (std::size_t i = 0; i < members(body).size(); ++i) {
            const Index buffer = members(body)[i];
            footprints.push_back({delta(body, i), from_.sizes[buffer]});
            const auto rule = rules_.find(buffer);
            if (rule != rules_.end()) rules.emplace_back(&rule->second, footprints.back());
        }
        if (rules.empty()) return;
        Spots& some = of_groups_.emplace_back();
        Windows& windows = of_bodies_.emplace_back();
        for (const Spot& spot : *body.spots) {
            std::vector<Range> all{{0, kLimit}};
            for (const auto& [rule, footprint] : rules) {
                all = in_both(all, bank_windows(*rule, from_.pools[spot.pool].banks, footprint));
            }
            std::erase_if(all, [&](const Range& window) {
                return !spaces_[spot.pool].has(spot.where, std::max<WideBytes>(body.low, window.begin),
                                               std::min<WideBytes>(body.high, window.end), footprints);
            });
            if (all.empty()) continue;
            some.push_back(spot);
            windows.push_back(std::move(all));
        }
        body.spots = &some;
        body.windows = &windows;
    }

    void add_banks() {
        if (!has_banks_) return;
        Banks& to = to_.instance.banks;
        for (const PoolDescription& pool : from_.pools) {
            std::vector<Range>& banks = to.of_pool.emplace_back();
            for (const Range& bank : pool.banks)
                banks.push_back({bank.begin / to_.unit, bank.end / to_.unit});
        }
        if (rules_.empty()) return;
        for (const Body& body : bodies_) {
            to.first_choice.push_back(to.windows.size());
            for (std::size_t spot = 0; spot < body.spots->size(); ++spot) {
                if (body.windows != nullptr) {
                    for (const Range& window : (*body.windows)[spot]) {
                        to.windows.values.push_back({window.begin / to_.unit, window.end / to_.unit});
                    }
                }
                to.windows.close();
            }
        }
    }

    // The greatest common divisor of all sizes, distances, given offsets and alignments. An alignment that
    // divides the unit always holds, so it does not count.
    void set_unit() {
        Bytes unit = from_.unit.value_or(0);
        const auto take = [&](WideBytes value) {
            if (unit != 1) unit = static_cast<Bytes>(common_divisor(value, unit));
        };
        std::vector<const Spots*> lists;
        for (const Body& body : bodies_) {
            for (std::size_t i = 0; i < members(body).size(); ++i) {
                take(from_.sizes[members(body)[i]]);
                take(delta(body, i));
            }
            if (body.low == body.high) take(body.low);
            if (unit != 1 && (lists.empty() || lists.back() != body.spots)) lists.push_back(body.spots);
        }
        for (const PoolSpace& space : spaces_) {
            for (const Range& range : space.reserved()) {
                take(range.begin);
                take(range.end);
            }
        }
        for (const PoolDescription& pool : from_.pools) {
            for (const Range& bank : pool.banks) {
                take(bank.begin);
                take(bank.end);
            }
        }
        for (const Bytes offset : from_.usable) take(offset);
        std::ranges::sort(lists);
        lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
        // Where an alignment lowers the unit, one that did divide it may do so no longer.
        for (Bytes before = 0; before != unit;) {
            before = unit;
            for (const Spots* spots : lists) {
                for (const Spot& spot : *spots) {
                    take(spot.where.residue);
                    if (unit % spot.where.modulus != 0) take(spot.where.modulus);
                }
            }
        }
        to_.unit = std::max<Bytes>(unit, 1);
    }

    void add_parts(const Body& body) {
        Instance& to = to_.instance;
        const Index item = to.item_count();
        for (std::size_t i = 0; i < members(body).size(); ++i) {
            const Index buffer = members(body)[i];
            to_.buffers.push_back(buffer);
            to.parts.push_back({item, delta(body, i) / to_.unit, from_.sizes[buffer] / to_.unit});
            const std::span<const Lifetime> lives = from_.lives[buffer];
            to.lives.values.insert(to.lives.values.end(), lives.begin(), lives.end());
            to.lives.close();
        }
        to.item_parts.push_back(count_of(to.parts));
    }

    void add_choices(const Body& body) {
        choices_.clear();
        for (const Spot& spot : *body.spots) {
            Choice choice{spot.pool, 1, 0, in_units(body.low), in_units(body.high), 0, 0};
            if (spot.where.is_single()) {
                choice.low = choice.high = static_cast<Bytes>(spot.where.residue) / to_.unit;
            } else if (spot.where.modulus % to_.unit == 0) {
                choice.modulus = static_cast<Bytes>(spot.where.modulus) / to_.unit;
                choice.residue = static_cast<Bytes>(spot.where.residue) / to_.unit;
            }
            for (const Index buffer : members(body)) {
                if (!from_.accesses.empty())
                    choice.cost += from_.pools[spot.pool].cost * from_.accesses[buffer];
                if (from_.ranks) {
                    const std::vector<Index>& pools = from_.kinds[from_.kind_of[buffer]].pools;
                    choice.rank +=
                        (std::ranges::find(pools, spot.pool) - pools.begin()) * from_.sizes[buffer];
                }
            }
            choices_.push_back(choice);
        }
        to_.instance.choices.add(choices_);
    }

    Value least_cost() const {
        Value cost = 0;
        if (from_.accesses.empty()) return cost;
        std::vector<std::int64_t> cheapest;  // by kind
        for (const BufferKind& kind : from_.kinds) {
            std::int64_t& least = cheapest.emplace_back(kLimit);
            for (const Index pool : kind.pools) least = std::min(least, from_.pools[pool].cost);
        }
        for (Index buffer = 0; buffer < count_of(from_.sizes); ++buffer) {
            cost += Value{from_.accesses[buffer]} * cheapest[from_.kind_of[buffer]];
        }
        return cost;
    }

    Bytes in_units(WideBytes limit) const {
        return limit == kLimit ? kLimit : static_cast<Bytes>(limit) / to_.unit;
    }

    void add_pairs() {
        if (from_.conflicts.empty() && from_.exclusive.empty() && from_.in_place.empty() &&
            from_.reuse.empty() && from_.apart.empty() && from_.bank_costs.empty()) {
            return;
        }
        std::vector<Index> part_of(from_.sizes.size(), -1);
        for (Index part = 0; part < count_of(to_.buffers); ++part) part_of[to_.buffers[part]] = part;
        to_.conflicts = parts_of(from_.conflicts, part_of, {});
        const Description::Pairs exclusive = parts_of(from_.exclusive, part_of, to_.conflicts);
        std::vector<ExemptPair>& exempt = to_.instance.exempt;
        for (const auto& [one, other] : exclusive) exempt.push_back({one, other, false});
        for (const auto& [one, other] : parts_of(from_.in_place, part_of, exclusive)) {
            exempt.push_back({one, other, true});
        }
        for (const ReuseCost& entry : from_.reuse) {
            const Index first = part_of[entry.first], second = part_of[entry.second];
            if (first >= 0 && second >= 0) to_.instance.reuse.push_back({first, second, entry.cost});
        }
        add_bank_pairs(part_of);
    }

    // Each pair once, in order, without buffers of size 0: costs add up, and those that may not meet have
    // none.
    void add_bank_pairs(const std::vector<Index>& part_of) {
        constexpr Bytes kNever = -1;
        std::map<std::pair<Index, Index>, Bytes> cost_of;
        const auto add = [&](Index one, Index other, Bytes cost) {
            const std::pair<Index, Index> pair = std::minmax(part_of[one], part_of[other]);
            if (pair.first < 0) return;
            Bytes& sum = cost_of[pair];
            sum = cost == kNever || sum == kNever ? kNever : sum + cost;
        };
        for (const auto& [one, other] : from_.apart) add(one, other, kNever);
        for (const ReuseCost& entry : from_.bank_costs) add(entry.first, entry.second, entry.cost);
        Banks& to = to_.instance.banks;
        for (const auto& [pair, cost] : cost_of) {
            if (cost == kNever) {
                to.apart.push_back(pair);
            } else if (cost > 0) {
                to.costs.push_back({pair.first, pair.second, cost});
            }
        }
    }

    // Pairs of buffers as pairs of parts, each once, in order: but those that are taken, those within an
    // item, and those with a buffer of size 0.
    Description::Pairs parts_of(const Description::Pairs& pairs, const std::vector<Index>& part_of,
                                const Description::Pairs& taken) const {
        Description::Pairs parts;
        for (const auto& [one, other] : pairs) {
            const auto [first, second] = std::minmax(part_of[one], part_of[other]);
            if (first < 0 || to_.instance.parts[first].item == to_.instance.parts[second].item) continue;
            if (!std::ranges::binary_search(taken, std::pair(first, second)))
                parts.emplace_back(first, second);
        }
        std::ranges::sort(parts);
        parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
        return parts;
    }

    const Description& from_;
    std::vector<PoolSpace> spaces_;
    std::vector<OfKind> kinds_;
    // Where some spots of the kind may be too small: by kind, size and pin.
    std::map<std::tuple<Index, Bytes, Bytes>, Spots> fitting_;
    std::deque<Spots> of_groups_;
    std::map<Index, BankRule> rules_;  // by buffer; none of size 0 has one
    std::deque<Windows> of_bodies_;
    bool has_banks_ = false;
    std::vector<Group> groups_;
    std::vector<Body> bodies_;
    std::vector<Choice> choices_;
    Reduction to_;
};

}  // namespace

std::vector<Group> rigid_groups(std::span<const std::int64_t> sizes, std::span<const Tie> ties) {
    if (ties.empty()) return {};
    Distances distances;
    for (const Tie& tie : ties) distances.tie(tie);
    std::vector<std::vector<std::pair<Index, WideBytes>>> tied(sizes.size());
    for (Index buffer = 0; buffer < count_of(sizes); ++buffer) {
        if (sizes[buffer] == 0) continue;
        const auto [root, at] = distances.find(buffer);
        tied[root].emplace_back(buffer, at);
    }
    std::vector<Group> groups;
    for (const auto& members : tied) {
        if (members.size() < 2) continue;
        const WideBytes lowest =
            std::ranges::min_element(members, {}, [](const auto& member) { return member.second; })->second;
        Group& group = groups.emplace_back();
        for (const auto& [buffer, at] : members) {
            group.members.push_back(buffer);
            // No farther than what is in no pool.
            group.deltas.push_back(static_cast<Bytes>(std::min<WideBytes>(at - lowest, kLimit)));
        }
    }
    std::ranges::sort(groups, {}, [](const Group& group) { return group.members[0]; });
    return groups;
}

Reduction reduced(const Description& description) { return Reducer(description).reduced(); }

Hint hint_of(const Instance& instance, Bytes unit, std::span<const Place> places) {
    Hint hint;
    std::map<std::tuple<Index, Index, Bytes>, std::int64_t> kept;
    for (Index item = 0; item < instance.item_count(); ++item) {
        hint.places.emplace_back();
        const Index first = instance.item_parts[item];
        for (Index part = first; part < instance.item_parts[item + 1]; ++part) {
            const Place& at = places[part];
            if (at.offset == kUnplaced) continue;
            ++hint.buffers;
            const Bytes start = at.offset / unit - instance.parts[part].delta;
            if (at.pool < 0 || at.offset % unit != 0 || start < 0) continue;
            ++kept[{item, at.pool, start}];
            if (part == first) hint.places.back() = {at.pool, start};
        }
    }
    for (const auto& [at, count] : kept) {
        const auto& [item, pool, start] = at;
        hint.kept.push_back({item, {pool, start}, count});
    }
    return hint;
}

WideBytes stacked(const Instance& instance) {
    Bytes fixed = 0;
    for (const Pool& pool : instance.pools) {
        if (!pool.reserved.empty()) fixed = std::max(fixed, pool.reserved.back().end);
    }
    WideBytes sum = 0;
    for (Index item = 0; item < instance.item_count(); ++item) {
        for (const Choice& choice : instance.choices[item]) {
            fixed = std::max(fixed, choice.low);
            sum += choice.modulus;
        }
    }
    for (const Part& part : instance.parts) sum += WideBytes{part.delta} + part.size;
    return fixed + sum;
}

}  // namespace memstow
