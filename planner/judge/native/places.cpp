#include "places.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory_resource>
#include <numeric>
#include <vector>

#include "sorting.hpp"

namespace memstow::judge {
namespace {

using std::int64_t;

int64_t alignment_of(const Columns& columns, std::size_t buffer) {
    return columns.alignments.size() == 1 ? columns.alignments[0] : columns.alignments[buffer];
}

Finding finding(Defect defect, std::size_t first) { return {defect, static_cast<int64_t>(first), -1}; }

// A buffer that has bytes, with all that is judged of it.
struct Block {
    int64_t begin, end, offset, size;
    std::size_t buffer;

    int64_t top() const { return offset + size; }
};

using Blocks = std::vector<Block>;

// By begin: those that are live at one time are close to each other in memory.
Blocks blocks_of(const Columns& columns, std::span<const int64_t> offsets) {
    Blocks blocks;
    blocks.reserve(offsets.size());
    for (const std::size_t i : in_order({columns.begins.begin(), columns.begins.end()})) {
        if (columns.sizes[i] == 0) continue;
        blocks.push_back({columns.begins[i], columns.ends[i], offsets[i], columns.sizes[i], i});
    }
    return blocks;
}

std::vector<std::size_t> by_end(const Blocks& blocks) {
    std::vector<int64_t> ends(blocks.size());
    std::transform(blocks.begin(), blocks.end(), ends.begin(), [](const Block& block) { return block.end; });
    return in_order(ends);
}

// Goes through the blocks by begin; before each it tells of those that have ended by then.
template <class Begin, class End>
bool sweep(const Blocks& blocks, const std::vector<std::size_t>& ending, Begin begin, End end) {
    std::size_t ended = 0;
    for (const Block& block : blocks) {
        for (; blocks[ending[ended]].end <= block.begin; ++ended) end(blocks[ending[ended]]);
        if (!begin(block)) return false;
    }
    return true;
}

// The number of which all alignments are multiples.
int64_t common_step(const Columns& columns) {
    int64_t step = 0;
    for (std::size_t i = 0; i < columns.sizes.size() && step != 1; ++i) {
        if (columns.sizes[i] > 0) step = std::gcd(step, alignment_of(columns, i));
    }
    return std::max<int64_t>(step, 1);
}

// The first buffer beyond the pool, or at an offset that is no multiple of its alignment.
Finding misplaced(const Columns& columns, std::span<const int64_t> offsets, int64_t capacity) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        if (offsets[i] < 0 || offsets[i] > capacity - columns.sizes[i]) return finding(Defect::place, i);
        if (offsets[i] % alignment_of(columns, i) != 0) return finding(Defect::unaligned, i);
    }
    return {};
}

// Two buffers that are live at one time and share a byte.
Finding overlapping(const Blocks& blocks, const std::vector<std::size_t>& ending) {
    // Among buffers that are apart a new one can only meet its neighbours.
    NodePool nodes;
    std::pmr::map<int64_t, const Block*> live(&nodes);
    Finding finding;
    const auto meet = [&](const Block& below, const Block& above) {
        if (below.top() <= above.offset) return false;
        finding = {Defect::overlap, static_cast<int64_t>(below.buffer), static_cast<int64_t>(above.buffer)};
        return true;
    };
    sweep(
        blocks, ending,
        [&](const Block& block) {
            const auto [here, alone] = live.emplace(block.offset, &block);
            if (!alone) return !meet(*here->second, block);
            const auto after = std::next(here);
            return !(here != live.begin() && meet(*std::prev(here)->second, block)) &&
                   !(after != live.end() && meet(block, *after->second));
        },
        [&](const Block& block) { live.erase(block.offset); });
    return finding;
}

int64_t peak_of(const Blocks& blocks) {
    int64_t peak = 0;
    for (const Block& block : blocks) peak = std::max(peak, block.top());
    return peak;
}

int64_t in_64_bits(Wide value) {
    return static_cast<int64_t>(std::min<Wide>(value, std::numeric_limits<int64_t>::max()));
}

// The bytes that a block takes where all offsets are multiples of one number.
Wide rounded(const Block& block, int64_t step) { return (Wide{block.size} + step - 1) / step * step; }

// In whole steps.
Most most_live(const Blocks& blocks, const std::vector<std::size_t>& ending, int64_t step) {
    Wide live = 0;
    Most most;
    sweep(
        blocks, ending,
        [&](const Block& block) {
            live += rounded(block, step);
            if (live > most.bytes) most = {live, block.begin};
            return true;
        },
        [&](const Block& block) { live -= rounded(block, step); });
    return most;
}

Wide least_peak(const Blocks& blocks, const Most& most, int64_t step) {
    // The topmost need not take a whole multiple.
    Wide spare = 0;
    for (const Block& block : blocks) {
        if (block.begin > most.moment) break;
        if (block.end > most.moment) spare = std::max(spare, rounded(block, step) - block.size);
    }
    return most.bytes - spare;
}

}  // namespace

Finding check_columns(const Columns& columns) {
    const std::size_t count = columns.sizes.size();
    const bool aligned = columns.alignments.size() == 1 || columns.alignments.size() == count;
    if (columns.begins.size() != count || columns.ends.size() != count || !aligned) {
        return {Defect::length, -1, -1};
    }
    for (std::size_t i = 0; i < columns.alignments.size(); ++i) {
        if (columns.alignments[i] < 1 || columns.alignments[i] > kMostBytes) {
            return finding(Defect::alignment, i);
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (columns.sizes[i] < 0 || columns.sizes[i] > kMostBytes) return finding(Defect::size, i);
        if (columns.begins[i] >= columns.ends[i]) return finding(Defect::lifetime, i);
    }
    return {};
}

Verdict judge(const Columns& columns, std::span<const int64_t> offsets, int64_t capacity) {
    Verdict verdict;
    Finding& finding = verdict.finding;
    finding = check_columns(columns);
    if (finding.defect == Defect::none && offsets.size() != columns.sizes.size()) {
        finding = {Defect::length, -1, -1};
    }
    if (finding.defect != Defect::none) return verdict;
    const Blocks blocks = blocks_of(columns, offsets);
    const std::vector<std::size_t> ending = by_end(blocks);
    const Most most = most_live(blocks, ending, 1);
    verdict.live = in_64_bits(most.bytes);
    verdict.moment = most.moment;
    const int64_t step = common_step(columns);
    verdict.least_peak = least_peak(blocks, step == 1 ? most : most_live(blocks, ending, step), step);
    finding = misplaced(columns, offsets, capacity);
    if (finding.defect == Defect::none) finding = overlapping(blocks, ending);
    if (finding.defect == Defect::none) verdict.peak = peak_of(blocks);
    return verdict;
}

std::vector<int64_t> peaks_of(std::span<const int64_t> sizes, const Places& places, std::size_t pools) {
    std::vector<int64_t> peaks(pools, 0);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        int64_t& peak = peaks[places.pool(i)];
        if (sizes[i] > 0) peak = std::max(peak, places.offsets[i] + sizes[i]);
    }
    return peaks;
}

std::optional<int64_t> proven(const Columns& columns, std::span<const int64_t> members, int64_t moment) {
    if (check_columns(columns).defect != Defect::none || members.empty()) return std::nullopt;
    const auto count = static_cast<int64_t>(columns.sizes.size());
    std::vector<bool> named(columns.sizes.size());
    Blocks blocks;
    int64_t step = 0;
    for (const int64_t member : members) {
        if (member < 0 || member >= count) return std::nullopt;
        const auto i = static_cast<std::size_t>(member);
        const bool lives = columns.begins[i] <= moment && moment < columns.ends[i];
        if (named[i] || !lives || columns.sizes[i] == 0) return std::nullopt;
        named[i] = true;
        blocks.push_back({columns.begins[i], columns.ends[i], 0, columns.sizes[i], i});
        step = std::gcd(step, alignment_of(columns, i));
    }
    Wide sum = 0;
    Wide in_steps = 0;
    Wide spare = 0;
    for (const Block& block : blocks) {
        sum += block.size;
        in_steps += rounded(block, step);
        spare = std::max(spare, rounded(block, step) - block.size);
    }
    return in_64_bits(std::max(sum, in_steps - spare));
}

}  // namespace memstow::judge
