#include "core/budget.hpp"

#include <nanobind/stl/optional.h>

#include <limits>
#include <optional>

#include "bindings/bindings.hpp"
#include "run/stages.hpp"

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

// The share of a turn, for whichever solver.
Budget* share_of(const Budget& budget, double share, std::optional<std::int64_t> most_work) {
    return new Budget(run::share_of(budget, {run::Solver::greedy, share, most_work.value_or(-1)}));
}

}  // namespace

void bind_budget(nb::module_& m) {
    nb::class_<Budget>(m, "Budget", "When a native run must stop.")
        .def(nb::init<double, std::int64_t, const Budget*>(), nb::arg("seconds"), nb::arg("work"),
             nb::arg("parent").none() = nb::none(), nb::keep_alive<1, 4>())
        .def("share", &share_of, nb::arg("share"), nb::arg("most_work").none() = nb::none(),
             nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
             "This fraction of what is left, and at most so many steps; it can be cancelled on its own.")
        .def("cancel", &Budget::cancel)
        .def("count", &Budget::count, nb::arg("steps"))
        .def_prop_ro("spent", &Budget::spent)
        .def_prop_ro("work", &Budget::work)
        .def_prop_ro("cancelled", &Budget::cancelled)
        .def_prop_ro("seconds_left", &seconds_left)
        .def_prop_ro("work_left", &work_left);
}

}  // namespace memstow::bindings
