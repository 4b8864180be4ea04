// Items whose sizes differ from point to point, and which of them stand in each other's way. A *point* is a
// value of every symbol; the last column of each row of sizes is not a point: there, each size is its
// largest, and what fits there fits at every value.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/instance.hpp"

namespace memstow::shapes {

// Of an item: where the other item is below it, it begins at or after the other's offset and the gap.
struct Link {
    Index other;
    Index gap;  // row of `gaps`
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
    Lists<Link> links;          // by item
    Lists<Index> cliques;       // items that pairwise conflict, where each is a single part
    Index pools = 0;
    Measure measure = Measure::kSum;
    Index pool = 0;              // of kOnePool
    std::vector<Bytes> least;    // by point
    std::vector<double> weight;  // by point

    // Wider than an index: rows of columns may have more numbers than an index counts.
    std::int64_t columns() const { return points + 1; }
    Index items() const { return choices.items(); }
    const Bytes* gap(const Link& link) const { return gaps.data() + link.gap * columns(); }
    const Bytes* top(Index item) const { return tops.data() + item * columns(); }
};

// More pairs than this are not listed.
inline constexpr std::size_t kMostPairs = std::size_t{1} << 24;

// Nor are there more parts than this.
inline constexpr Index kMostParts = 20'000;

// `sizes`: by part, a row of columns. Empty where there are too many parts or pairs. Pairs in place that are
// no item of their own conflict here. More pairs than `most_linked` are not listed.
std::optional<Shaped> shape(const Instance& instance, std::span<const Bytes> sizes, Index points,
                            std::size_t most_linked = kMostPairs);

}  // namespace memstow::shapes
