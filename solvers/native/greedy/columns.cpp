#include "greedy/columns.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>

#include "core/ascending.hpp"
#include "core/bounds.hpp"
#include "core/score.hpp"
#include "greedy/greedy.hpp"
#include "greedy/sweep.hpp"

namespace memstow::greedy {
namespace {

// With more items than this only sweeps are tried.
constexpr Index kMostTried = 20'000;

// The items at one time that need the most, in units. All offsets may be 0, so no grid begins above it.
LiveBound most_live(const Instance& instance) {
    LiveBound plain = live_bound(instance, {true}, 1);
    const Grid grid = common_grid(instance, 0);
    if (grid.unit <= 1) return plain;
    LiveBound on_grid = live_bound(instance, {true}, grid.unit);
    return on_grid.bytes > plain.bytes ? on_grid : plain;
}

// In the order of time, forwards and backwards: with many buffers all other passes take far longer.
Layout swept(const Instance& instance, Budget& budget) {
    const auto sweep_by = [&](bool backwards) {
        std::vector<std::int64_t> rows(instance.item_count());
        for (Index item = 0; item < instance.item_count(); ++item) {
            const RowRange& range = instance.rows[item].front();
            rows[item] = backwards ? -range.end : range.begin;
        }
        return sweep(instance, ascending(rows), backwards, budget);
    };
    Layout backwards;
    const auto go_back = [&] { backwards = sweep_by(true); };
    std::optional<std::jthread> other;
    try {
        other.emplace(go_back);
    } catch (const std::system_error&) {  // no threads left: one after the other
    }
    Layout forwards = sweep_by(false);
    if (other) {
        other->join();
    } else {
        go_back();
    }
    const auto height_of = [&](const Layout& layout) { return pool_peaks(instance, layout)[0]; };
    return height_of(backwards) < height_of(forwards) ? backwards : forwards;
}

Layout layout_of(const Instance& instance, std::int64_t placements, Budget& budget) {
    if (instance.item_count() > kMostTried) return swept(instance, budget);
    GreedyOptions options;
    options.lower_bounds = {most_live(instance).bytes};
    options.portfolio_work = placements;
    options.improve_work = 0;
    return solve_greedy(instance, {{TermKind::peak, -1}}, {}, options, budget).layout;
}

}  // namespace

std::vector<std::int64_t> place(const Columns& columns, std::int64_t placements, Budget& budget) {
    const bool many = columns.sizes.size() > kMostTried;
    const ItemOrder order = many ? ItemOrder::by_begin : ItemOrder::as_given;
    const FromColumns converted = instance_of(columns, kLimit, order);
    const Layout layout = layout_of(converted.instance, placements, budget);
    std::vector<std::int64_t> offsets(columns.sizes.size());
    for (std::size_t item = 0; item < layout.size(); ++item) {
        const Bytes offset = layout[item].offset;
        offsets[converted.buffers[item]] = offset == kUnplaced ? kUnplaced : offset * converted.unit;
    }
    return offsets;
}

std::optional<Lowest> lowest(const Columns& columns, Bytes capacity, std::uint64_t seed, Budget& budget) {
    FromColumns converted = instance_of(columns, capacity, ItemOrder::as_given);
    Instance& instance = converted.instance;
    const Bytes units = instance.pools[0].capacity = capacity / converted.unit;
    if (std::min<WideBytes>(converted.stacked, units) >= kLimit) return std::nullopt;
    const LiveBound bound = most_live(instance);
    if (bound.row < 0 || bound.bytes > units) return std::nullopt;
    GreedyOptions options;
    options.lower_bounds = {bound.bytes};
    options.seed = seed;
    const GreedyResult greedy = solve_greedy(instance, {{TermKind::peak, -1}}, {}, options, budget);
    if (!greedy.bound_met) return std::nullopt;
    Lowest result;
    result.offsets.resize(columns.sizes.size());
    for (std::size_t item = 0; item < greedy.layout.size(); ++item) {
        result.offsets[converted.buffers[item]] = greedy.layout[item].offset * converted.unit;
    }
    result.peak = pool_peaks(instance, greedy.layout)[0] * converted.unit;
    for (const Index part : bound.parts) result.members.push_back(converted.buffers[part]);
    std::ranges::sort(result.members);
    result.moment = converted.times[bound.row];
    result.name = greedy.name;
    return result;
}

}  // namespace memstow::greedy
