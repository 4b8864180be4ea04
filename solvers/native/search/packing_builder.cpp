// From an instance to packings: the unit, the rows as cliques, and a packing for each component.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/arithmetic.hpp"
#include "search/allowed_offsets.hpp"
#include "search/cliques.hpp"
#include "search/packing.hpp"
#include "search/twins.hpp"

namespace memstow::search {
namespace {

// Offsets move in units: when every item rests on another, on the end of a reserved range, on its own least
// offset or on its alignment, each offset is a multiple of the unit (docs/search.md, "Units").
Bytes common_unit(const Instance& instance) {
    Bytes aligned = 0;  // divides every offset by alignment alone, so lengths may be rounded up to it
    for (const Choice& choice : instance.choices.all()) {
        aligned = std::gcd(aligned, std::gcd(choice.modulus, choice.residue));
    }
    for (const Part& part : instance.parts) aligned = std::gcd(aligned, part.delta);
    if (aligned == 0) return 1;
    const auto rounded = [&](Bytes x) { return ceil_div(x, aligned) * aligned; };

    Bytes unit = 0;
    for (const Part& part : instance.parts) unit = std::gcd(unit, std::gcd(part.delta, rounded(part.size)));
    for (const Pool& pool : instance.pools) {
        for (const Range& range : pool.reserved) unit = std::gcd(unit, rounded(range.end));
    }
    for (const Choice& choice : instance.choices.all()) {
        unit = std::gcd(unit, std::gcd(rounded(choice.low), choice.residue));
    }
    if (unit == 0) unit = 1;
    // A modulus that divides the unit asks for nothing more; any other must be a multiple of it.
    for (bool changed = true; changed;) {
        changed = false;
        for (const Choice& choice : instance.choices.all()) {
            if (unit % choice.modulus == 0) continue;
            const Bytes smaller = std::gcd(unit, choice.modulus);
            changed = changed || smaller != unit;
            unit = smaller;
        }
    }
    return unit;
}

// Parts in units.
struct Parts {
    std::vector<Bytes> delta, size;
};

class Builder {
  public:
    // Incomplete when patience is over; then split() gives nothing.
    Builder(const Instance& instance, Patience& patience)
        : in_(instance), patience_(patience), unit_(common_unit(instance)) {
        scale_parts();
        conflicts_ = part_conflicts(in_, patience);
        cliques_ = cover_by_cliques(in_, conflicts_, patience);
        make_items();
        forbid_fixed();
    }

    std::vector<Packing> split() const;

  private:
    void scale_parts();
    void make_items();
    void forbid_fixed();
    std::vector<Index> components() const;
    Packing build(const std::vector<Index>& members, const std::vector<Index>& cliques) const;
    void add_rows(Packing& packing, const std::vector<Index>& local, const std::vector<Index>& cliques) const;
    void list_neighbours(Packing& packing, const std::vector<Index>& local,
                         const std::vector<Index>& members) const;
    void add_row(Packing& packing, std::vector<Entry> entries) const;
    void add_pairs(Packing& packing, const std::vector<Index>& local,
                   const std::vector<Index>& members) const;

    const Instance& in_;
    Patience& patience_;
    Bytes unit_;
    Parts scaled_;
    PartConflicts conflicts_;
    std::vector<std::vector<Index>> cliques_;  // of parts, roughly in time order
    std::vector<PackingItem> items_;
    std::vector<std::vector<Range>> allowed_;
};

void Builder::scale_parts() {
    for (const Part& part : in_.parts) {
        scaled_.delta.push_back(part.delta / unit_);
        scaled_.size.push_back(ceil_div(part.size, unit_));
    }
}

void Builder::make_items() {
    const Bytes unit = unit_;
    for (Index i = 0; i < in_.item_count(); ++i) {
        if (patience_.over()) return;
        const Choice& choice = in_.choices[i][0];
        PackingItem item{i, 0, 0, 1, 0, false};
        for (const Part& part : in_.parts_of(i)) item.top = std::max(item.top, part.delta + part.size);
        item.size = ceil_div(item.top, unit);
        if (unit % choice.modulus != 0) {
            item.modulus = choice.modulus / unit;
            item.residue = (choice.residue / unit) % item.modulus;
        }
        std::vector<Range> allowed = allowed_offsets(in_, i, unit);
        items_.push_back(item);
        allowed_.push_back(std::move(allowed));
    }
}

// An item with one possible offset is an obstacle to its neighbours: they may not be where it is.
void Builder::forbid_fixed() {
    if (patience_.over()) return;
    std::vector<Bytes> fixed(items_.size(), -1);
    for (std::size_t i = 0; i < items_.size(); ++i) {
        if (allowed_[i].size() == 1 && allowed_[i][0].begin == allowed_[i][0].end) {
            fixed[i] = allowed_[i][0].begin;
        }
    }
    for (Index p = 0; p < conflicts_.count(); ++p) {
        const Index at = p;
        const Index item = in_.parts[at].item;
        if (fixed[item] < 0) continue;
        if (patience_.over()) return;
        const Bytes begin = fixed[item] + scaled_.delta[at];
        const Bytes end = begin + scaled_.size[at];
        for (Index q : conflicts_.near(p)) {
            if (conflicts_.tieable(p, q)) continue;
            const Index to = q;
            forbid(allowed_[in_.parts[to].item], begin - scaled_.size[to] - scaled_.delta[to] + 1,
                   end - scaled_.delta[to]);
        }
    }
}

std::vector<Index> Builder::components() const {
    std::vector<Index> root(items_.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](Index i) {
        while (root[i] != i) {
            Index& parent = root[i];
            parent = root[parent];
            i = parent;
        }
        return i;
    };
    const auto join = [&](Index p, Index q) { root[find(in_.parts[p].item)] = find(in_.parts[q].item); };
    for (const auto& clique : cliques_) {
        for (Index p : clique) join(clique[0], p);
    }
    for (const auto& [p, q] : conflicts_.tieable_pairs()) join(p, q);
    std::vector<Index> component(items_.size());
    for (Index i = 0; i < in_.item_count(); ++i) component[i] = find(i);
    return component;
}

std::vector<Packing> Builder::split() const {
    if (patience_.over()) return {};
    const std::vector<Index> component = components();
    std::vector<Index> number(items_.size(), -1);
    std::vector<std::vector<Index>> members;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        Index& at = number[component[i]];
        if (at < 0) {
            at = count_of(members);
            members.emplace_back();
        }
        members[at].push_back(i);
    }
    std::vector<std::vector<Index>> cliques(members.size());
    for (std::size_t c = 0; c < cliques_.size(); ++c) {
        const Index item = in_.parts[cliques_[c][0]].item;
        const Index at = number[component[item]];
        cliques[at].push_back(c);
    }
    std::vector<Packing> result;
    for (std::size_t k = 0; k < members.size(); ++k) {
        result.push_back(build(members[k], cliques[k]));
        if (patience_.over()) return {};
    }
    return result;
}

Packing Builder::build(const std::vector<Index>& members, const std::vector<Index>& cliques) const {
    Packing packing;
    packing.unit = unit_;
    if (!members.empty()) {
        const Index pool = in_.choices[members[0]][0].pool;
        packing.reserved = in_.pools[pool].reserved;
    }
    std::vector<Index> local(items_.size(), -1);
    for (Index i : members) {
        const Index at = i;
        local[at] = packing.count();
        PackingItem item = items_[at];
        item.free = item.modulus == 1 && allowed_[at].size() == 1 && allowed_[at][0].begin == 0;
        packing.items.push_back(item);
        for (const Range& range : allowed_[at]) packing.allowed.values.push_back(range);
        packing.allowed.close();
        if (in_.parts_of(i).size() != 1 || in_.parts_of(i)[0].delta != 0) packing.plain = false;
    }
    for (const auto& [p, q] : conflicts_.tieable_pairs()) {
        if (local[in_.parts[p].item] >= 0) {
            packing.plain = false;
        }
    }
    add_rows(packing, local, cliques);
    list_neighbours(packing, local, members);
    if (patience_.over()) return packing;
    find_twins(packing);
    if (!packing.plain) add_pairs(packing, local, members);
    return packing;
}

void Builder::add_rows(Packing& packing, const std::vector<Index>& local,
                       const std::vector<Index>& cliques) const {
    for (Index c : cliques) {
        if (patience_.over()) return;
        std::vector<Entry> entries;
        for (Index p : cliques_[c]) {
            entries.push_back({local[in_.parts[p].item], scaled_.delta[p], scaled_.size[p]});
        }
        add_row(packing, std::move(entries));
    }
}

// By item: its rows, and the items that it shares some with. Those are the ones that it conflicts with, since
// rows cover all conflicts and nothing else; the rows themselves would take the cube of the items to read.
void Builder::list_neighbours(Packing& packing, const std::vector<Index>& local,
                              const std::vector<Index>& members) const {
    std::vector<std::vector<Index>> rows_of(members.size());
    for (Index row = 0; row < packing.rows.size(); ++row) {
        for (const Entry& entry : packing.rows[row]) {
            auto& rows = rows_of[entry.item];
            if (rows.empty() || rows.back() != row) rows.push_back(row);
        }
    }
    for (const auto& rows : rows_of) {
        packing.rows_of.values.insert(packing.rows_of.values.end(), rows.begin(), rows.end());
        packing.rows_of.close();
    }
    auto& near = packing.near.values;
    for (Index i : members) {
        if (patience_.over()) return;
        const auto first = static_cast<std::ptrdiff_t>(near.size());
        for (Index p = in_.item_parts[i]; p < in_.item_parts[i + 1]; ++p) {
            for (Index q : conflicts_.near(p)) {
                if (!conflicts_.tieable(p, q)) near.push_back(local[in_.parts[q].item]);
            }
        }
        std::sort(near.begin() + first, near.end());
        near.erase(std::unique(near.begin() + first, near.end()), near.end());
        packing.near.close();
    }
}

void Builder::add_row(Packing& packing, std::vector<Entry> entries) const {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return std::pair(a.item, a.delta) < std::pair(b.item, b.delta);
    });
    auto& rows = packing.rows.values;
    const std::size_t first = rows.size();
    for (const Entry& entry : entries) {
        if (rows.size() > first && rows.back().item == entry.item &&
            rows.back().delta + rows.back().size >= entry.delta) {  // parts of one item may overlap
            rows.back().size = std::max(rows.back().size, entry.delta + entry.size - rows.back().delta);
        } else {
            rows.push_back(entry);
        }
    }
    packing.rows.close();
}

void Builder::add_pairs(Packing& packing, const std::vector<Index>& local,
                        const std::vector<Index>& members) const {
    for (Index i : members) {
        if (patience_.over()) return;
        for (Index p = in_.item_parts[i]; p < in_.item_parts[i + 1]; ++p) {
            const Index at = p;
            for (Index q : conflicts_.near(p)) {
                if (q < p) continue;
                const Index to = q;
                packing.pairs.push_back({local[i], local[in_.parts[to].item], scaled_.delta[at],
                                         scaled_.size[at], scaled_.delta[to], scaled_.size[to],
                                         conflicts_.tieable(p, q)});
            }
        }
    }
}

}  // namespace

std::vector<Packing> packings(const Instance& instance, Budget* budget) {
    Patience patience(budget);
    return Builder(instance, patience).split();
}

}  // namespace memstow::search
