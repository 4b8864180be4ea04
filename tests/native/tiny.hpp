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

// Instances of a few items, with something of each kind that is asked for.
class Maker {
  public:
    Maker(std::uint64_t seed, const Features& with) : with_(with), random_(seed) {}

    Instance make() {
        const Bytes grain = 1 + upto(2);
        add_pool();
        const Index n = 1 + upto(with_.most_items - 1);
        in_.time_rows = in_.row_count = 1 + upto(4);
        same_alignment_ = chance(30);
        shared_modulus_ = 1 + upto(3);
        for (Index i = 0; i < n; ++i) add_item(i, grain);
        if (with_.conflicts) add_conflicts();
        for (const auto& mine : rows_) {
            in_.rows.values.insert(in_.rows.values.end(), mine.begin(), mine.end());
            in_.rows.close();
        }
        add_exempt();
        return std::move(in_);
    }

  private:
    bool chance(Index percent) { return upto(99) < percent; }
    Bytes upto(Bytes most) { return random_.below(most + 1); }
    bool same_item(Index p, Index q) const { return in_.parts[p].item == in_.parts[q].item; }

    void add_pool() {
        const Bytes capacity = chance(30) ? 4 + upto(20) : kLimit;
        in_.pools.push_back({capacity, {}});
        if (with_.reserved && chance(30)) {
            const Bytes begin = upto(8), end = begin + 1 + upto(3);
            in_.pools[0].reserved.push_back({begin, end});
            if (chance(30)) in_.pools[0].reserved.push_back({end + 1 + upto(5), end + 8});
        }
    }

    void add_item(Index item, Bytes grain) {
        Bytes end = 0;
        const Bytes count = with_.groups && chance(25) ? 2 + upto(1) : 1;
        for (Bytes k = 0; k < count; ++k) {
            const Bytes size = std::max<Bytes>(1, (1 + upto(with_.largest - 1)) / grain * grain);
            const Bytes delta = count == 1 ? 0 : upto(3) * grain;
            in_.parts.push_back({item, delta, size});
            end = std::max(end, delta + size);
            rows_.push_back(some_rows());
        }
        in_.item_parts.push_back(count_of(in_.parts));
        in_.choices.add(some_choice(end));
    }

    std::vector<RowRange> some_rows() {
        const Index begin = upto(in_.time_rows - 1);
        const Index length = 1 + upto(in_.time_rows - 1 - begin);
        std::vector<RowRange> rows{{begin, begin + length}};
        if (with_.ranges && chance(20) && rows[0].end + 1 < in_.time_rows) {
            rows.push_back({rows[0].end + 1, in_.time_rows});
        }
        if (with_.conflicts && chance(10)) rows.clear();
        return rows;
    }

    Choice some_choice(Bytes end) {
        Choice choice{0, 1, 0, 0, kLimit - end, 0};
        if (with_.aligned && (same_alignment_ || chance(25))) {
            choice.modulus = same_alignment_ ? shared_modulus_ : 1 + upto(3);
            if (chance(40)) choice.residue = upto(choice.modulus - 1);
        }
        if (with_.pinned && chance(12)) {
            choice.low = choice.high = upto(10);
        } else if (with_.pinned && chance(10)) {
            choice.low = upto(4);
            choice.high = choice.low + upto(12);
        }
        return choice;
    }

    void add_conflicts() {
        const Index last = count_of(in_.parts) - 1;
        for (Bytes k = upto(3); k > 0; --k) {
            const Index p = upto(last), q = upto(last);
            if (same_item(p, q)) continue;
            for (const Index side : {p, q}) rows_[side].push_back({in_.row_count, in_.row_count + 1});
            ++in_.row_count;
        }
    }

    void add_exempt() {
        for (Index p = 0; p < count_of(in_.parts); ++p) {
            for (Index q = p + 1; q < count_of(in_.parts); ++q) {
                if (same_item(p, q)) continue;
                if (with_.exclusive && chance(10)) in_.exempt.push_back({p, q, false});
                if (with_.in_place && chance(12)) in_.exempt.push_back({p, q, true});
            }
        }
    }

    const Features with_;
    Random random_;
    Instance in_;
    bool same_alignment_ = false;
    Bytes shared_modulus_ = 1;
    std::vector<std::vector<RowRange>> rows_;  // by part
};

inline Instance random_instance(std::uint64_t seed, const Features& with) { return Maker(seed, with).make(); }

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
