#include "improve/throughout.hpp"

#include <algorithm>
#include <utility>

#include "search/exact.hpp"

namespace memstow::improve {

namespace {

constexpr Index kLeastItems = 2048;
// At least such a share of the items lives throughout.
constexpr std::size_t kShare = 64;

// Whether all items can be moved by multiples of one number, which it is.
std::optional<Bytes> common_grid(const Instance& instance, Index pool) {
    if (!instance.exempt.empty() || !instance.pools[pool].reserved.empty()) return std::nullopt;
    const Bytes grid = instance.choices[0][0].modulus;
    for (Index item = 0; item < instance.item_count(); ++item) {
        const std::span<const Choice> choices = instance.choices[item];
        const Index part = instance.item_parts[item];
        if (choices.size() != 1 || instance.parts_of(item).size() != 1) return std::nullopt;
        const Choice& choice = choices[0];
        const bool is_free =
            choice.low == 0 && choice.high == kLimit && choice.residue == 0 && choice.modulus == grid;
        if (!is_free || choice.pool != pool || instance.parts[part].delta != 0) return std::nullopt;
        for (const RowRange& rows : instance.rows[part]) {
            if (rows.end > instance.time_rows) return std::nullopt;
        }
    }
    return std::max<Bytes>(grid, 1);
}

bool lives_throughout(const Instance& instance, Index item) {
    const std::span<const RowRange> rows = instance.rows[instance.item_parts[item]];
    return rows.size() == 1 && rows[0] == RowRange{0, instance.time_rows};
}

// All but the topmost item lose what they lack to whole steps of the grid. The one that would lose most may
// have to be the topmost, so it is one of the others.
void spare_one(std::vector<Index>& throughout, std::vector<Index>& others, const Instance& instance) {
    const auto loss = [&](Index item) {
        const Bytes grid = std::max<Bytes>(instance.choices[item][0].modulus, 1);
        const Bytes size = instance.parts_of(item)[0].size;
        return (size + grid - 1) / grid * grid - size;
    };
    const auto most = std::max_element(throughout.begin(), throughout.end(),
                                       [&](Index a, Index b) { return loss(a) < loss(b); });
    if (most == throughout.end() || loss(*most) == 0) return;
    others.insert(std::upper_bound(others.begin(), others.end(), *most), *most);
    throughout.erase(most);
}

}  // namespace

std::optional<AboveThroughout> AboveThroughout::of(const Instance& instance, Index pool,
                                                   const Layout& start) {
    if (instance.item_count() < kLeastItems) return std::nullopt;
    AboveThroughout result;
    std::vector<Index> throughout;
    for (Index item = 0; item < instance.item_count(); ++item) {
        if (start[item].offset < 0) return std::nullopt;
        (lives_throughout(instance, item) ? throughout : result.others_).push_back(item);
    }
    spare_one(throughout, result.others_, instance);
    if (result.others_.empty() || throughout.size() < start.size() / kShare) return std::nullopt;
    const std::optional<Bytes> grid = common_grid(instance, pool);
    if (!grid) return std::nullopt;
    std::sort(throughout.begin(), throughout.end(),
              [&](Index a, Index b) { return start[a].offset < start[b].offset; });
    result.bottom_.resize(start.size());
    std::vector<Bytes> below{0};  // by how many of them: what they take
    for (const Index item : throughout) {
        result.bottom_[item] = {pool, below.back()};
        // Each of them ends where the next one may begin.
        const Bytes size = instance.parts_of(item)[0].size;
        below.push_back(below.back() + (size + *grid - 1) / *grid * *grid);
    }
    result.base_ = below.back();
    for (const Index item : result.others_) {
        const Place& place = start[item];
        const auto above = std::partition_point(throughout.begin(), throughout.end(), [&](Index lower) {
            return start[lower].offset < place.offset;
        });
        result.start_.push_back({place.pool, place.offset - below[above - throughout.begin()]});
    }
    result.instance_ = search::restrict_to(instance, result.others_);
    if (result.instance_.pools[pool].capacity < kLimit) result.instance_.pools[pool].capacity -= result.base_;
    return result;
}

Layout AboveThroughout::whole(const Layout& others) const {
    Layout layout = bottom_;
    for (std::size_t k = 0; k < others_.size(); ++k) {
        const Place& place = others[k];
        layout[others_[k]] = {place.pool, place.offset < 0 ? place.offset : place.offset + base_};
    }
    return layout;
}

}  // namespace memstow::improve
