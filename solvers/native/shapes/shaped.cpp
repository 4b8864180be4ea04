#include "shapes/shaped.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace memstow::shapes {
namespace {

PartPair pair_of(Index a, Index b) { return a < b ? PartPair{a, b} : PartPair{b, a}; }

std::vector<PartRows> spans_of(const Instance& instance) {
    std::vector<PartRows> spans;
    for (Index part = 0; part < count_of(instance.parts); ++part) {
        for (const RowRange& rows : instance.rows[part]) spans.push_back({rows, part});
    }
    std::stable_sort(spans.begin(), spans.end(),
                     [](const PartRows& a, const PartRows& b) { return a.rows.begin < b.rows.begin; });
    return spans;
}

// Ascending, each pair once. There are millions: by counting, not by comparing.
void sort_pairs(std::vector<PartPair>& pairs, Index parts) {
    std::vector<PartPair> sorted(pairs.size());
    for (Index PartPair::* key : {&PartPair::second, &PartPair::first}) {
        std::vector<std::size_t> at(parts + 1);
        for (const PartPair& pair : pairs) ++at[pair.*key + 1];
        std::partial_sum(at.begin(), at.end(), at.begin());
        for (const PartPair& pair : pairs) sorted[at[pair.*key]++] = pair;
        pairs.swap(sorted);
    }
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

// How many pairs of spans share a row.
std::size_t count_sharing(std::span<const PartRows> spans) {
    std::priority_queue<Index, std::vector<Index>, std::greater<>> ends;
    std::size_t count = 0;
    for (const PartRows& span : spans) {
        while (!ends.empty() && ends.top() <= span.rows.begin) ends.pop();
        count += ends.size();
        ends.push(span.rows.end);
    }
    return count;
}

// The same, of two items.
std::size_t count_pairs(const Instance& instance, std::span<const PartRows> spans) {
    std::size_t count = count_sharing(spans);
    if (instance.item_count() == count_of(instance.parts)) return count;
    std::vector<PartRows> by_item(spans.begin(), spans.end());
    const auto item_of = [&](const PartRows& span) { return instance.parts[span.part].item; };
    std::ranges::stable_sort(by_item, {}, item_of);
    for (auto next = by_item.begin(); next != by_item.end();) {
        const auto end = std::find_if(next, by_item.end(), [&, item = item_of(*next)](const PartRows& span) {
            return item_of(span) != item;
        });
        count -= count_sharing({next, end});
        next = end;
    }
    return count;
}

// The pairs of parts of two items that share a row; false when there are too many.
bool list_pairs(const Instance& instance, std::span<const PartRows> spans, std::vector<PartPair>& pairs) {
    std::vector<PartRows> live;
    for (const PartRows& span : spans) {
        std::erase_if(live, [&](const PartRows& other) { return other.rows.end <= span.rows.begin; });
        for (const PartRows& other : live) {
            if (instance.parts[other.part].item == instance.parts[span.part].item) continue;
            pairs.push_back(pair_of(other.part, span.part));
        }
        if (pairs.size() > kMostPairs) return false;
        live.push_back(span);
    }
    sort_pairs(pairs, count_of(instance.parts));
    std::vector<PartPair> free;
    for (const ExemptPair& pair : instance.exempt) {
        if (!pair.in_place) free.push_back(pair_of(pair.first, pair.second));
    }
    std::sort(free.begin(), free.end());
    if (free.empty()) return true;
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

// A part of an item above one of another item that is below.
struct Arc {
    Index part;
    Index below;
};

// By part, those that it is in a pair with, ascending.
Lists<Index> partners_of(const std::vector<PartPair>& pairs, Index parts) {
    Lists<Index> lists;
    lists.start.assign(parts + 1, 0);
    for (const auto& [a, b] : pairs) {
        ++lists.start[a + 1];
        ++lists.start[b + 1];
    }
    std::partial_sum(lists.start.begin(), lists.start.end(), lists.start.begin());
    lists.values.resize(2 * pairs.size());
    std::vector<Index> at(lists.start.begin(), lists.start.end() - 1);
    // The pairs ascend: first those below each, then those above.
    for (const auto& [a, b] : pairs) lists.values[at[b]++] = a;
    for (const auto& [a, b] : pairs) lists.values[at[a]++] = b;
    return lists;
}

// Links of both directions. The gap above an item of one part is the size of the part; gaps of others are
// rows of their own, the largest over their pairs of parts.
void set_links(const std::vector<PartPair>& pairs, Shaped& shaped) {
    const std::int64_t columns = shaped.columns();
    const std::vector<Part>& parts = shaped.parts;
    const Lists<Index> conflicts = partners_of(pairs, count_of(parts));
    shaped.links.values.reserve(conflicts.values.size());
    std::vector<Arc> arcs;
    for (Index item = 0; item < shaped.items(); ++item) {
        arcs.clear();
        for (Index part = shaped.item_parts[item]; part < shaped.item_parts[item + 1]; ++part) {
            for (const Index below : conflicts[part]) arcs.push_back({part, below});
        }
        const auto item_below = [&](const Arc& arc) { return parts[arc.below].item; };
        if (shaped.single[item] < 0) std::ranges::stable_sort(arcs, {}, item_below);
        for (auto next = arcs.begin(); next != arcs.end();) {
            const Index lower = item_below(*next);
            const auto end =
                std::find_if(next, arcs.end(), [&](const Arc& arc) { return item_below(arc) != lower; });
            if (shaped.single[item] >= 0 && shaped.single[lower] >= 0) {
                shaped.links.values.push_back({lower, shaped.single[lower]});
                next = end;
                continue;
            }
            const std::size_t row = shaped.gaps.size();
            shaped.gaps.resize(row + columns, -kLimit);
            for (; next != end; ++next) {
                const Bytes delta = parts[next->below].delta - parts[next->part].delta;
                for (Index k = 0; k < columns; ++k) {
                    const Bytes gap = delta + shaped.gaps[next->below * columns + k];
                    shaped.gaps[row + k] = std::max(shaped.gaps[row + k], gap);
                }
            }
            shaped.links.values.push_back({lower, static_cast<Index>(row / columns)});
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

bool may_be_anywhere(const Instance& instance) {
    for (Index item = 0; item < instance.item_count(); ++item) {
        for (const Choice& choice : instance.choices[item]) {
            if (choice.low == choice.high) return false;
        }
    }
    return true;
}

Lists<Index> sharing_of(const Instance& instance) {
    std::vector<PartPair> pairs;
    for (const ExemptPair& pair : instance.exempt) {
        if (!pair.in_place && pair.first != pair.second) pairs.push_back(pair_of(pair.first, pair.second));
    }
    std::ranges::sort(pairs);
    const auto rest = std::ranges::unique(pairs);
    pairs.erase(rest.begin(), rest.end());
    return partners_of(pairs, count_of(instance.parts));
}

}  // namespace

std::optional<Shaped> shape(const Instance& instance, std::span<const Bytes> sizes, Index points,
                            std::size_t most_linked) {
    if (count_of(instance.parts) > kMostParts) return std::nullopt;
    Shaped shaped;
    std::vector<PartRows> spans = spans_of(instance);
    shaped.anywhere = may_be_anywhere(instance);
    const std::size_t count = count_pairs(instance, spans);
    if (count > kMostPairs) return std::nullopt;
    shaped.linked = count <= most_linked;
    std::vector<PartPair> pairs;  // ascending, without those of one item
    if (shaped.linked && !list_pairs(instance, spans, pairs)) return std::nullopt;
    shaped.lives = std::move(spans);
    shaped.sharing = sharing_of(instance);
    shaped.parts = instance.parts;
    shaped.item_parts = instance.item_parts;
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
    if (shaped.linked) {
        set_links(pairs, shaped);
    } else {
        for (Index item = 0; item < shaped.items(); ++item) shaped.links.close();
    }
    // Pairs that are exempt make a row no clique.
    constexpr std::size_t kFewItems = 256;
    if (instance.exempt.empty() && instance.parts.size() <= kFewItems) set_cliques(instance, shaped);
    return shaped;
}

}  // namespace memstow::shapes
