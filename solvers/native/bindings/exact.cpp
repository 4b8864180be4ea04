#include "search/exact.hpp"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/budget.hpp"

namespace memstow::bindings {
namespace {

using search::DeadSet;
using search::ExactOptions;
using search::ExactResult;
using search::ExactStatus;
using search::Reach;
using search::Refutation;

using OnBound = std::function<void(Bytes)>;

ExactResult solve(const NativeInstance& self, LayoutObject start, const ExactOptions& wanted, Budget& budget,
                  const OnHeight& on_height, const OnBound& on_bound) {
    ExactOptions options = wanted;
    options.start = to_layout(self.instance, start);
    nb::gil_scoped_release release;
    search::ExactEvents events;
    events.incumbent = holding_the_lock(on_height);
    events.bound = [&](Bytes proven, std::int64_t) {
        nb::gil_scoped_acquire acquire;
        on_bound(proven);
    };
    return search::solve_exact(self.instance, options, budget, events);
}

Reach reach(const NativeInstance& self, LayoutObject start, Bytes bound) {
    return search::reach_of(self.instance, to_layout(self.instance, start), bound);
}

DeadSet shrink(const NativeInstance& self, const std::vector<Index>& items, Bytes height, Budget& budget) {
    nb::gil_scoped_release release;
    return search::dead_set(self.instance, items, height, budget);
}

std::optional<Placed> placed(const ExactResult& result) {
    if (result.layout.empty()) return std::nullopt;
    return Placed{result.layout};
}

void make_options(ExactOptions* self, Bytes limit, bool fit_only, Bytes bound, int workers,
                  bool deterministic, std::uint64_t seed) {
    new (self) ExactOptions;
    self->limit = limit;
    self->fit_only = fit_only;
    self->bound = bound;
    self->workers = workers;
    self->deterministic = deterministic;
    self->seed = seed;
}

void bind_result(nb::module_& m) {
    nb::enum_<ExactStatus>(m, "ExactStatus", "What an exact search has shown.")
        .value("OPTIMAL", ExactStatus::optimal)
        .value("FEASIBLE", ExactStatus::feasible)
        .value("INFEASIBLE", ExactStatus::infeasible)
        .value("UNKNOWN", ExactStatus::unknown);
    nb::class_<Refutation>(m, "Refutation", "A search that ran dry: no layout is this high or lower.")
        .def_ro("height", &Refutation::height)
        .def_ro("nodes", &Refutation::nodes);
    nb::class_<ExactResult>(m, "ExactResult", "The lowest layout found, and what is proven.")
        .def_ro("status", &ExactResult::status)
        .def_prop_ro("placed", &placed)
        .def_ro("height", &ExactResult::height)
        .def_ro("bound", &ExactResult::bound)
        .def_ro("refuted", &ExactResult::refuted)
        .def_ro("dead", &ExactResult::dead);
}

}  // namespace

void bind_exact(nb::module_& m) {
    bind_result(m);
    nb::class_<ExactOptions>(m, "ExactOptions", "What the search of one pool may do, and what is known.")
        .def("__init__", &make_options, nb::kw_only(), nb::arg("limit"), nb::arg("fit_only"),
             nb::arg("bound"), nb::arg("workers"), nb::arg("deterministic"), nb::arg("seed"));
    nb::class_<Reach>(m, "Reach", "What an exact search could do.")
        .def_ro("largest", &Reach::largest)
        .def_ro("searchable", &Reach::searchable)
        .def_ro("nearly_full", &Reach::nearly_full);
    nb::class_<DeadSet>(m, "DeadSet", "Items that alone have no layout of some height.")
        .def_ro("items", &DeadSet::items)
        .def_ro("smallest", &DeadSet::smallest);
    m.def("exact", &solve, nb::arg("instance"), nb::arg("start").none(), nb::arg("options"),
          nb::arg("budget"), nb::arg("on_height"), nb::arg("on_bound"),
          "The lowest layout of one pool, and proofs.");
    m.def("exact_reach", &reach, nb::arg("instance"), nb::arg("start").none(), nb::arg("bound"),
          "What an exact search could do from here.");
    m.def("dead_set", &shrink, nb::arg("instance"), nb::arg("items"), nb::arg("height"), nb::arg("budget"),
          "A small set that has no layout of this height.");
    m.attr("MOST_ITEMS") = search::kMostItems;
}

}  // namespace memstow::bindings
