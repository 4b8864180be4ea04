#include "core/columns.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/bounds.hpp"
#include "core/budget.hpp"
#include "core/score.hpp"
#include "greedy/greedy.hpp"
#include "greedy/sweep.hpp"

namespace memstow::bindings {
namespace {

using Ints = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> span_of(const Ints& ints) { return {ints.data(), ints.size()}; }

// Offsets by buffer, and what is known of them.
struct PlacedColumns {
    std::vector<std::int64_t> offsets;
};

// With more items than this only sweeps are tried.
constexpr Index kMostTried = 20'000;

// The least height that items at one time need, in units.
Value least_height(const Instance& instance) {
    const Value plain = live_bound(instance, {true}, 1).bytes;
    const Grid grid = common_grid(instance, 0);
    if (grid.unit <= 1) return plain;
    return std::max<Value>(plain, live_bound(instance, {true}, grid.unit).bytes);
}

// In the order of time, forwards and backwards: with many buffers all other passes take far longer.
Layout swept(const Instance& instance, Budget& budget) {
    std::vector<Index> order(static_cast<std::size_t>(instance.item_count()));
    std::iota(order.begin(), order.end(), 0);
    const auto rows_of = [&](Index item) { return instance.rows[item].front(); };
    const auto height_of = [&](const Layout& layout) { return pool_peaks(instance, layout)[0]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return rows_of(a).begin < rows_of(b).begin; });
    Layout forwards = greedy::sweep(instance, order, false, budget);
    if (budget.spent()) return forwards;
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return rows_of(a).end > rows_of(b).end; });
    Layout backwards = greedy::sweep(instance, order, true, budget);
    return height_of(backwards) < height_of(forwards) ? backwards : forwards;
}

Layout greedy_layout(const Instance& instance, std::int64_t placements, Budget& budget) {
    if (instance.item_count() > kMostTried) return swept(instance, budget);
    greedy::GreedyOptions options;
    options.lower_bounds = {least_height(instance)};
    options.portfolio_work = placements;
    options.improve_work = 0;
    return greedy::solve_greedy(instance, {{TermKind::peak, -1}}, {}, options, budget).layout;
}

PlacedColumns place(const Columns& columns, std::int64_t placements, Budget& budget) {
    const FromColumns made = instance_of(columns, kLimit);
    const Layout layout = greedy_layout(made.instance, placements, budget);
    PlacedColumns placed;
    placed.offsets.assign(columns.sizes.size(), 0);
    for (std::size_t item = 0; item < layout.size(); ++item) {
        const Bytes offset = layout[item].offset;
        placed.offsets[made.buffers[item]] = offset == kUnplaced ? kUnplaced : offset * made.unit;
    }
    return placed;
}

PlacedColumns place_columns(const Ints& sizes, const Ints& begins, const Ints& ends, const Ints& alignments,
                            std::int64_t placements, Budget& budget) {
    nb::gil_scoped_release release;
    return place({span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)}, placements, budget);
}

}  // namespace

void bind_columns(nb::module_& m) {
    nb::class_<PlacedColumns>(m, "PlacedColumns", "Offsets by buffer, as bytes of 64-bit integers.")
        .def_prop_ro("offsets", [](const PlacedColumns& self) {
            return nb::bytes(reinterpret_cast<const char*>(self.offsets.data()),
                             self.offsets.size() * sizeof(std::int64_t));
        });
    m.def("place_columns", &place_columns, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"),
          nb::arg("alignments"), nb::arg("placements"), nb::arg("budget"),
          "The greedy layout of buffers that are given as valid columns.");
}

}  // namespace memstow::bindings
