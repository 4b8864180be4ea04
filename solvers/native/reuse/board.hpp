// The items of one pool, and for each two of them whether they may overlap and at what cost. From that comes
// the cheapest offset of one item while the others stay where they are.
#pragma once

#include <limits>
#include <vector>

#include "core/instance.hpp"
#include "core/random.hpp"
#include "reuse/costs.hpp"

namespace memstow::reuse {

// With the other item at offset x, this one overlaps it strictly between x + below and x + above.
struct Relation {
    Index other;
    Bytes below, above;
    Bytes cost;  // of an overlap; kForbidden when there may be none
    Bytes hole;  // x + hole is no forbidden overlap; kNoHole when there is no such place
};

inline constexpr Bytes kForbidden = -1;
inline constexpr Bytes kNoHole = std::numeric_limits<Bytes>::min();

class Board {
  public:
    // Every item has one choice, all of them the same pool.
    Board(const Instance& instance, const Costs& costs);

    Index count() const { return relations_.size(); }
    std::span<const Relation> relations(Index item) const { return relations_[item]; }
    Bytes top(Index item) const { return tops_[item]; }  // of its highest part

    // Nothing ends above this from now on.
    void set_height(Bytes height) { height_ = height; }

    struct Spot {
        Bytes offset = kUnplaced;
        Bytes cost = std::numeric_limits<Bytes>::max();
    };
    // The cheapest offset of an item among the others that have one; without an offset when it has none. Of
    // several that cost the same it is the lowest, or any when `anywhere`.
    Spot cheapest(Index item, const std::vector<Bytes>& offsets, bool anywhere, Random& random);
    // The offset at which least stands in the way: what must go adds up by `weights` (by item), costs are
    // divided by `scale`. Without an offset when it has none even alone.
    Bytes least_in_the_way(Index item, const std::vector<Bytes>& offsets, const std::vector<double>& weights,
                           double scale, Random& random);
    // Calls f(other) for each item that must not overlap this one and does.
    template <class F>
    void visit_in_the_way(Index item, const std::vector<Bytes>& offsets, F&& f) const {
        const Bytes offset = offsets[item];
        for (const Relation& relation : relations_[item]) {
            const Bytes x = offsets[relation.other];
            if (x != kUnplaced && forbids(relation, x, offset)) f(relation.other);
        }
    }
    // The reuse costs of an item at its offset.
    Bytes cost_of(Index item, const std::vector<Bytes>& offsets) const;
    std::int64_t steps() const { return steps_; }  // relations looked at so far

  private:
    void list_relations(const Instance& instance, const Costs& costs);
    void find_free(Index item, const std::vector<Bytes>& offsets);
    void add_holes(Index item, const std::vector<Bytes>& offsets);
    void consider(Bytes offset, bool anywhere, Random& random);
    static bool forbids(const Relation& relation, Bytes x, Bytes offset) {
        if (relation.cost != kForbidden || (relation.hole != kNoHole && x + relation.hole == offset))
            return false;
        return x + relation.below < offset && offset < x + relation.above;
    }
    bool allowed(Index item, Bytes offset) const;
    Bytes next(Index item, Bytes from) const;

    Lists<Relation> relations_;  // by item
    Lists<Range> allowed_;       // by item; both ends belong to the range
    std::vector<Bytes> modulus_, residue_, tops_;
    Bytes height_ = kLimit;
    std::int64_t steps_ = 0;

    // Of the question at hand.
    std::vector<Range> taken_, free_, paid_;
    std::vector<Bytes> prices_;
    Spot best_;
    int equals_ = 0;
};

}  // namespace memstow::reuse
