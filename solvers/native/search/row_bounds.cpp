#include "search/row_bounds.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/bounds.hpp"

namespace memstow::search {
namespace {

constexpr Bytes kMostCells = 1 << 16;
// For all rows of a packing, in words of bitsets; what else is done counts for as much as it takes.
constexpr std::int64_t kEffort = 20'000'000;
constexpr std::int64_t kEffortOfPiece = 32;

WideBytes ceil_div(WideBytes a, WideBytes b) { return a <= 0 ? -(-a / b) : (a + b - 1) / b; }

Bytes limited(WideBytes x) { return static_cast<Bytes>(std::min<WideBytes>(x, kLimit)); }

// A footprint in the row. Its position is its item's offset and its delta.
struct Piece {
    Index item;
    Bytes delta;     // units
    Bytes size;      // units
    WideBytes real;  // bytes; no more than its true size
    Bytes modulus;   // units; of its position
    Bytes residue;
    Bytes cells = 0;  // its size in whole cells of the row's grid
};

// The sums of subsets, up to a limit.
class Sums {
  public:
    explicit Sums(Bytes limit) : limit_(limit), words_(static_cast<std::size_t>(limit) / 64 + 1, 0) {
        words_[0] = 1;
    }
    void add(Bytes size) {
        if (size > limit_) return;
        const auto whole = static_cast<std::size_t>(size) / 64, bits = static_cast<std::size_t>(size) % 64;
        for (std::size_t k = words_.size(); k-- > whole;) {
            std::uint64_t moved = words_[k - whole] << bits;
            if (bits != 0 && k > whole) moved |= words_[k - whole - 1] >> (64 - bits);
            words_[k] |= moved;
        }
    }
    bool has(Bytes sum) const {
        return ((words_[sum / 64] >> (static_cast<std::size_t>(sum) % 64)) & 1) != 0;
    }
    Bytes most(Bytes limit) const {  // the greatest sum of at most this
        Bytes sum = std::min(limit, limit_);
        while (!has(sum)) --sum;
        return sum;
    }
    Bytes least(Bytes from) const {  // the least sum of at least this; kLimit when there is none
        for (Bytes sum = from; sum <= limit_; ++sum) {
            if (has(sum)) return sum;
        }
        return kLimit;
    }
    std::size_t words() const { return words_.size(); }

  private:
    Bytes limit_;
    std::vector<std::uint64_t> words_;
};

class RowBound {
  public:
    explicit RowBound(const Packing& packing) : packing_(packing) {
        for (Index i = 0; i < packing.count(); ++i) {
            const Bytes first = packing.next(i, 0);
            const bool fixed = first < kLimit && packing.previous(i, kLimit) == first;
            fixed_.push_back(fixed ? first : -1);
            in_the_way_ = in_the_way_ || fixed || packing.items[i].modulus > 1;
        }
        in_the_way_ = in_the_way_ || !packing.reserved.empty();
    }
    Bytes run();

  private:
    void read(Index row);
    WideBytes around_obstacles();
    WideBytes apart_by_alignment() const;

    const Packing& packing_;
    std::vector<Bytes> fixed_;  // by item: its only offset, or -1
    bool in_the_way_ = false;
    std::int64_t effort_ = kEffort;
    std::vector<Piece> pieces_, movable_;  // of the row
    std::vector<Range> obstacles_;         // bytes
};

Bytes RowBound::run() {
    if (!in_the_way_) return 0;
    // The fullest rows first: the effort is limited.
    std::vector<std::pair<WideBytes, Index>> rows;
    for (Index row = 0; row < packing_.rows.size(); ++row) {
        WideBytes load = 0;
        for (const Entry& entry : packing_.rows[row]) load += entry.size;
        rows.emplace_back(-load, row);
    }
    std::sort(rows.begin(), rows.end());
    WideBytes best = 0;
    for (const auto& [load, row] : rows) {
        effort_ -= count_of(packing_.rows[row]) * kEffortOfPiece;
        if (effort_ <= 0) break;
        read(row);
        best = std::max({best, around_obstacles(), apart_by_alignment()});
    }
    return limited(best);
}

void RowBound::read(Index row) {
    pieces_.clear();
    movable_.clear();
    obstacles_ = packing_.reserved;
    const Bytes unit = packing_.unit;
    for (const Entry& entry : packing_.rows[row]) {
        const PackingItem& item = packing_.items[entry.item];
        const WideBytes rounded = WideBytes{entry.size} * unit;
        // What the sizes of parts in a group are exactly, the packing does not know.
        const WideBytes real = packing_.plain ? item.top : rounded - (unit - 1);
        const Bytes residue = (item.residue + entry.delta % item.modulus) % item.modulus;
        pieces_.push_back({entry.item, entry.delta, entry.size, real, item.modulus, residue});
        const Bytes offset = fixed_[entry.item];
        if (offset < 0) {
            movable_.push_back(pieces_.back());
        } else {
            const WideBytes begin = WideBytes{offset + entry.delta} * unit;
            obstacles_.push_back({limited(begin), limited(begin + real)});
        }
    }
    std::sort(obstacles_.begin(), obstacles_.end(), [](Range a, Range b) { return a.begin < b.begin; });
}

// Each gap between obstacles holds at most the greatest sum of sizes that fits there; what is then left has
// to be above. Where all positions are congruent, sizes count in whole cells, but for the topmost in each
// gap.
WideBytes RowBound::around_obstacles() {
    if (movable_.empty()) return 0;
    // In whole units a group may close a hole in itself where an obstacle can lie all the same.
    if (!packing_.plain && packing_.unit > 1) return 0;
    const WideBytes unit = packing_.unit;
    Bytes grid = 0;
    for (const Piece& piece : movable_) {
        grid = std::gcd(std::gcd(grid, piece.modulus), piece.residue - movable_[0].residue);
    }
    if (obstacles_.empty() && grid <= 1) return 0;
    Bytes common = 0;
    WideBytes total = 0;
    for (Piece& piece : movable_) {
        piece.cells = (piece.size - 1) / grid + 1;
        common = std::gcd(common, piece.cells);
        total += piece.cells;
    }
    for (Piece& piece : movable_) piece.cells /= common;
    const WideBytes cell = unit * grid * common;  // `common` cells of the grid
    if (cell > kLimit) return 0;
    WideBytes rest = total / common;  // cells that must be in this gap or above

    const auto loose = [&](const Piece& piece) {  // what it needs less when nothing is above it
        return piece.cells * cell - piece.real;
    };
    Bytes at = 0;
    for (std::size_t k = 0; k <= obstacles_.size(); ++k) {
        const bool last = k == obstacles_.size();
        const Bytes begin = at, end = last ? kLimit : obstacles_[k].begin;
        if (!last) at = std::max(at, obstacles_[k].end);
        if (end <= begin) continue;
        for (const Piece& piece : movable_) {
            effort_ -= kEffortOfPiece + count_of(packing_.allowed[piece.item]);
        }
        if (effort_ <= 0) return 0;
        std::vector<const Piece*> able;  // to be in the gap
        WideBytes start = 4 * WideBytes{kLimit}, spare = 0, most = 0;
        for (const Piece& piece : movable_) {
            const auto from = static_cast<Bytes>(ceil_div(begin, unit)) - piece.delta;
            const Bytes offset = packing_.next(piece.item, from);
            if (offset == kLimit) continue;
            const WideBytes place = WideBytes{offset + piece.delta} * unit;
            if (!last && place + piece.real > end) continue;
            able.push_back(&piece);
            start = std::min(start, place);
            spare = std::max(spare, loose(piece));
            most += piece.cells;
        }
        if (able.empty()) continue;
        WideBytes room = last ? most : std::min(most, (end - start + spare) / cell);
        WideBytes needed = rest;  // if this is the topmost gap in use
        if (room <= 0) continue;
        const Bytes longest = limited(room);
        const std::int64_t work = (longest / 64 + 1) * count_of(able);
        if (longest <= kMostCells && work <= effort_) {
            effort_ -= work;
            Sums sums(longest);
            for (const Piece* piece : able) sums.add(piece->cells);
            if (rest <= room) needed = sums.least(rest);
            room = sums.most(longest);
        }
        if (needed <= room) return start + needed * cell - spare;
        rest -= room;
    }
    return kLimit;
}

// Where some positions are congruent, an item that is followed by another of them takes whole cells. Each of
// the other items can fill what is left above one of them at most; and nothing need be above the last.
WideBytes RowBound::apart_by_alignment() const {
    std::map<std::pair<Bytes, Bytes>, std::vector<Bytes>> wastes;  // by grid and residue: of its items
    std::vector<Bytes> grids;
    Bytes floor = kLimit;
    WideBytes sum = 0, loose = 0;
    for (const Piece& piece : pieces_) {
        const Bytes first = packing_.next(piece.item, 0);
        if (first == kLimit) return kLimit;
        floor = std::min(floor, first + piece.delta);
        sum += piece.size;
        loose = std::max(loose, WideBytes{piece.size} * packing_.unit - piece.real);
        constexpr std::size_t kMostGrids = 8;
        if (piece.modulus > 1 && grids.size() < kMostGrids &&
            std::find(grids.begin(), grids.end(), piece.modulus) == grids.end()) {
            grids.push_back(piece.modulus);
        }
    }
    WideBytes most = 0;
    for (const Bytes grid : grids) {
        for (const Piece& piece : pieces_) {
            if (piece.modulus % grid != 0) continue;
            const Bytes over = piece.size % grid;
            wastes[{grid, piece.residue % grid}].push_back(over == 0 ? 0 : grid - over);
        }
    }
    for (auto& [grid, waste] : wastes) {
        const std::size_t filled = pieces_.size() - waste.size() + 1;
        if (filled >= waste.size()) continue;
        std::sort(waste.begin(), waste.end());
        WideBytes lost = 0;
        for (std::size_t k = 0; k + filled < waste.size(); ++k) lost += waste[k];
        most = std::max(most, lost);
    }
    if (most == 0) return 0;
    return (floor + sum + most) * packing_.unit - loose;
}

}  // namespace

Bytes row_bound(const Packing& packing) { return RowBound(packing).run(); }

}  // namespace memstow::search
