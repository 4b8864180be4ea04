// How a growth opens: by dives over the items of windows around the fullest row, each window larger than the
// last, until dives cannot lay one out at the target. A dive that has lost its way at the far end of a large
// instance often finds it within a window.
#pragma once

#include <memory>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "improve/key_search.hpp"

namespace memstow::improve {

class Opening {
  public:
    // `order`: items in the order in which windows reach them. Windows have more than `least` of them. Each
    // window has half of the steps that are left. All of these must outlive it.
    Opening(const Instance& instance, Index pool, Bytes target, const std::vector<Index>& order,
            std::size_t least, std::int64_t steps, std::uint64_t seed, const Budget& budget);

    // Whether it is done; false when told to stop.
    bool run(const Skyline::Stop& stop);
    // The first of the order have places in the layout of the largest window.
    std::size_t count() const { return count_; }
    // Puts them into a layout of the whole.
    void save(Layout& layout) const;

  private:
    struct Window {
        Instance instance;  // its items in the order of `order`
        std::unique_ptr<KeySearch> keys;
        std::int64_t left;
    };
    bool open();

    const Instance& instance_;
    Index pool_;
    Bytes target_;
    const std::vector<Index>& order_;
    std::size_t next_;
    std::int64_t steps_;
    std::uint64_t seed_;
    const Budget& budget_;
    std::unique_ptr<Window> window_;
    std::size_t count_ = 0;
    Layout layout_;
};

}  // namespace memstow::improve
