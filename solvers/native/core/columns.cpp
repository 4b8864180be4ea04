#include "core/columns.hpp"

#include <numeric>

#include "core/ascending.hpp"
#include "core/assemble.hpp"

namespace memstow {
namespace {

Bytes alignment_of(const Columns& columns, std::size_t buffer) {
    return columns.alignments.size() == 1 ? columns.alignments[0] : columns.alignments[buffer];
}

// What all sizes have in common, and all alignments that do not divide it: any other holds wherever a buffer
// is.
Bytes unit_of(const Columns& columns, const std::vector<Index>& buffers) {
    Bytes unit = 0;
    for (const Index buffer : buffers) {
        if (unit == 1) break;
        unit = std::gcd(unit, columns.sizes[buffer]);
    }
    if (unit == 0) return 1;
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

}  // namespace

FromColumns instance_of(const Columns& columns, Bytes capacity, ItemOrder order) {
    FromColumns converted;
    const auto add = [&](Index buffer) {
        if (columns.sizes[buffer] > 0) converted.buffers.push_back(buffer);
    };
    if (order == ItemOrder::by_begin) {
        for (const Index buffer : ascending(columns.begins)) add(buffer);
    } else {
        for (Index buffer = 0; buffer < count_of(columns.sizes); ++buffer) add(buffer);
    }
    converted.unit = unit_of(columns, converted.buffers);
    Instance& to = converted.instance;
    to.pools.push_back({capacity == kLimit ? kLimit : capacity / converted.unit, {}});
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
        to.choices.add({0, modulus, 0, 0, kLimit, 0});
        converted.stacked += WideBytes{modulus} + columns.sizes[buffer] / converted.unit;
        to.parts.push_back({static_cast<Index>(item), 0, columns.sizes[buffer] / converted.unit});
        to.item_parts.push_back(static_cast<Index>(item + 1));
        to.lives.values.push_back({columns.begins[buffer], columns.ends[buffer]});
        to.lives.close();
    }
    converted.times = assemble_rows(to, {});
    return converted;
}

}  // namespace memstow
