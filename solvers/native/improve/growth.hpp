// Grows layouts from the fullest row outwards: first what is live there, in one stack, then one row after the
// other on both sides. What is live in two rows of a window conflicts within it, so that each window is an
// exact problem of its own, and what is in the way of a newcomer is ejected within it. For large instances:
// few rows are nearly full, and what is far from them hardly matters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "core/random.hpp"
#include "improve/ejection.hpp"
#include "improve/opening.hpp"

namespace memstow::improve {

class Growth {
  public:
    // Items that the layout has in other pools play no part. Heights matter in steps of `unit`. With `dives`
    // each item has a single choice, so that dives may open.
    Growth(const Instance& instance, Index pool, const Layout& start, Bytes bound, Bytes unit,
           std::uint64_t seed, const Budget& budget, bool dives);

    // Goes on until told to stop or until there is a layout lower than `height`, which is then in `layout`.
    bool run(Bytes height, const Ejection::Stop& stop);
    Layout layout;
    // Items that the layout at hand has so far.
    std::size_t placed() const { return next_; }

  private:
    enum class Pause { stopped, stuck, complete };
    std::vector<Bytes> loads() const;
    void rank_rows();
    void list_items();
    void list_stackable();
    void choose_top();
    bool open(const Ejection::Stop& stop);
    int doublings() const;
    void widen();
    void stack();
    Pause grow(const Ejection::Stop& stop);
    bool raise(Bytes height);

    const Instance& instance_;
    Index pool_;
    Bytes bound_;
    Bytes unit_;
    Random random_;
    const Budget& budget_;
    bool dives_;
    std::vector<char> takes_part_;
    std::vector<Index> rank_;      // by row: when a window that grows reaches it
    std::vector<Index> order_;     // items, as windows reach them
    std::vector<char> stackable_;  // by item
    std::size_t stacked_ = 0;      // those live in the fullest row come first
    std::size_t next_ = 0;         // in order_: the first that is not in the window
    std::size_t widest_ = 0;       // in order_: the first that the ejection does not know
    std::unique_ptr<Opening> opening_;
    std::optional<Ejection> ejection_;
    Bytes target_ = 0;
    int raises_ = 0;
    int attempts_ = 0;
    std::int64_t moves_ = 0;
};

}  // namespace memstow::improve
