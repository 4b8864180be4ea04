#include "greedy/pair_board.hpp"

#include <algorithm>

#include "core/rows.hpp"

namespace memstow::greedy {

PairBoard::PairBoard(const Instance& instance)
    : instance_(instance),
      words_((instance.parts.size() + 63) / 64),
      hard_(words_ * instance.parts.size()),
      placed_(instance.pools.size()) {
    const Index n = count_of(instance.parts);
    for (Index a = 0; a < n; ++a) {
        for (Index b = a + 1; b < n; ++b) {
            const bool own = instance.parts[a].item == instance.parts[b].item;
            if (!own && share_a_row(instance.rows[a], instance.rows[b])) set(hard_, a, b, true);
        }
    }
    for (const ExemptPair& pair : instance.exempt) {
        if (!pair.in_place) {
            set(hard_, pair.first, pair.second, false);
            continue;
        }
        if (inplace_.empty()) inplace_.resize(hard_.size());
        set(inplace_, pair.first, pair.second, true);
    }
    if (instance.reuse.empty()) return;
    apart_ = hard_;
    for (const ReuseCost& pair : instance.reuse) {
        if (instance.parts[pair.first].item != instance.parts[pair.second].item) {
            set(apart_, pair.first, pair.second, true);
        }
    }
}

void PairBoard::set(std::vector<std::uint64_t>& matrix, Index a, Index b, bool value) const {
    for (const auto& [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
        std::uint64_t& word = matrix[x * words_ + (y >> 6)];
        const std::uint64_t bit = std::uint64_t{1} << (y & 63);
        word = value ? word | bit : word & ~bit;
    }
}

void PairBoard::aim(Index part, Index pool, bool apart, Aim& aim) const {
    aim.conflicts = row(apart && !apart_.empty() ? apart_ : hard_, part);
    aim.pool = pool;
    aim.next = 0;
    aim.size = instance_.parts[part].size;
    aim.reach = 0;
}

Bytes PairBoard::next_free(Aim& aim, Bytes from) const {
    const std::vector<Placed>& list = placed_[aim.pool];
    aim.reach = std::max(aim.reach, from);
    for (; aim.next < list.size(); ++aim.next) {
        const Placed& other = list[aim.next];
        if (other.begin - aim.reach >= aim.size) break;
        if (test(aim.conflicts, other.part)) aim.reach = std::max(aim.reach, other.end);
    }
    return aim.reach;
}

Bytes PairBoard::gap_end(Aim& aim) const {
    const std::vector<Placed>& list = placed_[aim.pool];
    for (; aim.next < list.size(); ++aim.next) {
        if (test(aim.conflicts, list[aim.next].part)) return list[aim.next].begin;
    }
    return kLimit;
}

Bytes PairBoard::top(Aim& aim) const {
    const std::vector<Placed>& list = placed_[aim.pool];
    for (; aim.next < list.size(); ++aim.next) {
        if (test(aim.conflicts, list[aim.next].part)) aim.reach = std::max(aim.reach, list[aim.next].end);
    }
    return aim.reach;
}

bool PairBoard::free_at(Index part, Index pool, Bytes offset) const {
    const Bytes end = offset + instance_.parts[part].size;
    const std::uint64_t* conflicts = row(hard_, part);
    for (const Placed& other : placed_[pool]) {
        if (other.begin >= end) break;
        if (other.end <= offset || !test(conflicts, other.part)) continue;
        const bool shares =
            other.begin == offset && !inplace_.empty() && test(row(inplace_, part), other.part);
        if (!shares) return false;
    }
    return true;
}

void PairBoard::put(Index part, Index pool, Bytes offset) {
    std::vector<Placed>& list = placed_[pool];
    const Placed entry{offset, offset + instance_.parts[part].size, part};
    const auto at = std::upper_bound(list.begin(), list.end(), entry,
                                     [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    list.insert(at, entry);
}

void PairBoard::clear() {
    for (std::vector<Placed>& list : placed_) list.clear();
}

}  // namespace memstow::greedy
