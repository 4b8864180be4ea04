// Tiny random instances with every feature mixed, and a brute force over all offsets as the referee.
#pragma once

#include <algorithm>
#include <vector>

#include "core/instance.hpp"
#include "core/random.hpp"

namespace tiny {

using namespace memstow;

struct Features {
    bool aligned = true, pinned = true, reserved = true, ranges = true, conflicts = true, exclusive = true;
    bool groups = true, in_place = true;
    Bytes largest = 5;
    Index most_items = 5;
};

inline std::vector<Bytes> offsets_of(const Layout& layout) {
    std::vector<Bytes> offsets;
    for (const Place& place : layout) offsets.push_back(place.offset);
    return offsets;
}

inline Bytes height_of(const Instance& in, const std::vector<Bytes>& offsets) {
    Bytes height = 0;
    for (const Part& part : in.parts) {
        height = std::max(height, offsets[static_cast<std::size_t>(part.item)] + part.delta + part.size);
    }
    return height;
}

inline Instance random_instance(std::uint64_t seed, const Features& with) {
    Random random(seed);
    const auto chance = [&](int percent) { return static_cast<int>(random.below(100)) < percent; };
    const auto upto = [&](Bytes most) {
        return static_cast<Bytes>(random.below(static_cast<std::uint64_t>(most) + 1));
    };

    Instance in;
    const Bytes grain = 1 + upto(2);
    const Bytes capacity = chance(30) ? 4 + upto(20) : kLimit;
    in.pools.push_back({capacity, {}});
    if (with.reserved && chance(30)) {
        const Bytes begin = upto(8), end = begin + 1 + upto(3);
        in.pools[0].reserved.push_back({begin, end});
        if (chance(30)) in.pools[0].reserved.push_back({end + 1 + upto(5), end + 8});
    }
    const Index n = 1 + static_cast<Index>(upto(with.most_items - 1));
    const Index time_rows = 1 + static_cast<Index>(upto(4));
    const bool same_alignment = chance(30);
    const Bytes shared_modulus = 1 + upto(3);
    std::vector<std::vector<RowRange>> rows;
    for (Index i = 0; i < n; ++i) {
        Bytes end = 0;
        const Bytes count = with.groups && chance(25) ? 2 + upto(1) : 1;
        for (Bytes k = 0; k < count; ++k) {
            const Bytes size = std::max<Bytes>(1, (1 + upto(with.largest - 1)) / grain * grain);
            const Bytes delta = count == 1 ? 0 : upto(3) * grain;
            in.parts.push_back({i, delta, size});
            end = std::max(end, delta + size);
            std::vector<RowRange> mine;
            const Index begin = static_cast<Index>(upto(time_rows - 1));
            mine.push_back({begin, begin + 1 + static_cast<Index>(upto(time_rows - 1 - begin))});
            if (with.ranges && chance(20) && mine[0].end + 1 < time_rows) {
                mine.push_back({mine[0].end + 1, time_rows});
            }
            if (with.conflicts && chance(10)) mine.clear();
            rows.push_back(mine);
        }
        in.item_parts.push_back(static_cast<Index>(in.parts.size()));
        Choice choice{0, 1, 0, 0, kLimit - end, 0};
        if (with.aligned && (same_alignment || chance(25))) {
            choice.modulus = same_alignment ? shared_modulus : 1 + upto(3);
            if (chance(40)) choice.residue = upto(choice.modulus - 1);
        }
        if (with.pinned && chance(12)) {
            choice.low = choice.high = upto(10);
        } else if (with.pinned && chance(10)) {
            choice.low = upto(4);
            choice.high = choice.low + upto(12);
        }
        in.choices.values.push_back(choice);
        in.choices.close();
    }
    const auto parts = static_cast<Index>(in.parts.size());
    in.time_rows = in.row_count = time_rows;
    if (with.conflicts) {
        for (Bytes k = upto(3); k > 0; --k) {
            const auto p = static_cast<Index>(upto(parts - 1)), q = static_cast<Index>(upto(parts - 1));
            if (in.parts[static_cast<std::size_t>(p)].item == in.parts[static_cast<std::size_t>(q)].item) {
                continue;
            }
            for (Index side : {p, q}) {
                rows[static_cast<std::size_t>(side)].push_back({in.row_count, in.row_count + 1});
            }
            ++in.row_count;
        }
    }
    for (const auto& mine : rows) {
        in.rows.values.insert(in.rows.values.end(), mine.begin(), mine.end());
        in.rows.close();
    }
    for (Index p = 0; p < parts; ++p) {
        for (Index q = p + 1; q < parts; ++q) {
            if (in.parts[static_cast<std::size_t>(p)].item == in.parts[static_cast<std::size_t>(q)].item) {
                continue;
            }
            if (with.exclusive && chance(10)) in.exempt.push_back({p, q, false});
            if (with.in_place && chance(12)) in.exempt.push_back({p, q, true});
        }
    }
    return in;
}

class Referee {
  public:
    explicit Referee(const Instance& in) : in_(in), offset_(static_cast<std::size_t>(in.item_count())) {
        const std::size_t n = in.parts.size();
        kind_.assign(n * n, 0);
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = 0; q < n; ++q) kind_[p * n + q] = share_row(p, q) ? 1 : 0;
        }
        for (const bool in_place : {true, false}) {
            for (const ExemptPair& pair : in.exempt) {
                if (pair.in_place != in_place) continue;
                const auto p = static_cast<std::size_t>(pair.first),
                           q = static_cast<std::size_t>(pair.second);
                char& kind = kind_[p * n + q];
                kind = !in_place ? 0 : kind == 1 ? 2 : kind;
                kind_[q * n + p] = kind;
            }
        }
    }

    bool valid(const std::vector<Bytes>& offset) {
        offset_ = offset;
        for (Index i = 0; i < in_.item_count(); ++i) {
            if (!allowed(i, offset[static_cast<std::size_t>(i)]) || !fits(i)) return false;
        }
        return true;
    }

    // The least height of any layout below `height`, or kLimit.
    Bytes best(Bytes height) {
        best_ = height;
        place(0, 0);
        return best_ == height ? kLimit : best_;
    }

  private:
    bool share_row(std::size_t p, std::size_t q) const {
        if (in_.parts[p].item == in_.parts[q].item) return false;
        for (const RowRange& a : in_.rows[static_cast<Index>(p)]) {
            for (const RowRange& b : in_.rows[static_cast<Index>(q)]) {
                if (a.begin < b.end && b.begin < a.end) return true;
            }
        }
        return false;
    }
    bool allowed(Index item, Bytes at) const {
        const Choice& choice = in_.choices[item][0];
        if (at < choice.low || at > choice.high || at % choice.modulus != choice.residue) return false;
        for (const Part& part : in_.parts_of(item)) {
            const Bytes begin = at + part.delta, end = begin + part.size;
            if (end > in_.pools[0].capacity) return false;
            for (const Range& r : in_.pools[0].reserved) {
                if (begin < r.end && r.begin < end) return false;
            }
        }
        return true;
    }
    bool fits(Index item) const {  // against the items before it
        const std::size_t n = in_.parts.size();
        const auto first = static_cast<std::size_t>(in_.item_parts[static_cast<std::size_t>(item)]);
        const auto last = static_cast<std::size_t>(in_.item_parts[static_cast<std::size_t>(item) + 1]);
        for (std::size_t p = first; p < last; ++p) {
            const Bytes begin = offset_[static_cast<std::size_t>(item)] + in_.parts[p].delta;
            for (std::size_t q = 0; q < first; ++q) {
                if (kind_[p * n + q] == 0) continue;
                const Bytes other = offset_[static_cast<std::size_t>(in_.parts[q].item)] + in_.parts[q].delta;
                if (begin >= other + in_.parts[q].size || other >= begin + in_.parts[p].size) continue;
                if (kind_[p * n + q] != 2 || begin != other) return false;
            }
        }
        return true;
    }
    void place(Index item, Bytes height) {
        if (item == in_.item_count()) {
            best_ = height;
            return;
        }
        Bytes end = 0;
        for (const Part& part : in_.parts_of(item)) end = std::max(end, part.delta + part.size);
        for (Bytes at = 0; std::max(height, at + end) < best_; ++at) {
            if (!allowed(item, at)) continue;
            offset_[static_cast<std::size_t>(item)] = at;
            if (fits(item)) place(item + 1, std::max(height, at + end));
        }
    }

    const Instance& in_;
    std::vector<Bytes> offset_;
    std::vector<char> kind_;  // by pair of parts: 0 free, 1 apart, 2 apart or at one offset
    Bytes best_ = 0;
};

}  // namespace tiny
