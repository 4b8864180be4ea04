// What one address holds: a chain of parts, none of which conflicts with the one after it, and the tolls of
// its pairs. Finds chains that are worth much under given prices, and shows that none is worth more than a
// limit.
#pragma once

#include <cstdint>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"

namespace memstow::reuse {

// Links are parts in an order in which every part comes after those that it may follow.
struct ChainGraph {
    Index count = 0;
    Lists<Index> after;        // by link: the links that may be next; ascending
    std::vector<Bytes> tolls;  // by earlier link and later link

    std::size_t at(Index earlier, Index later) const {
        return static_cast<std::size_t>(earlier) * static_cast<std::size_t>(count) +
               static_cast<std::size_t>(later);
    }
    Bytes toll(Index earlier, Index later) const { return tolls[at(earlier, later)]; }
};

struct Chain {
    std::vector<Index> links;
    Bytes worth = 0;  // prices less tolls; of a chain from `most`, at least that
};

class Chains {
  public:
    explicit Chains(const ChainGraph& graph);

    // Some of the chains that are worth more than `floor`: at most one that ends in each link. Up to `width`
    // chains are kept at every link.
    std::vector<Chain> some(const std::vector<Bytes>& prices, Bytes floor, Index width, Budget& budget);

    // No chain is worth more than what this one claims, or than `enough`. What a chain has passed may be
    // forgotten in part where more than `width` meet: then it claims more than it is worth. Without an
    // answer, because the budget is spent, it claims kLimit.
    std::vector<Chain> most(const std::vector<Bytes>& prices, Bytes enough, Index width, Budget& budget);

    // The greatest width for which `most` takes a bounded amount of memory.
    Index widest() const;

  private:
    // A chain that ends in a link; what it still has to pay at each later link is in `dues_`.
    struct Label {
        Bytes worth;
        Index link;
        Index before;  // label; -1 at the first link
    };
    struct Offer {
        Bytes worth;
        Bytes hope;  // of the whole chain, at most
        Index before;
    };

    std::vector<Chain> best_of_each(Bytes floor) const;
    void clear();
    std::vector<Offer> offers(const std::vector<Bytes>& prices, Index link) const;
    void find_reached();
    Index keep(const Offer& offer, Index link);
    Index keep_capped(const Offer& offer, Index link, const std::vector<Bytes>& prices);
    void merge(Index label, const Offer& offer);
    Bytes due(Index label, Index link) const;
    bool dominated(Index label) const;
    void drop();
    void find_hopes(const std::vector<Bytes>& prices);
    void sort_out(const std::vector<Bytes>& prices, Index link, Bytes enough, std::vector<Offer>& all) const;
    std::vector<Index> links_to(Index label) const;

    const ChainGraph& graph_;
    Lists<Index> before_;       // by link: positions in after.values of what leads to it
    std::vector<Index> from_;   // by position in after.values: the earlier link
    std::vector<Bytes> hopes_;  // by position in after.values: what may follow both is worth at most this
    Lists<Index> reached_;      // by link: the links that may come after it
    bool transitive_ = false;   // what may come after a link may be next to it
    std::vector<Label> labels_;
    std::vector<std::vector<Index>> labels_of_;  // by link
    std::vector<std::size_t> dues_at_;           // by label: where its dues begin, less its link
    std::vector<Bytes> dues_;
};

}  // namespace memstow::reuse
