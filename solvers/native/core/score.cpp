#include "core/score.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace memstow {

namespace {

const Place& place_of(const Layout& layout, Index item) { return layout[item]; }

bool placed(const Place& place) { return place.offset != kUnplaced; }

}  // namespace

std::vector<Bytes> pool_peaks(const Instance& instance, const Layout& layout) {
    std::vector<Bytes> peaks(instance.pools.size(), 0);
    for (const Part& part : instance.parts) {
        const Place& place = place_of(layout, part.item);
        if (!placed(place)) continue;
        Bytes& peak = peaks[place.pool];
        peak = std::max(peak, place.offset + part.delta + part.size);
    }
    return peaks;
}

bool share_bank(const Instance& instance, const Layout& layout, Index first, Index second) {
    const Part& one = instance.parts[first];
    const Part& other = instance.parts[second];
    const Place& a = layout[one.item];
    const Place& b = layout[other.item];
    if (!placed(a) || !placed(b) || a.pool != b.pool) return false;
    const Bytes a_begin = a.offset + one.delta, b_begin = b.offset + other.delta;
    const auto [first_of_a, end_of_a] = instance.banks.touched(a.pool, a_begin, a_begin + one.size);
    const auto [first_of_b, end_of_b] = instance.banks.touched(b.pool, b_begin, b_begin + other.size);
    return std::max(first_of_a, first_of_b) < std::min(end_of_a, end_of_b);
}

namespace {

Index broken_rules(const Instance& instance, const Layout& layout) {
    Index broken = 0;
    for (const auto& [first, second] : instance.banks.apart) {
        broken += share_bank(instance, layout, first, second);
    }
    if (instance.banks.first_choice.empty()) return broken;
    for (Index item = 0; item < instance.item_count(); ++item) {
        const std::span<const Choice> choices = instance.choices[item];
        const Place& place = layout[item];
        for (Index at = 0; at < count_of(choices) && placed(place); ++at) {
            if (choices[at].pool != place.pool) continue;
            const std::span<const Range> windows = instance.banks.windows_of(item, at);
            broken += !windows.empty() && std::ranges::none_of(windows, [&](const Range& window) {
                return window.begin <= place.offset && place.offset <= window.end;
            });
            break;
        }
    }
    return broken;
}

}  // namespace

Scorer::Scorer(const Instance& instance, std::vector<Term> terms, Hint hint)
    : instance_(instance), terms_(std::move(terms)), hint_(std::move(hint)) {}

Score Scorer::operator()(const Layout& layout) const {
    Score score;
    score.unplaced =
        std::count_if(layout.begin(), layout.end(), [](const Place& place) { return !placed(place); });
    const std::vector<Bytes> peaks = pool_peaks(instance_, layout);
    for (std::size_t pool = 0; pool < peaks.size(); ++pool) {
        score.overflow += std::max<Bytes>(0, peaks[pool] - instance_.pools[pool].capacity);
    }
    if (instance_.banks.matter()) score.broken = broken_rules(instance_, layout);
    score.values.reserve(terms_.size());
    for (const Term& term : terms_) score.values.push_back(value(term, layout, peaks));
    return score;
}

Value Scorer::value(const Term& term, const Layout& layout, const std::vector<Bytes>& peaks) const {
    switch (term.kind) {
        case TermKind::peak:
            return std::accumulate(peaks.begin(), peaks.end(), Value{0});
        case TermKind::pool_peak:
            return peaks[term.pool];
        case TermKind::max_peak:
            return peaks.empty() ? 0 : *std::max_element(peaks.begin(), peaks.end());
        case TermKind::placement_cost:
            return sum_of(&Choice::cost, layout);
        case TermKind::reuse_cost:
            return reuse_cost(layout);
        case TermKind::moves:
            return moves(layout);
        case TermKind::preference:
            return sum_of(&Choice::rank, layout);
        case TermKind::bank_cost:
            return bank_cost(layout);
    }
    return 0;
}

Value Scorer::sum_of(std::int64_t Choice::* what, const Layout& layout) const {
    Value sum = 0;
    for (Index item = 0; item < instance_.item_count(); ++item) {
        const Place& place = place_of(layout, item);
        if (!placed(place)) continue;
        for (const Choice& choice : instance_.choices[item]) {
            if (choice.pool != place.pool) continue;
            sum += choice.*what;
            break;
        }
    }
    return sum;
}

Value Scorer::reuse_cost(const Layout& layout) const {
    Value sum = 0;
    for (const ReuseCost& pair : instance_.reuse) {
        const Part& first = instance_.parts[pair.first];
        const Part& second = instance_.parts[pair.second];
        const Place& a = place_of(layout, first.item);
        const Place& b = place_of(layout, second.item);
        if (!placed(a) || !placed(b) || a.pool != b.pool) continue;
        const Bytes a_begin = a.offset + first.delta;
        const Bytes b_begin = b.offset + second.delta;
        if (a_begin < b_begin + second.size && b_begin < a_begin + first.size) sum += pair.cost;
    }
    return sum;
}

Value Scorer::bank_cost(const Layout& layout) const {
    Value sum = 0;
    for (const ReuseCost& pair : instance_.banks.costs) {
        if (share_bank(instance_, layout, pair.first, pair.second)) sum += pair.cost;
    }
    return sum;
}

Value Scorer::moves(const Layout& layout) const {
    Value count = hint_.buffers;
    for (const Kept& kept : hint_.kept) {
        if (place_of(layout, kept.item) == kept.place) count -= kept.count;
    }
    return count;
}

}  // namespace memstow
