#include "plain_order.hpp"

#include <algorithm>
#include <array>

#include "sorting.hpp"

namespace memstow::judge {
namespace {

using std::int64_t;

constexpr int64_t kLimit = int64_t{1} << 62;

// Sets of so many buffers are looked at together: the sets of all buffers stay in the cache.
constexpr std::size_t kWords = 16;
constexpr std::size_t kBlock = 64 * kWords;
using Set = std::array<std::uint64_t, kWords>;

}  // namespace

std::optional<PlainOrder> PlainOrder::of(std::span<const int64_t> start, std::span<const int64_t> below) {
    if (start.empty() || start.front() != 0 || start.back() != static_cast<int64_t>(below.size()) ||
        !std::ranges::is_sorted(start))
        return std::nullopt;
    PlainOrder order;
    order.start_.assign(start.begin(), start.end());
    const std::size_t count = order.count();
    std::vector<std::size_t> waits(count), follows(count + 1);
    order.below_.reserve(below.size());
    for (const int64_t other : below) {
        if (other < 0 || other >= static_cast<int64_t>(count)) return std::nullopt;
        order.below_.push_back(static_cast<std::size_t>(other));
        ++follows[order.below_.back() + 1];
    }
    for (std::size_t i = 0; i < count; ++i) follows[i + 1] += follows[i];
    std::vector<std::size_t> above(below.size());
    std::vector<std::size_t> at(follows.begin(), follows.end() - 1);
    for (std::size_t i = 0; i < count; ++i) {
        waits[i] = order.below(i).size();
        for (const std::size_t other : order.below(i)) above[at[other]++] = i;
    }
    order.sequence_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (waits[i] == 0) order.sequence_.push_back(i);
    }
    for (std::size_t next = 0; next < order.sequence_.size(); ++next) {
        const std::size_t i = order.sequence_[next];
        for (std::size_t k = follows[i]; k < follows[i + 1]; ++k) {
            if (--waits[above[k]] == 0) order.sequence_.push_back(above[k]);
        }
    }
    if (order.sequence_.size() < count) return std::nullopt;
    return order;
}

// Those that are next to each other in the sequence, among all that live, when one of them begins to live.
// Where each of these pairs is joined, all are that live at one time: what is between two of them when one
// begins is joined to both, and so it is when it ends before them.
std::vector<PlainOrder::Pair> PlainOrder::neighbours(const Columns& columns,
                                                     std::span<const std::size_t> place) const {
    const std::vector<std::size_t> ending = in_order({columns.ends.begin(), columns.ends.end()});
    std::vector<std::size_t> live;  // places, ascending
    std::vector<Pair> pairs;
    std::size_t ended = 0;
    for (const std::size_t i : in_order({columns.begins.begin(), columns.begins.end()})) {
        if (columns.sizes[i] == 0) continue;
        for (; columns.ends[ending[ended]] <= columns.begins[i]; ++ended) {
            const std::size_t gone = ending[ended];
            if (columns.sizes[gone] > 0) live.erase(std::ranges::lower_bound(live, place[gone]));
        }
        const auto here = std::ranges::lower_bound(live, place[i]);
        if (here != live.begin()) pairs.push_back({sequence_[*(here - 1)], i});
        if (here != live.end()) pairs.push_back({i, sequence_[*here]});
        live.insert(here, place[i]);
    }
    return pairs;
}

bool PlainOrder::keeps_apart(const Columns& columns, std::span<const Pair> conflicts) const {
    std::vector<std::size_t> place(count());
    for (std::size_t k = 0; k < count(); ++k) place[sequence_[k]] = k;
    std::vector<Pair> pairs = neighbours(columns, place);
    for (const auto& [one, other] : conflicts) {
        if (columns.sizes[one] == 0 || columns.sizes[other] == 0) continue;
        pairs.push_back(place[one] < place[other] ? Pair{one, other} : Pair{other, one});
    }
    std::ranges::sort(pairs, {}, &Pair::low);
    std::vector<Set> under;  // by buffer, those of the block that it is above of
    auto next = pairs.begin();
    for (std::size_t first = 0; first < count() && next != pairs.end(); first += kBlock) {
        const auto end = std::ranges::lower_bound(next, pairs.end(), first + kBlock, {}, &Pair::low);
        if (end == next) continue;
        under.assign(count(), Set{});
        for (const std::size_t i : sequence_) {
            Set& own = under[i];
            for (const std::size_t other : below(i)) {
                const Set& theirs = under[other];
                for (std::size_t word = 0; word < kWords; ++word) own[word] |= theirs[word];
                if (other >= first && other - first < kBlock)
                    own[(other - first) / 64] |= std::uint64_t{1} << (other - first) % 64;
            }
        }
        for (; next != end; ++next) {
            const std::size_t low = next->low - first;
            if ((under[next->high][low / 64] >> low % 64 & 1) == 0) return false;
        }
    }
    return true;
}

std::optional<int64_t> PlainOrder::peak(const Columns& columns, std::span<const int64_t> pins,
                                        int64_t capacity) const {
    std::vector<int64_t> ends(count());
    int64_t peak = 0;
    for (const std::size_t i : sequence_) {
        int64_t least = 0;
        for (const std::size_t other : below(i)) least = std::max(least, ends[other]);
        const Wide step = columns.alignments.size() == 1 ? columns.alignments[0] : columns.alignments[i];
        Wide begin = (least + step - 1) / step * step;
        if (!pins.empty() && pins[i] >= 0) {
            if (pins[i] < least || pins[i] % step != 0) return std::nullopt;
            begin = pins[i];
        }
        const Wide end = begin + columns.sizes[i];
        if (end > kLimit || (columns.sizes[i] > 0 && end > capacity)) return std::nullopt;
        ends[i] = static_cast<int64_t>(end);
        if (columns.sizes[i] > 0) peak = std::max(peak, ends[i]);
    }
    return peak;
}

}  // namespace memstow::judge
