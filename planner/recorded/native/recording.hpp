// What an allocator did on each device, as its users recorded it, and what follows: when each allocation
// lived, how much was reserved, and where the allocator itself put everything.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace memstow::recorded {

// The number of a text that says who allocated: a line of a program, or an operator.
using Label = std::uint32_t;
inline constexpr Label kNoLabel = 0;

// The texts of labels, each once.
class Labels {
  public:
    Label of(std::string_view text);
    const std::string& operator[](Label label) const { return texts_[label]; }

  private:
    std::vector<std::string> texts_{""};
    std::unordered_map<std::string, Label> numbers_;
};

enum class Action : std::uint8_t {
    kAlloc,
    kFree,  // completed: the free that the program requested earlier has no effect before
    kSegmentAlloc,
    kSegmentFree,
    kSegmentMap,
    kSegmentUnmap,
    kOther,  // counts as a moment in time
};

struct Event {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    std::int64_t stream = 0;
    Label label = kNoLabel;
    Action action = Action::kOther;
    bool is_dynamic = false;  // of a layer whose allocations differ from step to step
};

// A part of a segment that somebody still uses at the end.
struct Block {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    Label label = kNoLabel;
};

// A step of a training, as the recording numbers it, and the event that is the first behind its begin.
struct Iteration {
    std::size_t first_event;
    std::string name;
};

// Memory that the allocator has reserved at the end.
struct Segment {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    std::int64_t stream = 0;
    std::pair<std::int64_t, std::int64_t> pool{0, 0};  // that of a graph of CUDA, or of the user; else zeros
    std::vector<Block> blocks;
};

inline constexpr std::int64_t kUnknown = -1;
inline constexpr int kProcessor = 0;
inline constexpr int kGraphics = 1;

struct Device {
    int type = kGraphics;  // as PyTorch numbers types of devices
    std::int64_t number = 0;
    std::vector<Event> events;
    std::vector<Segment> segments;
    // Where events say how much the allocator has in all, and segments do not: the most that was reserved,
    // and what is allocated behind each event.
    std::int64_t most_reserved = kUnknown;
    std::vector<std::int64_t> totals;
    std::vector<Iteration> iterations;  // where the recording says which there are
};

inline constexpr std::size_t kSizeClasses = 16;

struct Recordings {
    Labels labels;
    std::vector<Device> devices;
    bool rounds = true;  // whether sizes are those that were asked for, which the allocator rounds
    bool has_settings = false;
    bool expandable_segments = false;
    // Into how many sizes the allocator divides each power of two, from 1 MiB on; 0: it does not.
    std::array<std::uint32_t, kSizeClasses> divisions{};
};

// The size of the block that the caching allocator makes for this many bytes.
std::int64_t rounded(std::int64_t size, const std::array<std::uint32_t, kSizeClasses>& divisions);

// In the place of a pool: what layers allocate that differ from step to step.
inline constexpr std::pair<std::int64_t, std::int64_t> kDynamicLayers{-1, -1};

// Memory that is not shared with other such pools: the allocator gives a freed block to its own stream alone,
// since others may still run what uses it, and graphs run again whenever they like.
struct StreamPool {
    std::int64_t stream = 0;
    std::pair<std::int64_t, std::int64_t> pool{0, 0};

    bool operator==(const StreamPool&) const = default;
};

// Bytes that one label holds at a moment.
struct User {
    Label label = kNoLabel;
    std::int64_t bytes = 0;
    std::int64_t count = 0;
};

// The allocations of one device, in their order: those that are there at the start, and then by event. Event
// number i of the recording happens at time i, from 1 on.
struct Lives {
    std::vector<std::int64_t> begins, ends, sizes, requested, offsets;
    std::vector<std::uint64_t> addresses;
    std::vector<Label> labels;
    std::vector<std::uint32_t> pools;  // by number in `stream_pools`
    std::vector<StreamPool> stream_pools;
    std::int64_t alignment = 1;  // of all addresses
    std::int64_t at_start = 0;   // how many allocations were made before the recording
    std::int64_t unpaired = 0;   // how many were ended by another one at their address, without an event
    std::int64_t end = 0;        // the time behind the last event
    std::int64_t unseen = 0;     // bytes that live all the time and are in no event
    std::int64_t reserved = kUnknown;  // the most at any time
    std::int64_t allocated = 0;        // the most at any time
    std::int64_t least = 0;            // what any plan needs: the most that each pool has live, added up
    std::int64_t requested_most = 0;   // the same, in bytes as the program requested them
    std::int64_t allocated_at = 0;     // when
    std::vector<User> users;           // when each pool has most live: of `least`, the largest first
};

// Throws Refused where sizes add up to more than a problem may have.
Lives lives(const Recordings& recordings, const Device& device);

// Readers of files; they throw Refused.
Recordings read_snapshot(std::string_view data);
Recordings read_trace(std::string_view text);
Recordings read_stalloc_log(std::string_view text);
// Whether this text of JSON is a trace: an object that lists events, not a problem.
bool is_trace(std::string_view text);

}  // namespace memstow::recorded
