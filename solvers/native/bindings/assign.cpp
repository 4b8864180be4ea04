#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "assign/cheap_ways.hpp"
#include "assign/cost_bound.hpp"
#include "bindings/bindings.hpp"
#include "core/budget.hpp"

namespace memstow::bindings {
namespace {

// Per item its ways; each has a cost, and what it adds to which rows.
using WaysOfItems = std::vector<std::vector<std::tuple<std::int64_t, std::vector<std::tuple<Index, Bytes>>>>>;

assign::Ways read_ways(const WaysOfItems& items, const std::vector<Bytes>& room) {
    assign::Ways ways;
    for (const auto& item : items) {
        for (const auto& [cost, loads] : item) {
            ways.costs.values.push_back(cost);
            for (const auto& [row, amount] : loads) ways.loads.values.push_back({row, amount});
            ways.loads.close();
        }
        ways.costs.close();
    }
    ways.room = room;
    return ways;
}

std::optional<std::vector<Index>> cheap_ways(const WaysOfItems& items, const std::vector<Bytes>& room,
                                             const std::vector<Index>& order, Index width, std::uint64_t seed,
                                             Budget& budget) {
    const assign::Ways ways = read_ways(items, room);
    nb::gil_scoped_release release;
    return assign::cheap_ways(ways, {.order = order, .width = width, .seed = seed}, budget);
}

std::optional<std::pair<std::int64_t, bool>> widen(assign::CostBounds& bounds, Index width,
                                                   std::int64_t enough, Budget& budget) {
    nb::gil_scoped_release release;
    const auto bound = bounds.widen(width, enough, budget);
    if (!bound) return std::nullopt;
    return std::pair(bound->least, bound->complete);
}

}  // namespace

void bind_assign(nb::module_& m) {
    m.def("cheap_ways", &cheap_ways, nb::arg("items"), nb::arg("room"), nb::arg("order"), nb::arg("width"),
          nb::arg("seed"), nb::arg("budget"),
          "A way for each item that together are cheap, where no row has more than it has room for.");
    nb::class_<assign::CostBounds>(m, "CostBounds",
                                   "Bounds of what such ways cost, by wider and wider beams.")
        .def(
            "__init__",
            [](assign::CostBounds* self, const WaysOfItems& items, const std::vector<Bytes>& room,
               std::vector<Index> order) {
                new (self) assign::CostBounds(read_ways(items, room), std::move(order));
            },
            nb::arg("items"), nb::arg("room"), nb::arg("order"))
        .def("widen", &widen, nb::arg("width"), nb::arg("enough"), nb::arg("budget"),
             "What they cost at least, at most `enough`, and whether more work shows no more.");
}

}  // namespace memstow::bindings
