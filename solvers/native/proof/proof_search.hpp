// Looks for a proof that no layout is at most so high, and writes it while it looks: a search by splits that
// learns from each dead end which bounds it needs. What it learns is a lemma of the proof. See
// docs/proofs.md.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/budget.hpp"
#include "proof/proof_file.hpp"
#include "proof/question.hpp"

namespace memstow::proof {

enum class Outcome { proven, layout, stopped };

class ProofSearch {
  public:
    ProofSearch(const Question& question, ProofFile& file, Budget& budget);

    // Takes over what an earlier search has learnt, when `refute` begins to search.
    void go_on_from(LemmaReader lemmas) { earlier_.emplace(std::move(lemmas)); }

    // Writes a conclusion when it is proven that there is no layout below `end`, unless that is clear below
    // 0: about this height, which is the end of one pool. `layout`: there is one, so nothing can be proven.
    Outcome refute(Bytes end, Bytes height);

    std::int64_t nodes() const { return nodes_; }
    // Pairs that are apart only because of a list (`Question::kept_apart`), ascending: those that the
    // conclusion rests on, and those that any step does, where some lemmas turned out to be of no use.
    const std::vector<Index>& used() const { return used_; }
    const std::vector<Index>& written() const { return written_; }

  private:
    using Pairs = std::vector<Index>;  // as `used` has them

    // An item that has to be this far from the bottom and from the top, at least.
    struct Needed {
        Index item;
        Bytes least[2];
    };
    using Nogood = std::vector<Needed>;

    // An item that others are pushed by, or that its group follows.
    struct Move {
        Index by;
        bool follows;
        bool operator==(const Move&) const = default;
    };
    // Why there is no layout: what is needed of the bounds, the moves (the last one first), and what closes
    // the case.
    struct Refutation {
        Nogood needs;
        std::vector<Move> moves;
        Derivation::Closer closer = Derivation::Closer::empty;
        std::uint64_t lemma = 0;
        Bytes begin = 0, end = 0;
        std::vector<Index> crowd;
        Pairs used;
    };

    struct Change {
        Side side;
        Index item;
        Bytes before;
        Index by;  // pushed by this item, or after it in its group; -1: a branch
    };
    struct Learnt {
        Nogood needs;
        Pairs used;
        std::uint64_t lemma;
        int users = 0;
        bool watched = false;
        bool dropped = false;
    };
    // A lemma that cannot hold before two positions are at least so much. It is watched at one of them.
    struct Watcher {
        std::uint64_t lemma;
        Bytes least, least_of_other;
        Index other;
        Side side_of_other;
    };
    // How a case of an earlier lemma ended.
    struct Ended {
        Index row = -1;
        std::optional<std::uint64_t> lemma;
    };
    struct Branch {
        Side side;
        Index item;
    };

    Bytes top_of(Side side, Index i) const { return -least_[other(side)][i] - question_.items[i].size; }
    bool holds(const Needed& need) const {
        return least_[kBottom][need.item] >= need.least[kBottom] &&
               least_[kTop][need.item] >= need.least[kTop];
    }

    bool can_tie(Index i, Index j) const {
        return question_.partners(i, j) && least_[kBottom][i] <= top_of(kBottom, j) &&
               least_[kBottom][j] <= top_of(kBottom, i);
    }
    // How far the one that is pushed is from the other, by their positions on the side.
    Bytes lift(Side side, Index from, Index onto, bool ties) const {
        return ties ? question_.shift(side, from, {onto, 0}) : question_.items[from].size;
    }
    bool may_be(Side side, Index i, Bytes at) const {
        return at >= least_[side][i] && at <= top_of(side, i) && question_.at_least(side, i, at) == at;
    }
    // Items that move with this one from its least position on, each with how far it is from it.
    using Moving = std::vector<std::pair<Index, Bytes>>;
    template <typename Among, typename Stop>
    Moving moving_with(Side side, Index item, Among among, Stop stop) const;

    bool raise(Side side, Index item, Bytes to, Index by);
    bool push(Index from, Index onto);
    bool follow(Index from);
    std::optional<Refutation> settle();
    std::optional<Refutation> overfull_row(Index row);
    std::optional<Refutation> known(Side side, Index item);
    void undo(std::size_t mark);

    std::optional<Refutation> solve();
    std::optional<Refutation> finish_case(std::size_t mark);
    Branch choose() const;
    bool is_ready(Side side, Index item) const;
    Branch any_left() const;
    std::optional<Bytes> rise(Side side, Index item);
    void need_for_rise(Side side, Index item, Bytes at, Bytes wanted);
    std::optional<Refutation> combined(const Branch& branch, const Refutation& within,
                                       const Refutation& beyond);

    Refutation empty_range(Side side, Index item);
    Refutation crowded(std::vector<Index> crowd, Bytes begin, Bytes end);
    void drop_pairs(std::vector<Index>& crowd, Bytes begin, Bytes end) const;
    void use(Pairs& used, Index i, Index j) const;
    static void add(Pairs& used, const Pairs& more);
    void explain(Refutation& refutation, std::size_t mark);
    void need(Index item, Side side, Bytes least);
    void need_all(Index item);
    void need_apart(Index i, Index j);
    void open(const Nogood& nogood);
    Nogood close();

    Derivation written(const Refutation& refutation) const;
    std::vector<Bounds> written(const Nogood& nogood) const;
    std::optional<Refutation> take_earlier();
    Index row_of(const std::vector<std::uint64_t>& crowd,
                 const std::unordered_map<std::uint64_t, Index>& item_of) const;
    void repeat(std::uint64_t id);
    static Refutation by(const Learnt& lemma);
    bool watch(Learnt& lemma);
    void drop(Learnt& lemma);
    void keep(const Refutation& refutation);
    void release(const Refutation& refutation);
    void drop_old();
    bool stopped();

    const Question& question_;
    ProofFile& file_;
    Budget& budget_;

    std::vector<Bytes> root_[2], least_[2];  // by item, on both sides
    std::vector<char> settled_;
    std::vector<Change> trail_;
    std::vector<Index> queue_;
    std::vector<char> queued_;
    std::vector<Index> stale_rows_;
    std::vector<char> stale_;
    std::vector<std::int64_t> failures_;  // by row
    std::optional<std::pair<Side, Index>> dead_;

    // The bounds that an explanation needs so far.
    std::vector<Bytes> needed_[2];
    std::vector<char> is_needed_;
    std::vector<Index> members_;

    std::deque<Learnt> learnt_;
    const std::uint64_t begun_;   // so many lemmas were there before
    std::uint64_t first_learnt_;  // the lemma of the first in learnt_
    std::optional<LemmaReader> earlier_;
    std::vector<std::array<Ended, 2>> earlier_cases_;  // of each of its lemmas, until it is of use
    std::size_t learnt_size_ = 0;
    std::vector<std::vector<Watcher>> watchers_[2];  // by side and item

    std::int64_t nodes_ = 0, steps_ = 0;
    int depth_ = 0;
    bool stopped_ = false, layout_ = false;
    Pairs used_, written_;
};

}  // namespace memstow::proof
