#include "search/tiling.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <thread>

#include "core/arithmetic.hpp"
#include "core/bounds.hpp"
#include "search/meeting.hpp"

namespace memstow::search {
namespace {

// Trees are walked by recursion, and are at most this deep.
constexpr Index kMostLive = 2000;

// How much more tiles may have lost than what is empty suggests, and the largest part of a size.
constexpr double kAllowance = 1.1;
constexpr std::int64_t kMostLoss = std::int64_t{1} << (kShareBits - 2);

// Where a sweep gets stuck, the rows before are swept with the next breadth: this many of them, and twice as
// many each time that it gets no further.
constexpr Sweep::Breadth kBreadths[] = {{4, 8}, {16, 16}, {64, 32}, {256, 64}, {1024, 64}};
constexpr Index kWidened = 64;
// How much sweeps doubt. There are some of each: what one misses at any breadth, another one has at once.
constexpr int kDoubts[] = {8, 5};
constexpr int kDoubtsWithLoss[] = {6, 4, 5};
constexpr std::size_t kMostLayouts = 16;  // of one sweep

// The least offset of all items, if that is one: -1 where some could not be there, or not as far above it as
// the others reach.
Bytes common_base(const Instance& in, Bytes height) {
    const Pool& pool = in.pools[in.choices[0][0].pool];
    Bytes base = 0, unit = 0;
    if (!pool.reserved.empty() && pool.reserved[0].begin == 0) base = pool.reserved[0].end;
    for (const Part& part : in.parts) unit = std::gcd(unit, part.size);
    for (const Choice& choice : in.choices.all()) {
        if (unit % choice.modulus != 0) return -1;
        base = std::max(base, choice.low);
    }
    const Choice& first = *std::ranges::max_element(in.choices.all(), {}, &Choice::modulus);
    if (base > kLimit - height - first.modulus) return -1;
    base = align_up(base, first.modulus, first.residue);
    for (Index i = 0; i < in.item_count(); ++i) {
        const Choice& choice = in.choices[i][0];
        if (base % choice.modulus != choice.residue % choice.modulus) return -1;
        if (choice.high < base + height - in.parts[i].size) return -1;
    }
    for (const Range& range : pool.reserved) {
        if (range.end > base && range.begin < base + height) return -1;
    }
    return base + height <= pool.capacity ? base : -1;
}

// How high a layout on this base may be: no item may be higher up than it may, and nothing reserved be in the
// way.
Bytes room_above(const Instance& in, Bytes base) {
    const Pool& pool = in.pools[in.choices[0][0].pool];
    Bytes end = pool.capacity;
    for (Index i = 0; i < in.item_count(); ++i) {
        end = std::min(end, in.choices[i][0].high + in.parts[i].size);
    }
    for (const Range& range : pool.reserved) {
        if (range.begin >= base) end = std::min(end, range.begin);
    }
    return end - base;
}

Bytes height_of(const std::vector<Tile>& tiles, const std::vector<Bytes>& offsets) {
    Bytes height = 0;
    for (std::size_t k = 0; k < tiles.size(); ++k) height = std::max(height, offsets[k] + tiles[k].size);
    return height;
}

// The least of these numbers among those from a tile's begin to its end, by tile.
std::vector<Bytes> least_within(const std::vector<Tile>& tiles, const std::vector<Bytes>& numbers) {
    std::vector<Index> order(tiles.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, std::greater{}, [&](Index k) { return tiles[k].begin; });
    std::vector<Bytes> least(tiles.size());
    // The row at hand, the first after it with a lower number, the first after that, and so on; reversed.
    std::vector<Index> lower;
    Index row = count_of(numbers);
    for (const Index k : order) {
        while (row > tiles[k].begin) {
            --row;
            while (!lower.empty() && numbers[lower.back()] >= numbers[row]) lower.pop_back();
            lower.push_back(row);
        }
        least[k] = numbers[*std::ranges::lower_bound(lower, tiles[k].end - 1, std::greater{})];
    }
    return least;
}

// What each tile may have lost: no more than is empty in any of its rows; otherwise up to a part of its size,
// each as likely, so that half of this part is empty on average.
void estimate_losses(FullRows& full, const std::vector<Bytes>& empty, WideBytes lost) {
    const std::vector<Bytes> least = least_within(full.tiles, empty);
    WideBytes smaller = 0;
    for (std::size_t k = 0; k < full.tiles.size(); ++k) {
        const Tile& tile = full.tiles[k];
        if (least[k] > 0) smaller += WideBytes{tile.size} * (tile.end - tile.begin);
    }
    if (smaller == 0) return;
    const double part = kAllowance * 2 * static_cast<double>(lost) / static_cast<double>(smaller);
    full.loss =
        std::max<std::int64_t>(1, std::min<double>(kMostLoss, part * (std::int64_t{1} << kShareBits)));
    for (std::size_t k = 0; k < full.tiles.size(); ++k) {
        full.tiles[k].loss = std::min(least[k], share_of(full.tiles[k].size, full.loss));
    }
}

// Sweeps in one direction, each with more breadth where the one before got stuck.
class Direction {
  public:
    Direction(const std::vector<Tile>& tiles, const FullRows& full, int doubt, Index phase,
              std::size_t memory)
        : rows_(tiles, full.rows),
          full_(full),
          sweep_(rows_, full.loss, doubt, phase, memory),
          breadths_(full.rows, kBreadths[0]),
          levels_(full.rows, 0) {}

    // One sweep. The lowest layout, if there is any.
    std::optional<std::vector<Bytes>> sweep(const Decision::Stop& stop) {
        const Decision::Stop counted = [&](std::int64_t steps) {
            steps_ += steps;
            return stopped_ = stop(steps);
        };
        std::optional<std::vector<Bytes>> best;
        Bytes least = kLimit;
        if (sweep_.run(breadths_, changed_, counted) == Answer::found) {
            for (std::size_t way = 0; way < std::min(sweep_.kept(), kMostLayouts); ++way) {
                auto offsets = sweep_.layout_of(way, counted);
                const Bytes height = offsets ? height_of(rows_.tiles(), *offsets) : kLimit;
                if (height < least && height <= full_.room) {
                    best = std::move(offsets);
                    least = height;
                }
                if (stopped_ || least == full_.height) return best;
            }
            exhausted_ = !widen(0, full_.rows);
        } else if (!stopped_) {
            const Index failed = sweep_.failed();
            far_ = failed > furthest_ ? kWidened : 2 * far_;
            furthest_ = std::max(furthest_, failed);
            while (!widen(std::max(0, failed - far_), failed + 1)) {
                exhausted_ = far_ >= failed;
                if (exhausted_) break;
                far_ *= 2;
            }
        }
        return best;
    }
    bool exhausted() const { return exhausted_; }
    std::int64_t steps() const { return steps_; }
    const TileRows& rows() const { return rows_; }
    Sweep::Reached reached() const { return sweep_.reached(); }

  private:
    // Whether some of these rows have a next breadth.
    bool widen(Index begin, Index end) {
        changed_ = begin;
        bool widened = false;
        for (Index row = begin; row < std::min(end, full_.rows); ++row) {
            if (levels_[row] + 1 == std::size(kBreadths)) continue;
            widened = true;
            breadths_[row] = kBreadths[++levels_[row]];
        }
        return widened;
    }

    const TileRows rows_;
    const FullRows& full_;
    Sweep sweep_;
    std::vector<Sweep::Breadth> breadths_;  // by row
    std::vector<std::size_t> levels_;       // by row: which breadth
    Index furthest_ = 0, far_ = kWidened;
    Index changed_ = 0;  // the breadth of rows before it is that of the last sweep
    bool stopped_ = false, exhausted_ = false;
    std::int64_t steps_ = 0;
};

}  // namespace

std::optional<FullRows> full_rows(const Instance& in) {
    const Index items = in.item_count();
    if (items == 0 || count_of(in.parts) != items || !in.exempt.empty()) return {};
    if (in.row_count != in.time_rows || in.row_count == 0) return {};
    FullRows full;
    full.rows = in.row_count;
    struct Change {
        Bytes size = 0;
        Index count = 0;
    };
    std::vector<Change> changes(in.row_count + 1);
    std::vector<bool> begun(in.row_count + 1), ended(in.row_count + 1);
    for (Index k = 0; k < items; ++k) {
        const Part& part = in.parts[k];
        const auto rows = in.rows[k];
        if (part.delta != 0 || rows.size() != 1 || rows[0].begin >= rows[0].end) return {};
        full.tiles.push_back({part.size, rows[0].begin, rows[0].end});
        Change& begin = changes[rows[0].begin];
        Change& end = changes[rows[0].end];
        if (begin.size > kLimit - part.size) return {};
        begin.size += part.size;
        begin.count += 1;
        end.size -= part.size;
        end.count -= 1;
        begun[rows[0].begin] = true;
        ended[rows[0].end] = true;
    }
    Bytes load = 0;
    Index live = 0;
    std::vector<Bytes> loads;
    for (Index row = 0; row < in.row_count; ++row) {
        const Change& change = changes[row];
        load += change.size;
        live += change.count;
        if (load > kLimit / 2 || live > kMostLive) return {};
        full.height = std::max(full.height, load);
        loads.push_back(load);
    }
    std::vector<Bytes> empty;
    WideBytes lost = 0;
    for (const Bytes bytes : loads) {
        empty.push_back(full.height - bytes);
        lost += empty.back();
    }
    if (lost > WideBytes{full.height} * full.rows / kMostEmpty) return {};
    for (Index row = 1; lost > 0 && row < in.row_count; ++row) {
        if (!begun[row] || !ended[row]) return {};
    }
    if (lost > 0) estimate_losses(full, empty, lost);
    full.base = common_base(in, full.height);
    if (full.base < 0) return {};
    full.room = room_above(in, full.base);
    return full;
}

std::optional<std::vector<Bytes>> tile(const FullRows& full, std::size_t memory, int workers,
                                       const Decision::Stop& stop) {
    const std::span<const int> doubts = full.loss == 0 ? std::span<const int>(kDoubts) : kDoubtsWithLoss;
    const std::vector<Tile> backwards = mirrored(full.tiles, full.rows);
    // Both directions have their milestones at the same times.
    const Index phase = (full.rows + 1) % Sweep::kBetweenMilestones;
    const std::size_t each = memory / (2 * doubts.size());
    // Two after the other are those of one doubt, and may meet.
    std::deque<Direction> directions;
    for (const int doubt : doubts) {
        directions.emplace_back(full.tiles, full, doubt, 0, each);
        directions.emplace_back(backwards, full, doubt, phase, each);
    }
    std::mutex mutex;  // guards all below
    std::vector<std::shared_ptr<const Sweep::Reached>> reached(directions.size());
    std::vector<bool> busy(directions.size(), false);
    std::optional<std::vector<Bytes>> best;
    Bytes least = kLimit;
    std::exception_ptr failure;
    std::atomic<bool> over{false};
    const Decision::Stop should_stop = [&](std::int64_t steps) {
        if (stop(steps)) over = true;
        return over.load();
    };
    const auto keep = [&](std::optional<std::vector<Bytes>> lower) {
        const Bytes height = lower ? height_of(full.tiles, *lower) : kLimit;
        const std::lock_guard lock(mutex);
        if (height < least && height <= full.room) {
            least = height;
            best = std::move(lower);
        }
        if (least == full.height) over = true;
    };
    // The one that has worked least; none where all are at work or at their end.
    const auto next = [&]() -> std::optional<std::size_t> {
        const std::lock_guard lock(mutex);
        std::optional<std::size_t> first;
        for (std::size_t k = 0; k < directions.size(); ++k) {
            if (busy[k] || directions[k].exhausted()) continue;
            if (!first || directions[k].steps() < directions[*first].steps()) first = k;
        }
        if (first) busy[*first] = true;
        return first;
    };
    const auto sweep = [&](std::size_t k) {
        keep(directions[k].sweep(should_stop));
        const std::size_t forwards = k & ~std::size_t{1}, back = forwards + 1;
        std::shared_ptr<const Sweep::Reached> from, to;
        {
            const std::lock_guard lock(mutex);
            busy[k] = false;
            if (over) return;
            reached[k] = std::make_shared<Sweep::Reached>(directions[k].reached());
            from = reached[forwards];
            to = reached[back];
        }
        if (!from || !to) return;
        keep(meet(directions[forwards].rows(), *from, directions[back].rows(), *to, each, should_stop));
    };
    const auto work = [&] {
        try {
            while (!over) {
                const std::optional<std::size_t> k = next();
                if (!k) return;
                sweep(*k);
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            over = true;
        }
    };
    if (workers > 1) {
        std::thread other(work);
        work();
        other.join();
    } else {
        work();
    }
    if (failure) std::rethrow_exception(failure);
    if (best) {
        for (Bytes& offset : *best) offset += full.base;
    }
    return best;
}

}  // namespace memstow::search
