#include "greedy/tree_board.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

namespace memstow::greedy {

namespace {

// Pairs looked up one by one cost 16 bytes each and a visit on every pass.
constexpr std::size_t kMostPairs = 40'000'000;
// Between looks at the clock.
constexpr std::size_t kPairsAtOnce = 100'000;

}  // namespace

TreeBoard::TreeBoard(const Instance& instance, const Budget* budget)
    : instance_(instance),
      leaves_(std::bit_ceil(std::max<std::uint32_t>(1, instance.time_rows))),
      loose_(instance.parts.size(), false),
      trees_(instance.pools.size()),
      pool_of_(instance.parts.size(), -1),
      offset_of_(instance.parts.size(), kUnplaced) {
    list_pairs(budget);
}

void TreeBoard::list_pairs(const Budget* budget) {
    for (const ExemptPair& pair : instance_.exempt) {
        loose_[pair.first] = loose_[pair.second] = true;
    }
    std::vector<Pair> pairs;
    if (!instance_.exempt.empty() && !collect_loose(pairs, budget)) give_exempt_up(pairs);
    collect_explicit(pairs);
    for (const ReuseCost& cost : instance_.reuse) pairs.push_back({cost.first, cost.second, Kind::reuse});

    // An exempt pair is free to overlap or, in place, to share: the first of a pair's kinds that applies.
    std::vector<std::pair<Index, Index>> free_pairs;
    std::vector<std::pair<Index, Index>> in_place;
    for (const ExemptPair& pair : instance_.exempt) {
        (pair.in_place ? in_place : free_pairs).push_back(std::minmax(pair.first, pair.second));
    }
    std::sort(free_pairs.begin(), free_pairs.end());
    std::sort(in_place.begin(), in_place.end());
    const auto has = [](const auto& list, const Pair& pair) {
        return std::binary_search(list.begin(), list.end(),
                                  std::pair<Index, Index>(std::minmax(pair.first, pair.second)));
    };
    std::erase_if(pairs, [&](Pair& pair) {
        if (instance_.parts[pair.first].item == instance_.parts[pair.second].item) return true;
        if (pair.kind == Kind::reuse) return false;
        if (has(free_pairs, pair)) return true;
        if (has(in_place, pair)) pair.kind = Kind::in_place;
        return false;
    });

    list_neighbours(pairs);
}

// Both ways, by part; each neighbour once, as the first of its kinds.
void TreeBoard::list_neighbours(const std::vector<Pair>& pairs) {
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

// Pairs that may overlap are kept apart then.
void TreeBoard::give_exempt_up(std::vector<Pair>& pairs) {
    pairs = {};
    loose_.assign(loose_.size(), false);
    knows_exempt_ = false;
}

// Sweeps the rows: a loose part meets all that are live with it, the others meet the loose ones. False where
// that takes too much.
bool TreeBoard::collect_loose(std::vector<Pair>& pairs, const Budget* budget) const {
    struct Life {
        RowRange rows;
        Index part;
    };
    std::vector<Life> lives;
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        for (const RowRange& rows : time_rows(part)) lives.push_back({rows, part});
    }
    std::sort(lives.begin(), lives.end(),
              [](const Life& a, const Life& b) { return a.rows.begin < b.rows.begin; });
    std::size_t next_look = 0;
    std::vector<Life> live_loose;
    std::vector<Life> live_tight;
    for (const Life& life : lives) {
        const auto meet = [&](std::vector<Life>& others) {
            std::erase_if(others, [&](const Life& other) { return other.rows.end <= life.rows.begin; });
            for (const Life& other : others) pairs.push_back({life.part, other.part, Kind::hard});
        };
        const bool loose = loose_[life.part];
        meet(live_loose);
        if (loose) meet(live_tight);
        (loose ? live_loose : live_tight).push_back(life);
        if (pairs.size() > kMostPairs) return false;
        if (pairs.size() < next_look || budget == nullptr) continue;
        if (budget->out_of_time()) return false;
        next_look = pairs.size() + kPairsAtOnce;
    }
    return true;
}

void TreeBoard::collect_explicit(std::vector<Pair>& pairs) const {
    std::vector<std::pair<Index, Index>> members;  // row, part
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        const std::span<const RowRange> all = instance_.rows[part];
        for (const RowRange& rows : all.subspan(time_rows(part).size())) {
            for (Index row = rows.begin; row < rows.end; ++row) members.emplace_back(row, part);
        }
    }
    std::sort(members.begin(), members.end());
    for (std::size_t i = 0; i < members.size(); ++i) {
        for (std::size_t j = i + 1; j < members.size() && members[j].first == members[i].first; ++j) {
            pairs.push_back({members[i].second, members[j].second, Kind::hard});
        }
    }
}

std::span<const RowRange> TreeBoard::time_rows(Index part) const {
    const std::span<const RowRange> all = instance_.rows[part];
    const auto first_explicit = std::partition_point(
        all.begin(), all.end(), [&](const RowRange& rows) { return rows.begin < instance_.time_rows; });
    return all.first(first_explicit - all.begin());
}

// Calls `whole` for each node that makes up the rows and `above` for each node that holds some of them and
// others.
template <class Whole, class Above>
void TreeBoard::walk(RowRange rows, Whole whole, Above above) const {
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

void TreeBoard::add(Aim& aim, const RangeSet& set) const {
    if (!set.empty()) aim.cursors.push_back({set.begin(), set.end()});
}

Range TreeBoard::extent(Index part) const {
    const Bytes begin = offset_of_[part];
    return {begin, begin + instance_.parts[part].size};
}

void TreeBoard::aim(Index part, Index pool, bool apart, Aim& aim) const {
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
    if (aim.listed.empty()) return;
    std::sort(aim.listed.begin(), aim.listed.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::size_t last = 0;
    for (const Range& range : aim.listed) {
        if (range.begin <= aim.listed[last].end) {
            aim.listed[last].end = std::max(aim.listed[last].end, range.end);
        } else {
            aim.listed[++last] = range;
        }
    }
    aim.listed.resize(last + 1);
    aim.cursors.push_back({aim.listed.data(), aim.listed.data() + aim.listed.size()});
}

Bytes TreeBoard::next_free(Aim& aim, Bytes from) const {
    aim.reach = std::max(aim.reach, from);
    std::size_t agreed = 0;
    for (std::size_t i = 0; agreed < aim.cursors.size(); i = i + 1 == aim.cursors.size() ? 0 : i + 1) {
        Aim::Cursor& cursor = aim.cursors[i];
        ++agreed;
        for (; cursor.next != cursor.end && cursor.next->begin - aim.reach < aim.size; ++cursor.next) {
            if (cursor.next->end <= aim.reach) continue;
            aim.reach = cursor.next->end;
            agreed = 1;
        }
    }
    return aim.reach;
}

Bytes TreeBoard::gap_end(Aim& aim) const {
    Bytes end = kLimit;
    for (const Aim::Cursor& cursor : aim.cursors) {
        if (cursor.next != cursor.end) end = std::min(end, cursor.next->begin);
    }
    return end;
}

Bytes TreeBoard::top(Aim& aim) const {
    for (const Aim::Cursor& cursor : aim.cursors) aim.reach = std::max(aim.reach, (cursor.end - 1)->end);
    return aim.reach;
}

bool TreeBoard::free_at(Index part, Index pool, Bytes offset) const {
    const Bytes end = offset + instance_.parts[part].size;
    bool free = true;
    const auto look = [&](const RangeSet& set) {
        const Range* next = std::partition_point(set.begin(), set.end(),
                                                 [&](const Range& range) { return range.end <= offset; });
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
        const Range range = extent(other.part);
        if (range.begin >= end || range.end <= offset) continue;
        if (other.kind != Kind::in_place || range.begin != offset) return false;
    }
    return free;
}

void TreeBoard::put(Index part, Index pool, Bytes offset) {
    pool_of_[part] = pool;
    offset_of_[part] = offset;
    if (loose_[part]) return;
    std::vector<Node>& tree = trees_[pool];
    if (tree.empty()) tree.resize(2 * leaves_);
    const Range taken = extent(part);
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

void TreeBoard::clear() {
    for (std::vector<Node>& tree : trees_) {
        for (Node& node : tree) {
            node.touched.clear();
            node.covered.clear();
        }
    }
    std::fill(pool_of_.begin(), pool_of_.end(), -1);
}

}  // namespace memstow::greedy
