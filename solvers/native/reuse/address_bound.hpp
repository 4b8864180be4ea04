// A lower bound on reuse costs from what each address holds (docs/reuse.md).
//
// An address holds a chain of parts, one after the other. Two parts share at most as many bytes as the
// smaller has, so a pair that is paid pays a share of its cost for each address that holds both: its toll.
// Chains that cover every part as often as it has bytes, as many as there are addresses, cost no more than a
// layout.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "reuse/chains.hpp"
#include "reuse/costs.hpp"
#include "reuse/cover_program.hpp"

namespace memstow::reuse {

class AddressBound {
  public:
    // Of layouts of one pool below this height.
    AddressBound(const Instance& instance, const Costs& costs, Bytes height);

    // A layout below the height: its addresses are where the search for chains begins.
    void offer(const Instance& instance, const std::vector<Bytes>& offsets);
    // Goes on for about so much work.
    void run(std::int64_t work, Budget& budget);

    Bytes bound() const { return bound_; }  // on the costs of pairs
    bool done() const { return done_; }

  private:
    void order_parts(const Instance& instance, const Costs& costs);
    void set_tolls(const Costs& costs);
    void find_chains(Budget& budget);
    void prove(Budget& budget);
    Bytes tolls_of(const std::vector<Index>& links) const;
    void add(const std::vector<Chain>& chains);
    std::vector<Bytes> whole_prices() const;
    Bytes proven_by(const std::vector<Bytes>& prices, Bytes most) const;
    Bytes enough_for(const std::vector<Bytes>& prices, Bytes bound) const;

    Bytes unit_ = 1;              // divides all sizes
    Bytes rows_ = 0;              // addresses
    Bytes scale_ = 1;             // tolls of a cost of 1 that is paid in full, added up over units
    std::vector<Index> order_;    // by link: the part
    std::vector<Index> link_of_;  // by part
    std::vector<Bytes> units_;    // by link: its size
    std::vector<Bytes> caps_;     // by link: no price is above
    ChainGraph graph_;
    std::optional<Chains> chains_;
    std::optional<CoverProgram> program_;
    std::vector<Bytes> smooth_;  // prices, averaged over the last programs
    Index width_;
    Index rounds_ = 0;
    std::int64_t proved_at_ = -1;  // steps of the program at the last attempt to prove
    Bytes bound_ = 0;
    Bytes aim_ = 0;  // the bound that is to be proven next
    bool done_ = false;
};

}  // namespace memstow::reuse
