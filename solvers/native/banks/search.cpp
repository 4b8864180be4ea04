#include "banks/search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "banks/complete.hpp"
#include "core/random.hpp"
#include "greedy/placer.hpp"
#include "improve/conflicts.hpp"

namespace memstow::banks {
namespace {

using greedy::align_up;

constexpr Bytes kMustNot = -1;  // the cost of a pair that may not touch one bank

// A part of an item, and one of another item, with what it costs that they meet.
struct Link {
    Index own;
    Index other;
    Bytes cost;
};

// Offsets that the item may not have, both ends excluded, but for the hole.
struct Blocked {
    Bytes below;
    Bytes above;
    Bytes hole;
};

// A cost that is paid at these offsets, both ends excluded.
struct Paid {
    Bytes below;
    Bytes above;
    Bytes cost;
};

// A placed part that an own one should not touch a bank with: from its first bank to behind its last.
struct Neighbour {
    Index own;
    Index first;
    Index end;
    Bytes cost;
};

class Builder {
  public:
    Builder(const Instance& instance, const Scorer& scorer, const Hint& hint)
        : instance_(instance),
          terms_(scorer.terms()),
          hint_(hint),
          conflicts_(instance, std::vector<char>(instance.item_count(), 1)),
          layout_(instance.item_count()) {
        std::vector<std::vector<Link>> banks(instance.item_count()), reuse(instance.item_count());
        within_.resize(instance.item_count());
        const auto link = [&](Index first, Index second, Bytes cost, std::vector<std::vector<Link>>& to) {
            const Index one = instance.parts[first].item, other = instance.parts[second].item;
            if (one != other) {
                to[one].push_back({first, second, cost});
                to[other].push_back({second, first, cost});
            } else if (&to == &banks) {
                within_[one].push_back({first, second, cost});
            }
        };
        for (const auto& [first, second] : instance.banks.apart) link(first, second, kMustNot, banks);
        for (const ReuseCost& pair : instance.banks.costs) link(pair.first, pair.second, pair.cost, banks);
        for (const ReuseCost& pair : instance.reuse) link(pair.first, pair.second, pair.cost, reuse);
        const auto close = [](const std::vector<std::vector<Link>>& from, Lists<Link>& to) {
            for (const std::vector<Link>& links : from) {
                to.values.insert(to.values.end(), links.begin(), links.end());
                to.close();
            }
        };
        close(banks, bank_links_);
        close(reuse, reuse_links_);
        kept_.resize(instance.item_count());
        for (const Kept& kept : hint.kept) kept_[kept.item].push_back(kept);
        for (Index item = 0; item < instance.item_count(); ++item) {
            extents_.push_back(greedy::extent_of(instance, item));
        }
        clear();
    }

    const Layout& layout() const { return layout_; }
    std::span<const Link> bank_links(Index item) const { return bank_links_[item]; }
    std::span<const Link> reuse_links(Index item) const { return reuse_links_[item]; }
    Bytes end_of(Index item) const { return layout_[item].offset + extents_[item]; }
    Bytes extent(Index item) const { return extents_[item]; }
    Bytes peak(Index pool) const { return peaks_[pool]; }

    void clear() {
        std::fill(layout_.begin(), layout_.end(), Place{});
        measure();
    }

    void restore(const Layout& layout) {
        layout_ = layout;
        measure();
    }

    void remove(std::span<const Index> items) {
        for (const Index item : items) layout_[item] = {};
        measure();
    }

    // Where the terms grow least, or lowest, or, given random numbers, anywhere: what is cheapest, or at the
    // lower end of a gap, may keep others out. Nowhere if there is no place. Returns the steps that it took.
    std::int64_t place(Index item, bool lowest, Random* anywhere) {
        lowest_ = lowest;
        steps_ = 1;
        best_ = {};
        anywhere_ = anywhere;
        offered_ = 0;
        const std::span<const Choice> choices = instance_.choices[item];
        for (Index at = 0; at < count_of(choices); ++at) consider(item, at, choices[at]);
        if (best_.offset != kUnplaced) settle(item, best_);
        return steps_;
    }

  private:
    void measure() {
        peaks_.assign(instance_.pools.size(), 0);
        reach_.assign(instance_.pools.size(), 0);
        for (Index item = 0; item < instance_.item_count(); ++item) {
            if (layout_[item].offset != kUnplaced) raise(item, layout_[item]);
        }
    }

    void settle(Index item, const Place& place) {
        layout_[item] = place;
        raise(item, place);
    }

    void raise(Index item, const Place& place) {
        const Bytes end = place.offset + extents_[item];
        peaks_[place.pool] = std::max(peaks_[place.pool], end);
        Bytes reach = end;
        if (!instance_.banks.of_pool.empty()) {
            const std::vector<Range>& banks = instance_.banks.of_pool[place.pool];
            const auto [first, behind] = instance_.banks.touched(place.pool, place.offset, end);
            if (first < behind) reach = std::max(reach, banks[behind - 1].end);
        }
        reach_[place.pool] = std::max(reach_[place.pool], reach);
    }

    void consider(Index item, Index at, const Choice& choice) {
        const Bytes highest = std::min(choice.high, instance_.pools[choice.pool].capacity - extents_[item]);
        if (highest < choice.low) return;
        gather(item, choice);
        std::span<const Range> windows = instance_.banks.windows_of(item, at);
        list_events(item, choice, windows);
        for (const Blocked& one : blocked_) {
            if (one.hole != improve::kNoHole) offer(item, choice, windows, one.hole, highest, true);
        }
        merge_blocked();
        Bytes last = kUnplaced;
        if (anywhere_ != nullptr) add_upper_ends(choice, windows, highest);
        for (const Bytes event : events_) {
            const std::optional<Bytes> offset = align_up(choice, event);
            if (!offset || *offset > highest) break;
            if (*offset == last) continue;
            last = *offset;
            const bool fits = offer(item, choice, windows, *offset, highest, false);
            // Nothing is there, nor in the bank: what is higher is no better.
            if (fits && *offset >= reach_[choice.pool] && within_[item].empty() && anywhere_ == nullptr)
                break;
        }
    }

    // What is in the way of the item in this pool, and what it would pay for.
    void gather(Index item, const Choice& choice) {
        blocked_.clear();
        paid_.clear();
        neighbours_.clear();
        const auto block = [&](Bytes below, Bytes above, Bytes hole = improve::kNoHole) {
            blocked_.push_back({below, above, hole});
        };
        for (const Part& part : instance_.parts_of(item)) {
            for (const Range& range : instance_.pools[choice.pool].reserved) {
                block(range.begin - part.delta - part.size, range.end - part.delta);
            }
        }
        conflicts_.visit(item, [&](Index other, Bytes below, Bytes above, Bytes hole) {
            ++steps_;
            const Place& place = layout_[other];
            if (place.offset == kUnplaced || place.pool != choice.pool) return;
            block(place.offset + below, place.offset + above,
                  hole == improve::kNoHole ? hole : place.offset + hole);
        });
        for (const Link& link : bank_links_[item]) {
            ++steps_;
            const auto range = bytes_in(link.other, choice.pool);
            if (!range) continue;
            const auto [first, end] = instance_.banks.touched(choice.pool, range->begin, range->end);
            if (first == end) continue;
            if (link.cost != kMustNot) {
                neighbours_.push_back({link.own, first, end, link.cost});
                continue;
            }
            const Part& own = instance_.parts[link.own];
            for (Index bank = first; bank < end; ++bank) {
                const Range& there = instance_.banks.of_pool[choice.pool][bank];
                block(there.begin - own.delta - own.size, there.end - own.delta);
            }
        }
        for (const Link& link : reuse_links_[item]) {
            ++steps_;
            const auto range = bytes_in(link.other, choice.pool);
            if (!range) continue;
            const Part& own = instance_.parts[link.own];
            paid_.push_back({range->begin - own.delta - own.size, range->end - own.delta, link.cost});
        }
    }

    std::optional<Range> bytes_in(Index part, Index pool) const {
        const Part& other = instance_.parts[part];
        const Place& place = layout_[other.item];
        if (place.offset == kUnplaced || place.pool != pool) return std::nullopt;
        return Range{place.offset + other.delta, place.offset + other.delta + other.size};
    }

    // Offsets from which a place may be the lowest of its kind.
    void list_events(Index item, const Choice& choice, std::span<const Range> windows) {
        events_.assign(1, choice.low);
        for (const Range& window : windows) events_.push_back(window.begin);
        for (const Blocked& one : blocked_) events_.push_back(one.above);
        for (const Paid& one : paid_) events_.push_back(one.above);
        for (const Kept& kept : kept_[item]) {
            if (kept.place.pool == choice.pool) events_.push_back(kept.place.offset);
        }
        if (!hint_.places.empty() && hint_.places[item].pool == choice.pool) {
            events_.push_back(hint_.places[item].offset);
        }
        if (!bank_links_[item].empty() || !within_[item].empty()) {
            const bool all = !within_[item].empty();
            for (const Range& bank : instance_.banks.of_pool[choice.pool]) {
                for (const Part& part : instance_.parts_of(item)) {
                    events_.push_back(bank.begin - part.delta);
                    events_.push_back(bank.end - part.delta);
                }
                if (!all && bank.begin > reach_[choice.pool]) break;
            }
        }
        std::sort(events_.begin(), events_.end());
        const auto first = std::lower_bound(events_.begin(), events_.end(), choice.low);
        events_.erase(events_.begin(), first);
        events_.erase(std::unique(events_.begin(), events_.end()), events_.end());
        steps_ += count_of(events_);
    }

    // The highest offsets of windows and gaps.
    void add_upper_ends(const Choice& choice, std::span<const Range> windows, Bytes highest) {
        const auto add = [&](Bytes offset) {
            offset -= floor_mod(offset - choice.residue, choice.modulus);
            if (offset >= choice.low) events_.push_back(offset);
        };
        add(highest);
        for (const Range& window : windows) add(window.end);
        for (const Blocked& one : blocked_) add(one.below);
        std::sort(events_.begin(), events_.end());
    }

    // Ranges without holes that overlap become one; between two that touch there is an offset.
    void merge_blocked() {
        std::sort(blocked_.begin(), blocked_.end(),
                  [](const Blocked& a, const Blocked& b) { return a.below < b.below; });
        std::size_t count = 0;
        for (const Blocked& one : blocked_) {
            if (count > 0 && one.below < blocked_[count - 1].above) {
                blocked_[count - 1].above = std::max(blocked_[count - 1].above, one.above);
            } else {
                blocked_[count++] = one;
            }
        }
        blocked_.resize(count);
    }

    bool is_blocked(Bytes offset, bool in_hole) const {
        if (in_hole) {
            return std::ranges::any_of(blocked_, [&](const Blocked& one) {
                return one.below < offset && offset < one.above && one.hole != offset;
            });
        }
        const auto after = std::partition_point(blocked_.begin(), blocked_.end(),
                                                [&](const Blocked& one) { return one.above <= offset; });
        return after != blocked_.end() && after->below < offset;
    }

    // Whether the item may be there; the place is kept if it is the best so far.
    bool offer(Index item, const Choice& choice, std::span<const Range> windows, Bytes offset, Bytes highest,
               bool in_hole) {
        if (in_hole && (offset < choice.low || offset > highest || align_up(choice, offset) != offset)) {
            return false;
        }
        if (!windows.empty()) {
            const auto window = std::partition_point(windows.begin(), windows.end(),
                                                     [&](const Range& range) { return range.end < offset; });
            if (window == windows.end() || offset < window->begin) return false;
        }
        if (is_blocked(offset, in_hole)) return false;
        Bytes of_banks = 0;
        for (const Link& link : within_[item]) {
            if (!touch_one(link, choice.pool, offset)) continue;
            if (link.cost == kMustNot) return false;
            of_banks += link.cost;
        }
        steps_ += 1 + count_of(neighbours_) / 8 + count_of(paid_) / 8;
        for (const Neighbour& one : neighbours_) {
            const auto [first, end] = banks_at(one.own, choice.pool, offset);
            if (std::max(first, one.first) < std::min(end, one.end)) of_banks += one.cost;
        }
        if (anywhere_ != nullptr) {
            if (anywhere_->below(++offered_) == 0) best_ = {choice.pool, offset};
            return true;
        }
        growth_.clear();
        const Bytes end = offset + extents_[item];
        if (!lowest_) {
            for (const Term& term : terms_) {
                growth_.push_back(growth(term, item, choice, offset, end, of_banks));
            }
        }
        growth_.push_back(end);
        if (best_.offset == kUnplaced || growth_ < best_growth_) {
            best_ = {choice.pool, offset};
            std::swap(growth_, best_growth_);
        }
        return true;
    }

    std::pair<Index, Index> banks_at(Index part, Index pool, Bytes offset) const {
        const Part& own = instance_.parts[part];
        return instance_.banks.touched(pool, offset + own.delta, offset + own.delta + own.size);
    }

    bool touch_one(const Link& link, Index pool, Bytes offset) const {
        const auto [first, end] = banks_at(link.own, pool, offset);
        const auto [other_first, other_end] = banks_at(link.other, pool, offset);
        return std::max(first, other_first) < std::min(end, other_end);
    }

    Value growth(const Term& term, Index item, const Choice& choice, Bytes offset, Bytes end,
                 Bytes of_banks) const {
        switch (term.kind) {
            case TermKind::pool_peak:
                if (term.pool != choice.pool) return 0;
                [[fallthrough]];
            case TermKind::peak:
                return std::max<Bytes>(0, end - peaks_[choice.pool]);
            case TermKind::max_peak:
                return std::max<Bytes>(0, end - *std::max_element(peaks_.begin(), peaks_.end()));
            case TermKind::placement_cost:
                return choice.cost;
            case TermKind::preference:
                return choice.rank;
            case TermKind::bank_cost:
                return of_banks;
            case TermKind::reuse_cost: {
                Value sum = 0;
                for (const Paid& one : paid_) {
                    if (one.below < offset && offset < one.above) sum += one.cost;
                }
                return sum;
            }
            case TermKind::moves: {
                Value stay = 0;
                for (const Kept& kept : kept_[item]) {
                    if (kept.place == Place{choice.pool, offset}) stay -= kept.count;
                }
                return stay;
            }
        }
        return 0;
    }

    const Instance& instance_;
    const std::vector<Term>& terms_;
    const Hint& hint_;
    improve::Conflicts conflicts_;
    Layout layout_;
    Lists<Link> bank_links_, reuse_links_;   // by item
    std::vector<std::vector<Link>> within_;  // by item: pairs of its own parts
    std::vector<std::vector<Kept>> kept_;    // by item
    std::vector<Bytes> extents_;
    std::vector<Bytes> peaks_;  // by pool
    std::vector<Bytes> reach_;  // by pool: above it there is nothing, and no bank that something touches
    std::vector<Blocked> blocked_;
    std::vector<Paid> paid_;
    std::vector<Neighbour> neighbours_;
    std::vector<Bytes> events_;
    std::vector<Value> growth_, best_growth_;
    Place best_;
    bool lowest_ = false;
    Random* anywhere_ = nullptr;
    std::size_t offered_ = 0;
    std::int64_t steps_ = 0;
};

class Search {
  public:
    Search(const Instance& instance, const Scorer& scorer, const std::vector<Value>& lower_bounds,
           std::uint64_t seed, Budget& budget, const OnBetter& on_better)
        : instance_(instance),
          scorer_(scorer),
          lower_bounds_(lower_bounds),
          random_(seed),
          budget_(budget),
          on_better_(on_better),
          builder_(instance, scorer, scorer.whole_hint()) {
        for (Index item = 0; item < instance.item_count(); ++item) {
            links_.push_back(count_of(builder_.bank_links(item)));
        }
    }

    Placed run() {
        for (const std::vector<Index>& order : first_orders()) {
            if (!best_.layout.empty() && (is_best() || budget_.spent())) break;
            construct(order);
        }
        // By turns, each longer than the one before: good layouts are found soon, and make the proof shorter.
        const bool is_small = can_look_through(instance_);
        for (std::int64_t turn = kFirstTurn; !is_best() && !budget_.spent(); turn = times_more(turn, 4)) {
            search_until(is_small ? budget_.work() + turn : std::numeric_limits<std::int64_t>::max());
            if (is_small && !is_best() && look_through_all(turn)) break;
        }
        if (best_.layout.empty()) {
            // The time was over before the first pass was.
            best_.layout.resize(instance_.item_count());
            best_.score = scorer_(best_.layout);
        }
        return std::move(best_);
    }

  private:
    static constexpr std::int64_t kFirstTurn = 20'000;

    void search_until(std::int64_t work) {
        while (!is_best() && !budget_.spent() && budget_.work() < work) {
            if (random_.below(best_.score.unplaced > 0 ? 4 : 16) == 0) {
                construct(other_order());
            } else {
                improve();
            }
        }
    }

    // Whether that came to the end within so many steps.
    bool look_through_all(std::int64_t steps) {
        std::vector<Index> items(instance_.item_count());
        std::iota(items.begin(), items.end(), 0);
        Placed best;
        if (best_.score.fits()) best = best_;
        if (!is_through(scorer_, items, best, steps)) return false;
        if (best.layout.empty()) {
            best_.misfit = smallest_misfit(std::move(items), steps);
        } else {
            best_ = std::move(best);
            const std::vector<Value>& values = best_.score.values;
            for (Index term = 0; term < count_of(values); ++term) {
                best_.bounds.push_back({term, values[term], {values.begin(), values.begin() + term}, 1});
            }
        }
        return true;
    }

    bool is_through(const Scorer& scorer, const std::vector<Index>& items, Placed& best, std::int64_t steps) {
        Budget share(-1, steps, &budget_);
        const bool is_over = look_through(instance_, scorer, items, best, share, on_better_);
        budget_.count(share.work());
        return is_over;
    }

    // Leaves out what the others have no layout without either.
    std::vector<Index> smallest_misfit(std::vector<Index> items, std::int64_t steps) {
        const Scorer any(instance_, {});
        for (Index item = instance_.item_count(); --item >= 0;) {
            std::vector<Index> others = items;
            std::erase(others, item);
            Placed best;
            if (is_through(any, others, best, steps) && best.layout.empty()) items = std::move(others);
        }
        return items;
    }

    bool is_best() const {
        if (best_.layout.empty() || !best_.score.fits()) return false;
        for (std::size_t i = 0; i < lower_bounds_.size(); ++i) {
            if (best_.score.values[i] > lower_bounds_[i]) return false;
        }
        return true;
    }

    // Pins and what few places are left for come first.
    template <class Before>
    std::vector<Index> sorted(Before before) const {
        std::vector<Index> order(instance_.item_count());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
            const bool first = greedy::is_pinned(instance_, a), second = greedy::is_pinned(instance_, b);
            return first != second ? first : before(a, b);
        });
        return order;
    }

    std::size_t freedom(Index item) const {
        std::size_t windows = 0;
        for (Index at = 0; at < count_of(instance_.choices[item]); ++at) {
            const std::size_t count = instance_.banks.windows_of(item, at).size();
            windows += count == 0 ? 1 << 20 : count;
        }
        return windows;
    }

    std::vector<std::vector<Index>> first_orders() const {
        const auto larger = [&](Index a, Index b) { return builder_.extent(a) > builder_.extent(b); };
        std::vector<std::vector<Index>> orders{sorted(larger)};
        orders.push_back(sorted([&](Index a, Index b) {
            const std::size_t first = freedom(a), second = freedom(b);
            return first != second ? first < second : larger(a, b);
        }));
        orders.push_back(sorted(
            [&](Index a, Index b) { return links_[a] != links_[b] ? links_[a] > links_[b] : larger(a, b); }));
        return orders;
    }

    // What had no place comes first, and all else in the order of the offsets, with some disorder.
    std::vector<Index> other_order() {
        const Layout& layout = best_.layout;
        std::vector<double> key(layout.size());
        const double disorder = random_.unit();
        Bytes top = 1;
        for (Index item = 0; item < count_of(layout); ++item) {
            if (layout[item].offset != kUnplaced) top = std::max(top, layout[item].offset);
        }
        for (Index item = 0; item < count_of(layout); ++item) {
            const double place = static_cast<double>(layout[item].offset) / static_cast<double>(top);
            key[item] = layout[item].offset == kUnplaced ? -2 - random_.unit()
                                                         : place + disorder * (random_.unit() - 0.5);
        }
        return sorted([&](Index a, Index b) { return key[a] < key[b]; });
    }

    void construct(std::span<const Index> order) {
        builder_.clear();
        if (place(order)) keep(true);
    }

    // False where the time is over.
    bool place(std::span<const Index> order, std::uint64_t one_in = 0) {
        const bool lowest = !best_.layout.empty() && best_.score.unplaced > 0 && random_.below(2) == 0;
        for (const Index item : order) {
            const bool anywhere = one_in > 0 && random_.below(one_in) == 0;
            budget_.count(builder_.place(item, lowest, anywhere ? &random_ : nullptr));
            // There is an answer where one pass is over, whatever the work, and of few items whatever the
            // time.
            const bool is_first = best_.layout.empty();
            if (is_first && order.size() <= greedy::kWholeInTime) continue;
            if (is_first ? budget_.out_of_time() : budget_.spent()) return false;
        }
        return true;
    }

    // Takes some items out, and places them anew in another order.
    void improve() {
        builder_.restore(now_.layout);
        choose_some();
        builder_.remove(some_);
        budget_.count(instance_.item_count());
        if (place(some_, random_.below(4) == 0 ? 3 : 64)) keep(random_.below(256) == 0);
    }

    void choose_some() {
        some_.clear();
        const std::size_t n = now_.layout.size();
        const std::size_t most = std::min<std::size_t>(n, static_cast<std::size_t>(now_.score.unplaced) + 2 +
                                                              random_.below(std::min<std::size_t>(n, 10)));
        const auto add = [&](Index item) {
            if (std::ranges::find(some_, item) == some_.end()) some_.push_back(item);
        };
        for (Index item = 0; item < count_of(now_.layout); ++item) {
            if (now_.layout[item].offset == kUnplaced) add(item);
        }
        // What is highest, or what pays, rather than anything.
        switch (random_.below(3)) {
            case 0:
                for (Index item = 0; item < count_of(now_.layout); ++item) {
                    const Place& place = now_.layout[item];
                    if (place.offset != kUnplaced && builder_.end_of(item) == builder_.peak(place.pool))
                        add(item);
                }
                break;
            case 1:
                add_paying(add);
                break;
            default:
                break;
        }
        if (some_.size() > most) {
            shuffle(some_);
            some_.resize(most);
        }
        while (some_.size() < most) add(static_cast<Index>(random_.below(n)));
        shuffle(some_);
    }

    template <class Add>
    void add_paying(Add add) {
        const std::vector<ReuseCost>& costs = instance_.banks.costs;
        if (costs.empty()) return;
        const std::size_t start = random_.below(costs.size());
        for (std::size_t i = 0; i < costs.size(); ++i) {
            const ReuseCost& pair = costs[(start + i) % costs.size()];
            if (!share_bank(instance_, now_.layout, pair.first, pair.second)) continue;
            add(instance_.parts[pair.first].item);
            add(instance_.parts[pair.second].item);
            return;
        }
    }

    void shuffle(std::vector<Index>& items) {
        for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_.below(i)]);
    }

    // Of equal layouts the newer one is gone on from; `anyway`: of a worse one as well.
    void keep(bool anyway) {
        const Layout& layout = builder_.layout();
        Score score = scorer_(layout);
        budget_.count(instance_.item_count() + count_of(instance_.banks.costs) / 4);
        if (best_.layout.empty() || score < best_.score) {
            best_ = {layout, score};
            if (score.fits()) on_better_(layout, score);
        }
        if (now_.layout.empty() || anyway || score <= now_.score) {
            now_ = {layout, std::move(score)};
        } else if (random_.below(4096) == 0) {
            now_ = best_;
        }
    }

    const Instance& instance_;
    const Scorer& scorer_;
    const std::vector<Value>& lower_bounds_;
    Random random_;
    Budget& budget_;
    const OnBetter& on_better_;
    Builder builder_;
    std::vector<Index> links_;  // by item: how many others it should not share a bank with
    std::vector<Index> some_;
    Placed best_, now_;
};

}  // namespace

Placed search(const Instance& instance, const Scorer& scorer, const std::vector<Value>& lower_bounds,
              std::uint64_t seed, Budget& budget, const OnBetter& on_better) {
    if (instance.item_count() == 0) return {{}, scorer({})};
    return Search(instance, scorer, lower_bounds, seed, budget, on_better).run();
}

}  // namespace memstow::banks
