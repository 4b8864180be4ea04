// The independent components of an instance, found before anything is built that grows faster than the
// instance: items of two components share no row, not even through others. Exempt pairs count as sharing, so
// that several packings may be made from one component.
#pragma once

#include <vector>

#include "core/instance.hpp"

namespace memstow::search {

class Components {
  public:
    explicit Components(const Instance& instance);

    Index count() const { return items_.size(); }
    std::span<const Index> items(Index c) const { return items_[c]; }  // ascending
    std::size_t parts(Index c) const { return parts_[c]; }
    // Parts in rows, each counted in every row it is in.
    std::int64_t entries(Index c) const { return entries_[c]; }
    // No layout of it is lower: the fullest of its rows, or an item that must be high up.
    Bytes bound(Index c) const { return bound_[c]; }
    // Whether all of its rows are equally full, and whether at most 1/kMostEmpty of them is empty.
    bool level(Index c) const { return level_[c]; }
    bool nearly_full(Index c) const { return nearly_full_[c]; }
    // The greatest end of its items in a layout of all; kLimit when one has no place.
    Bytes height(Index c, const Layout& layout) const;
    Instance instance_of(Index c) const;  // its items in their order, and none but its rows

  private:
    void number_rows();
    void number_items();
    void list_items();
    void number_within();
    void list_exempt();
    void find_bounds();

    const Instance& in_;
    std::vector<Index> group_;      // by row: which stretch of rows joined by parts it belongs to
    std::vector<Index> component_;  // by item
    Lists<Index> items_;
    std::vector<std::size_t> parts_;
    std::vector<std::int64_t> entries_;
    std::vector<Bytes> bound_;
    std::vector<bool> level_, nearly_full_;
    std::vector<Index> row_component_;          // by row; -1 when it is empty
    std::vector<Index> row_at_;                 // by row: its place among the rows of its component
    std::vector<Index> row_count_, time_rows_;  // by component
    std::vector<Index> part_at_;                // by part: its place among the parts of its component
    Lists<ExemptPair> exempt_;                  // by component
};

}  // namespace memstow::search
