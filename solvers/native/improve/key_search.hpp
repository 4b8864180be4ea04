// Betters the keys by which the skyline takes items: those live around what ends too high are changed at
// random, and the change stays when less ends too high. Starts anew when that leads nowhere.
#pragma once

#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "greedy/pair_board.hpp"
#include "greedy/placer.hpp"
#include "greedy/tree_board.hpp"
#include "improve/skyline.hpp"

namespace memstow::improve {

class KeySearch {
  public:
    KeySearch(const Instance& instance, Index pool, Bytes bound, std::uint64_t seed, const Budget& budget);

    // Goes on until told to stop or until there is a layout lower than `height`, which is then in `layout`.
    bool run(Bytes height, const Skyline::Stop& stop);
    Layout layout;

  private:
    struct Window {  // rows
        double low;
        double high;
    };
    struct Change {
        Index item;
        std::size_t window;
    };
    double chance() { return static_cast<double>(random_.below(1 << 20)) / (1 << 20); }
    bool dive(const std::vector<double>& keys, const Skyline::Stop& stop);
    void note(const std::vector<double>& keys);
    double excess() const;
    void restart();
    double excess_of(Bytes end) const;
    template <class Job>
    void each_begun(const Window& window, Job job) const;
    bool take_back_worse();
    void aim(Bytes top);
    void perturb();
    void decode(Bytes height, const Skyline::Stop& stop);

    const Instance& instance_;
    Index pool_;
    Bytes bound_;
    const Budget& budget_;
    Random random_;
    Skyline skyline_;
    std::optional<greedy::Placer<greedy::PairBoard>> pairs_;
    std::optional<greedy::Placer<greedy::NarrowTreeBoard>> narrow_tree_;
    std::optional<greedy::Placer<greedy::TreeBoard>> tree_;
    std::vector<Index> pinned_;
    std::vector<Index> order_;
    std::vector<Index> box_of_;  // by item
    std::vector<double> keys_;
    std::vector<double> next_;
    std::vector<double> best_keys_;  // of the lowest dive
    std::vector<Bytes> ends_;        // of keys_
    std::vector<Index> failing_;
    std::vector<Window> windows_;
    std::vector<Change> changes_;
    int starts_ = 0;
    int stalled_ = 0;
    int patience_ = 0;
    bool fresh_ = true;      // keys_ were not dived yet
    Bytes top_ = kLimit;     // of keys_
    Bytes lowest_ = kLimit;  // of all dives
    Bytes target_ = 0;
    double cost_ = 0;
    double share_ = 0.5;
    double power_ = 1;
    double uphill_ = 0;
    bool reached_ = false;
};

}  // namespace memstow::improve
