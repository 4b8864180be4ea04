#include "core/bounds.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/arithmetic.hpp"
#include "core/rows.hpp"

namespace memstow {
namespace {

Bytes round_up(Bytes size, Bytes unit) { return align_up(size, unit, 0); }

// By item: whether it can go to no other than these pools.
std::vector<char> bound_items(const Instance& instance, const std::vector<bool>& pools) {
    std::vector<char> bound(instance.item_count(), 1);
    for (Index item = 0; item < instance.item_count(); ++item) {
        for (const Choice& choice : instance.choices[item]) {
            if (!pools[choice.pool]) bound[item] = 0;
        }
    }
    return bound;
}

// The bytes that parts of one item cover together, in whole units.
WideBytes covered(std::vector<Range>& ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    WideBytes sum = 0;
    Bytes top = 0;
    for (const Range& range : ranges) {
        const Bytes begin = std::max(range.begin, top);
        if (range.end > begin) sum += range.end - begin;
        top = std::max(top, range.end);
    }
    return sum;
}

// Adds what the item needs in each row to the differences between rows.
void add_item(const Instance& instance, Index item, Bytes unit, std::vector<WideBytes>& change) {
    const Index first = instance.item_parts[item];
    const auto parts = instance.parts_of(item);
    if (parts.size() == 1) {
        for (const RowRange& rows : instance.rows[first]) {
            change[rows.begin] += round_up(parts[0].size, unit);
            change[rows.end] -= round_up(parts[0].size, unit);
        }
        return;
    }
    std::vector<std::pair<Index, Index>> borders;  // (row, part), where the set of live parts changes
    for (Index p = 0; p < count_of(parts); ++p) {
        for (const RowRange& rows : instance.rows[first + p]) {
            borders.emplace_back(rows.begin, p);
            borders.emplace_back(rows.end, p);
        }
    }
    std::sort(borders.begin(), borders.end());
    std::set<Index> live;
    std::vector<Range> ranges;
    WideBytes before = 0;
    for (std::size_t i = 0; i < borders.size();) {
        const Index row = borders[i].first;
        for (; i < borders.size() && borders[i].first == row; ++i) {
            if (!live.erase(borders[i].second)) live.insert(borders[i].second);
        }
        ranges.clear();
        for (Index p : live) {
            ranges.push_back({parts[p].delta, parts[p].delta + round_up(parts[p].size, unit)});
        }
        const WideBytes now = covered(ranges);
        change[row] += now - before;
        before = now;
    }
}

// Of an exempt pair that meets in a row one can be left out: takes the lesser away there.
void take_exempt(const Instance& instance, const std::vector<char>& bound, Bytes unit,
                 std::vector<WideBytes>& change) {
    for (const ExemptPair& pair : instance.exempt) {
        const Part& a = instance.parts[pair.first];
        const Part& b = instance.parts[pair.second];
        if (!bound[a.item] || !bound[b.item]) continue;
        const Bytes lesser = round_up(std::min(a.size, b.size), unit);
        const auto rows_a = instance.rows[pair.first];
        const auto rows_b = instance.rows[pair.second];
        for (std::size_t i = 0, j = 0; i < rows_a.size() && j < rows_b.size();) {
            const Index begin = std::max(rows_a[i].begin, rows_b[j].begin);
            const Index end = std::min(rows_a[i].end, rows_b[j].end);
            if (begin < end) {
                change[begin] -= lesser;
                change[end] += lesser;
            }
            (rows_a[i].end < rows_b[j].end ? i : j)++;
        }
    }
}

// By part: its exempt partners.
Lists<Index> exempt_partners(const Instance& instance) {
    std::vector<std::pair<Index, Index>> links;
    links.reserve(instance.exempt.size() * 2);
    for (const ExemptPair& pair : instance.exempt) {
        links.emplace_back(pair.first, pair.second);
        links.emplace_back(pair.second, pair.first);
    }
    std::sort(links.begin(), links.end());
    Lists<Index> partners;
    std::size_t next = 0;
    for (Index part = 0; part < count_of(instance.parts); ++part) {
        for (; next < links.size() && links[next].first == part; ++next) {
            partners.values.push_back(links[next].second);
        }
        partners.close();
    }
    return partners;
}

// Of parts that meet in a row, a set without exempt pairs: larger parts first.
std::vector<Index> without_exempt(const Instance& instance, std::vector<Index> parts) {
    if (instance.exempt.empty()) return parts;
    const Lists<Index> partners = exempt_partners(instance);
    std::stable_sort(parts.begin(), parts.end(),
                     [&](Index a, Index b) { return instance.parts[a].size > instance.parts[b].size; });
    std::vector<char> taken(instance.parts.size(), 0);
    std::vector<Index> kept;
    for (Index part : parts) {
        const auto others = partners[part];
        if (std::any_of(others.begin(), others.end(), [&](Index other) { return taken[other] != 0; }))
            continue;
        taken[part] = 1;
        kept.push_back(part);
    }
    std::sort(kept.begin(), kept.end());
    return kept;
}

// The bytes of these parts when they are stacked: whole units but for the topmost.
WideBytes stacked(const Instance& instance, const std::vector<Index>& parts, Bytes unit) {
    WideBytes sum = 0;
    Bytes spare = 0;
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < parts.size();) {
        const Index item = instance.parts[parts[i]].item;
        ranges.clear();
        for (; i < parts.size() && instance.parts[parts[i]].item == item; ++i) {
            const Part& part = instance.parts[parts[i]];
            const Bytes rounded = round_up(part.size, unit);
            ranges.push_back({part.delta, part.delta + rounded});
            spare = std::max(spare, rounded - part.size);
        }
        sum += covered(ranges);
    }
    return sum - spare;
}

bool in_row(std::span<const RowRange> ranges, Index row) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [row](const RowRange& r) { return r.begin <= row && row < r.end; });
}

}  // namespace

Grid common_grid(const Instance& instance, Index pool) {
    Bytes unit = 0;
    Bytes residue = -1;
    for (Index item = 0; item < instance.item_count() && unit != 1; ++item) {
        const auto choices = instance.choices[item];
        if (std::any_of(choices.begin(), choices.end(), [pool](const Choice& c) { return c.pool != pool; }))
            continue;
        for (const Choice& choice : choices) {
            if (residue < 0) residue = choice.residue;
            unit = std::gcd(std::gcd(unit, choice.modulus), choice.residue - residue);
        }
        for (const Part& part : instance.parts_of(item)) unit = std::gcd(unit, part.delta);
    }
    // Rounding sizes up to a unit must not leave the range of offsets.
    if (unit <= 1 || unit > kLimit / 2) return {};
    return {unit, residue % unit};
}

std::vector<WideBytes> row_loads(const Instance& instance, const std::vector<bool>& pools, Bytes unit) {
    const std::vector<char> bound = bound_items(instance, pools);
    std::vector<WideBytes> change(instance.row_count + 1, 0);
    for (Index item = 0; item < instance.item_count(); ++item) {
        if (bound[item]) add_item(instance, item, unit, change);
    }
    take_exempt(instance, bound, unit, change);
    change.pop_back();
    std::partial_sum(change.begin(), change.end(), change.begin());
    return change;
}

LiveBound live_bound(const Instance& instance, const std::vector<bool>& pools, Bytes unit) {
    const std::vector<char> bound = bound_items(instance, pools);
    const std::vector<WideBytes> loads = row_loads(instance, pools, unit);
    LiveBound best;
    WideBytes most = 0;
    for (Index row = 0; row < instance.row_count; ++row) {
        if (loads[row] > most) {
            most = loads[row];
            best.row = row;
        }
    }
    if (best.row < 0) {
        // Nothing meets anything: the largest part alone is what is known.
        for (Index part = 0; part < count_of(instance.parts); ++part) {
            const Part& one = instance.parts[part];
            if (!bound[one.item] || one.size <= best.bytes) continue;
            best.bytes = one.size;
            best.parts = {part};
        }
        return best;
    }
    for (Index part = 0; part < count_of(instance.parts); ++part) {
        if (bound[instance.parts[part].item] && in_row(instance.rows[part], best.row)) {
            best.parts.push_back(part);
        }
    }
    best.parts = without_exempt(instance, std::move(best.parts));
    best.bytes = stacked(instance, best.parts, unit);
    if (best.row >= instance.time_rows) best.row = -1;
    return best;
}

namespace {

// A clique of greatest weight, by branch and bound with a bound from greedy colouring.
class HeaviestClique {
  public:
    HeaviestClique(std::vector<std::vector<std::uint64_t>> adjacent, std::vector<Bytes> weights,
                   std::int64_t nodes, Bytes above)
        : adjacent_(std::move(adjacent)),
          weights_(std::move(weights)),
          nodes_left_(nodes),
          above_(above),
          best_weight_(above) {}

    std::vector<Index> find() {
        std::vector<std::uint64_t> all((weights_.size() + 63) / 64, 0);
        for (std::size_t v = 0; v < weights_.size(); ++v) all[v / 64] |= std::uint64_t{1} << (v % 64);
        extend(all, 0);
        return best_;
    }

  private:
    using Bits = std::vector<std::uint64_t>;

    void extend(const Bits& candidates, WideBytes weight) {
        if (weight > best_weight_) {
            best_weight_ = weight;
            best_ = chosen_;
            if (above_ > 0) nodes_left_ = 0;
        }
        // Vertices of one colour are pairwise apart: a clique takes at most the heaviest of each colour.
        std::vector<std::pair<Index, WideBytes>> order;
        Bits uncoloured = candidates;
        WideBytes above = weight;
        while (true) {
            Bits free = uncoloured;
            Bytes heaviest = 0;
            const std::size_t first_of_colour = order.size();
            for (std::size_t word = 0; word < free.size(); ++word) {
                while (free[word]) {
                    const auto v = word * 64 + __builtin_ctzll(free[word]);
                    free[word] &= free[word] - 1;
                    uncoloured[word] &= ~(std::uint64_t{1} << (v % 64));
                    for (std::size_t w = word; w < free.size(); ++w) free[w] &= ~adjacent_[v][w];
                    heaviest = std::max(heaviest, weights_[v]);
                    order.emplace_back(v, 0);
                }
            }
            if (order.size() == first_of_colour) break;
            above += heaviest;
            for (std::size_t i = first_of_colour; i < order.size(); ++i) order[i].second = above;
        }
        Bits left = candidates;
        for (auto place = order.rbegin(); place != order.rend(); ++place) {
            if (place->second <= best_weight_ || nodes_left_-- <= 0) return;
            const Index v = place->first;
            Bits inner = left;
            for (std::size_t w = 0; w < inner.size(); ++w) inner[w] &= adjacent_[v][w];
            chosen_.push_back(place->first);
            extend(inner, weight + weights_[v]);
            chosen_.pop_back();
            left[v / 64] &= ~(std::uint64_t{1} << (v % 64));
        }
    }

    std::vector<Bits> adjacent_;
    std::vector<Bytes> weights_;
    std::int64_t nodes_left_;
    Bytes above_;
    WideBytes best_weight_;
    std::vector<Index> chosen_;
    std::vector<Index> best_;
};

// So many of the largest parts are looked at for a clique.
constexpr std::size_t kMostVertices = 1500;

}  // namespace

std::vector<Index> heavy_clique(std::vector<std::vector<std::uint64_t>> adjacent, std::vector<Bytes> weights,
                                std::int64_t nodes, Bytes above) {
    return HeaviestClique(std::move(adjacent), std::move(weights), nodes, above).find();
}

LiveBound clique_bound(const Instance& instance, const std::vector<bool>& pools, Bytes unit,
                       std::int64_t nodes, Bytes above) {
    const std::vector<char> bound = bound_items(instance, pools);
    std::vector<Index> vertices;  // one part of each item: the largest
    for (Index item = 0; item < instance.item_count(); ++item) {
        if (!bound[item]) continue;
        const auto parts = instance.parts_of(item);
        const auto largest = std::max_element(parts.begin(), parts.end(),
                                              [](const Part& a, const Part& b) { return a.size < b.size; });
        vertices.push_back(instance.item_parts[item] + (largest - parts.begin()));
    }
    const auto size_of = [&](Index part) { return instance.parts[part].size; };
    std::stable_sort(vertices.begin(), vertices.end(),
                     [&](Index a, Index b) { return size_of(a) > size_of(b); });
    vertices.resize(std::min(vertices.size(), kMostVertices));

    const std::size_t n = vertices.size();
    std::vector<std::vector<std::uint64_t>> adjacent(n, std::vector<std::uint64_t>((n + 63) / 64, 0));
    const Lists<Index> partners = exempt_partners(instance);
    std::vector<Bytes> weights(n);
    for (std::size_t i = 0; i < n; ++i) {
        weights[i] = round_up(size_of(vertices[i]), unit);
        const auto exempt = partners[vertices[i]];
        for (std::size_t j = 0; j < i; ++j) {
            if (std::binary_search(exempt.begin(), exempt.end(), vertices[j])) continue;
            if (!share_a_row(instance.rows[vertices[i]], instance.rows[vertices[j]])) continue;
            adjacent[i][j / 64] |= std::uint64_t{1} << (j % 64);
            adjacent[j][i / 64] |= std::uint64_t{1} << (i % 64);
        }
    }
    LiveBound best;
    for (Index v : heavy_clique(std::move(adjacent), std::move(weights), nodes, above)) {
        best.parts.push_back(vertices[v]);
    }
    std::sort(best.parts.begin(), best.parts.end());
    best.bytes = stacked(instance, best.parts, unit);
    return best;
}

WideBytes height_around(WideBytes need, WideBytes start, std::span<const Range> reserved) {
    WideBytes at = start;
    for (const Range& range : reserved) {
        if (range.end <= at) continue;
        if (range.begin - at >= need) break;
        need -= std::max<WideBytes>(range.begin - at, 0);
        at = range.end;
    }
    return need > 0 ? at + need : 0;
}

namespace {

// Effort for one bound by cliques, in words of adjacency that are read.
constexpr std::int64_t kCliqueEffort = 20'000'000;

LiveBound most_at_once(const Instance& instance, const std::vector<bool>& pools, Bytes unit) {
    LiveBound live = live_bound(instance, pools, unit);
    const bool has_pairs = instance.row_count > instance.time_rows || !instance.exempt.empty();
    if (!has_pairs) return live;
    const std::int64_t parts = std::min<std::int64_t>(count_of(instance.parts), kMostVertices);
    const std::int64_t words = std::max<std::int64_t>(parts * parts / 16, 64);
    LiveBound clique = clique_bound(instance, pools, unit, std::max<std::int64_t>(kCliqueEffort / words, 64));
    return clique.bytes > live.bytes ? clique : live;
}

// The cells of the grid that are reserved completely: no rounded size reaches into them.
std::vector<Range> whole_cells(const std::vector<Range>& reserved, const Grid& grid) {
    std::vector<Range> cells;
    for (const Range& range : reserved) {
        const Bytes first = align_up(range.begin, grid.unit, grid.residue);
        const Bytes last = align_down(range.end, grid.unit, grid.residue);
        if (first < last) cells.push_back({first, last});
    }
    return cells;
}

}  // namespace

Need need_of(const Instance& instance, const std::vector<bool>& pools) {
    LiveBound live = most_at_once(instance, pools, 1);
    Need need{live.bytes, 0, live.row, std::move(live.parts)};
    if (std::count(pools.begin(), pools.end(), true) != 1) return need;
    const auto pool = static_cast<Index>(std::find(pools.begin(), pools.end(), true) - pools.begin());
    const std::vector<Range>& reserved = instance.pools[pool].reserved;
    need.height = height_around(need.bytes, 0, reserved);
    const Grid grid = common_grid(instance, pool);
    if (grid.unit == 1) return need;
    LiveBound on_grid = most_at_once(instance, pools, grid.unit);
    const WideBytes height = height_around(on_grid.bytes, grid.residue, whole_cells(reserved, grid));
    if (height > need.height) {
        need.height = height;
        need.row = on_grid.row;
        need.parts = std::move(on_grid.parts);
    }
    return need;
}

}  // namespace memstow
