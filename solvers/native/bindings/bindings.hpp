// One function for each file of this folder, which adds its names to the Python module.
#pragma once

#include <nanobind/nanobind.h>

namespace memstow::bindings {

namespace nb = nanobind;

void bind_budget(nb::module_& m);
void bind_instance(nb::module_& m);
void bind_score(nb::module_& m);
void bind_bounds(nb::module_& m);
void bind_greedy(nb::module_& m);
void bind_classics(nb::module_& m);
void bind_exact(nb::module_& m);
void bind_windows(nb::module_& m);
void bind_improve(nb::module_& m);
void bind_assign(nb::module_& m);
void bind_banks(nb::module_& m);
void bind_reuse(nb::module_& m);
void bind_order(nb::module_& m);
void bind_stripes(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_reduction(nb::module_& m);
void bind_run(nb::module_& m);
void bind_recompute(nb::module_& m);
void bind_shapes(nb::module_& m);
void bind_proof(nb::module_& m);

}  // namespace memstow::bindings
