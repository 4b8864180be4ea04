// Offsets that follow from a sequence: each item is above those before it that are in its way, at every
// point.
#pragma once

#include <vector>

#include "core/instance.hpp"
#include "shapes/shaped.hpp"

namespace memstow::shapes {

// How good a layout is: first that it fits, then by what is wanted.
struct Quality {
    double excess = 0;  // bytes above the limits, at the largest sizes
    double value = 0;
    bool better_than(const Quality& other) const {
        return excess != other.excess ? excess < other.excess : value < other.value;
    }
};

enum class Aim { kWorst, kSum, kFirst };

// A sequence of items and a choice of pool for each. A step can be taken back once.
class SequenceLayout {
  public:
    SequenceLayout(const Shaped& shaped, Aim aim, std::vector<Index> sequence, std::vector<Index> choices);

    const std::vector<Index>& sequence() const { return sequence_; }
    const std::vector<Index>& choices() const { return choice_; }
    Index place_of(Index item) const { return place_[item]; }
    const Quality& quality() const { return quality_; }
    // The objective by point.
    const std::vector<Bytes>& peaks() const { return peaks_; }
    double ratio(Index point) const;
    // Of work, each of some nanoseconds.
    std::int64_t steps() const { return steps_; }

    // The item goes to this place of the sequence.
    void move(Index item, Index place);
    // The item goes to another of its pools.
    void choose(Index item, Index choice);
    void take_back();

    // At a point, the items that the peak of a pool is made of, from the top down.
    void tower(Index point, Index pool, std::vector<Index>& items);
    // The pool whose peak counts at the point: of several, the highest.
    Index highest_pool(Index point) const;

  private:
    struct Undo {
        Index item;
        std::size_t from;  // in saved_
    };
    enum class Step { kNone, kMove, kChoose };

    const Choice& chosen(Index item) const { return shaped_.choices[item][choice_[item]]; }
    Bytes* offsets(Index item) { return offsets_.data() + at(item); }
    const Bytes* offsets(Index item) const { return offsets_.data() + at(item); }
    std::int64_t at(Index item) const { return item * columns_; }
    // The peaks of a pool, by point.
    Bytes* row_of(Index pool) { return pool_peaks_.data() + std::ptrdiff_t{shaped_.points} * pool; }
    const Bytes* row_of(Index pool) const {
        return pool_peaks_.data() + std::ptrdiff_t{shaped_.points} * pool;
    }
    void shift(Index from, Index to);
    void mark_links(Index item);
    void settle(Index first);
    void settle_by_lives();
    void raise_above(Index lower, const Gap& gap, Bytes* own) const;
    double align(const Choice& choice, Bytes* own) const;
    bool place(Index item);
    void measure();
    double value() const;

    const Shaped& shaped_;
    Aim aim_;
    std::int64_t columns_;
    std::vector<Index> sequence_;
    std::vector<Index> place_;
    std::vector<Index> choice_;
    std::vector<Bytes> offsets_;     // by item and column
    std::vector<double> over_;       // by item: bytes above its limit
    std::vector<Bytes> pool_peaks_;  // by pool and point
    std::vector<Bytes> peaks_;
    Quality quality_;
    std::vector<char> dirty_;
    std::vector<Bytes> fresh_;
    std::int64_t steps_ = 0;

    Step last_ = Step::kNone;
    Index last_item_ = 0;
    Index last_from_ = 0;
    std::vector<Undo> undo_;
    std::vector<Bytes> saved_;
    std::vector<double> saved_over_;
    std::vector<Bytes> saved_pool_peaks_;
    std::vector<Bytes> saved_peaks_;
    Quality saved_quality_;
};

}  // namespace memstow::shapes
