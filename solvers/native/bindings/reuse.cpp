#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/budget.hpp"
#include "run/prefer.hpp"
#include "run/reuse_costs.hpp"

namespace memstow::bindings {
namespace {

using run::ReuseOptions;
using run::ReuseResult;

using Ints128 = nb::typed<nb::list, nb::int_>;
using OnValue = std::function<void(nb::int_, const Placed&)>;
using OnBound = std::function<void(nb::int_)>;

Ints128 list_of(const std::vector<Value>& values) {
    Ints128 list;
    for (const Value value : values) list.append(to_python(value));
    return list;
}

ReuseResult solve(const NativeInstance& self, TermObjects terms, LayoutObject start,
                  const std::vector<std::int64_t>& lower_bounds, ReuseOptions options, Budget& budget,
                  const OnValue& on_value, const OnBound& on_bound) {
    options.terms = to_terms(terms);
    options.lower_bounds.assign(lower_bounds.begin(), lower_bounds.end());
    options.start = to_layout(self.instance, start);
    run::ReuseEvents events;
    events.better = [&](const Layout& layout, Value value) {
        const nb::gil_scoped_acquire acquire;
        on_value(to_python(value), Placed{layout});
    };
    events.bound = [&](Value bound) {
        const nb::gil_scoped_acquire acquire;
        on_bound(to_python(bound));
    };
    nb::gil_scoped_release release;
    return run::minimise_reuse(self.instance, options, budget, events);
}

using Crowds = std::vector<std::pair<std::vector<Index>, Bytes>>;

void known_prices(reuse::AddressPrices* self, std::vector<std::pair<Index, Bytes>> links, Crowds crowds,
                  Bytes scale, Bytes unit, Bytes worth) {
    new (self) reuse::AddressPrices{std::move(links), {}, scale, unit, worth};
    for (auto& [members, price] : crowds) self->crowds.push_back({std::move(members), price});
}

Crowds crowds_of(const reuse::AddressPrices& prices) {
    Crowds crowds;
    for (const auto& [members, price] : prices.crowds) crowds.emplace_back(members, price);
    return crowds;
}

std::optional<Placed> placed(const ReuseResult& result) {
    if (result.layout.empty()) return std::nullopt;
    return Placed{result.layout};
}

Placed prefer(const NativeInstance& self, TermObjects terms, const Hint* hint, LayoutObject layout) {
    const std::vector<Term> counted = to_terms(terms);
    const Hint from = to_hint(hint);
    Layout start = to_layout(self.instance, layout);
    nb::gil_scoped_release release;
    return {run::in_preferred_pools(self.instance, counted, from, std::move(start))};
}

}  // namespace

void bind_reuse(nb::module_& m) {
    nb::class_<ReuseOptions>(m, "ReuseOptions", "How the search for the least reuse cost goes.")
        .def(
            "__init__",
            [](ReuseOptions* self, std::uint64_t seed, bool two_threads, std::int64_t first_turn) {
                new (self) ReuseOptions{{}, {}, {}, seed, two_threads, first_turn};
            },
            nb::kw_only(), nb::arg("seed"), nb::arg("two_threads"), nb::arg("first_turn"));
    nb::class_<LockedBound>(m, "LockedBound", "A bound on a term while earlier ones are within the locks.")
        .def_ro("term", &LockedBound::term)
        .def_prop_ro("value", [](const LockedBound& self) { return to_python(self.value); })
        .def_prop_ro("locks", [](const LockedBound& self) { return list_of(self.locks); })
        .def_ro("searches", &LockedBound::searches);
    nb::class_<reuse::AddressPrices>(
        m, "AddressPrices",
        "Prices that show what layouts of a pool pay, by number, and of what is too much of some together: "
        "the scale\n"
        "is a cost of 1 where what shares is counted in units; a unit is a number of bytes. No chain is "
        "worth "
        "more than `worth`.")
        .def("__init__", &known_prices, nb::arg("links"), nb::arg("crowds"), nb::arg("scale"),
             nb::arg("unit"), nb::arg("worth"))
        .def_ro("links", &reuse::AddressPrices::links)
        .def_prop_ro("crowds", &crowds_of)
        .def_ro("scale", &reuse::AddressPrices::scale)
        .def_ro("unit", &reuse::AddressPrices::unit)
        .def_ro("worth", &reuse::AddressPrices::worth);
    nb::class_<ReuseResult>(m, "ReuseResult", "The best layout, and what is proven.")
        .def_prop_ro("placed", &placed)
        .def_prop_ro("values", [](const ReuseResult& self) { return to_python(self.score); })
        .def_ro("bounds", &ReuseResult::bounds)
        .def_ro("prices", &ReuseResult::prices, "By part.")
        .def_ro("misfit", &ReuseResult::misfit);
    m.def(
        "declined_by_reuse",
        [](const NativeInstance& self, TermObjects terms) {
            return run::declined_by_reuse(self.instance, to_terms(terms));
        },
        nb::arg("instance"), nb::arg("terms"), "Why `minimise_reuse` cannot honour the terms.");
    m.def("minimise_reuse", &solve, nb::arg("instance"), nb::arg("terms"), nb::arg("start").none(),
          nb::arg("lower_bounds"), nb::arg("options"), nb::arg("budget"), nb::arg("on_value"),
          nb::arg("on_bound"), "Layouts of least reuse cost, term by term and pool by pool.");
    m.def("in_preferred_pools", &prefer, nb::arg("instance"), nb::arg("terms"), nb::arg("hint").none(),
          nb::arg("layout"), "The layout with items moved to pools they prefer.");
    m.attr("FIRST_TURN") = run::kFirstTurn;
}

}  // namespace memstow::bindings
