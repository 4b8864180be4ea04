#include "improve/improve.hpp"

#include <nanobind/stl/function.h>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/budget.hpp"

namespace memstow::bindings {
namespace {

using improve::ImproveOptions;
using improve::ImproveResult;

ImproveResult solve(const NativeInstance& self, LayoutObject start, const ImproveOptions& options,
                    Budget& budget, const OnHeight& on_height) {
    const Layout from = to_layout(self.instance, start);
    nb::gil_scoped_release release;
    return improve::improve_layout(self.instance, from, options, budget, holding_the_lock(on_height));
}

void make_options(ImproveOptions* self, Bytes limit, bool fit_only, Bytes bound, int workers,
                  bool deterministic, std::uint64_t seed) {
    new (self) ImproveOptions;
    self->limit = limit;
    self->fit_only = fit_only;
    self->bound = bound;
    self->workers = workers;
    self->deterministic = deterministic;
    self->seed = seed;
}

}  // namespace

void bind_improve(nb::module_& m) {
    nb::class_<ImproveOptions>(m, "ImproveOptions", "Where the search ends, and how it goes.")
        .def("__init__", &make_options, nb::kw_only(), nb::arg("limit"), nb::arg("fit_only"),
             nb::arg("bound"), nb::arg("workers"), nb::arg("deterministic"), nb::arg("seed"));
    nb::class_<ImproveResult>(m, "ImproveResult", "A layout that is no higher than the start.")
        .def_prop_ro("placed", [](const ImproveResult& self) { return Placed{self.layout}; })
        .def_ro("height", &ImproveResult::height);
    m.def("improve", &solve, nb::arg("instance"), nb::arg("start"), nb::arg("options"), nb::arg("budget"),
          nb::arg("on_height"), "A layout that is no higher than the start.");
}

}  // namespace memstow::bindings
