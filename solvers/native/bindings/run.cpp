#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "run/by_terms.hpp"
#include "run/stages.hpp"

namespace memstow::bindings {
namespace {

std::optional<std::int64_t> most_work_of(const run::Stage& stage) {
    return stage.most_work < 0 ? std::nullopt : std::optional(stage.most_work);
}

}  // namespace

void bind_run(nb::module_& m) {
    nb::class_<run::Stage>(m, "Stage", "The turn of a solver.")
        .def_prop_ro("solver", [](const run::Stage& self) { return std::string(run::name_of(self.solver)); })
        .def_ro("share", &run::Stage::share)
        .def_prop_ro("most_work", &most_work_of);
    nb::class_<run::OnePoolStages>(m, "OnePoolStages", "The turns of solvers at the peak of one pool.")
        .def(
            "__init__",
            [](run::OnePoolStages* self, const NativeInstance& instance, Bytes bound) {
                new (self) run::OnePoolStages(instance.instance, bound);
            },
            nb::arg("instance"), nb::arg("bound"), nb::keep_alive<1, 2>())
        .def("next", &run::OnePoolStages::next, "The next turn; None where there is no other.");
    m.attr("FIRST_PASSES") = run::kFirstPasses;
    m.attr("DEFAULT_WORK") = run::kDefaultWork;
    m.attr("BANKS_ALONE") = run::kBanksAlone;
    m.attr("FEW_ITEMS_WORK") = run::kFewItemsWork;
    m.def(
        "are_few", [](const NativeInstance& self) { return run::are_few(self.instance); },
        nb::arg("instance"), "Whether all layouts of so few items may be looked through before a model is.");
}

}  // namespace memstow::bindings
