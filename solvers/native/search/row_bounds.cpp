#include "search/row_bounds.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/arithmetic.hpp"
#include "core/bounds.hpp"

namespace memstow::search {
namespace {

constexpr Bytes kMostCells = 1 << 16;
// For all rows of a packing, in words of bitsets; what else is done counts for as much as it takes.
constexpr std::int64_t kEffort = 20'000'000;
constexpr std::int64_t kEffortOfPiece = 32;

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
    // In bytes; the last one is above all obstacles.
    struct Gap {
        Bytes begin;
        Bytes end;
        bool last;
    };
    // The pieces that can be in a gap.
    struct Able {
        std::vector<const Piece*> pieces;
        WideBytes start = 4 * WideBytes{kLimit};  // the least position of any
        WideBytes spare = 0;  // the most that one of them needs less when nothing is above it
        WideBytes cells = 0;  // of all together
    };
    struct Filling {
        WideBytes most;
        WideBytes least;
    };

    void read(Index row);
    WideBytes around_obstacles();
    WideBytes cut_into_cells(Bytes grid);
    std::vector<Gap> gaps() const;
    Able able_in(const Gap& gap) const;
    Filling fill(const Gap& gap, const Able& able, WideBytes rest);
    WideBytes apart_by_alignment() const;

    const Packing& packing_;
    std::vector<Bytes> fixed_;  // by item: its only offset, or -1
    bool in_the_way_ = false;
    std::int64_t effort_ = kEffort;
    std::vector<Piece> pieces_, movable_;  // of the row
    std::vector<Range> obstacles_;         // bytes
    WideBytes cell_ = 1;                   // bytes
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
        // The packing does not have the exact sizes of parts in a group.
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

// Sizes in cells of the grid that all movable positions are on, and of several cells where all sizes are.
// Returns their sum.
WideBytes RowBound::cut_into_cells(Bytes grid) {
    Bytes common = 0;
    WideBytes total = 0;
    for (Piece& piece : movable_) {
        piece.cells = (piece.size - 1) / grid + 1;
        common = std::gcd(common, piece.cells);
        total += piece.cells;
    }
    for (Piece& piece : movable_) piece.cells /= common;
    cell_ = WideBytes{packing_.unit} * grid * common;
    return total / common;
}

// The gaps between obstacles, which may overlap, and the one above them all.
std::vector<RowBound::Gap> RowBound::gaps() const {
    std::vector<Gap> gaps;
    Bytes at = 0;
    for (const Range& obstacle : obstacles_) {
        if (obstacle.begin > at) gaps.push_back({at, obstacle.begin, false});
        at = std::max(at, obstacle.end);
    }
    if (at < kLimit) gaps.push_back({at, kLimit, true});
    return gaps;
}

RowBound::Able RowBound::able_in(const Gap& gap) const {
    const WideBytes unit = packing_.unit;
    Able able;
    for (const Piece& piece : movable_) {
        const auto from = static_cast<Bytes>(ceil_div<WideBytes>(gap.begin, unit)) - piece.delta;
        const Bytes offset = packing_.next(piece.item, from);
        if (offset == kLimit) continue;
        const WideBytes place = WideBytes{offset + piece.delta} * unit;
        if (!gap.last && place + piece.real > gap.end) continue;
        able.pieces.push_back(&piece);
        able.start = std::min(able.start, place);
        able.spare = std::max(able.spare, piece.cells * cell_ - piece.real);
        able.cells += piece.cells;
    }
    return able;
}

// Of `rest` cells, how many the gap can take, and how many it takes at least when nothing is above it.
RowBound::Filling RowBound::fill(const Gap& gap, const Able& able, WideBytes rest) {
    const WideBytes room =
        gap.last ? able.cells : std::min(able.cells, (gap.end - able.start + able.spare) / cell_);
    if (room <= 0) return {0, rest};
    const Bytes longest = limited(room);
    const std::int64_t work = (longest / 64 + 1) * count_of(able.pieces);
    if (longest > kMostCells || work > effort_) return {room, rest};
    effort_ -= work;
    Sums sums(longest);
    for (const Piece* piece : able.pieces) sums.add(piece->cells);
    return {sums.most(longest), rest <= room ? sums.least(rest) : rest};
}

// Each gap between obstacles holds at most the greatest sum of sizes that fits there; what is then left has
// to be above. Where all positions are congruent, sizes count in whole cells, but for the topmost in each
// gap.
WideBytes RowBound::around_obstacles() {
    if (movable_.empty()) return 0;
    // In whole units a group may close a hole in itself where an obstacle can lie all the same.
    if (!packing_.plain && packing_.unit > 1) return 0;
    Bytes grid = 0;
    for (const Piece& piece : movable_) {
        grid = std::gcd(std::gcd(grid, piece.modulus), piece.residue - movable_[0].residue);
    }
    if (obstacles_.empty() && grid <= 1) return 0;
    WideBytes rest = cut_into_cells(grid);  // cells that must be in this gap or above
    if (cell_ > kLimit) return 0;
    for (const Gap& gap : gaps()) {
        for (const Piece& piece : movable_) {
            effort_ -= kEffortOfPiece + count_of(packing_.allowed[piece.item]);
        }
        if (effort_ <= 0) return 0;
        const Able able = able_in(gap);
        if (able.pieces.empty()) continue;
        const Filling filling = fill(gap, able, rest);
        if (filling.least <= filling.most) return able.start + filling.least * cell_ - able.spare;
        rest -= filling.most;
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
