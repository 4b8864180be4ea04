// The cheapest layout of one pool within a height, and the lowest within a cost, with bounds (docs/reuse.md).
//
// A *core* is a set of pairs that no layout within some height keeps apart all together: each layout pays for
// one of them at least. So the cheapest set of pairs that hits every core is a bound on the cost, and a
// layout that keeps all other pairs apart is the cheapest.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "reuse/address_bound.hpp"
#include "reuse/hitting_set.hpp"
#include "reuse/local_search.hpp"

namespace memstow::reuse {

class Cheapest {
  public:
    using Offsets = std::vector<Bytes>;  // by item

    // Every item has one choice, all of them the same pool; at most `kMostItems` items. With two threads the
    // same run may end otherwise each time.
    Cheapest(Instance instance, std::uint64_t seed, bool two_threads = false);

    // A valid layout to start from.
    void offer(const Offsets& offsets) { learn(offsets); }

    struct Limits {
        Bytes height = kLimit;
        Bytes cost = std::numeric_limits<Bytes>::max();
    };
    struct CheapestOptions {
        Bytes height = kLimit;  // layouts above this height are no answer
        std::optional<Bytes>
            enough;  // stop at a layout that costs no more, or at the proof that there is none
    };
    struct LowestOptions {
        Limits limits;    // layouts beyond them are no answer
        Bytes bound = 0;  // a known lower bound on the height
    };
    struct Result {
        Offsets offsets;           // of the best layout within the limits; empty when none is known
        Bytes cost = 0, top = 0;   // of it
        Bytes bound = 0;           // on the cost, or of `lowest` on the height, within the limits
        bool none = false;         // proven: there is no layout within the height
        std::vector<Index> dead;   // then: items that are enough for that, if known
        std::int64_t refuted = 0;  // searches that ran dry, over all calls
        // No search showed as much of the costs as what each address holds, by these prices of parts.
        std::optional<AddressPrices> by_addresses;
    };
    // Told of each better value of what is minimised and its layout, and of each better bound on it.
    struct Events {
        std::function<void(Bytes value, const Offsets& offsets)> value;
        std::function<void(Bytes value)> bound;
    };

    // Both go on from what earlier calls have found and proven.
    Result cheapest(const CheapestOptions& options, Budget& budget, const Events& events);
    Result lowest(const LowestOptions& options, Budget& budget, const Events& events);

  private:
    struct Core {
        ElementSet pairs;
        Bytes height;  // it holds up to this height
    };
    struct Known {
        Offsets offsets;
        Bytes cost, top;
        ElementSet paid;
    };
    enum class Answer { layout, none, unknown };
    // Steps of the first search; where it does not answer the next one may take twice as many.
    static constexpr std::int64_t kFirstEffort = 500'000;
    static constexpr std::size_t kTables = std::size_t{16} << 20;

    void decide(Bytes height, std::optional<Bytes> enough, Budget& budget);
    bool settled(std::optional<Bytes> enough) const;
    void find_any(Budget& budget);
    void improve(Bytes height, bool fit_only, Bytes bound, Budget& budget);
    void raise_bound(Bytes bound);
    Answer ask(const ElementSet& apart, std::int64_t most_work, Budget& budget);
    bool known_to_hold(const ElementSet& apart) const;
    void find_cores(ElementSet apart, Budget& budget);
    ElementSet shrunk(ElementSet apart, Budget& budget);
    bool find_clique(const Instance& instance, Budget& budget);
    ElementSet pairs_among(const ElementSet& apart, std::vector<Index> items) const;
    ElementSet within_clique(const ElementSet& apart) const;
    void search_cores(std::optional<Bytes> enough, Budget& budget);
    void begin_with_addresses();
    void search_addresses(std::int64_t work, Budget& budget);
    void search_nearby(std::int64_t steps, Bytes enough, Budget& budget);
    void press(const Limits& limits, Bytes bound, std::int64_t most_work, Budget& budget);
    Bytes search_all(Bytes height, Bytes bound, Budget& budget, const Events& events);
    Bytes ignore_costs(Bytes height, Bytes bound, Budget& budget, const Events& events);
    void learn(const Offsets& offsets);
    const Known* best(const Limits& limits, bool lowest) const;
    ElementSet all_but(const ElementSet& pairs) const;
    Layout layout_of(const Known& known) const;
    static Offsets offsets_of(const Layout& layout);
    Result result_within(const Limits& limits, bool lowest, Bytes bound) const;

    const Instance instance_;
    const Costs costs_;
    std::vector<Bytes> weights_;  // by pair
    LocalSearch nearby_;
    Bytes nearby_height_ = -1;
    std::uint64_t seed_;
    bool two_threads_;

    std::vector<Core> cores_;
    std::vector<Known> layouts_;
    std::int64_t refuted_ = 0;

    // Of the height at hand.
    Bytes height_ = 0;
    Bytes bound_ = 0;                        // on the cost
    Bytes core_bound_ = 0;                   // the part of it that cores show
    std::int64_t core_work_ = 0, work_ = 0;  // on cores, and in all
    std::optional<AddressBound> addresses_;
    bool none_ = false;
    std::vector<Index> dead_;    // items that answered the last question with no; none when that is not known
    std::vector<Index> clique_;  // the same, where they are too large together and all must be apart
    std::int64_t effort_ = 0;    // most work of one search
    const Events* events_ = nullptr;  // while costs are asked for
};

}  // namespace memstow::reuse
