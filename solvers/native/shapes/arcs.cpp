#include "shapes/arcs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace memstow::shapes {
namespace {

// Sets of so many parts are looked at together: the sets of all parts stay in the cache.
constexpr std::size_t kWords = 16;
constexpr Index kBlock = 64 * kWords;
using Block = std::array<std::uint64_t, kWords>;

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
    const std::vector<Index> place = places_in(sequence);
    std::vector<std::vector<Index>> below = next_below(shaped, place, pools_of(shaped, choices));
    std::vector<std::vector<Index>> members(sequence.size());
    for (Index part = 0; part < count_of(shaped.parts); ++part)
        members[shaped.parts[part].item].push_back(part);
    std::vector<Index> order;  // each part after all that it is above
    for (const Index item : sequence) {
        std::vector<Index>& own = members[item];
        std::ranges::stable_sort(own, {}, [&](Index part) { return shaped.parts[part].delta; });
        order.insert(order.end(), own.begin(), own.end());
    }
    for (std::vector<Index>& lower : below) {
        // The highest first.
        std::ranges::sort(lower, std::greater<>{}, [&](Index part) {
            const Part& own = shaped.parts[part];
            return std::tuple(place[own.item], own.delta, part);
        });
        const auto rest = std::ranges::unique(lower);
        lower.erase(rest.begin(), rest.end());
    }
    std::vector<std::vector<char>> follows(below.size());  // which of them
    for (std::size_t part = 0; part < below.size(); ++part) follows[part].assign(below[part].size(), 0);
    std::vector<Block> under(below.size());  // by part, those of the block that it is above
    for (Index first = 0; first < count_of(below); first += kBlock) {
        Index before = -1;
        for (const Index part : order) {
            Block& own = under[part];
            // What is below a part of an item is below those of it that begin no lower.
            const bool is_lowest = before < 0 || shaped.parts[before].item != shaped.parts[part].item;
            own = is_lowest ? Block{} : under[before];
            before = part;
            for (const Index lower : below[part]) {
                for (std::size_t word = 0; word < kWords; ++word) own[word] |= under[lower][word];
            }
            for (std::size_t at = 0; at < below[part].size(); ++at) {
                const Index bit = below[part][at] - first;
                if (bit < 0 || bit >= kBlock) continue;
                if ((own[bit / 64] >> (bit % 64) & 1) != 0) follows[part][at] = 1;
            }
            for (const Index lower : below[part]) {
                const Index bit = lower - first;
                if (bit >= 0 && bit < kBlock) own[bit / 64] |= std::uint64_t{1} << (bit % 64);
            }
        }
    }
    std::vector<PartArc> result;
    for (const Index part : order) {
        for (std::size_t at = 0; at < below[part].size(); ++at) {
            if (follows[part][at] == 0) result.push_back({part, below[part][at]});
        }
    }
    return result;
}

}  // namespace memstow::shapes
