// The ground of a layout that is built upwards: stretches of rows, each with a floor. The lowest is built on
// next. All in the header, to be inlined: every box of a layout asks for it.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/instance.hpp"

namespace memstow::improve {

class Ground {
  public:
    struct Stretch {
        Index begin;
        Index end;
        Index left;  // -1: none
        Index right;
        Bytes floor;
        int version;
    };

    // One stretch, at 0.
    void flatten(Index rows) {
        stretches_.assign(1, {0, rows, -1, -1, 0, 0});
        turns_.assign(1, {0, 0, 0});
    }

    const Stretch& operator[](Index stretch) const { return stretches_[stretch]; }

    // The lowest stretch, of several the one made first. Whoever takes it lifts or raises it.
    Index take_lowest() {
        while (true) {
            std::pop_heap(turns_.begin(), turns_.end(), std::greater<>());
            const Turn turn = turns_.back();
            turns_.pop_back();
            if (stretches_[turn.stretch].version == turn.version) return turn.stretch;
        }
    }

    // Up to the lower neighbour, with which it becomes one; false when there is none.
    bool lift(Index stretch) {
        Stretch& s = stretches_[stretch];
        const Bytes left = s.left < 0 ? kLimit : stretches_[s.left].floor;
        const Bytes right = s.right < 0 ? kLimit : stretches_[s.right].floor;
        s.floor = std::min(left, right);
        if (s.floor == kLimit) return false;
        if (left == s.floor) join_left(stretch);
        if (right == s.floor) join_right(stretch);
        push({s.floor, stretch, ++s.version});
        return true;
    }

    // The rows from begin to end rise to a new floor; what is left of the stretch on either side stays.
    void raise(Index stretch, Index begin, Index end, Bytes floor) {
        const Stretch before = stretches_[stretch];
        Index left = before.left;
        Index right = before.right;
        if (before.begin < begin) left = add({before.begin, begin, left, stretch, before.floor, 0});
        if (end < before.end) right = add({end, before.end, stretch, right, before.floor, 0});
        Stretch& s = stretches_[stretch];
        s = {begin, end, left, right, floor, before.version + 1};
        if (left >= 0 && stretches_[left].floor == floor) join_left(stretch);
        if (right >= 0 && stretches_[right].floor == floor) join_right(stretch);
        push({floor, stretch, s.version});
    }

  private:
    struct Turn {
        Bytes floor;
        Index stretch;
        int version;
        bool operator>(const Turn& o) const {
            return floor != o.floor ? floor > o.floor : stretch > o.stretch;
        }
    };

    void push(const Turn& turn) {
        turns_.push_back(turn);
        std::push_heap(turns_.begin(), turns_.end(), std::greater<>());
    }

    Index add(const Stretch& stretch) {
        const Index added = count_of(stretches_);
        stretches_.push_back(stretch);
        if (stretch.left >= 0) stretches_[stretch.left].right = added;
        if (stretch.right >= 0) stretches_[stretch.right].left = added;
        push({stretch.floor, added, 0});
        return added;
    }

    // The stretch takes in its neighbour, whose turns are void from then on.
    void join_left(Index stretch) {
        Stretch& s = stretches_[stretch];
        Stretch& gone = stretches_[s.left];
        s.begin = gone.begin;
        s.left = gone.left;
        ++gone.version;
        if (s.left >= 0) stretches_[s.left].right = stretch;
    }
    void join_right(Index stretch) {
        Stretch& s = stretches_[stretch];
        Stretch& gone = stretches_[s.right];
        s.end = gone.end;
        s.right = gone.right;
        ++gone.version;
        if (s.right >= 0) stretches_[s.right].left = stretch;
    }

    std::vector<Stretch> stretches_;
    std::vector<Turn> turns_;  // a heap; void where the version has changed
};

}  // namespace memstow::improve
