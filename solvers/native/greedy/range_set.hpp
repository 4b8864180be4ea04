// A set of bytes as sorted, disjoint ranges that do not touch. Well packed memory is a few long ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "core/instance.hpp"

namespace memstow::greedy {

// Half-open, in numbers of this kind.
template <class Offset>
struct Taken {
    Offset begin;
    Offset end;
};

// Of a million buffers there are millions of sets, many of them empty: a set is a pointer to a block, its
// count, its room and its ranges.
template <class Offset>
class RangeSet {
  public:
    using Range = Taken<Offset>;

    void insert(Range added) {
        Range* const first = std::lower_bound(ranges(), ranges() + count(), added.begin,
                                              [](const Range& r, Offset begin) { return r.end < begin; });
        Range* const end = ranges() + count();
        if (first == end || first->begin > added.end) {
            insert_at(first - ranges(), added);
            return;
        }
        Range* last = first;
        while (last + 1 != end && (last + 1)->begin <= added.end) ++last;
        first->begin = std::min(first->begin, added.begin);
        first->end = std::max(last->end, added.end);
        block_->count -= last - first;
        std::copy(last + 1, end, first + 1);
    }
    bool empty() const { return count() == 0; }
    void clear() {
        if (block_ != nullptr) block_->count = 0;
    }
    const Range* begin() const { return ranges(); }
    const Range* end() const { return ranges() + count(); }

  private:
    struct Block {
        std::uint32_t count;
        std::uint32_t room;
    };
    static_assert(sizeof(Block) % alignof(Range) == 0);
    struct Release {
        void operator()(Block* block) const { ::operator delete(block); }
    };

    std::uint32_t count() const { return block_ == nullptr ? 0 : block_->count; }
    Range* ranges() const { return block_ == nullptr ? nullptr : reinterpret_cast<Range*>(block_.get() + 1); }

    void insert_at(std::size_t place, Range added) {
        if (block_ == nullptr || block_->count == block_->room) grow();
        Range* const at = ranges() + place;
        std::copy_backward(at, ranges() + count(), ranges() + count() + 1);
        *at = added;
        ++block_->count;
    }

    void grow() {
        // A block of the least room is no less than the least that is allocated. Half as much again, not
        // twice as much: of a hundred thousand buffers these blocks are most of the memory.
        constexpr std::uint32_t kLeast = sizeof(Range) <= sizeof(Block) ? 2 : 1;
        const std::uint32_t room = block_ == nullptr ? kLeast : block_->room + (block_->room + 1) / 2;
        void* const memory = ::operator new(sizeof(Block) + room * sizeof(Range));
        std::unique_ptr<Block, Release> grown(new (memory) Block{count(), room});
        std::uninitialized_copy(begin(), end(), reinterpret_cast<Range*>(grown.get() + 1));
        block_ = std::move(grown);
    }

    std::unique_ptr<Block, Release> block_;
};

}  // namespace memstow::greedy
