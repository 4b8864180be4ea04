#include "shapes/shaped.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace memstow::shapes {
namespace {

PartPair pair_of(Index a, Index b) { return a < b ? PartPair{a, b} : PartPair{b, a}; }

struct Span {
    RowRange rows;
    Index part;
};

std::vector<Span> spans_of(const Instance& instance) {
    std::vector<Span> spans;
    for (Index part = 0; part < count_of(instance.parts); ++part) {
        for (const RowRange& rows : instance.rows[part]) spans.push_back({rows, part});
    }
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Span& a, const Span& b) { return a.rows.begin < b.rows.begin; });
    return spans;
}

// The pairs of parts of two items that share a row; false when there are too many.
bool list_pairs(const Instance& instance, std::vector<PartPair>& pairs) {
    std::vector<Span> live;
    for (const Span& span : spans_of(instance)) {
        std::erase_if(live, [&](const Span& other) { return other.rows.end <= span.rows.begin; });
        for (const Span& other : live) {
            if (instance.parts[other.part].item == instance.parts[span.part].item) continue;
            pairs.push_back(pair_of(other.part, span.part));
        }
        if (pairs.size() > kMostPairs) return false;
        live.push_back(span);
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    std::vector<PartPair> free;
    for (const ExemptPair& pair : instance.exempt) {
        if (!pair.in_place) free.push_back(pair_of(pair.first, pair.second));
    }
    std::sort(free.begin(), free.end());
    std::erase_if(pairs,
                  [&](const PartPair& other) { return std::binary_search(free.begin(), free.end(), other); });
    return true;
}

void set_tops(const Instance& instance, std::span<const Bytes> sizes, Shaped& shaped) {
    const std::int64_t columns = shaped.columns();
    shaped.tops.assign(shaped.items() * columns, 0);
    for (Index part = 0; part < count_of(instance.parts); ++part) {
        const Part& own = instance.parts[part];
        for (Index k = 0; k < columns; ++k) {
            const Bytes size = sizes[part * columns + k];
            if (size == 0) continue;
            Bytes& top = shaped.tops[own.item * columns + k];
            top = std::max(top, own.delta + size);
        }
    }
}

struct Arc {
    Index upper;
    Index lower;
    Index upper_part;
    Index lower_part;
};

// Links of both directions. The gap above an item of one part is the size of the part; gaps of others are
// rows of their own, the largest over their pairs of parts.
void set_links(const Instance& instance, Shaped& shaped) {
    const std::int64_t columns = shaped.columns();
    std::vector<Arc> arcs;
    arcs.reserve(2 * shaped.pairs.size());
    for (const auto& [a, b] : shaped.pairs) {
        const Index one = instance.parts[a].item, two = instance.parts[b].item;
        arcs.push_back({one, two, a, b});
        arcs.push_back({two, one, b, a});
    }
    std::sort(arcs.begin(), arcs.end(), [](const Arc& a, const Arc& b) {
        return a.upper != b.upper ? a.upper < b.upper : a.lower < b.lower;
    });
    std::size_t next = 0;
    for (Index item = 0; item < shaped.items(); ++item) {
        while (next < arcs.size() && arcs[next].upper == item) {
            const Index lower = arcs[next].lower;
            std::size_t end = next;
            while (end < arcs.size() && arcs[end].upper == item && arcs[end].lower == lower) ++end;
            if (shaped.single[item] >= 0 && shaped.single[lower] >= 0) {
                shaped.links.values.push_back({lower, shaped.single[lower]});
            } else {
                const std::size_t row = shaped.gaps.size();
                shaped.gaps.resize(row + columns, -kLimit);
                for (std::size_t at = next; at < end; ++at) {
                    const Part &above = instance.parts[arcs[at].upper_part],
                               &below = instance.parts[arcs[at].lower_part];
                    const auto from = arcs[at].lower_part * columns;
                    for (Index k = 0; k < columns; ++k) {
                        const Bytes gap = below.delta + shaped.gaps[from + k] - above.delta;
                        shaped.gaps[row + k] = std::max(shaped.gaps[row + k], gap);
                    }
                }
                shaped.links.values.push_back({lower, static_cast<Index>(row / columns)});
            }
            next = end;
        }
        shaped.links.close();
    }
}

// One clique for each row of the instance, without those that are within the one before.
void set_cliques(const Instance& instance, Shaped& shaped) {
    std::vector<std::vector<Index>> members(instance.row_count);
    for (Index part = 0; part < count_of(instance.parts); ++part) {
        if (shaped.single[instance.parts[part].item] < 0) continue;
        for (const RowRange& rows : instance.rows[part]) {
            for (Index row = rows.begin; row < rows.end; ++row)
                members[row].push_back(instance.parts[part].item);
        }
    }
    for (std::vector<Index>& row : members) {
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        if (row.size() < 2) continue;
        shaped.cliques.values.insert(shaped.cliques.values.end(), row.begin(), row.end());
        shaped.cliques.close();
    }
}

}  // namespace

std::optional<Shaped> shape(const Instance& instance, std::span<const Bytes> sizes, Index points) {
    if (count_of(instance.parts) > kMostParts) return std::nullopt;
    Shaped shaped;
    if (!list_pairs(instance, shaped.pairs)) return std::nullopt;
    shaped.parts = instance.parts;
    shaped.points = points;
    shaped.choices = instance.choices;
    shaped.pools = count_of(instance.pools);
    for (Index item = 0; item < instance.item_count(); ++item) {
        const Index first = instance.item_parts[item];
        const bool alone = instance.item_parts[item + 1] == first + 1 && instance.parts[first].delta == 0;
        shaped.single.push_back(alone ? first : -1);
    }
    shaped.gaps.assign(sizes.begin(), sizes.end());
    set_tops(instance, sizes, shaped);
    set_links(instance, shaped);
    // Pairs that are exempt make a row no clique.
    constexpr std::size_t kFewItems = 256;
    if (instance.exempt.empty() && instance.parts.size() <= kFewItems) set_cliques(instance, shaped);
    return shaped;
}

}  // namespace memstow::shapes
