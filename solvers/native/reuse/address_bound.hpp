// A lower bound on reuse costs from what each address holds (docs/reuse.md).
//
// An address holds a chain of parts, one after the other. Two parts share at most as many bytes as the
// smaller has, so a pair that is paid pays a share of its cost for each address that holds both: its toll.
// Chains that cover every part as often as it has bytes, as many as there are addresses, cost no more than a
// layout. Parts that cannot all be apart add to this: part of what their pairs cost then goes to what is too
// much of them together, and only the rest to tolls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "reuse/chains.hpp"
#include "reuse/costs.hpp"
#include "reuse/cover_program.hpp"
#include "reuse/link_pairs.hpp"
#include "reuse/overfull.hpp"

namespace memstow::reuse {

__extension__ typedef __int128 Wide;

// Links that are too much together, of which no two share memory unless their pair pays.
struct Crowd {
    std::vector<Index> links;
    Bytes price;  // of a unit that is too much
};

// Prices that show what layouts pay. What tolls there are beside them follows from the scale.
struct AddressPrices {
    std::vector<std::pair<Index, Bytes>> links;  // with their prices, where they have one
    std::vector<Crowd> crowds;
    Bytes scale = 1;  // a cost of 1 in these prices, where what shares is counted in units
    Bytes unit = 1;   // in bytes
    Bytes worth = 0;  // no chain is worth more
};

inline constexpr Bytes kMostToll = Bytes{1} << 40;

// What each address pays, if so much of the cost is left for all that share it.
inline Bytes toll_for(Wide cost, const LinkPair& pair) {
    return static_cast<Bytes>(std::min<Wide>(cost / pair.shared, kMostToll));
}

// What sets leave of the costs, as tolls by pair, where a cost of 1 is `scale`; prices of sets that ask more
// than there is are lowered.
std::vector<Bytes> tolls_beside(const LinkPairs& pairs, const std::vector<OverfullSet>& sets,
                                std::vector<Bytes>& prices, Bytes scale);

class AddressBound {
  public:
    // Of layouts of one pool below this height.
    AddressBound(const Instance& instance, const Costs& costs, Bytes height);
    // Of links of so many units, those that are there the longest first, where there are `room` units.
    AddressBound(std::vector<Bytes> units, Bytes room, LinkPairs pairs);

    // A layout below the height: its addresses are where the search for chains begins.
    void offer(const Instance& instance, const std::vector<Bytes>& offsets);
    // By link, the addresses that it has there; those of links that are apart do not overlap.
    void offer(const std::vector<Range>& spans);
    // Goes on for about so much work.
    void run(std::int64_t work, Budget& budget);

    Bytes bound() const { return bound_; }  // on the costs of pairs
    bool done() const { return done_; }
    // Once it is done: whether it can go on, with another search for sets that add to the bound.
    bool resume();

    // What the bound follows from, by part of the instance if there is one; none while there is no bound.
    std::optional<AddressPrices> known() const;

  private:
    // What the program proposes, in whole numbers from which a bound follows.
    struct Prices {
        std::vector<Bytes> links;
        std::vector<Bytes> sets;
    };
    static constexpr Index kNarrow = 3, kWide = 16;
    void order_parts(const Instance& instance);
    void start();
    void list_tolls();
    void start_program();
    void find_chains(Budget& budget);
    void prove(Budget& budget);
    void strengthen(Budget& budget);
    std::vector<Index> pairs_in(Index column) const;
    std::vector<double> paid_shares() const;
    void add_sets(const std::vector<OverfullSet>& sets);
    std::vector<CoverProgram::Entry> entries_of(const std::vector<Index>& pairs, Index first_set) const;
    Bytes full_toll(Index pair) const;
    void add(const std::vector<Index>& links);
    void add(const std::vector<Chain>& chains);
    Prices take_prices();
    void set_tolls(Prices& prices);
    Bytes proven_by(const Prices& prices, Bytes most) const;
    Bytes enough_for(const Prices& prices, Bytes bound) const;

    Bytes unit_ = 1;              // divides all sizes and the addresses
    Bytes rows_ = 0;              // addresses
    Bytes scale_ = 1;             // tolls of a cost of 1 that is paid in full, added up over units
    std::vector<Index> order_;    // by link: the part
    std::vector<Index> link_of_;  // by part
    std::vector<Bytes> units_;    // by link: its size
    std::vector<Bytes> caps_;     // by link: no price is above
    std::optional<LinkPairs> pairs_;
    std::vector<OverfullSet> sets_;
    std::vector<std::vector<Index>> sets_of_;  // by pair
    ChainGraph graph_;
    std::optional<Chains> chains_;
    std::optional<OverfullSearch> overfull_;
    std::optional<CoverProgram> program_;
    std::vector<Bytes> smooth_;  // prices, averaged over the last programs
    Index width_;
    Index rounds_ = 0;
    std::uint32_t seed_ = 12345;
    std::int64_t proved_at_ = -1;  // steps of the program at the last attempt to prove
    Bytes bound_ = 0;
    Prices best_;
    Bytes aim_ = 0;  // the bound that is to be proven next
    bool done_ = false, lacks_sets_ = false;
};

}  // namespace memstow::reuse
