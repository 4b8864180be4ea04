// How good a layout is: exact integers compared term by term, in the order the caller gives the terms.
// Before every term comes what must be nothing in a plan: items without a place, bytes beyond a capacity.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "core/instance.hpp"

namespace memstow {

// Wide enough for a sum of peaks over pools or of any costs.
__extension__ typedef __int128 Value;

enum class TermKind {
    peak,            // sum over pools of the largest end of a part
    pool_peak,       // the same of one pool
    max_peak,        // the largest of the pools' peaks
    placement_cost,  // sum of the costs of the choices taken
    reuse_cost,      // sum over the pairs that overlap by a byte in one pool
    moves,           // buffers of the hint that are not where it has them
    preference,      // sum of the bytes of the choices taken times their places in the order of preference
    bank_cost,       // sum over the pairs that touch one bank
};

struct Term {
    TermKind kind;
    Index pool = -1;  // for pool_peak
};

struct Score {
    Index unplaced = 0;
    Index broken = 0;  // pairs that touch one bank and may not, and items where banks do not let them be
    Value overflow = 0;
    std::vector<Value> values;  // by term

    bool fits() const { return unplaced == 0 && broken == 0 && overflow == 0; }
    auto operator<=>(const Score&) const = default;
};

// No layout whose earlier terms are within the locks has less of this term.
struct LockedBound {
    Index term;
    Value value;
    std::vector<Value> locks;   // by earlier term
    std::int64_t searches = 0;  // complete ones that prove it; 0: it needs none
};

// Buffers that stay where the hint has them when the item is at this place.
struct Kept {
    Index item;
    Place place;
    std::int64_t count;
};

// A hint: where items are wished to be, and the places that moves are counted from.
struct Hint {
    Layout places;             // by item; empty: nowhere
    std::vector<Kept> kept;    // all else is a move
    std::int64_t buffers = 0;  // that the hint places
};

// Whether two parts of this layout touch one bank.
bool share_bank(const Instance& instance, const Layout& layout, Index first, Index second);

// Largest end of a part, by pool.
std::vector<Bytes> pool_peaks(const Instance& instance, const Layout& layout);

class Scorer {
  public:
    Scorer(const Instance& instance, std::vector<Term> terms, Hint hint = {});

    Score operator()(const Layout& layout) const;
    const std::vector<Term>& terms() const { return terms_; }
    const Layout& hint() const { return hint_.places; }
    const Hint& whole_hint() const { return hint_; }

  private:
    Value value(const Term& term, const Layout& layout, const std::vector<Bytes>& peaks) const;
    Value sum_of(std::int64_t Choice::* what, const Layout& layout) const;
    Value reuse_cost(const Layout& layout) const;
    Value bank_cost(const Layout& layout) const;
    Value moves(const Layout& layout) const;

    const Instance& instance_;
    std::vector<Term> terms_;
    Hint hint_;
};

}  // namespace memstow
