// All of a problem with symbols but the sizes: lives, pools, and what holds between buffers. It shares no
// code with the solvers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "places.hpp"

namespace memstow::judge {

// Two buffers, the one with the lower number first.
struct BufferPair {
    std::size_t first, second;
    auto operator<=>(const BufferPair&) const = default;
};

// `buffer` begins so far above `base`.
struct Tie {
    std::size_t buffer, base;
    std::int64_t distance;
};

// Lists one behind the other: list i is `values[start[i]]` to, but not including, `values[start[i + 1]]`.
template <class Value>
struct ListsOf {
    std::vector<std::size_t> start{0};
    std::vector<Value> values;

    std::span<const Value> operator[](std::size_t i) const {
        return {values.data() + start[i], start[i + 1] - start[i]};
    }
    std::size_t count() const { return start.size() - 1; }
};

// Offsets `first`, `first + step` and so on; `first` is below the step.
struct Grid {
    Wide step = 1, first = 0;
};

// Offsets on both grids; nothing where there are none, or less than two up to 2^62.
std::optional<Grid> both(const Grid& one, const Grid& other);

// Buffers that keep their distances are a unit; one that nothing ties is a unit alone.
struct Units {
    std::vector<std::size_t> unit;  // by buffer
    std::vector<std::int64_t> at;   // by buffer, from the lowest of its unit
    ListsOf<std::size_t> members;   // by unit, the lowest first

    // `loose`: buffers that are a unit alone, while those that are tied through them keep their distances.
    // Nothing where ties contradict each other, or a distance is above 2^62.
    static std::optional<Units> of(std::size_t count, std::span<const Tie> ties,
                                   const std::vector<bool>& loose);

    // Where the lowest of a unit may begin so that these of its members are aligned; see `both`.
    std::optional<Grid> grid_of(std::span<const std::size_t> members,
                                std::span<const std::int64_t> alignments) const;
};

// Whether one buffer may share bytes with another while both live.
struct Partner {
    std::size_t other;
    bool in_place;  // only where both begin together; else anywhere
};

// What is counted of the peaks of the pools.
enum class Goal { sum, largest, one };

class Frame {
  public:
    struct Parts {
        std::vector<std::int64_t> begins, ends, alignments;  // by buffer
        std::vector<std::int64_t> pins;                      // by buffer, -1 where it is free; or nothing
        std::vector<std::uint64_t> allowed;                  // by buffer, the bits of its pools
        std::vector<std::int64_t> capacities;                // by pool, of at most 62
        std::vector<BufferPair> conflicts, exclusive, in_place;
        std::vector<Tie> ties;
    };

    // Nothing where the parts are not sound: numbers that are none of a buffer or pool, pairs of one buffer,
    // lives without a moment, alignments below 1, ties that contradict each other.
    static std::optional<Frame> of(Parts parts);

    std::size_t count() const { return parts_.begins.size(); }
    std::size_t pools() const { return parts_.capacities.size(); }
    const Parts& parts() const { return parts_; }
    // By buffer, those that may share its bytes, by number.
    const ListsOf<Partner>& partners() const { return partners_; }
    // Buffers with bytes of one group may share these.
    bool are_in_one_group(std::size_t one, std::size_t other) const {
        return has_groups_ && groups_.unit[one] == groups_.unit[other];
    }
    // All of the group of this buffer; nothing where there are no groups at all.
    std::span<const std::size_t> group_of(std::size_t buffer) const {
        if (!has_groups_) return {};
        return groups_.members[groups_.unit[buffer]];
    }
    // Buffers by when they begin to live, and by when they end.
    std::span<const std::size_t> beginning() const { return beginning_; }
    std::span<const std::size_t> ending() const { return ending_; }

    // Whether there is a size for each buffer, from 0 to 2^62.
    bool is_sound(std::span<const std::int64_t> sizes) const;

    // No layout with these sizes has less, of the peaks of the pools; `pool`: which of them is the one. At
    // most 2^63 - 1; 0 of sizes that are not sound.
    std::int64_t least(std::span<const std::int64_t> sizes, Goal goal, std::size_t pool) const;

  private:
    struct Load;

    std::vector<std::uint64_t> pools_for(std::span<const std::int64_t> sizes) const;
    std::vector<Load> loads(std::span<const std::int64_t> sizes, std::span<const std::uint64_t> pools,
                            std::uint64_t only) const;
    std::vector<std::size_t> apart(std::span<const std::int64_t> sizes, std::span<const std::uint64_t> pools,
                                   std::uint64_t only, std::int64_t moment) const;
    Load load_of(std::span<const std::int64_t> sizes, std::span<const std::size_t> buffers) const;
    Wide least_in(std::span<const std::int64_t> sizes, std::span<const std::uint64_t> pools,
                  std::uint64_t only) const;

    Parts parts_;
    ListsOf<Partner> partners_;
    Units groups_;  // empty without groups
    bool has_groups_ = false;
    std::vector<std::size_t> beginning_, ending_;
};

}  // namespace memstow::judge
