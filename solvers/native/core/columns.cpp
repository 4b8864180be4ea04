#include "core/columns.hpp"

#include <algorithm>
#include <numeric>

#include "core/ascending.hpp"
#include "core/assemble.hpp"

namespace memstow {
namespace {

Bytes alignment_of(const Columns& columns, std::size_t buffer) {
    return columns.alignments.size() == 1 ? columns.alignments[0] : columns.alignments[buffer];
}

Bytes pin_of(const Constraints& constraints, Index buffer) {
    return constraints.pins.empty() ? kUnplaced : constraints.pins[buffer];
}

// What all sizes and given offsets have in common, and all alignments that do not divide it: any other holds
// wherever a buffer is.
Bytes unit_of(const Columns& columns, const std::vector<Index>& buffers, const Constraints& constraints) {
    Bytes unit = 0;
    for (const Index buffer : buffers) {
        if (unit == 1) break;
        unit = std::gcd(unit, columns.sizes[buffer]);
        const Bytes pin = pin_of(constraints, buffer);
        if (pin != kUnplaced) unit = std::gcd(unit, pin);
    }
    if (unit == 0) return 1;
    for (const Range& range : constraints.reserved) {
        unit = std::gcd(unit, std::gcd(range.begin, range.end - range.begin));
    }
    // Where an alignment lowers the unit, one that did divide it may do so no longer.
    for (Bytes before = 0; before != unit && unit != 1;) {
        before = unit;
        for (const Index buffer : buffers) {
            const Bytes alignment = alignment_of(columns, buffer);
            if (unit % alignment != 0) unit = std::gcd(unit, alignment);
        }
    }
    return unit;
}

using Pairs = std::vector<std::pair<Index, Index>>;

// Pairs of buffers as pairs of parts, each once, in order, but those that are taken.
Pairs parts_of(const Pairs& pairs, const std::vector<Index>& part_of, const Pairs& taken) {
    Pairs parts;
    for (const auto& [one, other] : pairs) {
        const auto [first, second] = std::minmax(part_of[one], part_of[other]);
        if (first >= 0 && !std::ranges::binary_search(taken, std::pair(first, second))) {
            parts.emplace_back(first, second);
        }
    }
    std::ranges::sort(parts);
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    return parts;
}

// The conflicts of the constraints, by part; the pairs that are exempt go into the instance.
Pairs add_pairs(const Constraints& constraints, FromColumns& converted, std::size_t buffers) {
    if (constraints.conflicts.empty() && constraints.exclusive.empty() && constraints.in_place.empty()) {
        return {};
    }
    std::vector<Index> part_of(buffers, -1);
    for (Index part = 0; part < count_of(converted.buffers); ++part) part_of[converted.buffers[part]] = part;
    Pairs conflicts = parts_of(constraints.conflicts, part_of, {});
    const Pairs exclusive = parts_of(constraints.exclusive, part_of, conflicts);
    for (const auto& [one, other] : exclusive) converted.instance.exempt.push_back({one, other, false});
    for (const auto& [one, other] : parts_of(constraints.in_place, part_of, exclusive)) {
        converted.instance.exempt.push_back({one, other, true});
    }
    return conflicts;
}

// The union of ranges, in order, without ranges that touch.
void add_lives(std::vector<Lifetime> lives, Lists<Lifetime>& to) {
    std::ranges::sort(lives, {}, &Lifetime::begin);
    const std::size_t first = to.values.size();
    for (const Lifetime& life : lives) {
        if (to.values.size() > first && life.begin <= to.values.back().end) {
            to.values.back().end = std::max(to.values.back().end, life.end);
        } else {
            to.values.push_back(life);
        }
    }
    to.close();
}

}  // namespace

FromColumns instance_of(const Columns& columns, Bytes capacity, ItemOrder order,
                        const Constraints& constraints) {
    FromColumns converted;
    const auto add = [&](Index buffer) {
        if (columns.sizes[buffer] > 0) converted.buffers.push_back(buffer);
    };
    if (order == ItemOrder::by_begin) {
        for (const Index buffer : ascending(columns.begins)) add(buffer);
    } else {
        for (Index buffer = 0; buffer < count_of(columns.sizes); ++buffer) add(buffer);
    }
    converted.unit = unit_of(columns, converted.buffers, constraints);
    Instance& to = converted.instance;
    to.pools.push_back({capacity == kLimit ? kLimit : capacity / converted.unit, {}});
    for (const Range& range : constraints.reserved) {
        to.pools[0].reserved.push_back({range.begin / converted.unit, range.end / converted.unit});
    }
    const Bytes highest_reserved = to.pools[0].reserved.empty() ? 0 : to.pools[0].reserved.back().end;
    converted.stacked = highest_reserved;
    Bytes pinned = 0;
    const std::size_t count = converted.buffers.size();
    to.choices.reserve(count);
    to.parts.reserve(count);
    to.item_parts.reserve(count + 1);
    to.lives.values.reserve(count);
    to.lives.start.reserve(count + 1);
    for (std::size_t item = 0; item < count; ++item) {
        const Index buffer = converted.buffers[item];
        const Bytes alignment = alignment_of(columns, buffer);
        const Bytes modulus =
            converted.unit % alignment == 0 ? 1 : alignment / std::gcd(alignment, converted.unit);
        const Bytes pin = pin_of(constraints, buffer);
        if (pin == kUnplaced) {
            to.choices.add({0, modulus, 0, 0, kLimit, 0});
        } else {
            to.choices.add({0, modulus, 0, pin / converted.unit, pin / converted.unit, 0});
            pinned = std::max(pinned, pin / converted.unit);
        }
        converted.stacked += WideBytes{modulus} + columns.sizes[buffer] / converted.unit;
        to.parts.push_back({static_cast<Index>(item), 0, columns.sizes[buffer] / converted.unit});
        to.item_parts.push_back(static_cast<Index>(item + 1));
        if (constraints.lives.empty()) {
            to.lives.values.push_back({columns.begins[buffer], columns.ends[buffer]});
            to.lives.close();
        } else {
            add_lives(constraints.lives[buffer], to.lives);
        }
    }
    converted.stacked += std::max<WideBytes>(pinned - highest_reserved, 0);
    converted.times = assemble_rows(to, add_pairs(constraints, converted, columns.sizes.size()));
    return converted;
}

}  // namespace memstow
