#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>

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
        .def_prop_ro("values", [](const banks::Placed& self) { return to_python(self.score); });
    m.def("place_in_banks", &solve, nb::arg("instance"), nb::arg("terms"), nb::arg("hint").none(),
          nb::kw_only(), nb::arg("lower_bounds"), nb::arg("seed"), nb::arg("budget"), nb::arg("on_values"),
          "The best layout within the budget, where something depends on banks.");
}

}  // namespace memstow::bindings
