// Which solver has the next turn at the peak of one pool, and how much of what is left of the budget it may
// use. The order was measured: see docs/architecture.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow::run {

// Greedy's first passes over the items bring most of its gain; after them the exact search gains more in the
// same time. On minimalloc A-K the first passes take 15 ms of 70.
inline constexpr std::int64_t kFirstPasses = 40;
// Steps of a deterministic run: about as much as the default time limit allows. Measured: 8 to 11 s of a
// processor for minimalloc D and J, perfect tilings of 500, random lives of 5,000.
inline constexpr std::int64_t kDefaultWork = 1'300'000'000;
// Steps of the search in banks where no model follows: with more it finds nothing better on problems of some
// hundred buffers.
inline constexpr std::int64_t kBanksAlone = 20'000'000;
// Up to so many items all layouts are looked through before a model is, whose import alone takes longer:
// measured with two and three pools, up to ten items are proven in 10 ms, half of those of twelve in 30.
inline constexpr Index kFewItems = 12;
inline constexpr std::int64_t kFewItemsWork = 1'000'000;

enum class Solver { greedy, exact, improve, windows, reuse, banks };

// How far a value may be from the least, as a fraction of it.
double gap_of(Value value, Value bound);

// As plans name it.
const char* name_of(Solver solver);

struct Stage {
    Solver solver;
    double share = 1.0;           // of the budget that is left when its turn comes
    std::int64_t most_work = -1;  // and at most this many steps; -1: no limit
};

// What the stage may use of what is left of a budget, and so much of it as can be cancelled on its own.
Budget share_of(const Budget& budget, const Stage& stage);

// The stages of a run, in turn. Most small problems end after the first, so that nothing is looked at before
// somebody asks for the next.
class OnePoolStages {
  public:
    // `bound`: a proven lower bound on the height. The instance outlives the stages.
    OnePoolStages(const Instance& instance, Bytes bound);

    // None where there is no other.
    std::optional<Stage> next();

  private:
    void add_rest();

    const Instance& instance_;
    std::vector<Stage> stages_;  // as far as they are known
    std::size_t next_ = 0;
    bool complete_ = false;
};

}  // namespace memstow::run
