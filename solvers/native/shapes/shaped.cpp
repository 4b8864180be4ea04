#include "shapes/shaped.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
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

// Each pair of parts of two items that share a row and may share no byte; of several rows, several times.
template <class Visit>
void for_each_pair(const Shaped& shaped, const Visit& visit) {
    std::vector<PartRows> live;
    for (const PartRows& span : shaped.lives) {
        std::erase_if(live, [&](const PartRows& other) { return other.rows.end <= span.rows.begin; });
        const std::span<const Index> sharing = shaped.sharing[span.part];
        for (const PartRows& other : live) {
            if (shaped.parts[other.part].item == shaped.parts[span.part].item) continue;
            if (!sharing.empty() && std::ranges::binary_search(sharing, other.part)) continue;
            visit(other.part, span.part);
        }
        live.push_back(span);
    }
}

using Partners = Lists<Links::Number>;

// Each list ascending, each number once: by marks, not by comparing.
void sort_each(Partners& lists, Index numbers) {
    constexpr Index kBits = 64;
    std::vector<std::uint64_t> marks(numbers / kBits + 1);
    auto to = lists.values.begin();
    Index begin = 0;
    for (Index list = 0; list < lists.size(); ++list) {
        const Index end = lists.start[list + 1];
        for (Index at = begin; at < end; ++at) {
            const Index number = lists.values[at];
            marks[number / kBits] |= std::uint64_t{1} << (number % kBits);
        }
        for (Index word = 0; word < count_of(marks); ++word) {
            for (; marks[word] != 0; marks[word] &= marks[word] - 1) {
                *to++ = static_cast<Links::Number>(kBits * word + std::countr_zero(marks[word]));
            }
        }
        begin = end;
        lists.start[list + 1] = static_cast<Index>(to - lists.values.begin());
    }
    lists.values.erase(to, lists.values.end());
}

// By part, those of other items that it shares a row with and may share no byte.
Partners conflicts_of(const Shaped& shaped) {
    const Index parts = count_of(shaped.parts);
    Partners lists;
    lists.start.assign(parts + 1, 0);
    for_each_pair(shaped, [&](Index a, Index b) {
        ++lists.start[a + 1];
        ++lists.start[b + 1];
    });
    std::partial_sum(lists.start.begin(), lists.start.end(), lists.start.begin());
    lists.values.resize(lists.start.back());
    std::vector<Index> at(lists.start.begin(), lists.start.end() - 1);
    for_each_pair(shaped, [&](Index a, Index b) {
        lists.values[at[a]++] = static_cast<Links::Number>(b);
        lists.values[at[b]++] = static_cast<Links::Number>(a);
    });
    sort_each(lists, parts);
    return lists;
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

// A part of an item above one of another item that is below: where the other item is, and this distance and
// the size of the part above it, the item begins at the earliest.
struct Arc {
    Index below;
    Bytes distance;
    auto operator<=>(const Arc&) const = default;
};

// Links of items of which some are several parts, from the conflicts of parts. Between two such items, the
// gap is the largest over their pairs of parts.
class LinkMaker {
  public:
    LinkMaker(const Partners& conflicts, Shaped& shaped)
        : conflicts_(conflicts), shaped_(shaped), links_(shaped.links), of_part_(shaped.parts.size(), -1) {}

    void run() {
        for (Index item = 0; item < shaped_.items(); ++item) {
            links_.is_single.push_back(shaped_.single[item] >= 0);
        }
        for (Index item = 0; item < shaped_.items(); ++item) {
            links_.first_gap.push_back(count_of(links_.gap_of));
            link(item);
            links_.others.close();
        }
    }

  private:
    void link(Index item) {
        arcs_.clear();
        for (Index part = shaped_.item_parts[item]; part < shaped_.item_parts[item + 1]; ++part) {
            const Bytes delta = shaped_.parts[part].delta;
            for (const Index below : conflicts_[part]) {
                arcs_.push_back({below, shaped_.parts[below].delta - delta});
            }
        }
        // Parts are ordered by item.
        std::ranges::sort(arcs_);
        const auto item_below = [&](const Arc& arc) { return shaped_.parts[arc.below].item; };
        for (auto next = arcs_.begin(); next != arcs_.end();) {
            const Index lower = item_below(*next);
            pair_.clear();
            for (; next != arcs_.end() && item_below(*next) == lower; ++next) {
                // The last of each part is the farthest.
                if (!pair_.empty() && pair_.back().below == next->below) pair_.pop_back();
                pair_.push_back(*next);
            }
            links_.others.values.push_back(static_cast<Links::Number>(lower));
            if (shaped_.single[item] < 0 || shaped_.single[lower] < 0) links_.gap_of.push_back(gap());
        }
    }

    // The gap of the pair at hand. Those above one item are the same for most items.
    Index gap() {
        const Arc& first = pair_.front();
        if (pair_.size() > 1) {
            const auto [known, is_new] = of_several_.try_emplace(pair_, count_of(links_.gaps));
            return is_new ? add({merged()}) : known->second;
        }
        if (first.distance != shaped_.parts[first.below].delta) return add({first.below, first.distance});
        Index& known = of_part_[first.below];
        if (known < 0) known = add({first.below, first.distance});
        return known;
    }

    Index add(const Gap& gap) {
        links_.gaps.push_back(gap);
        return count_of(links_.gaps) - 1;
    }

    // A row of its own, the largest of the pair.
    Index merged() {
        const std::int64_t columns = shaped_.columns();
        const std::size_t row = shaped_.gaps.size();
        shaped_.gaps.resize(row + columns, -kLimit);
        for (const auto& [below, distance] : pair_) {
            for (std::int64_t k = 0; k < columns; ++k) {
                const Bytes gap = distance + shaped_.gaps[below * columns + k];
                shaped_.gaps[row + k] = std::max(shaped_.gaps[row + k], gap);
            }
        }
        return static_cast<Index>(row / columns);
    }

    const Partners& conflicts_;
    Shaped& shaped_;
    Links& links_;
    std::vector<Arc> arcs_;
    std::vector<Arc> pair_;
    std::vector<Index> of_part_;  // the gap above it of an item that begins where its part does, or -1
    std::map<std::vector<Arc>, Index> of_several_;
};

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
    if (!shaped.linked) {
        shaped.links.others.start.assign(shaped.items() + 1, 0);
    } else if (Partners conflicts = conflicts_of(shaped);
               std::ranges::find(shaped.single, -1) == shaped.single.end()) {
        // Items are numbered as their parts are.
        shaped.links.others = std::move(conflicts);
    } else {
        LinkMaker(conflicts, shaped).run();
    }
    // Pairs that are exempt make a row no clique.
    constexpr std::size_t kFewItems = 256;
    if (instance.exempt.empty() && instance.parts.size() <= kFewItems) set_cliques(instance, shaped);
    return shaped;
}

}  // namespace memstow::shapes
