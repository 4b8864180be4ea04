#include "greedy/greedy.hpp"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/budget.hpp"

namespace memstow::bindings {
namespace {

using greedy::GreedyOptions;
using greedy::GreedyResult;

using OnScore = std::function<void(std::optional<nb::typed<nb::list, nb::int_>>, const std::string&, Placed)>;

GreedyResult solve(const NativeInstance& self, TermObjects terms, const Hint* hint,
                   const GreedyOptions& options, Budget& budget, const std::optional<OnScore>& on_score) {
    const std::vector<Term> wanted = to_terms(terms);
    const Hint start = to_hint(hint);
    nb::gil_scoped_release release;
    greedy::OnLayout on_layout;
    if (on_score) {
        on_layout = [&](const Layout& layout, const Score& score, const std::string& name) {
            nb::gil_scoped_acquire acquire;
            (*on_score)(to_python(score), name, Placed{layout});
        };
    }
    return greedy::solve_greedy(self.instance, wanted, start, options, budget, on_layout);
}

void make_options(GreedyOptions* self, const std::vector<std::int64_t>& lower_bounds, std::uint64_t seed) {
    new (self) GreedyOptions;
    self->lower_bounds.assign(lower_bounds.begin(), lower_bounds.end());
    self->seed = seed;
}

}  // namespace

void bind_greedy(nb::module_& m) {
    nb::class_<GreedyOptions>(m, "GreedyOptions", "Lower bounds by term: met by all, the run ends.")
        .def("__init__", &make_options, nb::kw_only(), nb::arg("lower_bounds"), nb::arg("seed"));
    nb::class_<GreedyResult>(m, "GreedyResult", "The best layout of the greedy portfolio, and who found it.")
        .def_prop_ro("placed", [](const GreedyResult& self) { return Placed{self.layout}; })
        .def(
            "take_placed", [](GreedyResult& self) { return Placed{std::move(self.layout)}; },
            "`placed`, which is then gone: a large layout need not be there twice.")
        .def_prop_ro("values", [](const GreedyResult& self) { return to_python(self.score); })
        .def_ro("name", &GreedyResult::name);
    m.def("greedy", &solve, nb::arg("instance"), nb::arg("terms"), nb::arg("hint").none(), nb::arg("options"),
          nb::arg("budget"), nb::arg("on_score").none(), "The best layout of the greedy portfolio.");
}

}  // namespace memstow::bindings
