#include "core/bounds.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "run/pool_bounds.hpp"

namespace memstow::bindings {
namespace {

// A need and the moment of the row where its parts meet.
struct TimedNeed {
    Need need;
    std::optional<std::int64_t> time;
};

TimedNeed timed(Need need, const NativeInstance& self) {
    std::optional<std::int64_t> time;
    if (need.row >= 0) time = self.times[need.row];
    return {std::move(need), time};
}

TimedNeed need_in(const NativeInstance& self, const std::vector<bool>& pools) {
    nb::gil_scoped_release release;
    return timed(need_of(self.instance, pools), self);
}

// The bounds, and the instance that has the moments of rows.
struct BoundsOfPools {
    const NativeInstance& instance;
    run::PoolBounds bounds;
};

void make_bounds(BoundsOfPools* self, const NativeInstance& instance, Bytes unit,
                 const std::vector<Bytes>& capacities) {
    nb::gil_scoped_release release;
    new (self) BoundsOfPools{instance, run::PoolBounds(instance.instance, unit, capacities)};
}

}  // namespace

void bind_bounds(nb::module_& m) {
    nb::class_<TimedNeed>(m, "Need", "Parts that must all be apart, and what they need together.")
        .def_prop_ro("bytes", [](const TimedNeed& self) { return to_python(self.need.bytes); })
        .def_prop_ro("height", [](const TimedNeed& self) { return to_python(self.need.height); })
        .def_ro("time", &TimedNeed::time)
        .def_prop_ro("parts", [](const TimedNeed& self) { return self.need.parts; });
    using Bound = run::PoolBounds::Bound;
    nb::class_<Bound>(m, "PoolBound", "A bound on peaks in bytes, and the numbers of the needs that show it.")
        .def_prop_ro("bytes", [](const Bound& self) { return to_python(self.bytes); })
        .def_ro("needs", &Bound::needs);
    nb::class_<BoundsOfPools>(m, "PoolBounds", "What must be in the pools at once.")
        .def("__init__", &make_bounds, nb::arg("instance"), nb::arg("unit"), nb::arg("capacities"),
             nb::keep_alive<1, 2>())
        .def(
            "pools_of", [](const BoundsOfPools& self, Index need) { return self.bounds.needs()[need].pools; },
            nb::arg("need"))
        .def(
            "need",
            [](const BoundsOfPools& self, Index need) {
                return timed(self.bounds.needs()[need].need, self.instance);
            },
            nb::arg("need"), "In units.")
        .def("misfit", [](const BoundsOfPools& self) { return self.bounds.misfit(); })
        .def(
            "of_pool", [](const BoundsOfPools& self, Index pool) { return self.bounds.of_pool(pool); },
            nb::arg("pool"))
        .def("of_largest", [](const BoundsOfPools& self) { return self.bounds.of_largest(); })
        .def("of_sum", [](const BoundsOfPools& self) { return self.bounds.of_sum(); });
    m.def("need_of", &need_in, nb::arg("instance"), nb::arg("pools"),
          "What items that can go to no other than these pools (by pool: true) need there at once.");
}

}  // namespace memstow::bindings
