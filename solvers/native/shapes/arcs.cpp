#include "shapes/arcs.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>

namespace memstow::shapes {
namespace {

// By part, the parts that it is above.
class Reach {
  public:
    explicit Reach(std::size_t parts) : words_((parts + 63) / 64), bits_(parts * words_, 0) {}

    bool has(Index part, Index other) const { return (row(part)[other / 64] >> (other % 64) & 1) != 0; }
    void add(Index part, Index other) {
        row(part)[other / 64] |= std::uint64_t{1} << (other % 64);
        add_all(part, other);
    }
    void add_all(Index part, Index other) {
        std::uint64_t* to = row(part);
        const std::uint64_t* from = row(other);
        for (std::size_t i = 0; i < words_; ++i) to[i] |= from[i];
    }

  private:
    std::uint64_t* row(Index part) { return bits_.data() + part * words_; }
    const std::uint64_t* row(Index part) const { return bits_.data() + part * words_; }

    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

// By part, all parts below it that it conflicts with.
std::vector<std::vector<Index>> all_below(const Shaped& shaped, const std::vector<Index>& place,
                                          const std::vector<Index>& pool) {
    std::vector<std::vector<Index>> below(shaped.parts.size());
    for (const auto& [a, b] : shaped.pairs) {
        const Index one = shaped.parts[a].item, other = shaped.parts[b].item;
        if (pool[one] != pool[other]) continue;
        if (place[one] < place[other]) below[b].push_back(a);
        if (place[other] < place[one]) below[a].push_back(b);
    }
    return below;
}

}  // namespace

std::vector<Index> places_in(const std::vector<Index>& sequence) {
    std::vector<Index> place(sequence.size());
    for (Index at = 0; at < count_of(sequence); ++at) place[sequence[at]] = at;
    return place;
}

std::vector<Index> pools_of(const Shaped& shaped, const std::vector<Index>& choices) {
    std::vector<Index> pool;
    for (Index item = 0; item < count_of(choices); ++item)
        pool.push_back(shaped.choices[item][choices[item]].pool);
    return pool;
}

// Whatever lives at one moment is in a row by its place: when a part begins to live, what is next to it
// tells, since whoever lives then and is further away is above or below that one. So does what was between
// two that are next to each other later.
std::vector<std::vector<Index>> next_below(const Shaped& shaped, const std::vector<Index>& place,
                                           const std::vector<Index>& pool) {
    struct End {
        Index row;
        Index part;
        bool operator>(const End& other) const { return row > other.row; }
    };
    const auto item_of = [&](Index part) { return shaped.parts[part].item; };
    std::vector<std::vector<Index>> below(shaped.parts.size());
    // By pool, those that live, the lowest first.
    std::vector<std::vector<Index>> live(shaped.pools);
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    const auto spot = [&](Index part) {
        std::vector<Index>& here = live[pool[item_of(part)]];
        return std::ranges::lower_bound(here, place[item_of(part)], {},
                                        [&](Index other) { return place[item_of(other)]; });
    };
    for (const PartRows& span : shaped.lives) {
        while (!ends.empty() && ends.top().row <= span.rows.begin) {
            const Index part = ends.top().part;
            live[pool[item_of(part)]].erase(spot(part));
            ends.pop();
        }
        std::vector<Index>& here = live[pool[item_of(span.part)]];
        const auto at = spot(span.part);
        if (at != here.begin()) below[span.part].push_back(*(at - 1));
        if (at != here.end()) below[*at].push_back(span.part);
        here.insert(at, span.part);
        ends.push({span.rows.end, span.part});
    }
    return below;
}

std::vector<PartArc> arcs(const Shaped& shaped, const std::vector<Index>& sequence,
                          const std::vector<Index>& choices) {
    const std::vector<Index> place = places_in(sequence), pool = pools_of(shaped, choices);
    const auto place_of = [&](Index part) { return place[shaped.parts[part].item]; };
    std::vector<std::vector<Index>> below =
        shaped.lives.empty() ? all_below(shaped, place, pool) : next_below(shaped, place, pool);
    std::vector<std::vector<Index>> members(sequence.size());
    for (Index part = 0; part < count_of(shaped.parts); ++part)
        members[shaped.parts[part].item].push_back(part);
    Reach reach(shaped.parts.size());
    std::vector<PartArc> result;
    for (const Index item : sequence) {
        std::vector<Index>& own = members[item];
        std::stable_sort(own.begin(), own.end(),
                         [&](Index a, Index b) { return shaped.parts[a].delta < shaped.parts[b].delta; });
        for (std::size_t at = 0; at < own.size(); ++at) {
            if (at > 0) reach.add_all(own[at], own[at - 1]);
            // The highest first: what they are above need not be said.
            std::vector<Index>& lower = below[own[at]];
            std::sort(lower.begin(), lower.end(), [&](Index a, Index b) {
                if (place_of(a) != place_of(b)) return place_of(a) > place_of(b);
                return shaped.parts[a].delta != shaped.parts[b].delta
                           ? shaped.parts[a].delta > shaped.parts[b].delta
                           : a > b;
            });
            for (const Index part : lower) {
                if (reach.has(own[at], part)) continue;
                result.push_back({own[at], part});
                reach.add(own[at], part);
            }
        }
    }
    return result;
}

}  // namespace memstow::shapes
