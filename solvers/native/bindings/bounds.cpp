#include "core/bounds.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"

namespace memstow::bindings {
namespace {

// A need and the moment of the row where its parts meet.
struct TimedNeed {
    Need need;
    std::optional<std::int64_t> time;
};

TimedNeed timed(const NativeInstance& self, const std::vector<bool>& pools) {
    nb::gil_scoped_release release;
    Need need = need_of(self.instance, pools);
    std::optional<std::int64_t> time;
    if (need.row >= 0) time = self.times[need.row];
    return {std::move(need), time};
}

}  // namespace

void bind_bounds(nb::module_& m) {
    nb::class_<TimedNeed>(m, "Need", "Parts that must all be apart, and what they need together.")
        .def_prop_ro("bytes", [](const TimedNeed& self) { return to_python(self.need.bytes); })
        .def_prop_ro("height", [](const TimedNeed& self) { return to_python(self.need.height); })
        .def_ro("time", &TimedNeed::time)
        .def_prop_ro("parts", [](const TimedNeed& self) { return self.need.parts; });
    m.def("need_of", &timed, nb::arg("instance"), nb::arg("pools"),
          "What items that can go to no other than these pools (by pool: true) need there at once.");
}

}  // namespace memstow::bindings
