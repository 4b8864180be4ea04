// Items whose sizes differ from point to point, and which of them stand in each other's way. A *point* is a
// value of every symbol; the last column of each row of sizes is not a point: there, each size is its
// largest, and what fits there fits at every value.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/instance.hpp"

namespace memstow::shapes {

// How far an item is above the offset of another one: at each column, the row of `gaps` and the distance.
struct Gap {
    Index row;
    Bytes distance = 0;
};

// Of an item: where the other item is below it, it begins at or after the other's offset and the gap.
struct Link {
    Index other;
    const Gap* gap;  // nothing between two single parts: then it is the size of the other
};

// Links by item, by number of the other. There are millions: where both items are a single part, only the
// other is kept, in two bytes.
class Links {
  public:
    using Number = std::uint16_t;

    class Iterator {
      public:
        Iterator(const Links& links, Index at, bool all_have_gaps, const Index* gap)
            : links_(links), at_(at), all_have_gaps_(all_have_gaps), gap_(gap) {}
        Link operator*() const {
            return {links_.others.values[at_], has_gap() ? &links_.gaps[*gap_] : nullptr};
        }
        Iterator& operator++() {
            if (has_gap()) ++gap_;
            ++at_;
            return *this;
        }
        bool operator==(const Iterator& other) const { return at_ == other.at_; }

      private:
        bool has_gap() const {
            return gap_ != nullptr && (all_have_gaps_ || !links_.is_single[links_.others.values[at_]]);
        }

        const Links& links_;
        Index at_;
        bool all_have_gaps_;
        const Index* gap_;
    };

    struct OfItem {
        Iterator first;
        Iterator last;
        Index count;
        Iterator begin() const { return first; }
        Iterator end() const { return last; }
        Index size() const { return count; }
    };

    OfItem operator[](Index item) const {
        const bool all_have_gaps = !is_single.empty() && !is_single[item];
        const Index* gap = first_gap.empty() ? nullptr : gap_of.data() + first_gap[item];
        const Index begin = others.start[item], end = others.start[item + 1];
        return {{*this, begin, all_have_gaps, gap}, {*this, end, all_have_gaps, gap}, end - begin};
    }

    Lists<Number> others;  // by item, ascending
    // Empty where each item is a single part.
    std::vector<char> is_single;   // by item
    std::vector<Index> first_gap;  // by item
    std::vector<Index> gap_of;     // by link that is not of two single parts
    std::vector<Gap> gaps;         // that differ, or nearly so
};

// What is counted as the peak: of one pool, or of all.
enum class Measure { kSum, kLargest, kOnePool };

// Two parts that conflict.
struct PartPair {
    Index first;
    Index second;
    auto operator<=>(const PartPair&) const = default;
};

// A part, and rows that it is in: whatever is in one of them conflicts with it.
struct PartRows {
    RowRange rows;
    Index part;
};

struct Shaped {
    std::vector<Part> parts;
    std::vector<Index> item_parts;  // as in the instance
    std::vector<PartRows> lives;    // by begin
    Lists<Index> sharing;   // by part, ascending: those of other items that may share bytes with it in a row
    bool anywhere = false;  // whether no item is pinned
    // Whether links are listed. Without them, only what is said of a sequence as it is.
    bool linked = true;
    Index points = 0;  // columns are points + 1
    Choices choices;
    std::vector<Index> single;  // by item: its only part, or -1
    std::vector<Bytes> tops;    // by item and column: the end of its last byte from its offset; 0: no bytes
    std::vector<Bytes> gaps;    // rows of columns
    Links links;
    Lists<Index> cliques;  // items that pairwise conflict, where each is a single part
    Index pools = 0;
    Measure measure = Measure::kSum;
    Index pool = 0;              // of kOnePool
    std::vector<Bytes> least;    // by point
    std::vector<double> weight;  // by point

    // Wider than an index: rows of columns may have more numbers than an index counts.
    std::int64_t columns() const { return points + 1; }
    Index items() const { return choices.items(); }
    Gap gap(const Link& link) const { return link.gap == nullptr ? Gap{single[link.other]} : *link.gap; }
    const Bytes* row(const Gap& gap) const { return gaps.data() + gap.row * columns(); }
    const Bytes* top(Index item) const { return tops.data() + item * columns(); }
};

// More pairs than this are not listed.
inline constexpr std::size_t kMostPairs = std::size_t{1} << 24;

// Nor are there more parts than this.
inline constexpr Index kMostParts = 20'000;
static_assert(kMostParts <= std::numeric_limits<Links::Number>::max());

// `sizes`: by part, a row of columns. Empty where there are too many parts or pairs. Pairs in place that are
// no item of their own conflict here. More pairs than `most_linked` are not listed.
std::optional<Shaped> shape(const Instance& instance, std::span<const Bytes> sizes, Index points,
                            std::size_t most_linked = kMostPairs);

}  // namespace memstow::shapes
