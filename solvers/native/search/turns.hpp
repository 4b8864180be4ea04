// Chooses the components that are open to be searched. Packings take memory, so that only some are made at a
// time: those of components that decide, first. While others wait, each has turns of a limited number of
// nodes, and of more each time.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "core/budget.hpp"
#include "search/components.hpp"
#include "search/ladder.hpp"
#include "search/packing.hpp"
#include "search/progress.hpp"

namespace memstow::search {

// A packing that searches read without a lock, for as long as any of them does.
struct Opened {
    Packing packing;
    std::atomic<bool> closed{false};
};

class Turns {
  public:
    // `searchable`: components, those that decide first at the front.
    Turns(const Components& components, std::vector<Index> searchable, Progress& progress, Budget& budget);

    // Closes what is settled, and what has had its turn while others wait; opens what is next.
    void refill();

    // One of the packings of an open component, and what is known of it.
    struct Pick {
        Index component;
        Ladder* ladder;
        std::shared_ptr<Opened> opened;
    };
    // The one that has had the least so far among those that still matter, since every one of them has to
    // come down to the goal; its ladder is null when there is none.
    Pick least_searched() const;

    // Where the component's packings end now.
    Bytes top(Index component) const;
    // Packings that are open, and components that wait.
    std::size_t count() const;

  private:
    // The searches of a component.
    struct Piece {
        std::vector<std::unique_ptr<Ladder>> ladders;  // from the first opening on
        std::vector<std::shared_ptr<Opened>> opened;   // by ladder; empty while it is closed
    };
    bool matters(const Ladder& ladder) const {
        return ladder.top() > progress_.goal() && ladder.searchable();
    }
    bool has_had_its_turn(const Piece& piece) const;
    void close_some();
    bool open_some();
    bool open(Index component);
    std::unique_ptr<Ladder> first_ladder(Index component, const Packing& packing);

    const Components& components_;
    Progress& progress_;
    Budget& budget_;
    std::vector<Piece> pieces_;  // by component
    std::deque<Index> waiting_;
    std::vector<Index> open_, later_;  // later: those that have had their turn
    std::int64_t nodes_;               // of a turn
};

}  // namespace memstow::search
