// One run of operators as a stripe: what its rows need, whatever the columns, and what strips of columns add.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/bits.hpp"
#include "stripes/program.hpp"

namespace memstow::stripes {

struct Need {
    Bytes bytes = 0;  // of all that is live, at the fullest moment
    Cost cost = 0;
};

// Of a path with branches, also without some of them, if nothing is there in their place.
struct Sure {
    Bytes bytes = 0;           // at the fullest moment
    std::vector<Bytes> rings;  // by operator, in whole units
};

// Some of the places of a segment.
class PlaceSet {
  public:
    explicit PlaceSet(Index count = 0) : words_(at((count + kBits - 1) / kBits)) {}

    void set(Index place, bool is_in = true) {
        std::uint64_t& word = words_[at(place / kBits)];
        const std::uint64_t bit = std::uint64_t{1} << place % kBits;
        word = is_in ? word | bit : word & ~bit;
    }
    void add(const PlaceSet& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    }
    template <typename Use>
    void for_all(const Use& use) const {
        Index first = 0;
        for (const std::uint64_t word : words_) {
            for_each(word, [&](Index bit) { use(first + bit); });
            first += kBits;
        }
    }

  private:
    static constexpr Index kBits = 64;

    std::vector<std::uint64_t> words_;
};

class Segment {
  public:
    // The operators [begin, end); none where they make no stripe.
    static std::optional<Segment> of(const Program& program, Index begin, Index end);

    // Goes through its rows, before `need`; how many steps that took.
    std::int64_t make_rows();
    // The same from one that has the same end and begins before it, as long as that one is there: `places`
    // are those there, and each is read by the same. So they make their rows in the same turns.
    void take_rows(const Segment& longer, std::vector<Index> places);
    // Whether columns of what one makes may not be needed: else no more strips cost less than one.
    bool skips_columns() const;
    bool leaves(Index place) const { return leaves_[at(place)]; }
    // With strips of so many columns of what is `reference` columns wide; `whole`: what is live all the time
    // besides rings, temporaries and sums.
    Need need(Place reference, Place columns, const Load& whole, Sure* sure = nullptr) const;
    // Of each operator.
    const std::vector<Place>& rows_made() const { return rows_made_; }

  private:
    Segment(const Program& program, Index begin, Index end)
        : program_(&program), begin_(begin), count_(end - begin) {}

    class Left;
    // The operators while which rows are there, from the first to the last.
    struct Life {
        Index first = 0, last = 0;

        void touch(Index place) {
            first = std::min(first, place);
            last = std::max(last, place);
        }
    };
    const Operator& op(Index place) const { return program_->operators[at(begin_ + place)]; }
    const Reads& reads(Index place) const { return program_->reads[at(begin_ + place)]; }
    const Operator& last() const { return op(count_ - 1); }
    // Who makes what a use reads, by place; kNobody where that is outside.
    Index source(const Use& use) const { return use.source < begin_ ? kNobody : use.source - begin_; }
    bool is_sink(Index place) const { return leaves_[at(place)] || op(place).reduces; }

    bool is_stripe();
    void count_made();
    void replay();
    void make(Index place);
    void step(Index place);
    void touch_of_path(Index place);
    const Segment& longest() const { return longer_ == nullptr ? *this : *longer_; }
    Index in_longest(Index place) const { return longer_ == nullptr ? place : places_[at(place)]; }
    void find_lives();
    void find_shared();
    Place needed_from(Index place) const;
    void look(Index place, Place needed);
    // By place, how many columns it makes in a strip at most, and in all of them.
    struct Columns {
        std::vector<Place> widest, total;
    };
    Columns columns_of(Place reference, Place columns) const;
    const Columns& known_columns(Place reference, Place columns) const;
    std::vector<Load> rings_of(const std::vector<Place>& widest) const;
    Bytes fullest(const std::vector<Life>& lives, const std::vector<Load>& rings, const Load& whole) const;
    Bytes fullest_between(Index begin, Index end, const std::vector<Life>& lives,
                          const std::vector<Load>& rings, const Load& whole) const;
    Bytes fullest_of_path(const std::vector<Place>& widest, const std::vector<Load>& rings,
                          const Load& whole) const;
    Bytes between_shared(Index begin, Index end, const std::vector<Load>& rings, const Load& whole) const;
    Bytes at_first_row(Index place, const std::vector<Place>& widest, const std::vector<Load>& rings,
                       const Load& here, Bytes most) const;
    std::optional<Bytes> left_after_first_row(const std::vector<Place>& widest) const;
    template <typename Visit>
    void for_readers(Index place, const Visit& visit) const;

    const Program* program_;
    Index begin_;
    Index count_;
    std::int64_t steps_ = 0;
    // By place.
    std::vector<std::uint8_t> leaves_;
    std::vector<Place> rows_made_;
    std::vector<Place> rows_;                       // kept at a time
    std::vector<Life> lives_;                       // of these rows
    std::vector<Life> sure_;                        // also without branches
    bool is_shared_ = false;                        // by operators that are not here; then it is a path
    std::vector<PlaceSet> touched_, sure_touched_;  // whose rows are there while it runs
    const Segment* longer_ = nullptr;
    std::vector<Index> places_;  // there
    mutable std::map<std::pair<Place, Place>, Columns> columns_;
    // While rows are made.
    std::vector<Place> done_;
    PlaceSet held_;    // those of which rows are kept
    PlaceSet within_;  // of a path with branches: those that overlap, and have made some rows and not all
    std::vector<Index> waiting_;
};

}  // namespace memstow::stripes
