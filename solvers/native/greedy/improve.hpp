// Better orders for small instances: what keeps the score up is moved to the front, a step at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/budget.hpp"
#include "core/score.hpp"
#include "greedy/pair_board.hpp"
#include "greedy/placer.hpp"

namespace memstow::greedy {

class Incumbent;

void improve(const Instance& instance, Placer<PairBoard>& placer, const Scorer& scorer,
             std::vector<Index> order, const Tactics& tactics, std::uint64_t seed, std::int64_t passes,
             Budget& budget, Incumbent& incumbent, const std::string& name);

}  // namespace memstow::greedy
