// A window of rows around a full one, and what it leaves of an instance: lifetimes clipped to it, in cells of
// the grid that all offsets are on.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/instance.hpp"

namespace memstow::search {

struct Span {
    Index part;
    RowRange rows;
    Bytes size;  // in cells
};

// The parts of which windows know all that matters, and how full the rows are with these.
class Ground {
  public:
    explicit Ground(const Instance& instance);

    Bytes cell() const { return cell_; }
    // What the topmost item may lack to whole cells.
    Bytes spare() const { return spare_; }
    const std::vector<Span>& spans() const { return spans_; }
    const std::vector<Bytes>& loads() const { return loads_; }
    Index rows() const { return count_of(loads_); }
    std::span<const Index> beginning(Index row) const { return by_begin_[row]; }
    std::span<const Index> ending(Index row) const { return by_end_[row]; }

  private:
    void add_spans(const Instance& instance);
    void set_loads();

    Index row_count_;
    Bytes cell_ = 0;
    Bytes spare_ = 0;
    std::vector<Span> spans_;
    Lists<Index> by_begin_;  // by row: those whose first it is
    Lists<Index> by_end_;    // by row: those whose last it is
    std::vector<Bytes> loads_;
};

// A window that takes in the fuller of the rows beside it.
class Window {
  public:
    Window(const Ground& ground, Index row);

    // Takes in rows while no more than so many items begin or end within. False when that was none.
    bool widen(std::ptrdiff_t most);

    RowRange rows() const { return {begin_, end_}; }
    // Spans that are live in it.
    const std::vector<Index>& members() const { return members_; }

  private:
    Bytes load(Index row) const { return ground_->loads()[row]; }
    const RowRange& rows_of(Index span) const { return ground_->spans()[span].rows; }
    // What spans the window and does not reach the next row.
    std::ptrdiff_t cut_above() const;
    std::ptrdiff_t cut_below() const;

    const Ground* ground_;
    Index begin_;
    Index end_;
    std::ptrdiff_t cut_ = 0;
    std::vector<Index> members_;
};

// What a window leaves: a problem of its own, of what begins or ends within it.
struct Rest {
    Instance instance;
    std::vector<Index> parts;     // by item
    std::vector<Index> spanning;  // parts
    Bytes below = 0;              // cells of those
};

Rest rest_of(const Ground& ground, RowRange window, const std::vector<Index>& members);

}  // namespace memstow::search
