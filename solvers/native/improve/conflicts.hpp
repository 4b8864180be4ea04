// Which items of one pool stand in each other's way, and how: found by a sweep over rows when asked for,
// since a list of all pairs would not fit in memory for large instances.
#pragma once

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <vector>

#include "core/instance.hpp"

namespace memstow::improve {

inline constexpr Bytes kNoHole = std::numeric_limits<Bytes>::min();

// Memory is linear in the parts, their ranges of rows and the explicit conflicts.
class Conflicts {
  public:
    // `takes_part`: by item, those that count.
    Conflicts(const Instance& instance, const std::vector<char>& takes_part);

    // Calls f(other, below, above, hole) for each pair of conflicting parts, an item possibly several times.
    // With the other item at offset x, this one may not be strictly between x + below and x + above, except
    // at x + hole when there is one.
    template <class F>
    void visit(Index item, F&& f) const {
        for (Index part = instance_.item_parts[item]; part < instance_.item_parts[item + 1]; ++part) {
            const Part& own = instance_.parts[part];
            const bool lenient = !lenient_.empty() && lenient_[part];
            const auto meet = [&](Index index) {
                const Part& other = instance_.parts[index];
                if (other.item == item) return;
                Bytes hole = kNoHole;
                if (lenient && lenient_[index]) {
                    const std::uint64_t pair = key(part, index);
                    if (free_.contains(pair)) return;
                    if (in_place_.contains(pair)) hole = other.delta - own.delta;
                }
                f(other.item, other.delta - own.delta - own.size, other.delta + other.size - own.delta, hole);
            };
            for (const RowRange& rows : instance_.rows[part]) {
                if (rows.begin >= instance_.time_rows) {
                    for (Index row = rows.begin; row < rows.end; ++row) {
                        for (const Index index : members_[row - instance_.time_rows]) meet(index);
                    }
                    continue;
                }
                const Checkpoint& from = checkpoints_[checkpoint_[rows.begin]];
                for (Index k = from.live_begin; k < from.live_end; ++k) {
                    if (live_[k].rows.end > rows.begin) meet(live_[k].part);
                }
                for (std::size_t k = from.first_span; k < spans_.size() && spans_[k].rows.begin < rows.end;
                     ++k) {
                    if (spans_[k].rows.end > rows.begin) meet(spans_[k].part);
                }
            }
        }
    }

  private:
    struct Span {
        RowRange rows;
        Index part;
    };
    // At the row where spans_[first_span] begins: the spans before it that reach that row.
    struct Checkpoint {
        Index first_span;
        Index live_begin;
        Index live_end;
    };
    static std::uint64_t key(Index a, Index b) {
        const auto low = static_cast<std::uint64_t>(std::min(a, b));
        return low << 32 | static_cast<std::uint64_t>(std::max(a, b));
    }
    void list_spans(const std::vector<char>& takes_part);
    void set_checkpoints();
    void list_exempt();
    void list_explicit(const std::vector<char>& takes_part);

    const Instance& instance_;
    std::vector<Span> spans_;  // by first row
    std::vector<Span> live_;   // of all checkpoints
    std::vector<Checkpoint> checkpoints_;
    std::vector<Index> checkpoint_;  // by row: the last checkpoint at or before it
    Lists<Index> members_;           // parts, by row of an explicit conflict
    std::vector<bool> lenient_;      // by part: in an exempt pair; empty when there are none
    std::unordered_set<std::uint64_t> free_;
    std::unordered_set<std::uint64_t> in_place_;
};

}  // namespace memstow::improve
