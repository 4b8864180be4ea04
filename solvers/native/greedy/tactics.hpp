// How a greedy pass decides: where in a pool, and in which pool.
#pragma once

#include "core/instance.hpp"

namespace memstow::greedy {

enum class Rule {
    lowest,  // the least offset that is free
    best,    // the gap that leaves the least room, the open end only when no gap is large enough
    heap,    // the same, and the room below the pool's peak so far is a gap like any other, as in XLA
    top,     // above everything that conflicts, as TVM's greedy does: quick, leaves gaps
};

enum class PoolRule {
    preferred,  // the first choice in which the item fits
    cheapest,   // the same, choices by their placement cost
    flattest,   // the choice that raises its pool's peak least
    level,      // the choice that raises the highest of all peaks least, then its pool's, then ends lowest
};

struct Tactics {
    Rule rule = Rule::lowest;
    PoolRule pools = PoolRule::preferred;
    bool share = true;  // take the place of an in-place partner wherever allowed
    // Keep pairs with a reuse cost apart as long as the item ends at `ceiling` or below.
    bool apart = false;
    Bytes ceiling = kLimit;
    bool keep = false;  // stay where the hint says wherever that is free
};

}  // namespace memstow::greedy
