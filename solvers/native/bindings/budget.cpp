#include "core/budget.hpp"

#include <nanobind/stl/optional.h>

#include <limits>
#include <optional>

#include "bindings/bindings.hpp"

namespace memstow::bindings {
namespace {

std::optional<double> seconds_left(const Budget& budget) {
    const double left = budget.seconds_left();
    if (left < 0) return std::nullopt;
    return left;
}

std::optional<std::int64_t> work_left(const Budget& budget) {
    if (budget.work_limit() == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    return budget.work_limit() - budget.work();
}

}  // namespace

void bind_budget(nb::module_& m) {
    nb::class_<Budget>(m, "Budget", "When a native run must stop.")
        .def(nb::init<double, std::int64_t, const Budget*>(), nb::arg("seconds"), nb::arg("work"),
             nb::arg("parent").none() = nb::none(), nb::keep_alive<1, 4>())
        .def("cancel", &Budget::cancel)
        .def("count", &Budget::count, nb::arg("steps"))
        .def_prop_ro("spent", &Budget::spent)
        .def_prop_ro("work", &Budget::work)
        .def_prop_ro("cancelled", &Budget::cancelled)
        .def_prop_ro("seconds_left", &seconds_left)
        .def_prop_ro("work_left", &work_left);
}

}  // namespace memstow::bindings
