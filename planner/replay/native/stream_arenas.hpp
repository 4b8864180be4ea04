// The arenas of a device: one for each stream of the recorded step.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "step_allocator.hpp"
#include "step_table.hpp"

namespace memstow::replay {

// Streams have other names in each process, so which arena one has shows while steps run. The first is that
// of the stream on which the step begins. Of the others a stream gets, with its first allocation of a step,
// the one that it had before, or else one whose table begins with an allocation of this size, or has any and
// was nobody's.
// Where that is wrong few allocations have a place, and another stream gets the arena in the next step. No
// arena goes from one stream to another without a wait for the device.
//
// Knows offsets in arenas, not the memory itself. Not thread safe.
class StreamArenas {
  public:
    // `wait` waits for everything that runs on the device.
    StreamArenas(const std::vector<StepTable>& tables, std::function<void()> wait);

    void begin_step(Stream stream);
    // The arena in which allocations of this stream have their places in this step, of which one of this size
    // is to come. Nothing where the recorded step has no such stream.
    std::optional<std::size_t> arena_of(Stream stream, Bytes size);
    // The same of a stream that allocates nothing now.
    std::optional<std::size_t> arena_of(Stream stream) const;
    std::optional<Bytes> allocate(std::size_t arena, Bytes size);

    StepAllocator& plan(std::size_t arena) { return arenas_[arena].plan; }
    // Of all arenas together.
    std::size_t live() const;
    Bytes high_water() const;
    std::uint64_t taken() const;

  private:
    struct Arena {
        StepAllocator plan;
        std::size_t placed = 0;    // allocations of this step
        Stream stream = nullptr;   // the last that had it
        bool is_used = false;      // there was one
        bool is_claimed = false;   // it has it in this step
        bool is_withheld = false;  // from that stream in this step
        bool is_settled = false;   // the step before went well there
    };

    static bool is_in_vain(const Arena& arena);
    // How much speaks for this stream; 0: nothing.
    static int likeness(const Arena& arena, Stream stream, Bytes size);
    void claim(Arena& arena, Stream stream);
    void wait_for_device();

    std::vector<Arena> arenas_;
    std::function<void()> wait_;
    bool is_one_without_ = false;  // stream without an arena, in this step, though one would be like it
};

}  // namespace memstow::replay
