// Tiny random problems with reuse costs, and the cheapest and lowest of their layouts by trying every offset.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/instance.hpp"
#include "tiny.hpp"

namespace memstow::costly {

// What the overlaps of a layout cost, counted pair by pair.
inline Bytes cost_of(const Instance& in, const std::vector<Bytes>& offsets) {
    Bytes cost = 0;
    for (const ReuseCost& pair : in.reuse) {
        const Part& a = in.parts[static_cast<std::size_t>(pair.first)];
        const Part& b = in.parts[static_cast<std::size_t>(pair.second)];
        const Bytes x = offsets[static_cast<std::size_t>(a.item)] + a.delta;
        const Bytes y = offsets[static_cast<std::size_t>(b.item)] + b.delta;
        if (x < y + b.size && y < x + a.size) cost += pair.cost;
    }
    return cost;
}

inline Bytes top_of(const Instance& in, const std::vector<Bytes>& offsets) {
    Bytes top = 0;
    for (const Part& part : in.parts) {
        top = std::max(top, offsets[static_cast<std::size_t>(part.item)] + part.delta + part.size);
    }
    return top;
}

// Six items, one after the other, where four fit; each shares with no other for free.
inline Instance six_in_four_places(Bytes cost) {
    Instance in;
    in.pools.push_back({8, {}});
    for (Index i = 0; i < 6; ++i) {
        in.choices.add({0, 1, 0, 0, 6, 0});
        in.parts.push_back({i, 0, 2});
        in.item_parts.push_back(i + 1);
        in.rows.values.push_back({i, i + 1});
        in.rows.close();
        for (Index j = 0; j < i; ++j) in.reuse.push_back({j, i, cost});
    }
    in.row_count = in.time_rows = 6;
    return in;
}

inline Instance random_instance(std::uint64_t seed) {
    Instance in = tiny::random_instance(seed, {.largest = 4, .most_items = 4});
    Random random(seed + 1000);
    in.pools[0].capacity = 4 + static_cast<Bytes>(random.below(8));
    const auto parts = static_cast<Index>(in.parts.size());
    for (Index p = 0; p < parts; ++p) {
        for (Index q = p + 1; q < parts; ++q) {
            if (random.below(3) > 0) in.reuse.push_back({q, p, static_cast<Bytes>(random.below(4))});
        }
    }
    return in;
}

// The least cost, and the least height of what costs so little, of all layouts; by trying every offset.
struct Best {
    bool fits = false;
    Bytes cost = 0, top = 0;
    std::vector<Bytes> offsets;
};

inline Best brute_force(const Instance& in) {
    tiny::Referee referee(in);
    const Bytes capacity = in.pools[0].capacity;
    std::vector<Bytes> offsets(static_cast<std::size_t>(in.item_count()), 0);
    Best best;
    for (;;) {
        if (referee.valid(offsets)) {
            const Bytes cost = cost_of(in, offsets), top = top_of(in, offsets);
            if (!best.fits || std::pair(cost, top) < std::pair(best.cost, best.top)) {
                best = {true, cost, top, offsets};
            }
        }
        std::size_t k = 0;
        while (k < offsets.size() && ++offsets[k] > capacity) offsets[k++] = 0;
        if (k == offsets.size()) return best;
    }
}

}  // namespace memstow::costly
