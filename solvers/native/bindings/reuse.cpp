#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/budget.hpp"
#include "reuse/cheapest.hpp"
#include "search/exact.hpp"

namespace memstow::bindings {
namespace {

using reuse::Cheapest;

using Items = std::vector<Index>;
using OnOffsets = std::function<void(Bytes, const Cheapest::Offsets&)>;
using OnBound = std::function<void(Bytes)>;

// The items of one pool, and the search for their cheapest layout.
struct PoolSearch {
    Items items;
    Cheapest search;
};

void make_search(PoolSearch* self, const NativeInstance& from, const Items& items, std::uint64_t seed,
                 bool two_threads) {
    nb::gil_scoped_release release;
    new (self) PoolSearch{items, Cheapest(search::restrict_to(from.instance, items), seed, two_threads)};
}

Cheapest::Events telling(const OnOffsets& on_value, const OnBound& on_bound) {
    Cheapest::Events events;
    events.value = [&on_value](Bytes value, const Cheapest::Offsets& offsets) {
        nb::gil_scoped_acquire acquire;
        on_value(value, offsets);
    };
    events.bound = [&on_bound](Bytes value) {
        nb::gil_scoped_acquire acquire;
        on_bound(value);
    };
    return events;
}

// Dead items as the caller numbers them.
Cheapest::Result renumbered(Cheapest::Result result, const Items& items) {
    for (Index& item : result.dead) item = items[item];
    return result;
}

Cheapest::Result cheapest(PoolSearch& self, const Cheapest::CheapestOptions& options, Budget& budget,
                          const OnOffsets& on_cost, const OnBound& on_bound) {
    nb::gil_scoped_release release;
    const Cheapest::Events events = telling(on_cost, on_bound);
    return renumbered(self.search.cheapest(options, budget, events), self.items);
}

Cheapest::Result lowest(PoolSearch& self, const Cheapest::LowestOptions& options, Budget& budget,
                        const OnOffsets& on_height, const OnBound& on_bound) {
    nb::gil_scoped_release release;
    const Cheapest::Events events = telling(on_height, on_bound);
    return renumbered(self.search.lowest(options, budget, events), self.items);
}

std::optional<Cheapest::Offsets> offsets(const Cheapest::Result& result) {
    if (result.offsets.empty()) return std::nullopt;
    return result.offsets;
}

void bind_values(nb::module_& m) {
    nb::class_<Cheapest::CheapestOptions>(m, "CheapestOptions",
                                          "How high a layout may be, and what is enough.")
        .def(
            "__init__",
            [](Cheapest::CheapestOptions* self, Bytes height, std::optional<Bytes> enough) {
                new (self) Cheapest::CheapestOptions{height, enough};
            },
            nb::kw_only(), nb::arg("height"), nb::arg("enough").none());
    nb::class_<Cheapest::LowestOptions>(m, "LowestOptions", "How high a layout may be and what it may cost.")
        .def(
            "__init__",
            [](Cheapest::LowestOptions* self, Bytes height, Bytes cost, Bytes bound) {
                new (self) Cheapest::LowestOptions{{height, cost}, bound};
            },
            nb::kw_only(), nb::arg("height"), nb::arg("cost"), nb::arg("bound"));
    nb::class_<Cheapest::Result>(m, "CheapestResult",
                                 "The best layout within the limits, and what is proven.")
        .def_prop_ro("offsets", &offsets)
        .def_ro("cost", &Cheapest::Result::cost)
        .def_ro("top", &Cheapest::Result::top)
        .def_ro("bound", &Cheapest::Result::bound)
        .def_ro("infeasible", &Cheapest::Result::none)
        .def_ro("dead", &Cheapest::Result::dead)
        .def_ro("refuted", &Cheapest::Result::refuted)
        .def_ro("by_addresses", &Cheapest::Result::by_addresses);
}

}  // namespace

void bind_reuse(nb::module_& m) {
    bind_values(m);
    nb::class_<PoolSearch>(m, "Cheapest", "The search for layouts of least reuse cost of one pool.")
        .def("__init__", &make_search, nb::arg("instance"), nb::arg("items"), nb::arg("seed"),
             nb::arg("two_threads"))
        .def(
            "offer", [](PoolSearch& self, const Cheapest::Offsets& offsets) { self.search.offer(offsets); },
            nb::arg("offsets"))
        .def("cheapest", &cheapest, nb::arg("options"), nb::arg("budget"), nb::arg("on_cost"),
             nb::arg("on_bound"))
        .def("lowest", &lowest, nb::arg("options"), nb::arg("budget"), nb::arg("on_height"),
             nb::arg("on_bound"));
}

}  // namespace memstow::bindings
