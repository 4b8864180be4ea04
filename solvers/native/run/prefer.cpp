#include "run/prefer.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/arithmetic.hpp"
#include "core/bounds.hpp"
#include "core/rows.hpp"

namespace memstow::run {
namespace {

// Each item that could move is compared with all others.
constexpr std::size_t kMostCompared = 40'000;
constexpr Index kMostToMove = 2'000;

class Mover {
  public:
    Mover(const Instance& instance, const std::vector<Term>& terms, const Hint& hint, Layout& layout)
        : instance_(instance), layout_(layout), stays_(layout.size(), 0) {
        for (const ExemptPair& pair : instance.exempt) {
            if (!pair.in_place) free_.push_back(std::minmax(pair.first, pair.second));
        }
        std::ranges::sort(free_);
        for (const Pool& pool : instance.pools) ends_.push_back(pool.capacity);
        const std::vector<Bytes> peaks = pool_peaks(instance, layout);
        for (const Term& term : terms) heed(term, hint, peaks);
    }

    void move(Index item) {
        if (stays_[item]) return;
        const auto choices = instance_.choices[item];
        const Choice& now = *std::ranges::find(choices, layout_[item].pool, &Choice::pool);
        for (const Choice& choice : choices.first(&now - choices.data())) {
            const auto adds_more = [&](std::int64_t Choice::* add) { return choice.*add > now.*add; };
            if (std::ranges::any_of(adds_, adds_more)) continue;
            if (const std::optional<Bytes> offset = room(item, choice)) {
                layout_[item] = {choice.pool, *offset};
                return;
            }
        }
    }

  private:
    void heed(const Term& term, const Hint& hint, const std::vector<Bytes>& peaks) {
        switch (term.kind) {
            case TermKind::peak:
            case TermKind::max_peak:
                ends_ = peaks;
                return;
            case TermKind::pool_peak:
                ends_[term.pool] = peaks[term.pool];
                return;
            case TermKind::placement_cost:
                adds_.push_back(&Choice::cost);
                return;
            case TermKind::preference:
                adds_.push_back(&Choice::rank);
                return;
            case TermKind::reuse_cost:
                for (const ReuseCost& pair : instance_.reuse) {
                    for (const Index part : {pair.first, pair.second}) stays_[instance_.parts[part].item] = 1;
                }
                return;
            case TermKind::bank_cost:  // layouts that depend on banks stay as they are
                return;
            case TermKind::moves:
                for (const Kept& kept : hint.kept) stays_[kept.item] = 1;
                return;
        }
    }

    // The lowest free offset.
    std::optional<Bytes> room(Index item, const Choice& choice) const {
        WideBytes top = 0;
        for (const Part& part : instance_.parts_of(item)) {
            top = std::max<WideBytes>(top, WideBytes{part.delta} + part.size);
        }
        const WideBytes last = std::min<WideBytes>(choice.high, ends_[choice.pool] - top);
        const auto raised = [&](WideBytes x) {
            return x + floor_mod<WideBytes>(choice.residue - x, choice.modulus);
        };
        WideBytes offset = raised(choice.low);
        for (const auto& [begin, end] : in_the_way(item, choice.pool)) {
            if (begin < offset && offset < end) offset = raised(end);
        }
        return offset <= last ? std::optional(static_cast<Bytes>(offset)) : std::nullopt;
    }

    using WideRange = std::pair<WideBytes, WideBytes>;

    // Ranges of offsets, ends excluded, at which the item overlaps what is in the pool; sorted.
    std::vector<WideRange> in_the_way(Index item, Index pool) const {
        std::vector<WideRange> ranges;
        const auto add = [&](const Part& part, WideBytes begin, WideBytes end) {
            ranges.emplace_back(begin - part.delta - part.size, end - part.delta);
        };
        for (const Part& part : instance_.parts_of(item)) {
            for (const Range& range : instance_.pools[pool].reserved) add(part, range.begin, range.end);
        }
        for (Index other = 0; other < instance_.item_count(); ++other) {
            if (layout_[other].pool != pool || other == item) continue;
            for (Index b = instance_.item_parts[other]; b < instance_.item_parts[other + 1]; ++b) {
                const WideBytes begin = WideBytes{layout_[other].offset} + instance_.parts[b].delta;
                for (Index a = instance_.item_parts[item]; a < instance_.item_parts[item + 1]; ++a) {
                    if (apart(a, b)) add(instance_.parts[a], begin, begin + instance_.parts[b].size);
                }
            }
        }
        std::ranges::sort(ranges);
        return ranges;
    }

    // What may share bytes only from a common start is kept apart as well.
    bool apart(Index a, Index b) const {
        return share_a_row(instance_.rows[a], instance_.rows[b]) &&
               !std::ranges::binary_search(free_, std::pair<Index, Index>(std::minmax(a, b)));
    }

    const Instance& instance_;
    Layout& layout_;
    std::vector<char> stays_;  // by item: whether other terms depend on its place
    std::vector<Bytes> ends_;  // by pool, the highest that is allowed
    std::vector<std::int64_t Choice::*> adds_;
    std::vector<std::pair<Index, Index>> free_;
};

}  // namespace

Layout in_preferred_pools(const Instance& instance, const std::vector<Term>& terms, const Hint& hint,
                          Layout layout) {
    if (instance.item_count() > kMostToMove || instance.banks.matter()) return layout;
    std::vector<Index> away;
    for (Index item = 0; item < instance.item_count(); ++item) {
        if (instance.choices[item][0].pool != layout[item].pool) away.push_back(item);
    }
    if (away.empty() || away.size() * layout.size() > kMostCompared) return layout;
    Mover mover(instance, terms, hint, layout);
    for (const Index item : away) mover.move(item);
    return layout;
}

}  // namespace memstow::run
