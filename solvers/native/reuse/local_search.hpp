// Lowers the cost of a layout of one pool: takes some items out and puts each back where it is cheapest,
// again and again, and keeps what is no worse than chance allows.
#pragma once

#include <functional>
#include <vector>

#include "core/budget.hpp"
#include "reuse/board.hpp"

namespace memstow::reuse {

class LocalSearch {
  public:
    LocalSearch(const Instance& instance, const Costs& costs, std::uint64_t seed);

    // Goes on from this layout, whose items all end within the height.
    void start(Bytes height, const std::vector<Bytes>& offsets);
    // Until `most_steps` are done, the cost is at most `enough`, or the budget is spent.
    void run(std::int64_t most_steps, Bytes enough, Budget& budget);

    const std::vector<Bytes>& offsets() const { return best_; }  // by item
    Bytes cost() const { return best_cost_; }                    // of the pairs

  private:
    void step();
    void choose();
    void take_out(Index item);
    bool put_back();  // false when that takes too long
    bool put(Index item, bool anywhere);
    void restore();
    Index pick_paying();

    Board board_;
    const std::vector<ReuseCost> pairs_;
    std::vector<Index> item_of_;  // by part
    std::vector<Part> parts_;
    Random random_;
    std::int64_t round_, move_ = 0;
    double scale_ = 1;  // cost of an average pair

    std::vector<Bytes> now_, best_;
    Bytes now_cost_ = 0, best_cost_ = 0;
    double heat_ = 0;  // how much worse a move may make it
    // Of the move at hand: the items taken out, and where each was.
    std::vector<Index> out_;
    std::vector<Bytes> before_;
    std::vector<char> is_out_;
    std::vector<std::pair<double, Index>> order_;
    std::vector<Index> waiting_;
    std::vector<double> stays_;  // by item: how much there is against taking it out
};

}  // namespace memstow::reuse
