#include "core/budget.hpp"

#include <nanobind/stl/optional.h>

#include <limits>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/exchange.hpp"

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

void offer(Exchange& self, const NativeInstance& instance, nb::handle layout, Bytes height) {
    self.offer(to_layout(instance.instance, layout), height);
}

std::optional<Bytes> height(const Exchange& self) {
    if (self.height() == kLimit) return std::nullopt;
    return self.height();
}

std::optional<Placed> placed(const Exchange& self) {
    Layout layout = self.layout();
    if (layout.empty()) return std::nullopt;
    return Placed{std::move(layout)};
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
    nb::class_<Exchange>(m, "Exchange", "What runs of the same problem elsewhere have found.")
        .def(nb::init<std::int64_t>(), nb::arg("rank"))
        .def("offer", &offer, nb::arg("instance"), nb::arg("layout"), nb::arg("height"))
        .def("raise_bound", &Exchange::raise_bound, nb::arg("bound"))
        .def_prop_ro("height", &height)
        .def_prop_ro("placed", &placed);
}

}  // namespace memstow::bindings
