#include "core/bounds.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"

namespace memstow::bindings {
namespace {

// A bound and the moment of the row where its parts meet.
struct TimedBound {
    LiveBound bound;
    std::optional<std::int64_t> time;
};

TimedBound timed(const NativeInstance& self, LiveBound bound) {
    std::optional<std::int64_t> time;
    if (bound.row >= 0) time = self.times[bound.row];
    return {std::move(bound), time};
}

Grid grid_of(const NativeInstance& self, Index pool) { return common_grid(self.instance, pool); }

TimedBound most_live(const NativeInstance& self, const std::vector<bool>& pools, Bytes unit) {
    nb::gil_scoped_release release;
    return timed(self, live_bound(self.instance, pools, unit));
}

TimedBound most_in_a_clique(const NativeInstance& self, const std::vector<bool>& pools, Bytes unit,
                            std::int64_t nodes) {
    nb::gil_scoped_release release;
    return timed(self, clique_bound(self.instance, pools, unit, nodes));
}

}  // namespace

void bind_bounds(nb::module_& m) {
    nb::class_<Grid>(m, "Grid", "Offsets that are `residue` modulo `unit`.")
        .def_ro("unit", &Grid::unit)
        .def_ro("residue", &Grid::residue);
    nb::class_<TimedBound>(m, "LiveBound", "Parts that must all be apart, and the bytes they need together.")
        .def_prop_ro("bytes", [](const TimedBound& self) { return to_python(self.bound.bytes); })
        .def_ro("time", &TimedBound::time)
        .def_prop_ro("parts", [](const TimedBound& self) { return self.bound.parts; });
    m.def("common_grid", &grid_of, nb::arg("instance"), nb::arg("pool"),
          "The grid of all offsets that items forced into the pool can have.");
    m.def("live_bound", &most_live, nb::arg("instance"), nb::arg("pools"), nb::arg("unit"),
          "The most bytes needed at once by items that can go to no other than these pools.");
    m.def("clique_bound", &most_in_a_clique, nb::arg("instance"), nb::arg("pools"), nb::arg("unit"),
          nb::arg("nodes"), "The same over cliques of the conflict graph.");
}

}  // namespace memstow::bindings
