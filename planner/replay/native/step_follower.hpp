// Tells which recorded allocation each allocation of a step is, while the step runs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "live_ranges.hpp"
#include "step_table.hpp"

namespace memstow::replay {

// As long as events come as they were recorded, each is compared with one: the next. From the first that does
// not, the follower counts for each place within a window of the recorded step how many events must have been
// left out, added or resized if the step is there (Sellers, The theory and computation of evolutionary
// distances, 1980), and takes the step to be where these are fewest. When enough events in a row are the
// recorded ones, it is sure again. Frees are as telling as allocations: two steps with the same sizes rarely
// free them in the same order.
class StepFollower {
  public:
    explicit StepFollower(const StepTable& table);

    // The next event is the first of a step.
    void begin_step();
    // The recorded allocation that one of this size is; kNone if it is none. None is returned twice in a
    // step.
    Index allocated(Bytes size);
    // Something of this size was freed that was allocated in this step.
    void freed(Bytes size);
    // Whether the first recorded allocation has this size, and whether any has.
    bool begins_with(Bytes size) const;
    bool has(Bytes size) const { return kind_of(size, false) < kUnknown; }

  private:
    // Twice the number of the size, and one more for a free.
    using Kind = std::uint32_t;

    struct Event {
        Bytes size;
        Index allocation;
        Kind kind;
        std::uint32_t step;  // in which it was last taken for one that happened
    };

    // Of a size that no recorded event has, which is equal to no kind.
    static constexpr Kind kUnknown = UINT32_MAX - 1;
    // Places before which the step may be: the one with the number 0 is `base_`, and the step is rarely
    // further away than half of the others. More of them change no hit rate at five events in a hundred that
    // differ.
    static constexpr Index kWindow = 64;
    // Events in a row after which there is no doubt. With half of them some hits are lost.
    static constexpr int kEnough = 16;

    Index follow(Bytes size, bool is_free);
    Index search(Kind kind);
    Kind kind_of(Bytes size, bool is_free) const;
    bool is_open(Index event) const { return events_[event].step != step_; }

    Bytes unit_;
    NumberIndex sizes_;
    std::vector<Event> events_;
    std::uint32_t step_ = 1;
    Index position_ = 0;  // the event that is expected next
    bool is_sure_ = true;
    int in_a_row_ = 0;
    Index base_ = 0;
    std::array<int, kWindow + 1> differences_{};  // if the step is before the event base_ + i
    std::array<int, kWindow + 1> next_{};
};

}  // namespace memstow::replay
