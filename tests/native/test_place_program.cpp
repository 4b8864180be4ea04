// Prices of limits against brute force: what a leaf shows is true, and a leaf of one choice shows all.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "core/budget.hpp"
#include "proof/place_program.hpp"

using namespace memstow;

namespace {

using Places = std::vector<Index>;  // by unit

struct TinyLimit {
    std::vector<proof::PlaceProgram::Part> parts;
    Bytes room;
};

struct TinyPlaces {
    std::vector<std::vector<Bytes>> costs;
    std::vector<TinyLimit> limits;
    std::vector<Places> allowed;

    bool keeps(const Places& places) const {
        return std::all_of(limits.begin(), limits.end(), [&](const TinyLimit& limit) {
            Bytes sum = 0;
            for (const auto& part : limit.parts) {
                const auto& some = part.places;
                if (std::find(some.begin(), some.end(), places[part.unit]) != some.end()) sum += part.weight;
            }
            return sum <= limit.room;
        });
    }

    // What keeps to all limits costs at least; nothing if nothing does.
    std::optional<Bytes> least(Places places = {}) const {
        const Index unit = count_of(places);
        if (unit == count_of(costs)) {
            if (!keeps(places)) return std::nullopt;
            Bytes sum = 0;
            for (Index u = 0; u < unit; ++u) sum += costs[u][places[u]];
            return sum;
        }
        std::optional<Bytes> best;
        for (const Index place : allowed[unit]) {
            places.push_back(place);
            const auto below = least(places);
            places.pop_back();
            if (below) best = std::min(best.value_or(*below), *below);
        }
        return best;
    }
};

}  // namespace

TEST(what_prices_of_limits_show_is_true) {
    std::mt19937_64 random(11);
    const auto below = [&](std::uint64_t limit) { return static_cast<Bytes>(random() % limit); };
    int gained = 0, whole = 0, suggested = 0, late = 0;
    for (int k = 0; k < check::rounds(1'000); ++k) {
        TinyPlaces tiny;
        const auto count = static_cast<std::size_t>(2 + below(5));
        for (std::size_t u = 0; u < count; ++u) {
            tiny.costs.emplace_back(static_cast<std::size_t>(1 + below(3)));
            for (Bytes& cost : tiny.costs.back()) cost = below(9);
            tiny.allowed.emplace_back(tiny.costs.back().size());
            std::iota(tiny.allowed.back().begin(), tiny.allowed.back().end(), Index{0});
        }
        proof::PlaceProgram program(tiny.costs);
        for (Bytes limits = below(5); limits >= 0; --limits) {
            TinyLimit limit{{}, below(12)};
            for (Index u = 0; u < count_of(tiny.costs); ++u) {
                const Bytes places = count_of(tiny.costs[u]);
                if (below(3) > 0)
                    limit.parts.push_back(
                        {u, {static_cast<Index>(below(static_cast<std::uint64_t>(places)))}, below(7)});
            }
            program.add(limit.parts, limit.room);
            tiny.limits.push_back(std::move(limit));
        }
        const std::vector<std::pair<Index, Bytes>> prices{{0, 1 + below(5)}};
        const Bytes scale = 1 + below(4);
        program.suggest(scale, prices);
        for (int change = 0; change < 8; ++change) {
            Budget budget;
            const auto least = tiny.least();
            Bytes floor = 0;
            for (std::size_t u = 0; u < count; ++u) {
                Bytes cheapest = std::numeric_limits<Bytes>::max();
                for (const Index place : tiny.allowed[u]) cheapest = std::min(cheapest, tiny.costs[u][place]);
                floor += cheapest;
            }
            const Bytes target = least.value_or(floor + 20);
            program.solve(target, budget);
            const auto leaf = program.leaf(target);
            if (least) CHECK(leaf.bound <= *least);
            suggested += leaf.scale == scale && leaf.prices == prices ? 1 : 0;
            const Index first = count_of(tiny.costs) / 2;
            if (const auto divided = program.divided(first)) {
                const auto shares = program.shares();
                const auto is_divided = [&](Index u) {
                    return tiny.allowed[u].size() > 1 &&
                           std::ranges::any_of(tiny.allowed[u], [&](Index place) {
                               return shares[u][place] > 0.01 && shares[u][place] < 0.99;
                           });
                };
                for (Index u = 0; u < first; ++u) CHECK(divided->first < first || !is_divided(u));
                CHECK(tiny.allowed[divided->first].size() > 1);
                late += divided->first >= first ? 1 : 0;
            }
            gained += leaf.bound > floor ? 1 : 0;
            // What has no choice and breaks a limit is shown to cost whatever is wanted.
            const bool has_choice = std::any_of(tiny.allowed.begin(), tiny.allowed.end(),
                                                [](const Places& one) { return one.size() > 1; });
            if (!has_choice) {
                CHECK(leaf.bound >= target);
                ++whole;
            }
            for (const auto& [limit, units] : program.covers(count_of(tiny.limits))) {
                Bytes sum = 0;
                for (const auto& part : tiny.limits[limit].parts) {
                    if (std::find(units.begin(), units.end(), part.unit) != units.end()) sum += part.weight;
                }
                CHECK(sum > tiny.limits[limit].room);
            }
            for (const auto& [limit, by] : program.divisors(count_of(tiny.limits)))
                CHECK(by > 1 && limit < count_of(tiny.limits));
            const auto unit = static_cast<Index>(below(count));
            auto& allowed = tiny.allowed[unit];
            if (allowed.size() > 1) {
                allowed.erase(allowed.begin() + below(allowed.size()));
            } else {
                allowed.resize(tiny.costs[unit].size());
                std::iota(allowed.begin(), allowed.end(), Index{0});
            }
            program.restrict_to(unit, allowed);
        }
    }
    CHECK(gained > 500);
    CHECK(whole > 50);
    CHECK(suggested > 50);
    CHECK(late > 50);
}
