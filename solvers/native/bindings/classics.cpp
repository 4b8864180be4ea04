#include "greedy/classics.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/budget.hpp"

namespace memstow::bindings {
namespace {

std::vector<std::string> names() { return {greedy::classics().begin(), greedy::classics().end()}; }

std::optional<std::string> declined(const NativeInstance& self, const std::string& name) {
    return greedy::declines(name, self.instance);
}

Placed solve(const NativeInstance& self, const std::string& name, Budget& budget) {
    nb::gil_scoped_release release;
    return {greedy::run_classic(name, self.instance, budget)};
}

}  // namespace

void bind_classics(nb::module_& m) {
    m.def("classics", &names, "The names of the published planners.");
    m.def("classic_declines", &declined, nb::arg("instance"), nb::arg("name"),
          "What of the instance the planner cannot honour, in words; None: nothing.");
    m.def("classic", &solve, nb::arg("instance"), nb::arg("name"), nb::arg("budget"),
          "The planner's layout.");
}

}  // namespace memstow::bindings
