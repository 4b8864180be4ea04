// The level search prunes by floors, rooms, blame and a table of refuted states; the pair search does nothing
// of the kind. What one refutes the other must refute too, on instances too large for brute force over
// offsets.

#include "check.hpp"
#include "search/level_search.hpp"
#include "search/pair_search.hpp"
#include "tiny.hpp"

using namespace memstow;
using namespace memstow::search;

namespace {

constexpr Index kMostItems = 12;
constexpr std::int64_t kNodes = 20'000;

const Decision::Stop kNever = [](std::int64_t) { return false; };

std::vector<Strategy> every_strategy() {
    std::vector<Strategy> all;
    for (auto order : {Strategy::Order::life, Strategy::Order::size, Strategy::Order::area}) {
        for (auto sides : {Strategy::Sides::bottom, Strategy::Sides::top, Strategy::Sides::both}) {
            for (bool lowest : {true, false}) all.push_back({order, sides, 0.3, 0.01, lowest, true});
        }
    }
    return all;
}

// Long and short lives over many rows, so that searches are deep and states come again in other orders.
Instance staggered(std::uint64_t seed) {
    Random random(seed);
    const auto upto = [&](Index most) {
        return static_cast<Index>(random.below(static_cast<std::uint64_t>(most) + 1));
    };
    Instance in;
    in.pools.push_back({kLimit, {}});
    if (upto(5) == 0) in.pools[0].reserved.push_back({3 + upto(5), 10});
    const Index count = 7 + upto(kMostItems - 7), rows = 3 + upto(6);
    const Index largest = 3 + upto(6);
    const bool aligned = upto(3) == 0;
    for (Index i = 0; i < count; ++i) {
        in.parts.push_back({i, 0, 1 + upto(largest - 1)});
        in.item_parts.push_back(i + 1);
        const Bytes modulus = aligned ? 1 + upto(2) : 1;
        in.choices.add({0, modulus, 0, 0, kLimit, 0});
        const Index begin = upto(rows - 1);
        in.rows.values.push_back({begin, begin + 1 + upto(std::min(rows - 1 - begin, rows / 2))});
        in.rows.close();
    }
    in.row_count = in.time_rows = rows;
    return in;
}

// Every strategy at every height from the bound up to the first that fits, with one table for all of them.
void compare(const Packing& packing, std::uint64_t seed) {
    PairSearch pair(packing);
    LevelSearch level(packing, std::size_t{1} << 20);
    const std::vector<Strategy> all = every_strategy();
    Answer truth = Answer::refuted;
    for (Bytes height = packing.bound() - 1; truth == Answer::refuted; height = packing.step_up(height + 1)) {
        truth = pair.run(height, all[0], seed, kNodes, kNever);
        if (truth == Answer::stopped) return;
        for (const Strategy& strategy : all) {
            const Answer answer = level.run(height, strategy, seed, kNodes, kNever);
            const bool right = answer == truth || answer == Answer::stopped;
            if (!right) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
            CHECK(right);
            if (answer == Answer::found) {
                CHECK(packing.holds(level.offsets()) && packing.height(level.offsets()) <= height);
            }
        }
    }
}

}  // namespace

TEST(level_search_refutes_what_pair_search_does) {
    for (int k = 0; k < check::rounds(1500); ++k) {
        const auto seed = static_cast<std::uint64_t>(k);
        for (const Packing& packing : packings(staggered(seed))) {
            CHECK(packing.plain);
            compare(packing, seed);
        }
    }
}
