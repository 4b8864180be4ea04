// What a proof is about: buffers in one pool that docs/proofs.md has rules for, and where each may be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/instance.hpp"
#include "search/index_set.hpp"

namespace memstow::proof {

struct Item {
    std::uint64_t name;  // its index in the problem
    Bytes size;          // above 0
    Bytes modulus, residue;
    Bytes pin;         // kUnplaced: none
    Index barred = 0;  // which ranges it may not touch
};

// A layout seen from the bottom or from the top, where an item lies at minus its end: then all rules are the
// same for both, and what bounds an item's offset from above is a least position on the other side.
enum Side : std::uint8_t { kBottom = 0, kTop = 1 };
inline constexpr Side kSides[] = {kBottom, kTop};
constexpr Side other(Side side) { return side == kBottom ? kTop : kBottom; }

class Question {
  public:
    using Pair = std::pair<Index, Index>;

    // An item, and how far it is from the first of its group.
    using Group = std::vector<std::pair<Index, Bytes>>;
    // Another item of the same group, and how far that is.
    struct Tie {
        Index to;
        Bytes distance;
    };

    // Those of a moment conflict, unless they are exempt or in one group; so do the pairs listed. Of these,
    // pairs in place are partners if they count, or else nothing. Ranges are sorted and disjoint; those that
    // an item may not touch hold the reserved ones.
    Question(std::vector<Item> items, std::vector<Range> reserved, std::vector<std::vector<Range>> barred,
             std::vector<std::vector<Index>> moments, const std::vector<Pair>& exempt,
             const std::vector<Pair>& listed, const std::vector<Pair>& in_place, bool ties_count,
             const std::vector<Group>& groups);

    // The same with conflicts between those of these pairs that have none; which is a pair's place in the
    // list.
    // A clique that is larger than `above` shows most.
    Question kept_apart(const std::vector<Pair>& pairs, Bytes above) const;

    Index count() const { return count_of(items); }
    bool conflict(Index i, Index j) const { return adjacent_[i].has(j); }
    // Whether the two do not overlap unless they start at one offset.
    bool partners(Index i, Index j) const { return !partners_.empty() && partners_[i].has(j); }
    bool bound(Index i, Index j) const { return conflict(i, j) || partners(i, j); }
    bool ties_count() const { return ties_count_; }
    bool has_partners() const { return !partners_.empty(); }
    // Of more, what one row shows is all: lists of neighbours take room with the square.
    bool is_searched() const { return items.size() <= kMostSearched; }
    // Where in the list the two are that are apart only because of it; -1: they are not.
    Index apart_pair(Index i, Index j) const {
        if (apart_.empty()) return -1;
        const auto known = apart_.find(key(i, j));
        return known == apart_.end() ? -1 : known->second;
    }
    bool has_apart() const { return !apart_.empty(); }

    // How far a tied item is from this one, by their positions on the side.
    Bytes shift(Side side, Index i, const Tie& tie) const {
        return side == kBottom ? tie.distance : items[i].size - tie.distance - items[tie.to].size;
    }

    // The least position of the item from x on, and the greatest up to x.
    std::optional<Bytes> at_least(Side side, Index i, Bytes x) const;
    std::optional<Bytes> at_most(Side side, Index i, Bytes x) const;

    // Whether these, which conflict pairwise, take more than the bytes from `begin` to `end`.
    bool overfull(const std::vector<Index>& some, Bytes begin, Bytes end) const;

    std::vector<Item> items;
    std::vector<Range> reserved;
    std::vector<std::vector<Range>> barred;
    std::vector<std::vector<Index>> neighbours;  // by item: what it is bound to, if there is a search
    std::vector<std::vector<Tie>> ties;          // by item
    std::vector<std::vector<Index>> rows;        // sets of items that are bound pairwise
    std::vector<std::vector<Index>> rows_of;     // by item

  private:
    static constexpr std::size_t kMostSearched = 4096;

    std::optional<Bytes> at_or_above(Index i, Bytes from) const;
    std::optional<Bytes> at_or_below(Index i, Bytes to) const;
    bool pin_stands(const Item& item) const;
    void find_rows(std::vector<std::vector<Index>> moments, const std::vector<Pair>& listed);
    void add_cliques(const std::vector<Index>& some);
    search::IndexSet bound_to(Index i) const;
    std::vector<Index> clique_from(std::vector<Index> clique, const std::vector<Index>& sorted) const;
    void add_heavy_cliques(Bytes above);
    void find_rows_of();

    void list_neighbours();

    static std::uint64_t key(Index i, Index j) {
        const auto [low, high] = std::minmax(i, j);
        return (static_cast<std::uint64_t>(low) << 32) | static_cast<std::uint64_t>(high);
    }

    std::vector<search::IndexSet> adjacent_;
    std::vector<search::IndexSet> partners_;  // by item; none if no pair is one
    bool ties_count_;
    std::unordered_map<std::uint64_t, Index> apart_;
};

}  // namespace memstow::proof
