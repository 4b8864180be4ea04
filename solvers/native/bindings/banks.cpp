#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>

#include "banks/bound.hpp"
#include "banks/search.hpp"
#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/budget.hpp"

namespace memstow::bindings {
namespace {

using OnValues = std::function<void(std::optional<nb::typed<nb::list, nb::int_>>, Placed)>;

banks::Placed solve(const NativeInstance& self, TermObjects terms, const Hint* hint,
                    const std::vector<std::int64_t>& lower_bounds, std::uint64_t seed, Budget& budget,
                    const OnValues& on_values) {
    const Scorer scorer(self.instance, to_terms(terms), to_hint(hint));
    const std::vector<Value> bounds(lower_bounds.begin(), lower_bounds.end());
    const nb::gil_scoped_release release;
    return banks::search(self.instance, scorer, bounds, seed, budget,
                         [&](const Layout& layout, const Score& score) {
                             const nb::gil_scoped_acquire acquire;
                             on_values(to_python(score), Placed{layout});
                         });
}

}  // namespace

void bind_banks(nb::module_& m) {
    nb::class_<banks::Placed>(m, "PlacedInBanks", "A layout of an instance with banks.")
        .def_prop_ro("placed", [](const banks::Placed& self) { return Placed{self.layout}; })
        .def_prop_ro("values", [](const banks::Placed& self) { return to_python(self.score); })
        .def_ro("bounds", &banks::Placed::bounds)
        .def_ro("misfit", &banks::Placed::misfit);
    nb::class_<banks::Crowd>(m, "Crowd", "Parts that are more than the banks that they must touch.")
        .def_ro("parts", &banks::Crowd::parts)
        .def_ro("cost", &banks::Crowd::cost);
    nb::class_<banks::CrowdBound>(m, "CrowdBound", "A lower bound on bank costs.")
        .def_prop_ro("value", [](const banks::CrowdBound& self) { return to_python(self.value); })
        .def_ro("crowds", &banks::CrowdBound::crowds);
    m.def(
        "bound_of_crowds", [](const NativeInstance& self) { return banks::bound_of_crowds(self.instance); },
        nb::arg("instance"), nb::call_guard<nb::gil_scoped_release>(),
        "What pairs that should share no bank pay at the least, as crowds show it.");
    m.def("place_in_banks", &solve, nb::arg("instance"), nb::arg("terms"), nb::arg("hint").none(),
          nb::kw_only(), nb::arg("lower_bounds"), nb::arg("seed"), nb::arg("budget"), nb::arg("on_values"),
          "The best layout within the budget, where something depends on banks.");
}

}  // namespace memstow::bindings
