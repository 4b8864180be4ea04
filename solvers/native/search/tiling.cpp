#include "search/tiling.hpp"

#include <algorithm>
#include <numeric>

#include "core/arithmetic.hpp"

namespace memstow::search {
namespace {

// Trees are walked by recursion, and are at most this deep.
constexpr Index kMostLive = 2000;

// Each round has four times the steps of the one before.
constexpr int kRounds = 5;
constexpr std::int64_t kStepsATile = 2000;
constexpr int kTrusts[] = {12, 14, 10};

// The tiles, with the rows [begin, end) counted from the last to the first.
std::vector<Tile> mirrored(const FullRows& full) {
    std::vector<Tile> tiles;
    for (const Tile& tile : full.tiles) {
        tiles.push_back({tile.size, full.rows - tile.end, full.rows - tile.begin});
    }
    return tiles;
}

// The least offset of all items, if that is one: -1 where some could not be there, or not as far above it as
// the others reach.
Bytes common_base(const Instance& in, Bytes height) {
    const Pool& pool = in.pools[in.choices[0][0].pool];
    Bytes base = 0, unit = 0;
    if (!pool.reserved.empty() && pool.reserved[0].begin == 0) base = pool.reserved[0].end;
    for (const Part& part : in.parts) unit = std::gcd(unit, part.size);
    for (const Choice& choice : in.choices.values) {
        if (unit % choice.modulus != 0) return -1;
        base = std::max(base, choice.low);
    }
    const Choice& first =
        *std::max_element(in.choices.values.begin(), in.choices.values.end(),
                          [](const Choice& a, const Choice& b) { return a.modulus < b.modulus; });
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
    }
    Bytes load = 0;
    Index live = 0;
    for (Index row = 0; row < in.row_count; ++row) {
        const Change& change = changes[row];
        load += change.size;
        live += change.count;
        if (row == 0) full.height = load;
        if (load != full.height || load > kLimit / 2 || live > kMostLive) return {};
    }
    full.base = common_base(in, full.height);
    if (full.base < 0) return {};
    return full;
}

std::optional<std::vector<Bytes>> tile(const FullRows& full, std::size_t memory, const Decision::Stop& stop) {
    bool stopped = false;
    const Decision::Stop asked = [&](std::int64_t steps) { return stopped = stop(steps); };
    const std::vector<Tile> backwards = mirrored(full);
    std::int64_t most_steps = kStepsATile * count_of(full.tiles);
    for (int round = 0; round < kRounds; ++round, most_steps *= 4) {
        for (const int trust : kTrusts) {
            for (const auto* tiles : {&full.tiles, &backwards}) {
                Sweep sweep(*tiles, full.rows, trust, memory);
                if (sweep.run(most_steps, asked) == Answer::found) {
                    std::vector<Bytes> offsets = sweep.offsets();
                    for (Bytes& offset : offsets) offset += full.base;
                    return offsets;
                }
                if (stopped) return {};
            }
        }
    }
    return {};
}

}  // namespace memstow::search
