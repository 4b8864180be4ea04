// Places items one after the other on a board: what every greedy pass has in common, whatever its order.
// Every constraint of the instance is honoured here but for capacity: an item that fits in none of its pools
// goes where it overflows least, so that a layout is complete and its overflow known.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/budget.hpp"
#include "core/instance.hpp"
#include "greedy/pace.hpp"
#include "greedy/tactics.hpp"
#include "greedy/tops.hpp"

namespace memstow::greedy {

// The least offset of the choice at `from` or above; nothing when it would be above `high`.
inline std::optional<Bytes> align_up(const Choice& choice, Bytes from) {
    from = std::max(from, choice.low);
    if (from > choice.high) return std::nullopt;
    const Bytes step = floor_mod(choice.residue - from, choice.modulus);
    if (step > choice.high - from) return std::nullopt;
    return from + step;
}

inline Bytes extent_of(const Instance& instance, Index item) {
    Bytes extent = 0;
    for (const Part& part : instance.parts_of(item)) extent = std::max(extent, part.delta + part.size);
    return extent;
}

inline bool is_pinned(const Instance& instance, Index item) {
    const std::span<const Choice> choices = instance.choices[item];
    return std::all_of(choices.begin(), choices.end(),
                       [](const Choice& choice) { return choice.low == choice.high; });
}

// The number of items that are placed in gaps however little budget is left, and however little time.
inline constexpr std::size_t kWhole = 4096;
inline constexpr std::size_t kWholeInTime = 512;

// What a pass does when the budget is spent.
enum class WhenSpent {
    stack,    // the items after the first ones go above those they meet, gaps or not: valid and quick
    give_up,  // there is a layout already
};

template <class Board>
class Placer {
  public:
    // The hint is a layout or empty; only a tactics that keeps looks at it.
    explicit Placer(const Instance& instance, const Layout& hint = {})
        : instance_(instance), board_(instance), hint_(hint) {
        const Index n = instance.item_count();
        extents_.reserve(n);
        for (Index item = 0; item < instance.item_count(); ++item) {
            extents_.push_back(extent_of(instance, item));
        }
        list_partners();
    }

    // A layout with the items in this order. Gives up, and says so, as soon as an item ends above
    // `give_up_above`, or where it may and there is too little time.
    bool run(std::span<const Index> order, const Tactics& tactics, Budget& budget, Layout& layout,
             WhenSpent when_spent = WhenSpent::stack, Bytes give_up_above = kLimit) {
        const bool may_give_up = when_spent == WhenSpent::give_up;
        board_.clear();
        peaks_.assign(instance_.pools.size(), 0);
        layout.assign(extents_.size(), Place{});
        layout_ = &layout;
        constexpr std::size_t kStride = 64;
        Pace pace(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (i % kStride == 0 && is_over(budget, may_give_up ? kWhole : i)) {
                if (may_give_up) return give_up(i, budget);
                // Pinned items, which come first, are not above what they meet.
                if (!is_pinned(instance_, order[i])) {
                    stack(order.first(i), order.subspan(i));
                    break;
                }
            }
            if (i % kStride == 0 && may_give_up && pace.too_slow(i, budget)) return give_up(i, budget);
            const Place place = choose(order[i], tactics);
            settle(order[i], place);
            if (place.offset != kUnplaced && place.offset + extent(order[i]) > give_up_above) {
                return give_up(i, budget);
            }
        }
        budget.count(count_of(order));
        return true;
    }

  private:
    static bool is_over(const Budget& budget, std::size_t placed) {
        if (placed >= kWhole) return budget.spent();
        return placed >= kWholeInTime && budget.seconds_left() == 0;
    }

    static bool give_up(std::size_t placed, Budget& budget) {
        budget.count(static_cast<std::int64_t>(placed));
        return false;
    }

    using Aim = typename Board::Aim;
    struct Partner {
        Index own;    // part of the item
        Index other;  // part of another item that it may share an offset with
    };

    Bytes extent(Index item) const { return extents_[item]; }
    const Pool& pool_of(const Choice& choice) const { return instance_.pools[choice.pool]; }
    const Part& part(Index index) const { return instance_.parts[index]; }

    void list_partners() {
        if (!board_.knows_exempt()) return;
        std::vector<std::pair<Index, Partner>> partners;
        for (const ExemptPair& pair : instance_.exempt) {
            if (!pair.in_place) continue;
            partners.push_back({part(pair.first).item, {pair.first, pair.second}});
            partners.push_back({part(pair.second).item, {pair.second, pair.first}});
        }
        if (partners.empty()) return;
        std::sort(partners.begin(), partners.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        auto next = partners.begin();
        for (Index item = 0; item < instance_.item_count(); ++item) {
            for (; next != partners.end() && next->first == item; ++next) {
                partners_.values.push_back(next->second);
            }
            partners_.close();
        }
    }

    // The least offset at `from` or above that is free of other items and of reserved ranges.
    std::optional<Bytes> lowest_from(Index item, const Choice& choice, Bytes from) {
        const std::span<const Part> parts = instance_.parts_of(item);
        std::optional<Bytes> offset = align_up(choice, from);
        while (offset && *offset <= kLimit - extent(item)) {
            Bytes free = *offset;
            for (std::size_t k = 0; k < parts.size(); ++k) {
                free = free_of_reserved(aims_[k], pool_of(choice), parts[k], free);
            }
            const Bytes wanted = *offset;
            offset = align_up(choice, free);
            if (free == wanted || (parts.size() == 1 && offset == free)) break;
        }
        if (offset && *offset > kLimit - extent(item)) return std::nullopt;
        return offset;
    }

    Bytes free_of_reserved(Aim& aim, const Pool& pool, const Part& part, Bytes from) {
        Bytes begin = board_.next_free(aim, from + part.delta);
        while (begin <= kLimit - part.size) {
            const Range* in_the_way = reserved_in(pool, begin, begin + part.size);
            if (in_the_way == nullptr) break;
            begin = board_.next_free(aim, in_the_way->end);
        }
        return begin - part.delta;
    }

    // The first reserved range that has a byte of [begin, end).
    static const Range* reserved_in(const Pool& pool, Bytes begin, Bytes end) {
        const auto next = std::partition_point(pool.reserved.begin(), pool.reserved.end(),
                                               [&](const Range& range) { return range.end <= begin; });
        return next != pool.reserved.end() && next->begin < end ? &*next : nullptr;
    }

    std::optional<Bytes> find(Index item, const Choice& choice, Rule rule, bool apart) {
        const std::span<const Part> parts = instance_.parts_of(item);
        const Index first = instance_.item_parts[item];
        if (aims_.size() < parts.size()) aims_.resize(parts.size());
        for (std::size_t k = 0; k < parts.size(); ++k) {
            board_.aim(first + k, choice.pool, apart, aims_[k]);
        }
        if (rule == Rule::top) {
            Bytes top = 0;
            for (std::size_t k = 0; k < parts.size(); ++k) {
                top = std::max(top, board_.top(aims_[k]) - parts[k].delta);
            }
            return lowest_from(item, choice, top);
        }
        const std::optional<Bytes> lowest = lowest_from(item, choice, 0);
        // A rigid group leaves a different rest of a gap for each part, so it takes the lowest offset.
        const bool rigid = parts.size() > 1 || parts[0].delta != 0;
        if (rule == Rule::lowest || rigid || !lowest) return lowest;
        return best_gap(item, choice, *lowest, rule == Rule::heap);
    }

    std::optional<Bytes> best_gap(Index item, const Choice& choice, Bytes lowest, bool below_peak) {
        Bytes least_room = kLimit;
        Bytes best = lowest;
        std::optional<Bytes> offset = lowest;
        while (offset) {
            Bytes end = board_.gap_end(aims_[0]);
            if (const Range* in_the_way = reserved_in(pool_of(choice), *offset, end)) end = in_the_way->begin;
            const bool open = end == kLimit;
            if (open && below_peak) end = peaks_[choice.pool];
            const Bytes room = end - *offset - extent(item);
            if ((!open || below_peak) && room >= 0 && room < least_room) {
                least_room = room;
                best = *offset;
            }
            if (open) break;
            offset = lowest_from(item, choice, end);
        }
        return best;
    }

    // The place of an in-place partner, when the item may go exactly there.
    std::optional<Bytes> shared_offset(Index item, const Choice& choice) {
        std::optional<Bytes> least;
        if (partners_.size() == 0) return least;
        for (const Partner& partner : partners_[item]) {
            const Place& other = (*layout_)[part(partner.other).item];
            if (other.offset == kUnplaced || other.pool != choice.pool) continue;
            const Bytes offset = other.offset + part(partner.other).delta - part(partner.own).delta;
            if (offset < 0 || (least && *least <= offset) || !may_be_at(item, choice, offset)) continue;
            least = offset;
        }
        return least;
    }

    bool may_be_at(Index item, const Choice& choice, Bytes offset) const {
        if (align_up(choice, offset) != offset || offset > kLimit - extent(item)) return false;
        Index index = instance_.item_parts[item];
        for (const Part& own : instance_.parts_of(item)) {
            const Bytes begin = offset + own.delta;
            if (reserved_in(pool_of(choice), begin, begin + own.size)) return false;
            if (!board_.free_at(index++, choice.pool, begin)) return false;
        }
        return true;
    }

    std::optional<Bytes> offset_in(Index item, const Choice& choice, const Tactics& tactics) {
        if (tactics.share) {
            if (const std::optional<Bytes> shared = shared_offset(item, choice)) return shared;
        }
        if (tactics.apart) {
            const std::optional<Bytes> offset = find(item, choice, tactics.rule, true);
            const Bytes most = std::min(tactics.ceiling, pool_of(choice).capacity);
            if (offset && *offset <= most - extent(item)) return offset;
        }
        return find(item, choice, tactics.rule, false);
    }

    // Where the hint has the item, when it may be there.
    Place hinted(Index item) const {
        if (hint_.empty()) return {};
        const Place& place = hint_[item];
        if (place.offset < 0 || place.offset > kLimit - extent(item)) return {};
        for (const Choice& choice : instance_.choices[item]) {
            if (choice.pool != place.pool || place.offset + extent(item) > pool_of(choice).capacity) continue;
            if (may_be_at(item, choice, place.offset)) return place;
        }
        return {};
    }

    Place choose(Index item, const Tactics& tactics) {
        if (tactics.keep) {
            if (const Place kept = hinted(item); kept.offset != kUnplaced) return kept;
        }
        const std::span<const Choice> choices = instance_.choices[item];
        by_preference_.resize(choices.size());
        for (std::size_t k = 0; k < choices.size(); ++k) by_preference_[k] = k;
        if (tactics.pools == PoolRule::cheapest) {
            std::stable_sort(by_preference_.begin(), by_preference_.end(),
                             [&](std::size_t a, std::size_t b) { return choices[a].cost < choices[b].cost; });
        }
        Place fits;
        std::array<Bytes, 3> least_growth{kLimit, kLimit, kLimit};
        const Bytes highest =
            tactics.pools == PoolRule::level ? *std::max_element(peaks_.begin(), peaks_.end()) : kLimit;
        Place overflows;
        Bytes least_overflow = kLimit;
        for (const std::size_t k : by_preference_) {
            const Choice& choice = choices[k];
            const std::optional<Bytes> offset = offset_in(item, choice, tactics);
            if (!offset) continue;
            const Bytes end = *offset + extent(item);
            const Bytes over = end - pool_of(choice).capacity;
            if (over > 0) {
                if (over < least_overflow) {
                    least_overflow = over;
                    overflows = {choice.pool, *offset};
                }
                continue;
            }
            const bool is_level = tactics.pools == PoolRule::level;
            if (!is_level && tactics.pools != PoolRule::flattest) return {choice.pool, *offset};
            const std::array<Bytes, 3> growth{std::max<Bytes>(0, end - highest),
                                              std::max<Bytes>(0, end - peaks_[choice.pool]),
                                              is_level ? end : 0};
            if (growth < least_growth) {
                least_growth = growth;
                fits = {choice.pool, *offset};
            }
        }
        return fits.offset != kUnplaced ? fits : overflows;
    }

    // Each of the rest above all that it meets, without a look at gaps.
    void stack(std::span<const Index> placed, std::span<const Index> rest) {
        std::vector<Tops> tops(instance_.pools.size(), Tops(instance_.row_count));
        for (const Index item : placed) raise(tops, item);
        for (const Index item : rest) {
            (*layout_)[item] = place_above(tops, item);
            raise(tops, item);
        }
    }

    void raise(std::vector<Tops>& tops, Index item) const {
        const Place& place = (*layout_)[item];
        if (place.offset == kUnplaced) return;
        for_each_row_range(item, [&](const Part& own, RowRange rows) {
            tops[place.pool].raise(rows, place.offset + own.delta + own.size);
        });
    }

    Place place_above(const std::vector<Tops>& tops, Index item) const {
        Place place;
        Bytes least_overflow = kLimit;
        for (const Choice& choice : instance_.choices[item]) {
            const Pool& pool = pool_of(choice);
            Bytes top = pool.reserved.empty() ? 0 : pool.reserved.back().end;
            for_each_row_range(item, [&](const Part& own, RowRange rows) {
                top = std::max(top, tops[choice.pool].highest(rows) - own.delta);
            });
            const std::optional<Bytes> offset = align_up(choice, top);
            if (!offset || *offset > kLimit - extent(item)) continue;
            const Bytes over = std::max<Bytes>(0, *offset + extent(item) - pool.capacity);
            if (over >= least_overflow) continue;
            least_overflow = over;
            place = {choice.pool, *offset};
            if (over == 0) break;
        }
        return place;
    }

    template <class Visit>
    void for_each_row_range(Index item, Visit visit) const {
        Index index = instance_.item_parts[item];
        for (const Part& own : instance_.parts_of(item)) {
            for (const RowRange& rows : instance_.rows[index++]) visit(own, rows);
        }
    }

    void settle(Index item, Place place) {
        (*layout_)[item] = place;
        if (place.offset == kUnplaced) return;
        Bytes& peak = peaks_[place.pool];
        peak = std::max(peak, place.offset + extent(item));
        Index index = instance_.item_parts[item];
        for (const Part& own : instance_.parts_of(item)) {
            board_.put(index++, place.pool, place.offset + own.delta);
        }
    }

    const Instance& instance_;
    Board board_;
    Layout hint_;
    std::vector<Bytes> extents_;
    Lists<Partner> partners_;  // by item; empty when nothing may be in place
    std::vector<Bytes> peaks_;
    std::vector<Aim> aims_;
    std::vector<std::size_t> by_preference_;
    Layout* layout_ = nullptr;
};

}  // namespace memstow::greedy
