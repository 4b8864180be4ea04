#include "banks/complete.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "core/bits.hpp"
#include "greedy/placer.hpp"
#include "improve/conflicts.hpp"

namespace memstow::banks {
namespace {

using greedy::align_up;

// Items, or pools, as bits.
using Set = std::uint64_t;
constexpr Index kMost = 64;
constexpr std::size_t kMostBanks = 4096;  // of a pool

constexpr Set only(Index one) { return Set{1} << one; }

// What placed items cost, or more of them at the least.
struct Costs {
    Value bank = 0;
    Value reuse = 0;
    Value placement = 0;
    Value rank = 0;
    Value kept = 0;
};

struct Candidate {
    Index item;
    Bytes offset;
    Value bank;   // more for pairs that share a bank
    Value reuse;  // more for pairs that overlap
};

class LookThrough {
  public:
    LookThrough(const Instance& instance, const Scorer& scorer, Placed& best, Budget& budget,
                const OnBetter& on_better)
        : instance_(instance),
          scorer_(scorer),
          count_(instance.item_count()),
          best_(best),
          budget_(budget),
          on_better_(on_better),
          layout_(instance.item_count()),
          peaks_(instance.pools.size(), 0),
          least_peaks_(instance.pools.size(), 0),
          conflicts_(count_, 0),
          linked_(count_, 0),
          apart_(count_, 0),
          bank_costs_(count_, std::vector<Bytes>(count_, 0)),
          reuse_costs_(count_, std::vector<Bytes>(count_, 0)),
          kept_(count_) {
        const improve::Conflicts conflicts(instance, std::vector<char>(count_, 1));
        for (Index item = 0; item < count_; ++item) {
            conflicts.visit(item, [&](Index other, Bytes, Bytes, Bytes) { conflicts_[item] |= only(other); });
        }
        for (const auto& [first, second] : instance.banks.apart) {
            link(first, second, [&](Index a, Index b) { apart_[a] |= only(b), linked_[a] |= only(b); });
        }
        for (const ReuseCost& pair : instance.banks.costs) {
            if (pair.cost == 0) continue;
            link(pair.first, pair.second,
                 [&](Index a, Index b) { bank_costs_[a][b] += pair.cost, linked_[a] |= only(b); });
        }
        for (const ReuseCost& pair : instance.reuse) {
            link(pair.first, pair.second, [&](Index a, Index b) { reuse_costs_[a][b] += pair.cost; });
        }
        for (const Kept& kept : scorer.whole_hint().kept) kept_[kept.item].push_back(kept);
        const std::vector<Term>& terms = scorer.terms();
        height_first_ =
            !terms.empty() && (terms[0].kind == TermKind::peak || terms[0].kind == TermKind::pool_peak ||
                               terms[0].kind == TermKind::max_peak);
        banks_first_ = !terms.empty() && terms[0].kind == TermKind::bank_cost;
        apart_groups_ = groups_of(apart_);
        link_groups_ = groups_of(linked_);
        list_crowds();
        list_twins();
    }

    bool run(const std::vector<Index>& items) {
        Set all = 0;
        for (const Index item : items) all |= only(item);
        return descend(0, 0, -1, all, {});
    }

  private:
    template <class F>
    void link(Index first, Index second, F&& f) const {
        const Index one = instance_.parts[first].item, other = instance_.parts[second].item;
        f(one, other);
        f(other, one);
    }

    // The parts of an item are alike.
    Index part_of(Index item) const { return instance_.item_parts[item]; }
    Bytes size(Index item) const { return instance_.parts[part_of(item)].size; }

    // Items no two of which may share a byte, by the row that they have in common.
    void list_crowds() {
        if (!instance_.exempt.empty()) return;
        std::vector<Set> of_row(instance_.row_count, 0);
        for (Index item = 0; item < count_; ++item) {
            for (const RowRange& rows : instance_.rows[part_of(item)]) {
                for (Index row = rows.begin; row < rows.end; ++row) of_row[row] |= only(item);
            }
        }
        std::sort(of_row.begin(), of_row.end());
        of_row.erase(std::unique(of_row.begin(), of_row.end()), of_row.end());
        for (const Set row : of_row) {
            const bool is_part =
                std::ranges::any_of(of_row, [&](Set other) { return other != row && (row & ~other) == 0; });
            if (std::popcount(row) > 1 && !is_part) crowds_.push_back(row);
        }
    }

    // Items each two of which are linked: with each pair, all that can be added in the order of their
    // numbers.
    std::vector<Set> groups_of(const std::vector<Set>& links) const {
        std::vector<Set> groups;
        for (Index one = 0; one < count_; ++one) {
            for_each(links[one] & ~(only(one) - 1), [&](Index other) {
                Set group = only(one) | only(other), both = links[one] & links[other];
                while (both != 0) {
                    const Index next = lowest_of(both);
                    group |= only(next);
                    both &= links[next];
                }
                groups.push_back(group);
            });
        }
        std::sort(groups.begin(), groups.end());
        groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
        return groups;
    }

    // Items that can be exchanged come in the order of their numbers: for each the one before it.
    void list_twins() {
        twin_before_.assign(count_, -1);
        for (Index item = 0; item < count_; ++item) {
            for (Index other = item; --other >= 0 && twin_before_[item] < 0;) {
                if (are_twins(other, item)) twin_before_[item] = other;
            }
        }
    }

    bool are_twins(Index a, Index b) const {
        const Set others = ~(only(a) | only(b));
        if (size(a) != size(b) || !kept_[a].empty() || !kept_[b].empty()) return false;
        if (((conflicts_[a] ^ conflicts_[b]) | (apart_[a] ^ apart_[b])) & others) return false;
        for (Index other = 0; other < count_; ++other) {
            if (other == a || other == b) continue;
            if (bank_costs_[a][other] != bank_costs_[b][other]) return false;
            if (reuse_costs_[a][other] != reuse_costs_[b][other]) return false;
        }
        const std::span<const Choice> of_a = instance_.choices[a], of_b = instance_.choices[b];
        if (!std::ranges::equal(of_a, of_b)) return false;
        for (Index at = 0; at < count_of(of_a); ++at) {
            if (!std::ranges::equal(instance_.banks.windows_of(a, at), instance_.banks.windows_of(b, at))) {
                return false;
            }
        }
        return true;
    }

    // Places the rest in this pool, not below `lowest`, nor there if before the item `last`, and in later
    // ones. False where the budget is spent.
    bool descend(Index pool, Bytes lowest, Index last, Set rest, const Costs& costs) {
        if (rest == 0) {
            take();
            return true;
        }
        if (++nodes_ % 64 == 0 && budget_.spent()) return false;
        std::vector<Candidate> candidates;
        Costs least = costs;
        Set bound_here = 0;
        std::copy(peaks_.begin(), peaks_.end(), least_peaks_.begin());
        bool is_open = true;
        rest_ = rest;
        for_each(rest, [&](Index item) {
            is_open = is_open && look_at(item, pool, lowest, last, candidates, least, bound_here);
        });
        budget_.count(1 + steps_);
        steps_ = 0;
        if (!is_open || !has_room(pool, lowest, bound_here) || !can_be_better(least)) return true;
        const bool is_at_least = banks_first_ && !best_.layout.empty() && least.bank == best_.score.values[0];
        if (!has_banks(pool, lowest, bound_here, is_at_least ? link_groups_ : apart_groups_)) return true;
        if (!can_be_better(least)) return true;
        std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
            if (height_first_ && a.offset != b.offset) return a.offset < b.offset;
            return std::tuple(a.bank, a.reuse, a.offset, a.item) <
                   std::tuple(b.bank, b.reuse, b.offset, b.item);
        });
        for (const Candidate& one : candidates) {
            const Choice& choice = *choice_in(one.item, pool);
            Costs with = costs;
            with.bank += one.bank;
            with.reuse += one.reuse;
            with.placement += choice.cost;
            with.rank += choice.rank;
            with.kept += kept_at(one.item, {pool, one.offset});
            const Bytes peak = peaks_[pool];
            layout_[one.item] = {pool, one.offset};
            peaks_[pool] = std::max(peak, one.offset + size(one.item));
            here_ |= only(one.item);
            const bool is_over = descend(pool, one.offset, one.item, rest & ~only(one.item), with);
            here_ &= ~only(one.item);
            peaks_[pool] = peak;
            layout_[one.item] = {};
            if (!is_over) return false;
        }
        if (bound_here != 0 || pool + 1 == count_of(instance_.pools)) return true;
        const Set here = std::exchange(here_, 0);
        const bool is_over = descend(pool + 1, 0, -1, rest, costs);
        here_ = here;
        return is_over;
    }

    const Choice* choice_in(Index item, Index pool) const {
        const std::span<const Choice> choices = instance_.choices[item];
        const auto choice = std::ranges::find(choices, pool, &Choice::pool);
        return choice == choices.end() ? nullptr : &*choice;
    }

    Value kept_at(Index item, const Place& place) const {
        Value count = 0;
        for (const Kept& kept : kept_[item]) {
            if (kept.place == place) count += kept.count;
        }
        return count;
    }

    // Adds where the item may be next, and what it costs at the least, wherever it will be. False where it
    // has no place any more.
    bool look_at(Index item, Index pool, Bytes lowest, Index last, std::vector<Candidate>& candidates,
                 Costs& least, Set& bound_here) {
        std::optional<std::int64_t> cost, rank;
        const auto lower = [](std::optional<std::int64_t>& to, std::int64_t value) {
            to = std::min(to.value_or(value), value);
        };
        Index later = -1;
        bool is_here = false;
        std::optional<Value> bank, reuse;
        Bytes first_end = 0;
        const std::span<const Choice> choices = instance_.choices[item];
        for (Index at = 0; at < count_of(choices); ++at) {
            const Choice& choice = choices[at];
            if (choice.pool < pool) continue;
            if (choice.pool > pool) {
                later = later < 0 ? choice.pool : kMost;
                bank = reuse = 0;
            } else {
                const std::optional<Candidate> least_here =
                    list_candidates(item, at, lowest, last, candidates);
                if (!least_here) continue;
                is_here = true;
                first_end = least_here->offset + size(item);
                bank = std::min(bank.value_or(least_here->bank), least_here->bank);
                reuse = std::min(reuse.value_or(least_here->reuse), least_here->reuse);
            }
            lower(cost, choice.cost);
            lower(rank, choice.rank);
        }
        if (!cost) return false;
        if (later < 0) {
            bound_here |= only(item);
            least_peaks_[pool] = std::max(least_peaks_[pool], first_end);
        } else if (!is_here && later < kMost) {
            const Bytes end = choice_in(item, later)->low + size(item);
            least_peaks_[later] = std::max(least_peaks_[later], end);
        }
        least.bank += *bank;
        least.reuse += *reuse;
        least.placement += *cost;
        least.rank += *rank;
        Value kept = 0;
        for (const Kept& one : kept_[item]) kept = std::max<Value>(kept, one.count);
        least.kept += kept;
        return true;
    }

    // Of the item in this pool, with what is placed: the least offset, and the least costs of any. None if
    // there is no place.
    std::optional<Candidate> list_candidates(Index item, Index at, Bytes lowest, Index last,
                                             std::vector<Candidate>& candidates) {
        const Choice& choice = instance_.choices[item][at];
        const Pool& pool = instance_.pools[choice.pool];
        const Bytes highest = std::min(choice.high, pool.capacity - size(item));
        if (highest < choice.low) return std::nullopt;
        const std::span<const Range> windows = instance_.banks.windows_of(item, at);
        events_.assign(1, choice.low);
        for (const Range& window : windows) events_.push_back(window.begin);
        for (const Range& range : pool.reserved) events_.push_back(range.end);
        for (const Kept& kept : kept_[item]) {
            if (kept.place.pool == choice.pool) events_.push_back(kept.place.offset);
        }
        for_each(here_, [&](Index other) {
            const Bytes begin = layout_[other].offset, end = begin + size(other);
            if ((conflicts_[item] & only(other)) != 0 || reuse_costs_[item][other] != 0) {
                events_.push_back(end);
            }
            if ((linked_[item] & only(other)) == 0) return;
            const auto [first, behind] = instance_.banks.touched(choice.pool, begin, end);
            const std::vector<Range>& banks = instance_.banks.of_pool[choice.pool];
            for (Index bank = first; bank < behind; ++bank) {
                // What begins where one of these banks ends is in the next one, unless there is room between.
                if (bank + 1 == behind || banks[bank].end < banks[bank + 1].begin) {
                    events_.push_back(banks[bank].end);
                }
            }
        });
        for (Bytes& event : events_) event = align_up(choice, event).value_or(kLimit);
        std::sort(events_.begin(), events_.end());
        events_.erase(events_.begin(), std::ranges::lower_bound(events_, lowest));
        events_.erase(std::unique(events_.begin(), events_.end()), events_.end());
        steps_ += 1 + count_of(events_);
        // Nothing stops an item there, but what ends up higher could be pushed down as far as that.
        std::optional<Candidate> least;
        if (const auto offset = align_up(choice, lowest); offset && *offset <= highest) {
            least = candidate(item, choice.pool, windows, *offset);
        }
        const bool is_next = twin_before_[item] < 0 || (rest_ & only(twin_before_[item])) == 0;
        for (const Bytes offset : events_) {
            if (offset > highest) break;
            const std::optional<Candidate> one = candidate(item, choice.pool, windows, offset);
            if (!one) continue;
            if (!least) least = one;
            least->bank = std::min(least->bank, one->bank);
            least->reuse = std::min(least->reuse, one->reuse);
            if (is_next && (offset > lowest || item > last)) candidates.push_back(*one);
        }
        return least;
    }

    std::optional<Candidate> candidate(Index item, Index pool, std::span<const Range> windows,
                                       Bytes offset) const {
        const auto holds = [&](const Range& window) {
            return window.begin <= offset && offset <= window.end;
        };
        if (!windows.empty() && std::ranges::none_of(windows, holds)) return std::nullopt;
        const Bytes end = offset + size(item);
        for (const Range& range : instance_.pools[pool].reserved) {
            if (range.begin < end && offset < range.end) return std::nullopt;
        }
        Candidate one{item, offset, 0, 0};
        for (Set others = here_; others != 0; others &= others - 1) {
            const Index other = lowest_of(others);
            const Bytes begin = layout_[other].offset;
            if (begin < end && offset < begin + size(other)) {
                if ((conflicts_[item] & only(other)) != 0) return std::nullopt;
                one.reuse += reuse_costs_[item][other];
            }
            if ((linked_[item] & only(other)) == 0) continue;
            const auto [first, behind] = instance_.banks.touched(pool, offset, end);
            const auto [first_there, behind_there] =
                instance_.banks.touched(pool, begin, begin + size(other));
            if (std::max(first, first_there) >= std::min(behind, behind_there)) continue;
            if ((apart_[item] & only(other)) != 0) return std::nullopt;
            one.bank += bank_costs_[item][other];
        }
        return one;
    }

    // Whether those that must be in this pool may fit. What lives with a placed item is above it.
    bool has_room(Index pool, Bytes lowest, Set bound_here) {
        for (const Set crowd : crowds_) {
            Bytes needed = lowest;
            for_each(crowd & here_,
                     [&](Index item) { needed = std::max(needed, layout_[item].offset + size(item)); });
            bool fits = true;
            for_each(crowd & bound_here, [&](Index item) {
                fits = fits && size(item) <= instance_.pools[pool].capacity - needed;
                if (fits) needed += size(item);
            });
            if (!fits) return false;
            if ((crowd & bound_here) != 0) least_peaks_[pool] = std::max(least_peaks_[pool], needed);
        }
        return true;
    }

    // The same, where no two of a group may touch one bank: the highest of them is as many banks higher.
    bool has_banks(Index pool, Bytes lowest, Set bound_here, const std::vector<Set>& groups) {
        if (instance_.banks.of_pool.empty()) return true;
        const std::vector<Range>& banks = instance_.banks.of_pool[pool];
        const auto apart = [](const Range& a, const Range& b) { return a.end != b.begin; };
        if (banks.empty() || lowest < banks[0].begin ||
            std::ranges::adjacent_find(banks, apart) != banks.end()) {
            return true;
        }
        const Index from = instance_.banks.touched(pool, lowest, lowest + 1).first;
        for (const Set group : groups) {
            const Set rest = group & bound_here;
            if (rest == 0) continue;
            Index bank = from;
            for_each(group & here_, [&](Index item) {
                const Bytes begin = layout_[item].offset;
                const auto touched = instance_.banks.touched(pool, begin, begin + size(item));
                bank = std::max(bank, touched.second);
            });
            bank += std::popcount(rest) - 1;
            Bytes least = kLimit;
            for_each(rest, [&](Index item) { least = std::min(least, size(item)); });
            const Bytes begin =
                std::max(lowest, bank < count_of(banks) ? banks[bank].begin : banks.back().end);
            if (least > instance_.pools[pool].capacity - begin) return false;
            least_peaks_[pool] = std::max(least_peaks_[pool], begin + least);
        }
        return true;
    }

    bool can_be_better(const Costs& least) const {
        if (best_.layout.empty()) return true;
        const std::vector<Term>& terms = scorer_.terms();
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const Value value = least_value(terms[i], least);
            if (value != best_.score.values[i]) return value < best_.score.values[i];
        }
        return false;
    }

    Value least_value(const Term& term, const Costs& least) const {
        switch (term.kind) {
            case TermKind::peak: {
                Value sum = 0;
                for (const Bytes peak : least_peaks_) sum += peak;
                return sum;
            }
            case TermKind::pool_peak:
                return least_peaks_[term.pool];
            case TermKind::max_peak:
                return *std::max_element(least_peaks_.begin(), least_peaks_.end());
            case TermKind::placement_cost:
                return least.placement;
            case TermKind::reuse_cost:
                return least.reuse;
            case TermKind::moves:
                return scorer_.whole_hint().buffers - least.kept;
            case TermKind::preference:
                return least.rank;
            case TermKind::bank_cost:
                return least.bank;
        }
        return 0;
    }

    void take() {
        Score score = scorer_(layout_);
        if (!best_.layout.empty() && !(score < best_.score)) return;
        best_ = {layout_, std::move(score)};
        if (best_.score.fits()) on_better_(best_.layout, best_.score);
    }

    const Instance& instance_;
    const Scorer& scorer_;
    Index count_;
    Placed& best_;
    Budget& budget_;
    const OnBetter& on_better_;
    Layout layout_;
    std::vector<Bytes> peaks_;        // by pool
    std::vector<Bytes> least_peaks_;  // with all that is not placed yet
    std::vector<Set> conflicts_, linked_, apart_;
    std::vector<std::vector<Bytes>> bank_costs_, reuse_costs_;
    std::vector<std::vector<Kept>> kept_;
    std::vector<Set> crowds_;
    std::vector<Index> twin_before_;
    std::vector<Bytes> events_;
    std::vector<Set> apart_groups_, link_groups_;
    bool height_first_, banks_first_;
    Set here_ = 0;  // placed in the pool that is being filled
    Set rest_ = 0;  // not placed
    std::int64_t nodes_ = 0, steps_ = 0;
};

}  // namespace

bool can_look_through(const Instance& instance) {
    // Buffers that are kept as one, by several programs, are one.
    const auto is_whole_item = [&](const Part& part) {
        const Index first = instance.item_parts[part.item];
        const Index own = static_cast<Index>(&part - instance.parts.data());
        return part.delta == 0 && part.size == instance.parts[first].size &&
               std::ranges::equal(instance.rows[own], instance.rows[first]);
    };
    const auto is_within_item = [&](const auto& pair) {
        return instance.parts[pair.first].item == instance.parts[pair.second].item;
    };
    const auto is_short = [](const std::vector<Range>& banks) { return banks.size() <= kMostBanks; };
    return instance.item_count() <= kMost && count_of(instance.pools) < kMost &&
           std::ranges::all_of(instance.parts, is_whole_item) &&
           std::ranges::none_of(instance.reuse, is_within_item) &&
           std::ranges::none_of(instance.banks.costs, is_within_item) &&
           std::ranges::none_of(instance.banks.apart, is_within_item) &&
           std::ranges::all_of(instance.banks.of_pool, is_short) &&
           std::ranges::none_of(instance.exempt, &ExemptPair::in_place);
}

bool look_through(const Instance& instance, const Scorer& scorer, const std::vector<Index>& items,
                  Placed& best, Budget& budget, const OnBetter& on_better) {
    return LookThrough(instance, scorer, best, budget, on_better).run(items);
}

}  // namespace memstow::banks
