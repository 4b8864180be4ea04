// Sweeps of the judge over time: which lives meet in memory, and how many bytes are in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "places.hpp"
#include "sorting.hpp"

namespace memstow::judge {

inline constexpr std::int64_t kAlone = -1;

// Lives of buffers in one pool, one entry each, at least one byte and one moment long. Offsets and sizes are
// at most 2^62. A buffer with several lives has an entry for each.
struct Lives {
    std::span<const std::int64_t> begins;
    std::span<const std::int64_t> ends;
    std::span<const std::int64_t> offsets;
    std::span<const std::int64_t> sizes;
    // What may share bytes with the others of its group, or kAlone.
    std::span<const std::int64_t> groups;
};

bool are_sound(const Lives& lives);

// Goes through the lives by begin and meets those that share a byte at one moment, but not those of one
// group.
//
// The ranges in use that are apart are kept in order, so that a life is compared with its neighbours alone.
// Ranges that overlap others, rightly or not, and those of groups are in a tree that expects overlaps.
class Sweep {
  public:
    using Pair = std::pair<std::size_t, std::size_t>;

    explicit Sweep(const Lives& lives);
    // Its nodes are in memory of its own.
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;
    ~Sweep() = default;

    // The next pairs that meet, the later one first: at least so many if there are, and what else the last
    // of these lives meets. None at the end.
    std::vector<Pair> next(std::size_t count);

    // Of all lives so far, each byte counted as often as it is in use.
    const Most& most() const { return most_; }

  private:
    struct Life {
        std::int64_t begin, end, low, last, group;
        std::size_t number;
    };

    // The furthest byte below a node, its group, and the furthest byte of any other group; -1: nothing.
    struct Reach {
        std::int64_t last = kNothing;
        std::int64_t group = kNobody;
        std::int64_t other_last = kNothing;
    };
    static constexpr std::int64_t kNothing = -1;
    static constexpr std::int64_t kNobody = -2;

    void enter(std::size_t tag, std::vector<Pair>& pairs);
    void leave(std::size_t tag);
    bool is_free(const Life& life) const;
    void meet_overlaid(std::size_t tag, std::vector<Pair>& pairs) const;
    void meet_apart(std::size_t tag, std::vector<Pair>& pairs) const;
    void overlay();
    void set(std::size_t tag, std::int64_t last, std::int64_t group);

    std::vector<Life> lives_;  // by begin
    std::vector<std::size_t> ending_;
    std::size_t entered_ = 0;
    std::size_t ended_ = 0;
    Wide live_ = 0;
    Most most_;

    NodePool nodes_;
    std::pmr::map<std::int64_t, std::size_t> apart_{&nodes_};  // by first byte

    // Empty until a range overlaps another or is in a group. Leaf i is the life tags_[i], by first byte.
    std::vector<Reach> reaches_;
    std::vector<std::size_t> tags_;
    std::vector<std::size_t> ranks_;
    std::size_t leaves_ = 0;
};

// The same with each byte counted once, groups or not.
Most most_occupied(const Lives& lives);

}  // namespace memstow::judge
