// Sets of operators from which no order ends within the limit. Sets are compared whole: equal hashes prove
// nothing.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "order/words.hpp"

namespace memstow::order {

// A set, and where it must lead: to the set `commit`, or, where that is empty, to any of the next.
struct DeadSet {
    std::vector<Word> words, commit;
};

class DeadSets {
  public:
    // Sets of numbers below `size`; takes no more bytes than `most`.
    DeadSets(Index size, std::size_t most);

    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    // The number of a set, in the order in which they were added; kNone where it is not there.
    std::size_t find(std::span<const Word> set, Word hash) const;
    bool has(std::span<const Word> set, Word hash) const { return find(set, hash) != kNone; }
    // False where there is no room for one more.
    bool add(std::span<const Word> set, Word hash);
    void clear();
    std::size_t count() const { return count_; }
    bool half_full() const { return count_ >= most_ / 2; }
    std::span<const Word> operator[](std::size_t k) const {
        return {&blocks_[k / kInBlock][k % kInBlock * width_], width_};
    }

  private:
    static constexpr std::size_t kInBlock = 256;
    std::size_t slot_of(std::span<const Word> set, Word hash) const;
    void grow();

    struct Slot {
        std::uint32_t number = 0;  // of the set, from 1; 0: free
        std::uint32_t hash = 0;
    };
    std::size_t width_, most_, count_ = 0;
    std::vector<std::vector<Word>> blocks_;  // of sets: one long array would be copied, and half empty
    std::vector<Word> hashes_;
    std::vector<Slot> slots_;
};

}  // namespace memstow::order
