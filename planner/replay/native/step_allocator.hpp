// Gives the allocations of a step that repeats the places that a plan has for them.
#pragma once

#include <optional>
#include <vector>

#include "live_ranges.hpp"
#include "step_follower.hpp"
#include "step_table.hpp"

namespace memstow::replay {

// A queue of a device, which runs beside the others. Only told apart.
using Stream = const void*;

// Whatever a step allocates and frees, in whatever order: a place is only given away while no live allocation
// has a byte of it, and nothing on another stream may still use what had it last. Knows offsets in an arena,
// not the memory itself. Not thread safe.
class StepAllocator {
  public:
    explicit StepAllocator(const StepTable& table);

    // The next allocation is the first of a step, all of whose allocations are on this stream. What is live
    // stays so. Where another stream had the arena, the caller has waited for what ran there.
    void begin_step(Stream stream);
    // The offset of an allocation of this size: where the plan has it, or another place where allocations of
    // this size are if that one is taken. Nothing where it is not one of the recorded step, or there is no
    // place for it.
    std::optional<Bytes> allocate(Bytes size);
    // The allocation at this offset is in use on this stream too: if that is another than it was made on, it
    // keeps its place, once it is freed, until `release_held`. False where no live allocation begins there.
    bool share(Bytes offset, Stream stream);
    // The allocation at this offset is freed on this stream, and keeps its place likewise if that is another,
    // or the stream of the steps is. False where no live allocation begins there.
    bool free(Bytes offset, Stream stream);
    // Something that has no place here, but was allocated in this step, is freed.
    void free_elsewhere(Bytes size) { follower_.freed(size); }
    // Nothing uses any longer what was freed.
    void release_held();

    const StepFollower& follower() const { return follower_; }
    // How many allocations the recorded step has.
    std::size_t recorded() const { return entries_.size(); }
    bool has_held() const { return !held_.empty(); }
    // Allocations that are live.
    std::size_t live() const { return live_count_; }
    // The end of the highest allocation that there ever was.
    Bytes high_water() const { return high_water_; }
    // Allocations of the recorded step for which there was no place.
    std::uint64_t taken() const { return taken_; }

  private:
    enum class Use : std::uint8_t { none, live, shared, held };

    struct Entry {
        Bytes size;
        Bytes offset;
        Index place;  // of the offset among the live ranges
        Index below;  // how many places are below its end
        Index from;   // the event after which it is live
        Index until;  // the event before which it is
        Index size_number;
    };

    struct Place {
        Bytes size = 0;           // of what is live
        std::uint64_t step = 0;   // in which that was allocated
        Stream stream = nullptr;  // on which it was
        Use use = Use::none;
    };

    // Comparisons by which another place is looked for: in most cases a thousandth of them is enough. All
    // together take less time than an allocation of device memory.
    static constexpr int kMostComparisons = 1 << 15;

    // The place of an entry if allocations that are still to come leave it alone; kNone if there is none.
    Index other_place(const Entry& entry) const;
    bool is_planned(const Entry& entry, Bytes begin, int& comparisons) const;

    LiveRanges live_;
    StepFollower follower_;
    std::vector<Entry> entries_;
    std::vector<StepEvent> events_;
    std::vector<std::vector<Index>> places_of_size_;
    std::vector<Place> places_;
    std::vector<Index> held_;
    std::uint64_t step_ = 0;
    Stream stream_ = nullptr;
    std::size_t live_count_ = 0;
    Bytes high_water_ = 0;
    std::uint64_t taken_ = 0;
};

}  // namespace memstow::replay
