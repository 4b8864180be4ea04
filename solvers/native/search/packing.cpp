#include "search/packing.hpp"

#include <algorithm>

#include "core/arithmetic.hpp"

namespace memstow::search {

Bytes Packing::next(Index item, Bytes x) const {
    const PackingItem& placed = items[item];
    for (const Range& range : allowed[item]) {
        if (range.end < x) continue;
        const Bytes at = align_up(std::max(x, range.begin), placed.modulus, placed.residue);
        if (at <= range.end) return at;
    }
    return kLimit;
}

Bytes Packing::previous(Index item, Bytes x) const {
    const PackingItem& placed = items[item];
    const auto ranges = allowed[item];
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        if (range->begin > x) continue;
        const Bytes at = align_down(std::min(x, range->end), placed.modulus, placed.residue);
        if (at >= range->begin) return at;
    }
    return -1;
}

Bytes Packing::highest(Index item, Bytes height) const { return floor_div(height - items[item].top, unit); }

Bytes Packing::step_down(Bytes height) const {
    Bytes best = -1;
    for (const PackingItem& item : items) {
        if (height - 1 >= item.top) best = std::max(best, align_down(height - 1, unit, item.top % unit));
    }
    return best;
}

Bytes Packing::step_up(Bytes height) const {
    Bytes best = kLimit;
    for (const PackingItem& item : items) {
        best = std::min(best, align_up(std::max(height, item.top), unit, item.top % unit));
    }
    return best;
}

Bytes Packing::bound(const Budget* budget) const {
    Bytes best = 0;
    std::vector<std::pair<Bytes, Bytes>> jobs;
    for (Index i = 0; i < count(); ++i) {
        const Bytes least = next(i, 0);
        if (least == kLimit) return kLimit;
        best = std::max(best, least * unit + items[i].top);
    }
    for (Index row = 0; row < rows.size(); ++row) {
        if (budget != nullptr && budget->spent()) break;
        jobs.clear();
        Bytes loose = 0;  // units are rounded up; the topmost entry need not be
        for (const Entry& entry : rows[row]) {
            const PackingItem& item = items[entry.item];
            jobs.push_back({next(entry.item, 0) + entry.delta, entry.size});
            loose = std::max(loose, item.size * unit - item.top);
        }
        const auto lower = [](const auto& a, const auto& b) { return a.first < b.first; };
        if (!std::is_sorted(jobs.begin(), jobs.end(), lower)) std::sort(jobs.begin(), jobs.end(), lower);
        Bytes top = 0;
        for (const auto& [least, size] : jobs) top = std::max(top, least) + size;
        // The row's own top entry may be below the tops of its items, never the other way about.
        best = std::max(best, top * unit - (plain ? loose : unit - 1));
    }
    return step_up(best);
}

Bytes Packing::height(const std::vector<Bytes>& offsets) const {
    Bytes top = 0;
    for (std::size_t i = 0; i < items.size(); ++i) top = std::max(top, offsets[i] * unit + items[i].top);
    return top;
}

bool Packing::holds(const std::vector<Bytes>& offsets) const {
    for (Index i = 0; i < count(); ++i) {
        if (next(i, offsets[i]) != offsets[i]) {
            return false;
        }
    }
    std::vector<Range> taken;
    for (Index row = 0; row < rows.size(); ++row) {
        taken.clear();
        for (const Entry& entry : rows[row]) {
            const Bytes begin = offsets[entry.item] + entry.delta;
            taken.push_back({begin, begin + entry.size});
        }
        std::sort(taken.begin(), taken.end(), [](Range a, Range b) { return a.begin < b.begin; });
        for (std::size_t k = 1; k < taken.size(); ++k) {
            if (taken[k - 1].end > taken[k].begin) return false;
        }
    }
    for (const PartPair& pair : pairs) {
        const Bytes first = offsets[pair.first] + pair.first_delta;
        const Bytes second = offsets[pair.second] + pair.second_delta;
        const bool apart = first + pair.first_size <= second || second + pair.second_size <= first;
        if (!apart && !(pair.tieable && first == second)) return false;
    }
    return true;
}

}  // namespace memstow::search
