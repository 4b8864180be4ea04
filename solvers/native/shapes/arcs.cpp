#include "shapes/arcs.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

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

// Whatever lives at one moment is in a row, the lowest first. When a part begins to live, the next below and
// above it that it conflicts with tell: whoever lives then and is further away conflicts with that one, so
// that it is below or above it already, but for those that may share its bytes. So does what was between two
// that are next to each other later.
class Row {
  public:
    Row(const Shaped& shaped, const std::vector<Index>& place, const std::vector<Index>& pool)
        : shaped_(shaped),
          pool_(pool),
          rank_(shaped.parts.size()),
          is_live_(shaped.parts.size()),
          below_(shaped.parts.size()) {
        std::vector<Index> order(shaped.parts.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::sort(order, {}, [&](Index part) {
            return std::tuple(place[item_of(part)], shaped.parts[part].delta, part);
        });
        for (Index at = 0; at < count_of(order); ++at) rank_[order[at]] = at;
    }

    std::vector<std::vector<Index>> next_below() {
        std::vector<std::vector<Index>> live(shaped_.pools);
        std::priority_queue<End, std::vector<End>, std::greater<>> ends;
        const auto spot = [&](std::vector<Index>& here, Index part) {
            return std::ranges::lower_bound(here, rank_[part], {}, [&](Index other) { return rank_[other]; });
        };
        for (const PartRows& span : shaped_.lives) {
            while (!ends.empty() && ends.top().row <= span.rows.begin) {
                const Index part = ends.top().part;
                std::vector<Index>& there = live[pool_of(part)];
                there.erase(spot(there, part));
                is_live_[part] = 0;
                ends.pop();
            }
            std::vector<Index>& here = live[pool_of(span.part)];
            const auto at = spot(here, span.part);
            for (auto next = at; next != here.begin();) {
                if (join(*--next, span.part)) break;
            }
            for (auto next = at; next != here.end(); ++next) {
                if (join(*next, span.part)) break;
            }
            here.insert(at, span.part);
            is_live_[span.part] = 1;
            ends.push({span.rows.end, span.part});
        }
        return std::move(below_);
    }

  private:
    struct End {
        Index row;
        Index part;
        bool operator>(const End& other) const { return row > other.row; }
    };

    Index item_of(Index part) const { return shaped_.parts[part].item; }
    Index pool_of(Index part) const { return pool_[item_of(part)]; }

    // Whether two that live at one moment may share bytes, or keep their distance.
    bool may_share(Index one, Index other) const {
        return item_of(one) == item_of(other) || std::ranges::binary_search(shaped_.sharing[one], other);
    }

    void add(Index one, Index other) {
        if (rank_[one] < rank_[other]) {
            below_[other].push_back(one);
        } else {
            below_[one].push_back(other);
        }
    }

    // Whether the next one conflicts with the part; then what may share bytes with it is looked at as well.
    bool join(Index next, Index part) {
        if (may_share(next, part)) return false;
        add(next, part);
        const auto look = [&](Index other) {
            if (is_live_[other] == 0 || pool_of(other) != pool_of(part) || may_share(other, part)) return;
            const bool is_below = rank_[next] < rank_[part];
            if (is_below ? rank_[other] < rank_[next] : rank_[next] < rank_[other]) add(other, part);
        };
        for (const Index other : shaped_.sharing[next]) look(other);
        const Index item = item_of(next);
        for (Index other = shaped_.item_parts[item]; other < shaped_.item_parts[item + 1]; ++other)
            look(other);
        return true;
    }

    const Shaped& shaped_;
    const std::vector<Index>& pool_;  // by item
    std::vector<Index> rank_;         // by part
    std::vector<char> is_live_;
    std::vector<std::vector<Index>> below_;
};

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

std::vector<std::vector<Index>> next_below(const Shaped& shaped, const std::vector<Index>& place,
                                           const std::vector<Index>& pool) {
    return Row(shaped, place, pool).next_below();
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
