// Looks for a layout of at most a given height from one that is higher. Items above it are taken out and
// put back one at a time: where one fits, else where the items in the way weigh least, and these are taken
// out in turn. Items that were hard to place grow heavier, so that they stay where they are and others move.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/instance.hpp"
#include "core/random.hpp"
#include "improve/conflicts.hpp"

namespace memstow::improve {

class Ejection {
  public:
    // `layout` is valid; its items in other pools than `pool` play no part.
    Ejection(const Instance& instance, Index pool, const Layout& layout, std::uint64_t seed);
    // Of an unfinished layout: of those that take part some may have no place yet, until they are admitted.
    Ejection(const Instance& instance, Index pool, const Layout& layout, std::vector<char> takes_part,
             std::uint64_t seed);

    // Called now and then with the steps made since; true: give up.
    using Stop = std::function<bool(std::int64_t steps)>;

    // Whether the layout now is at most so high. If not, it has items without a place.
    bool reach(Bytes height, const Stop& stop);
    // Gives every item a place that ends at most so high, the lowest one; false when it cannot.
    bool complete(Bytes height, const Stop& stop);

    // For layouts that grow, item by item. Nothing may end above the limit from now on.
    void set_limit(Bytes height) { height_ = height; }
    // The item wants a place from now on.
    void admit(Index item) { take_out(item); }
    void place(Index item, Bytes offset) { items_[item].offset = offset; }
    // Finds places for all that want one. False when told to stop, or after so many moves without progress.
    bool settle(const Stop& stop, std::int64_t patience);

    // The height of the placed items.
    Bytes height() const;
    void load(const Layout& layout);
    void save(Layout& layout) const;
    std::size_t unplaced() const { return unplaced_.size(); }

    std::int64_t moves = 0;

  private:
    struct Item {
        Bytes offset = kUnplaced;
        Bytes extent = 0;
        std::int64_t weight = 0;
        std::int64_t tabu_until = 0;  // moves; a pinned item never moves
    };
    // Forbids the offsets strictly between low and high. Negative weight: cannot be taken out.
    struct Obstacle {
        Bytes low;
        Bytes high;
        std::int64_t weight;
        Index item;
        Bytes hole;
    };
    struct Edge {
        Bytes at;
        std::int64_t weight;
    };
    struct Spot {
        Bytes offset = kUnplaced;
        std::int64_t cost = 0;
    };

    class Scan;

    const Choice& choice(Index item) const { return *choices_[item]; }
    void sort_edges(std::vector<Edge>& edges);
    void gather(Index item, Bytes low, Bytes high);
    Spot best_spot(Index item);
    Spot lowest_free(Index item, Bytes height);
    bool may_be_in_hole(const Obstacle& hole, std::int64_t& cost) const;
    void take_out(Index item);
    void take_out_in_the_way(Bytes offset);
    Index pick();
    void set_weights();

    const Instance& instance_;
    Index pool_;
    std::vector<char> takes_part_;
    Conflicts conflicts_;
    std::vector<const Choice*> choices_;  // by item: the one of this pool
    std::vector<Item> items_;
    std::vector<std::int64_t> first_weight_;
    std::vector<Index> unplaced_;
    Random random_;
    Bytes height_ = 0;
    std::int64_t out_weight_ = 0;
    std::int64_t steps_ = 0;

    std::vector<Obstacle> obstacles_;
    std::vector<Edge> begins_;
    std::vector<Edge> ends_;
    std::vector<Edge> sorted_;
    std::vector<std::uint32_t> buckets_;
};

}  // namespace memstow::improve
