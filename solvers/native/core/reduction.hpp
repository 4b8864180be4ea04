// A problem of buffers and pools as the arrays that solvers take, and what must be known to get back. Rigid
// groups become one item, and all sizes and offsets are divided by their common unit: a plan can be pressed
// down until every offset is a sum of sizes and given offsets, so no optimum is lost. Buffers of size 0 are
// placed here, since nothing depends on where they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/bounds.hpp"
#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow {

struct PoolDescription {
    Bytes capacity = kLimit;  // kLimit without an end
    std::int64_t alignment = 1;
    Bytes base = 0;               // the address of offset 0: base + offset is aligned
    std::int64_t cost = 0;        // of one access
    std::vector<Range> reserved;  // within the capacity, in any order
    std::vector<Range> banks;     // by address, disjoint; only where something depends on them
};

// Buffers of one kind have one alignment and may go to the same pools, preferred first.
struct BufferKind {
    std::int64_t alignment = 1;
    std::vector<Index> pools;
};

// A buffer at a fixed distance from another one, in the same pool.
struct Tie {
    Index buffer;
    Index base;
    Bytes distance;
};

struct Description {
    using Pairs = std::vector<std::pair<Index, Index>>;

    std::vector<PoolDescription> pools;
    std::vector<BufferKind> kinds;
    // By buffer.
    std::span<const std::int64_t> sizes;
    std::vector<Index> kind_of;
    std::vector<Bytes> pins;                 // its offset, or kUnplaced; empty: none has one
    std::span<const std::int64_t> accesses;  // empty: pools cost nothing
    Lists<Lifetime> lives;                   // sorted, disjoint
    // Between buffers. Ties contradict neither each other nor the pins.
    std::vector<Tie> ties;
    Pairs conflicts;
    Pairs exclusive;
    Pairs in_place;
    std::vector<ReuseCost> reuse;       // of buffers
    std::vector<Index> within_bank;     // buffers whose bytes are all in one bank
    Pairs in_banks;                     // of a buffer and a bank that its bytes may be in
    Pairs apart;                        // buffers that may not touch one bank
    std::vector<ReuseCost> bank_costs;  // of buffers that do; several of one pair add up
    std::vector<Bytes> usable;          // offsets that items must be able to have
    bool ranks = false;                 // whether preferences count
    std::optional<Bytes> unit;          // instead of the greatest
};

struct TiedStep {
    Index to;  // of a representative, itself
    WideBytes distance = 0;
};

// Tied buffers and their distances, updated tie by tie. `Steps` is a vector of them: whoever keeps the
// distances says where their memory is from.
template <class Steps>
class DistancesIn {
  public:
    explicit DistancesIn(Steps steps = Steps()) : steps_(std::move(steps)) {}

    // Puts the buffer at this distance from the base; the distance that it has, where they are tied already.
    std::optional<WideBytes> tie(const Tie& tie) {
        for (Index buffer = count_of(steps_); buffer <= std::max(tie.buffer, tie.base); ++buffer) {
            steps_.push_back({buffer});
        }
        const auto [root, at] = find(tie.buffer);
        const auto [base_root, base_at] = find(tie.base);
        if (root == base_root) return at - base_at;
        steps_[root] = {base_root, base_at + tie.distance - at};
        return std::nullopt;
    }

    // The representative of the buffer's group, and its distance from that.
    std::pair<Index, WideBytes> find(Index buffer) {
        if (buffer >= count_of(steps_)) return {buffer, 0};
        Index root = buffer;
        WideBytes total = 0;
        for (; steps_[root].to != root; root = steps_[root].to) total += steps_[root].distance;
        // The next search is a short one.
        for (WideBytes rest = total; buffer != root;) {
            TiedStep& step = steps_[buffer];
            buffer = std::exchange(step.to, root);
            rest -= std::exchange(step.distance, rest);
        }
        return {root, total};
    }

  private:
    Steps steps_;  // by buffer, as far as some are tied
};

using Distances = DistancesIn<std::vector<TiedStep>>;

// Two buffers or more, and their distances from the lowest of them.
struct Group {
    std::vector<Index> members;
    std::vector<Bytes> deltas;
};

// The groups in the order of their first buffers. A buffer of size 0 passes on the distances of those that
// are tied through it, and is in no group itself.
std::vector<Group> rigid_groups(std::span<const std::int64_t> sizes, std::span<const Tie> ties);

struct Reduction {
    struct Alone {
        Index buffer;
        Place place;  // in bytes
    };

    Instance instance;                               // without rows: `assemble_rows` makes them
    std::vector<std::pair<Index, Index>> conflicts;  // of parts
    Bytes unit = 1;
    std::vector<Index> buffers;   // by part
    std::vector<Alone> alone;     // the buffers of size 0
    Value least_cost = 0;         // of all accesses, each in the cheapest pool that is allowed
    std::vector<Index> homeless;  // a buffer or a group that has no place even alone; then all else is empty
};

Reduction reduced(const Description& description);

// A hint that has the buffers of the parts at these places, in bytes: nowhere at kUnplaced, and in none of
// these pools where the number is -1. An item is wished to be where its first buffer is.
Hint hint_of(const Instance& instance, Bytes unit, std::span<const Place> places);

// The units up to which the items reach at most, one on top of the other.
WideBytes stacked(const Instance& instance);

}  // namespace memstow
