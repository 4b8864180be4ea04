#include "proof/question.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/arithmetic.hpp"
#include "core/bounds.hpp"

namespace memstow::proof {
namespace {

// Looking for a heavy clique takes time with the square of the items.
constexpr std::size_t kMostInClique = 512;
constexpr std::int64_t kCliqueNodes = 2'000;
// Looks at items of all rows for pairs; pairs after that have a row of their own.
constexpr std::int64_t kMostRowSteps = 20'000'000;

}  // namespace

Question::Question(std::vector<Item> all, std::vector<Range> ranges,
                   std::vector<std::vector<Range>> barred_ranges, std::vector<std::vector<Index>> moments,
                   const std::vector<Pair>& exempt, const std::vector<Pair>& listed,
                   const std::vector<Pair>& in_place, bool ties_count, const std::vector<Group>& groups)
    : items(std::move(all)),
      reserved(std::move(ranges)),
      barred(std::move(barred_ranges)),
      ties_count_(ties_count) {
    const auto size = items.size();
    adjacent_.assign(size, search::IndexSet(size));
    search::IndexSet together(size);
    for (const auto& moment : moments) {
        together.clear();
        for (const Index i : moment) together.add(i);
        for (const Index i : moment) adjacent_[i] |= together;
    }
    for (const auto& [i, j] : exempt) {
        adjacent_[i].remove(j);
        adjacent_[j].remove(i);
    }
    for (const auto& [i, j] : listed) {
        adjacent_[i].add(j);
        adjacent_[j].add(i);
    }
    ties.resize(size);
    for (const Group& group : groups) {
        for (const auto& [i, at] : group) {
            for (const auto& [j, there] : group) {
                if (i == j) continue;
                adjacent_[i].remove(j);
                ties[i].push_back({j, there - at});
            }
        }
    }
    for (Index i = 0; i < count(); ++i) adjacent_[i].remove(i);
    for (const auto& [i, j] : in_place) {
        if (!conflict(i, j)) continue;
        adjacent_[i].remove(j);
        adjacent_[j].remove(i);
        if (!ties_count) continue;
        if (partners_.empty()) partners_.assign(size, search::IndexSet(size));
        partners_[i].add(j);
        partners_[j].add(i);
    }
    list_neighbours();
    find_rows(std::move(moments), listed);
    find_rows_of();
}

void Question::list_neighbours() {
    neighbours.clear();
    for (Index i = 0; i < count() && is_searched(); ++i) neighbours.push_back(bound_to(i).list());
}

search::IndexSet Question::bound_to(Index i) const {
    search::IndexSet all = adjacent_[i];
    if (!partners_.empty()) all |= partners_[i];
    return all;
}

void Question::find_rows_of() {
    rows_of.assign(items.size(), {});
    for (Index r = 0; r < count_of(rows); ++r) {
        for (const Index i : rows[r]) rows_of[i].push_back(r);
    }
}

Question Question::kept_apart(const std::vector<Pair>& pairs, Bytes above) const {
    Question all = *this;
    const auto tied = [&](Index i, Index j) {
        return std::any_of(ties[i].begin(), ties[i].end(), [&](const Tie& tie) { return tie.to == j; });
    };
    for (Index k = 0; k < count_of(pairs); ++k) {
        const auto [i, j] = pairs[k];
        if (all.conflict(i, j) || tied(i, j)) continue;
        all.adjacent_[i].add(j);
        all.adjacent_[j].add(i);
        all.apart_.emplace(key(i, j), k);
        if (!partners(i, j)) continue;
        all.partners_[i].remove(j);
        all.partners_[j].remove(i);
    }
    all.list_neighbours();
    const search::IndexSet nothing(items.size());
    std::erase_if(all.rows, [&](const std::vector<Index>& row) {
        return row.size() == 1 && !all.bound_to(row[0]).within(nothing);
    });
    // A row for each pair that is in none, the larger items first, and before them those of the same pools.
    std::vector<search::IndexSet> together(items.size(), search::IndexSet(items.size()));
    std::int64_t steps = 0;
    for (const auto& [i, j] : pairs) {
        if (together[i].has(j) || all.apart_pair(i, j) < 0) continue;
        if (steps > kMostRowSteps) {
            all.rows.push_back({std::min(i, j), std::max(i, j)});
            continue;
        }
        search::IndexSet both = all.adjacent_[i];
        both &= all.adjacent_[j];
        std::vector<Index> sorted = both.list();
        std::stable_sort(sorted.begin(), sorted.end(), [&, i = i](Index a, Index b) {
            const bool first = items[a].barred == items[i].barred,
                       second = items[b].barred == items[i].barred;
            return first != second ? first : items[a].size > items[b].size;
        });
        std::vector<Index> row = all.clique_from({i, j}, sorted);
        steps += count() + std::int64_t{count_of(sorted)} * count_of(row);
        std::sort(row.begin(), row.end());
        search::IndexSet members(items.size());
        for (const Index k : row) members.add(k);
        for (const Index k : row) together[k] |= members;
        all.rows.push_back(std::move(row));
    }
    all.add_heavy_cliques(above);
    all.find_rows_of();
    return all;
}

// Of items that may be in the same pools.
void Question::add_heavy_cliques(Bytes above) {
    for (Index ranges = 0; ranges < count_of(barred); ++ranges) {
        std::vector<Index> some;
        for (Index i = 0; i < count(); ++i) {
            if (items[i].barred == ranges) some.push_back(i);
        }
        if (some.size() > kMostInClique) continue;
        std::vector<std::vector<std::uint64_t>> adjacent(some.size());
        std::vector<Bytes> weights;
        for (std::size_t a = 0; a < some.size(); ++a) {
            weights.push_back(items[some[a]].size);
            adjacent[a].resize((some.size() + 63) / 64);
            for (std::size_t b = 0; b < some.size(); ++b) {
                if (conflict(some[a], some[b])) adjacent[a][b / 64] |= std::uint64_t{1} << (b % 64);
            }
        }
        std::vector<Index> row;
        for (const Index v : heavy_clique(std::move(adjacent), std::move(weights), kCliqueNodes, above))
            row.push_back(some[v]);
        std::sort(row.begin(), row.end());
        if (row.size() > 1) rows.push_back(std::move(row));
    }
}

void Question::find_rows(std::vector<std::vector<Index>> moments, const std::vector<Pair>& listed) {
    for (const auto& moment : moments) add_cliques(moment);
    for (const auto& [i, j] : listed) {
        if (!bound(i, j)) continue;
        std::vector<Index> both = bound_to(i).list();
        std::erase_if(both, [&, j = j](Index k) { return k != j && !bound(j, k); });
        both.push_back(i);
        add_cliques(both);
    }
    std::set<std::vector<Index>> seen;
    std::erase_if(rows, [&](std::vector<Index>& row) {
        std::sort(row.begin(), row.end());
        return row.size() < 2 || !seen.insert(row).second;
    });
    const search::IndexSet nothing(items.size());
    for (Index i = 0; i < count(); ++i) {
        if (bound_to(i).within(nothing)) rows.push_back({i});
    }
}

// Cliques that together hold all of these, the larger items first.
void Question::add_cliques(const std::vector<Index>& some) {
    std::vector<Index> left = some;
    std::stable_sort(left.begin(), left.end(),
                     [&](Index a, Index b) { return items[a].size > items[b].size; });
    const std::vector<Index> sorted = left;
    while (!left.empty()) {
        std::vector<Index> clique = clique_from({left.front()}, sorted);
        search::IndexSet members(items.size());
        for (const Index i : clique) members.add(i);
        std::erase_if(left, [&](Index i) { return members.has(i); });
        rows.push_back(std::move(clique));
    }
}

// With those of the others, one after the other, that are bound to all.
std::vector<Index> Question::clique_from(std::vector<Index> clique, const std::vector<Index>& sorted) const {
    search::IndexSet common = bound_to(clique.front());
    for (std::size_t k = 1; k < clique.size(); ++k) common &= bound_to(clique[k]);
    for (const Index i : sorted) {
        if (!common.has(i)) continue;
        clique.push_back(i);
        common &= bound_to(i);
    }
    return clique;
}

bool Question::pin_stands(const Item& item) const {
    if (item.pin > kLimit - item.size || floor_mod(item.pin - item.residue, item.modulus) != 0) return false;
    const auto& ranges = barred[item.barred];
    return std::none_of(ranges.begin(), ranges.end(), [&](const Range& range) {
        return range.begin < item.pin + item.size && item.pin < range.end;
    });
}

std::optional<Bytes> Question::at_or_above(Index i, Bytes from) const {
    const Item& item = items[i];
    if (item.pin != kUnplaced)
        return item.pin >= from && pin_stands(item) ? std::optional(item.pin) : std::nullopt;
    const auto& ranges = barred[item.barred];
    for (Bytes at = std::max(from, Bytes{0});;) {
        const Bytes up = floor_mod(item.residue - at % item.modulus, item.modulus);
        if (at > kLimit - item.size || up > kLimit - item.size - at) return std::nullopt;
        at += up;
        const auto next = std::upper_bound(ranges.begin(), ranges.end(), at,
                                           [](Bytes x, const Range& range) { return x < range.end; });
        if (next == ranges.end() || next->begin >= at + item.size) return at;
        at = next->end;
    }
}

std::optional<Bytes> Question::at_or_below(Index i, Bytes to) const {
    const Item& item = items[i];
    if (item.pin != kUnplaced)
        return item.pin <= to && pin_stands(item) ? std::optional(item.pin) : std::nullopt;
    const auto& ranges = barred[item.barred];
    for (Bytes at = std::min(to, kLimit - item.size);;) {
        if (at < 0) return std::nullopt;
        const Bytes down = floor_mod(at % item.modulus - item.residue, item.modulus);
        if (down > at) return std::nullopt;
        at -= down;
        const auto after = std::lower_bound(ranges.begin(), ranges.end(), at + item.size,
                                            [](const Range& range, Bytes x) { return range.begin < x; });
        if (after == ranges.begin() || std::prev(after)->end <= at) return at;
        at = std::prev(after)->begin - item.size;
    }
}

std::optional<Bytes> Question::at_least(Side side, Index i, Bytes x) const {
    if (side == kBottom) return at_or_above(i, x);
    const auto offset = at_or_below(i, -x - items[i].size);
    return offset ? std::optional(-*offset - items[i].size) : std::nullopt;
}

std::optional<Bytes> Question::at_most(Side side, Index i, Bytes x) const {
    if (side == kBottom) return at_or_below(i, x);
    const auto offset = at_or_above(i, -x - items[i].size);
    return offset ? std::optional(-*offset - items[i].size) : std::nullopt;
}

bool Question::overfull(const std::vector<Index>& some, Bytes begin, Bytes end) const {
    if (some.empty()) return false;
    Bytes grid = 0;
    const Bytes residue = items[some[0]].residue;
    for (const Index i : some) grid = std::gcd(grid, std::gcd(items[i].modulus, items[i].residue - residue));
    const Bytes up = floor_mod(residue % grid - begin % grid, grid);
    if (up > end - begin) return true;
    Bytes room = end - begin - up;
    std::size_t gaps = 1;
    for (const Range& range : reserved) {
        const Bytes from = std::max(range.begin, begin + up), to = std::min(range.end, end);
        if (from >= to) continue;
        room -= to - from;
        ++gaps;
    }
    std::vector<Bytes> spared;
    for (const Index i : some) {
        if (room < items[i].size) return true;
        room -= items[i].size;
        spared.push_back(floor_mod(-items[i].size, grid));
    }
    std::sort(spared.begin(), spared.end());
    for (std::size_t k = 0; k + gaps < spared.size(); ++k) {
        if (room < spared[k]) return true;
        room -= spared[k];
    }
    return false;
}

}  // namespace memstow::proof
