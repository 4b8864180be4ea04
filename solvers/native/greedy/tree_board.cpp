#include "greedy/tree_board.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/reduction.hpp"

namespace memstow::greedy {

namespace {

// So many meetings of loose parts with others cost some seconds on every pass.
constexpr std::size_t kMostMeetings = 40'000'000;

}  // namespace

template <class Offset>
TreeBoardOf<Offset>::TreeBoardOf(const Instance& instance)
    : instance_(instance),
      leaves_(std::bit_ceil(std::max<std::uint32_t>(1, instance.time_rows))),
      trees_(instance.pools.size()),
      pool_of_(instance.parts.size(), -1),
      offset_of_(instance.parts.size(), kUnplaced) {
    list_exempt();
    if (!instance.exempt.empty()) set_loose_apart();
    list_neighbours();
}

template <class Offset>
bool TreeBoardOf<Offset>::reaches(const Instance& instance) {
    return stacked(instance) <= std::numeric_limits<Offset>::max();
}

// By part. Of a pair that is free to overlap and in place the first counts.
template <class Offset>
void TreeBoardOf<Offset>::list_exempt() {
    std::vector<std::pair<Index, Exempt>> links;
    links.reserve(2 * instance_.exempt.size());
    for (const ExemptPair& pair : instance_.exempt) {
        links.push_back({pair.first, {pair.second, pair.in_place}});
        links.push_back({pair.second, {pair.first, pair.in_place}});
    }
    std::sort(links.begin(), links.end());
    auto next = links.begin();
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        for (; next != links.end() && next->first == part; ++next) exempt_.values.push_back(next->second);
        exempt_.close();
    }
}

// Parts with exempt pairs stay out of the tree, unless they meet too many.
template <class Offset>
void TreeBoardOf<Offset>::set_loose_apart() {
    std::vector<LooseParts::Life> loose, tight;
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        std::vector<LooseParts::Life>& lives = exempt_[part].empty() ? tight : loose;
        for (const RowRange& rows : time_rows(part)) lives.push_back({rows, part});
    }
    const std::size_t apart = meetings(tight);
    tight.insert(tight.end(), loose.begin(), loose.end());
    knows_exempt_ = meetings(tight) - apart <= kMostMeetings;
    if (knows_exempt_) loose_parts_ = LooseParts(std::move(loose));
}

template <class Offset>
auto TreeBoardOf<Offset>::exempt(Index part, Index other) const -> const Exempt* {
    const std::span<const Exempt> all = exempt_[part];
    const auto here =
        std::partition_point(all.begin(), all.end(), [&](const Exempt& one) { return one.part < other; });
    return here != all.end() && here->part == other ? &*here : nullptr;
}

template <class Offset>
template <class See>
void TreeBoardOf<Offset>::each_loose(Index part, Index pool, See see) const {
    for (const RowRange& rows : time_rows(part)) {
        loose_parts_.meet(rows, [&](Index other) {
            if (pool_of_[other] != pool || instance_.parts[other].item == instance_.parts[part].item) return;
            const Exempt* const pair = exempt(part, other);
            if (pair == nullptr || pair->in_place) see(other, pair != nullptr);
        });
    }
}

// Both ways, by part; each neighbour once of each kind.
template <class Offset>
void TreeBoardOf<Offset>::list_neighbours() {
    std::vector<Pair> pairs = explicit_pairs();
    std::erase_if(pairs, [&](Pair& pair) {
        if (instance_.parts[pair.first].item == instance_.parts[pair.second].item) return true;
        const Exempt* const both = exempt(pair.first, pair.second);
        if (both != nullptr && both->in_place) pair.kind = Kind::in_place;
        return both != nullptr && !both->in_place;
    });
    for (const ReuseCost& cost : instance_.reuse) {
        if (instance_.parts[cost.first].item == instance_.parts[cost.second].item) continue;
        pairs.push_back({cost.first, cost.second, Kind::reuse});
    }
    std::vector<Index> next(instance_.parts.size() + 1, 0);
    for (const Pair& pair : pairs) {
        ++next[pair.first + 1];
        ++next[pair.second + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    const std::vector<Index> start = next;
    std::vector<Neighbour> all(2 * pairs.size());
    for (const Pair& pair : pairs) {
        all[next[pair.first]++] = {pair.second, pair.kind};
        all[next[pair.second]++] = {pair.first, pair.kind};
    }
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        const auto first = all.begin() + start[part], last = all.begin() + start[part + 1];
        std::sort(first, last);
        std::unique_copy(first, last, std::back_inserter(neighbours_.values));
        neighbours_.close();
    }
}

template <class Offset>
auto TreeBoardOf<Offset>::explicit_pairs() const -> std::vector<Pair> {
    std::vector<std::pair<Index, Index>> members;  // row, part
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        const std::span<const RowRange> all = instance_.rows[part];
        for (const RowRange& rows : all.subspan(time_rows(part).size())) {
            for (Index row = rows.begin; row < rows.end; ++row) members.emplace_back(row, part);
        }
    }
    std::sort(members.begin(), members.end());
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < members.size(); ++i) {
        for (std::size_t j = i + 1; j < members.size() && members[j].first == members[i].first; ++j) {
            pairs.push_back({members[i].second, members[j].second, Kind::hard});
        }
    }
    return pairs;
}

template <class Offset>
std::span<const RowRange> TreeBoardOf<Offset>::time_rows(Index part) const {
    const std::span<const RowRange> all = instance_.rows[part];
    const auto first_explicit = std::partition_point(
        all.begin(), all.end(), [&](const RowRange& rows) { return rows.begin < instance_.time_rows; });
    return all.first(first_explicit - all.begin());
}

// Calls `whole` for each node that makes up the rows and `above` for each node that holds some of them and
// others.
template <class Offset>
template <class Whole, class Above>
void TreeBoardOf<Offset>::walk(RowRange rows, Whole whole, Above above) const {
    const auto first = rows.begin + leaves_;
    const auto last = rows.end + leaves_;
    for (int level = std::bit_width<std::uint32_t>(leaves_) - 1; level > 0; --level) {
        const bool cut_first = ((first >> level) << level) != first;
        const bool cut_last = ((last >> level) << level) != last;
        if (cut_first) above(first >> level);
        if (cut_last && !(cut_first && (first >> level) == ((last - 1) >> level))) above((last - 1) >> level);
    }
    for (std::size_t l = first, r = last; l < r; l >>= 1, r >>= 1) {
        if (l & 1) whole(l++);
        if (r & 1) whole(--r);
    }
}

template <class Offset>
void TreeBoardOf<Offset>::add(Aim& aim, const RangeSet<Offset>& set) const {
    if (!set.empty()) aim.cursors.push_back({set.begin(), set.end()});
}

template <class Offset>
Taken<Offset> TreeBoardOf<Offset>::extent(Index part) const {
    const Bytes begin = offset_of_[part];
    return {static_cast<Offset>(begin), static_cast<Offset>(begin + instance_.parts[part].size)};
}

template <class Offset>
void TreeBoardOf<Offset>::aim(Index part, Index pool, bool apart, Aim& aim) const {
    aim.size = instance_.parts[part].size;
    aim.reach = 0;
    aim.cursors.clear();
    aim.listed.clear();
    if (const std::vector<Node>& tree = trees_[pool]; !tree.empty()) {
        for (const RowRange& rows : time_rows(part)) {
            walk(
                rows, [&](std::size_t node) { add(aim, tree[node].touched); },
                [&](std::size_t node) { add(aim, tree[node].covered); });
        }
        // The last nodes found hold the most rows and so the longest ranges: ask them first.
        std::reverse(aim.cursors.begin(), aim.cursors.end());
    }
    for (const Neighbour& other : neighbours_[part]) {
        if (pool_of_[other.part] != pool || (other.kind == Kind::reuse && !apart)) continue;
        aim.listed.push_back(extent(other.part));
    }
    each_loose(part, pool, [&](Index other, bool) { aim.listed.push_back(extent(other)); });
    if (aim.listed.empty()) return;
    std::sort(aim.listed.begin(), aim.listed.end(),
              [](const Taken<Offset>& a, const Taken<Offset>& b) { return a.begin < b.begin; });
    std::size_t last = 0;
    for (const Taken<Offset>& range : aim.listed) {
        if (range.begin <= aim.listed[last].end) {
            aim.listed[last].end = std::max(aim.listed[last].end, range.end);
        } else {
            aim.listed[++last] = range;
        }
    }
    aim.listed.resize(last + 1);
    aim.cursors.push_back({aim.listed.data(), aim.listed.data() + aim.listed.size()});
}

template <class Offset>
Bytes TreeBoardOf<Offset>::next_free(Aim& aim, Bytes from) const {
    aim.reach = std::max(aim.reach, from);
    std::size_t agreed = 0;
    for (std::size_t i = 0; agreed < aim.cursors.size(); i = i + 1 == aim.cursors.size() ? 0 : i + 1) {
        typename Aim::Cursor& cursor = aim.cursors[i];
        ++agreed;
        for (; cursor.next != cursor.end && cursor.next->begin - aim.reach < aim.size; ++cursor.next) {
            if (cursor.next->end <= aim.reach) continue;
            aim.reach = cursor.next->end;
            agreed = 1;
        }
    }
    return aim.reach;
}

template <class Offset>
Bytes TreeBoardOf<Offset>::gap_end(Aim& aim) const {
    Bytes end = kLimit;
    for (const typename Aim::Cursor& cursor : aim.cursors) {
        if (cursor.next != cursor.end) end = std::min<Bytes>(end, cursor.next->begin);
    }
    return end;
}

template <class Offset>
Bytes TreeBoardOf<Offset>::top(Aim& aim) const {
    for (const typename Aim::Cursor& cursor : aim.cursors)
        aim.reach = std::max<Bytes>(aim.reach, (cursor.end - 1)->end);
    return aim.reach;
}

template <class Offset>
bool TreeBoardOf<Offset>::free_at(Index part, Index pool, Bytes offset) const {
    const Bytes end = offset + instance_.parts[part].size;
    bool free = true;
    const auto look = [&](const RangeSet<Offset>& set) {
        const Taken<Offset>* next = std::partition_point(
            set.begin(), set.end(), [&](const Taken<Offset>& range) { return range.end <= offset; });
        if (next != set.end() && next->begin < end) free = false;
    };
    if (const std::vector<Node>& tree = trees_[pool]; !tree.empty()) {
        for (const RowRange& rows : time_rows(part)) {
            walk(
                rows, [&](std::size_t node) { look(tree[node].touched); },
                [&](std::size_t node) { look(tree[node].covered); });
        }
    }
    for (const Neighbour& other : neighbours_[part]) {
        if (pool_of_[other.part] != pool || other.kind == Kind::reuse) continue;
        const Taken<Offset> range = extent(other.part);
        if (range.begin >= end || range.end <= offset) continue;
        if (other.kind != Kind::in_place || range.begin != offset) return false;
    }
    if (!free) return false;
    each_loose(part, pool, [&](Index other, bool in_place) {
        const Taken<Offset> range = extent(other);
        if (range.begin < end && range.end > offset && !(in_place && range.begin == offset)) free = false;
    });
    return free;
}

template <class Offset>
void TreeBoardOf<Offset>::put(Index part, Index pool, Bytes offset) {
    pool_of_[part] = pool;
    offset_of_[part] = offset;
    if (knows_exempt_ && !exempt_[part].empty()) return;
    std::vector<Node>& tree = trees_[pool];
    if (tree.empty()) tree.resize(2 * leaves_);
    const Taken<Offset> taken = extent(part);
    const std::size_t leaves = leaves_;
    for (const RowRange& rows : time_rows(part)) {
        walk(
            rows,
            [&](std::size_t node) {
                tree[node].touched.insert(taken);
                // Nothing is below a leaf that could ask for it.
                if (node < leaves) tree[node].covered.insert(taken);
            },
            [&](std::size_t node) { tree[node].touched.insert(taken); });
    }
}

template <class Offset>
void TreeBoardOf<Offset>::clear() {
    for (std::vector<Node>& tree : trees_) {
        for (Node& node : tree) {
            node.touched.clear();
            node.covered.clear();
        }
    }
    std::fill(pool_of_.begin(), pool_of_.end(), -1);
}

template class TreeBoardOf<Bytes>;
template class TreeBoardOf<std::uint32_t>;

}  // namespace memstow::greedy
