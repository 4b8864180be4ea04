#include "search/components.hpp"

#include <algorithm>
#include <numeric>

#include "core/bounds.hpp"
#include "search/tiling.hpp"

namespace memstow::search {
namespace {

class Joined {
  public:
    explicit Joined(Index count) : root_(count) { std::iota(root_.begin(), root_.end(), 0); }
    Index find(Index i) {
        while (root_[i] != i) {
            root_[i] = root_[root_[i]];
            i = root_[i];
        }
        return i;
    }
    void join(Index i, Index j) {
        const Index a = find(i), b = find(j);
        root_[std::max(a, b)] = std::min(a, b);
    }

  private:
    std::vector<Index> root_;
};

}  // namespace

Components::Components(const Instance& instance) : in_(instance) {
    number_rows();
    number_items();
    find_bounds();
}

// Neighbouring rows that a part is in are one stretch.
void Components::number_rows() {
    std::vector<Index> change(in_.row_count + 1, 0);
    for (const RowRange& range : in_.rows.values) {
        if (range.begin >= range.end) continue;
        change[range.begin + 1] += 1;
        change[range.end] -= 1;
    }
    group_.assign(in_.row_count, 0);
    Index parts_across = 0;
    for (std::size_t r = 1; r < group_.size(); ++r) {
        parts_across += change[r];
        group_[r] = group_[r - 1] + (parts_across == 0 ? 1 : 0);
    }
}

void Components::number_items() {
    const Index n = in_.item_count();
    const Index groups = group_.empty() ? 0 : group_.back() + 1;
    Joined joined(n + groups);
    for (Index p = 0; p < in_.rows.size(); ++p) {
        for (const RowRange& range : in_.rows[p]) {
            if (range.begin < range.end) joined.join(in_.parts[p].item, n + group_[range.begin]);
        }
    }
    component_.assign(n, -1);
    std::vector<Index> number(n + groups, -1);
    for (Index i = 0; i < n; ++i) {
        Index& c = number[joined.find(i)];
        if (c < 0) {
            c = count_of(parts_);
            parts_.push_back(0);
            entries_.push_back(0);
        }
        component_[i] = c;
    }
    list_items();
    number_within();
    list_exempt();
}

void Components::list_items() {
    const Index n = in_.item_count();
    std::vector<Index> next(parts_.size() + 1, 0);
    for (Index c : component_) ++next[c + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    items_.start = next;
    items_.values.resize(n);
    for (Index i = 0; i < n; ++i) items_.values[next[component_[i]]++] = i;
}

// Parts and rows, each by its place in its component.
void Components::number_within() {
    row_component_.assign(in_.row_count, -1);
    for (Index p = 0; p < in_.rows.size(); ++p) {
        const Index c = component_[in_.parts[p].item];
        part_at_.push_back(parts_[c]++);
        for (const RowRange& range : in_.rows[p]) {
            entries_[c] += std::max(0, range.end - range.begin);
            if (range.begin < range.end) row_component_[range.begin] = c;
        }
    }
    row_count_.assign(parts_.size(), 0);
    time_rows_.assign(parts_.size(), 0);
    row_at_.assign(in_.row_count, 0);
    for (Index r = 0; r < count_of(group_); ++r) {
        Index& c = row_component_[r];
        if (c < 0 && r > 0 && group_[r] == group_[r - 1]) c = row_component_[r - 1];
        if (c < 0) continue;
        row_at_[r] = row_count_[c]++;
        time_rows_[c] += r < in_.time_rows;
    }
}

void Components::list_exempt() {
    std::vector<std::vector<ExemptPair>> exempt(in_.exempt.empty() ? 0 : parts_.size());
    for (const ExemptPair& pair : in_.exempt) {
        const Index c = component_[in_.parts[pair.first].item];
        if (c == component_[in_.parts[pair.second].item]) exempt[c].push_back(pair);
    }
    for (const auto& pairs : exempt) {
        exempt_.values.insert(exempt_.values.end(), pairs.begin(), pairs.end());
        exempt_.close();
    }
}

void Components::find_bounds() {
    bound_.assign(parts_.size(), 0);
    for (Index i = 0; i < in_.item_count(); ++i) {
        Bytes top = 0;
        for (const Part& part : in_.parts_of(i)) top = std::max(top, part.delta + part.size);
        Bytes& bound = bound_[component_[i]];
        bound = std::max(bound, std::min(kLimit, std::max<Bytes>(0, in_.choices[i][0].low) + top));
    }
    const std::vector<WideBytes> loads = row_loads(in_, std::vector<bool>(in_.pools.size(), true), 1);
    std::vector<WideBytes> first(parts_.size(), -1), most(parts_.size(), 0), total(parts_.size(), 0);
    level_.assign(parts_.size(), true);
    nearly_full_.assign(parts_.size(), false);
    for (std::size_t r = 0; r < loads.size(); ++r) {
        if (row_component_[r] < 0) continue;
        const std::size_t c = row_component_[r];
        if (first[c] < 0) first[c] = loads[r];
        level_[c] = level_[c] && loads[r] == first[c];
        most[c] = std::max(most[c], loads[r]);
        total[c] += loads[r];
        Bytes& bound = bound_[c];
        bound = static_cast<Bytes>(std::max<WideBytes>(bound, std::min<WideBytes>(kLimit, loads[r])));
    }
    for (Index c = 0; c < count(); ++c) {
        const WideBytes room = most[c] * row_count_[c];
        nearly_full_[c] = most[c] > 0 && room - total[c] <= room / kMostEmpty;
    }
}

Bytes Components::height(Index c, const Layout& layout) const {
    if (layout.size() != component_.size()) return kLimit;
    Bytes height = 0;
    for (Index i : items(c)) {
        const Bytes offset = layout[i].offset;
        if (offset < 0) return kLimit;
        for (const Part& part : in_.parts_of(i)) height = std::max(height, offset + part.delta + part.size);
    }
    return height;
}

Instance Components::instance_of(Index c) const {
    Instance result;
    result.pools = in_.pools;
    result.row_count = row_count_[c];
    result.time_rows = time_rows_[c];
    for (Index i : items(c)) {
        result.choices.add(in_.choices[i]);
        const Index item = result.item_count();
        for (Index p = in_.item_parts[i]; p < in_.item_parts[i + 1]; ++p) {
            result.parts.push_back(in_.parts[p]);
            result.parts.back().item = item;
            for (const RowRange& range : in_.rows[p]) {
                if (range.begin >= range.end) continue;
                const Index begin = row_at_[range.begin];
                result.rows.values.push_back({begin, begin + range.end - range.begin});
            }
            result.rows.close();
        }
        result.item_parts.push_back(count_of(result.parts));
    }
    if (exempt_.size() > 0) {
        for (ExemptPair pair : exempt_[c]) {
            pair.first = part_at_[pair.first];
            pair.second = part_at_[pair.second];
            result.exempt.push_back(pair);
        }
    }
    return result;
}

}  // namespace memstow::search
