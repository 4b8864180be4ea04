#include "search/cliques.hpp"

#include <algorithm>
#include <numeric>

#include "search/index_set.hpp"

namespace memstow::search {
namespace {

std::vector<std::vector<Index>> parts_of_rows(const Instance& instance) {
    std::vector<std::vector<Index>> rows(instance.row_count);
    for (Index p = 0; p < instance.rows.size(); ++p) {
        for (const RowRange& range : instance.rows[p]) {
            for (Index r = range.begin; r < range.end; ++r) rows[r].push_back(p);
        }
    }
    return rows;
}

class Cover {
  public:
    Cover(const Instance& instance, const PartConflicts& conflicts, Patience& patience);
    std::vector<std::vector<Index>> run();

  private:
    bool edge(Index p, Index q) const { return compatible_[p].has(q) && !same(p, q); }
    bool same(Index p, Index q) const { return in_.parts[p].item == in_.parts[q].item; }
    void keep(std::vector<Index> clique, double when);
    void cover_row(const std::vector<Index>& row, double when);
    void cover_conflict(const std::vector<Index>& row);

    const Instance& in_;
    Patience& patience_;
    const std::size_t n_;
    std::vector<IndexSet> compatible_;  // by part: what may be in a clique with it, itself included
    std::vector<IndexSet> covered_;     // by part: what it is in a clique with
    std::vector<Index> by_size_;
    std::vector<double> moment_;  // by part: the middle of its rows, to keep rows of two near their parts
    std::vector<std::pair<double, std::vector<Index>>> cliques_;
};

Cover::Cover(const Instance& instance, const PartConflicts& conflicts, Patience& patience)
    : in_(instance),
      patience_(patience),
      n_(instance.parts.size()),
      compatible_(n_, IndexSet(n_)),
      covered_(n_, IndexSet(n_)),
      by_size_(n_),
      moment_(n_, 0) {
    for (Index p = 0; p < conflicts.count(); ++p) {
        IndexSet& set = compatible_[p];
        for (Index q : conflicts.near(p)) {
            if (!conflicts.tieable(p, q)) set.add(q);
        }
        const Index item = in_.parts[p].item;
        for (Index q = in_.item_parts[item]; q < in_.item_parts[item + 1]; ++q) {
            set.add(q);
        }
        const auto ranges = in_.rows[p];
        if (!ranges.empty()) {
            const Index end = std::min(ranges.back().end, std::max(ranges.front().end, in_.time_rows));
            moment_[p] = (ranges.front().begin + end) / 2.0;
        }
    }
    std::iota(by_size_.begin(), by_size_.end(), 0);
    std::stable_sort(by_size_.begin(), by_size_.end(),
                     [&](Index a, Index b) { return in_.parts[a].size > in_.parts[b].size; });
}

void Cover::keep(std::vector<Index> clique, double when) {
    std::sort(clique.begin(), clique.end());
    IndexSet set(n_);
    for (Index p : clique) set.add(p);
    for (Index p : clique) covered_[p] |= set;
    cliques_.emplace_back(when, std::move(clique));
}

// A row of parts live together: a clique as it is, or several when pairs in it are exempt.
void Cover::cover_row(const std::vector<Index>& row, double when) {
    IndexSet all(n_);
    for (Index p : row) all.add(p);
    std::vector<Index> common, apart;
    for (Index p : row) {
        (all.within(compatible_[p]) ? common : apart).push_back(p);
    }
    if (apart.empty()) {
        keep(row, when);
        return;
    }
    std::stable_sort(apart.begin(), apart.end(),
                     [&](Index a, Index b) { return in_.parts[a].size > in_.parts[b].size; });
    const auto grow = [&](std::vector<Index> clique) {
        IndexSet open = all;
        for (Index p : clique) open &= compatible_[p];
        for (Index p : apart) {
            if (!open.has(p) || std::find(clique.begin(), clique.end(), p) != clique.end()) continue;
            clique.push_back(p);
            open &= compatible_[p];
        }
        clique.insert(clique.end(), common.begin(), common.end());
        keep(std::move(clique), when);
    };
    grow({});
    for (Index p : apart) {
        if (patience_.over(apart.size(), n_)) return;
        const bool joined =
            std::all_of(common.begin(), common.end(), [&](Index q) { return covered_[p].has(q); });
        if (!joined || !covered_[p].has(p)) grow({p});
        for (Index q : apart) {
            if (q != p && edge(p, q) && !covered_[p].has(q)) grow({p, q});
        }
    }
}

// Explicit conflicts: each pair not covered yet is grown into a clique of whatever conflicts with all of it.
void Cover::cover_conflict(const std::vector<Index>& row) {
    for (Index p : row) {
        for (Index q : row) {
            if (q <= p || !edge(p, q) || covered_[p].has(q)) continue;
            if (patience_.over(16 + n_ / 8, n_)) return;
            std::vector<Index> clique{p, q};
            IndexSet open = compatible_[p];
            open &= compatible_[q];
            open.remove(p);
            open.remove(q);
            for (Index other : by_size_) {
                if (!open.has(other)) continue;
                clique.push_back(other);
                open &= compatible_[other];
            }
            double when = 0;
            for (Index member : clique) when += moment_[member];
            keep(clique, when / clique.size());
        }
    }
    for (Index p : row) {  // a part alone in its row still belongs somewhere
        if (!covered_[p].has(p)) keep({p}, moment_[p]);
    }
}

std::vector<std::vector<Index>> Cover::run() {
    const auto rows = parts_of_rows(in_);
    for (Index r = 0; r < count_of(rows); ++r) {
        if (rows[r].empty()) continue;
        if (patience_.over(rows[r].size() * 2, n_)) return {};
        if (r < in_.time_rows) {
            cover_row(rows[r], r);
        } else {
            cover_conflict(rows[r]);
        }
    }
    std::stable_sort(cliques_.begin(), cliques_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::vector<Index>> result;
    for (auto& [when, clique] : cliques_) result.push_back(std::move(clique));
    return result;
}

}  // namespace

bool PartConflicts::tieable(Index p, Index q) const {
    if (tieable_.empty()) return false;
    return std::binary_search(tieable_.begin(), tieable_.end(), std::pair(std::min(p, q), std::max(p, q)));
}

PartConflicts part_conflicts(const Instance& instance, Patience& patience) {
    const std::size_t n = instance.parts.size();
    std::vector<IndexSet> near(n, IndexSet(n));
    {
        const auto rows = parts_of_rows(instance);
        for (const auto& row : rows) {
            if (patience.over(row.size(), n)) return {};
            IndexSet set(n);
            for (Index p : row) set.add(p);
            for (Index p : row) near[p] |= set;
        }
    }
    for (std::size_t p = 0; p < n; ++p) {
        const Index item = instance.parts[p].item;
        for (Index q = instance.item_parts[item]; q < instance.item_parts[item + 1]; ++q) {
            near[p].remove(q);
        }
    }
    PartConflicts result;
    for (const ExemptPair& pair : instance.exempt) {
        if (pair.in_place) continue;
        near[pair.first].remove(pair.second);
        near[pair.second].remove(pair.first);
    }
    for (const ExemptPair& pair : instance.exempt) {
        if (pair.in_place && near[pair.first].has(pair.second)) {
            result.tieable_.emplace_back(std::minmax(pair.first, pair.second));
        }
    }
    std::sort(result.tieable_.begin(), result.tieable_.end());
    result.tieable_.erase(std::unique(result.tieable_.begin(), result.tieable_.end()), result.tieable_.end());
    for (const IndexSet& set : near) {
        for (Index q : set.list()) result.near_.values.push_back(q);
        result.near_.close();
    }
    return result;
}

std::vector<std::vector<Index>> cover_by_cliques(const Instance& instance, const PartConflicts& conflicts,
                                                 Patience& patience) {
    if (patience.over()) return {};
    return Cover(instance, conflicts, patience).run();
}

}  // namespace memstow::search
