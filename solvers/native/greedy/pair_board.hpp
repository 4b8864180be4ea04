// The placed parts, for small instances: those of a pool in the order of their offsets, and a bit for each
// pair that conflicts. Looking along the list and testing a bit beats any tree up to some thousands of parts.
#pragma once

#include <cstdint>
#include <vector>

#include "core/instance.hpp"

namespace memstow::greedy {

// The most parts for which it is the quicker of the two boards.
inline constexpr std::size_t kMostPairParts = 2048;

class PairBoard {
  public:
    explicit PairBoard(const Instance& instance);

    // A walk upwards past what a part may not overlap. `apart` takes pairs with a reuse cost as conflicts.
    struct Aim {
        const std::uint64_t* conflicts = nullptr;
        std::size_t pool = 0;
        std::size_t next = 0;  // in the list of the pool
        Bytes size = 0;
        Bytes reach = 0;  // the largest end of a conflicting part before `next`
    };
    void aim(Index part, Index pool, bool apart, Aim& aim) const;

    // The least offset, at `from` or above, that is free for the part. `from` never decreases in one aim.
    Bytes next_free(Aim& aim, Bytes from) const;
    // Where the next obstacle above the last answer of next_free begins; kLimit when there is none.
    Bytes gap_end(Aim& aim) const;
    // The end of the highest obstacle.
    Bytes top(Aim& aim) const;
    // Whether the part may be exactly there, on an in-place partner that starts there included.
    bool free_at(Index part, Index pool, Bytes offset) const;

    void put(Index part, Index pool, Bytes offset);
    void clear();

    bool knows_exempt() const { return true; }

  private:
    struct Placed {
        Bytes begin;
        Bytes end;
        Index part;
    };
    static bool test(const std::uint64_t* row, Index part) { return (row[part >> 6] >> (part & 63)) & 1; }
    void set(std::vector<std::uint64_t>& matrix, Index a, Index b, bool value) const;
    const std::uint64_t* row(const std::vector<std::uint64_t>& matrix, Index part) const {
        return matrix.data() + part * words_;
    }

    const Instance& instance_;
    std::size_t words_;                   // of a row of a matrix
    std::vector<std::uint64_t> hard_;     // may not overlap; in-place pairs are among them
    std::vector<std::uint64_t> apart_;    // hard_ and the pairs with a reuse cost; empty when there are none
    std::vector<std::uint64_t> inplace_;  // empty when there are none
    std::vector<std::vector<Placed>> placed_;  // by pool, by begin
};

}  // namespace memstow::greedy
