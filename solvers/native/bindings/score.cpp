#include "core/score.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>
#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/occupied.hpp"

namespace memstow::bindings {
namespace {

Hint make_hint(const NativeInstance& self, LayoutObject places, KeptObjects kept, std::int64_t buffers) {
    Hint hint{to_layout(self.instance, places), {}, buffers};
    for (const nb::handle one : kept) {
        const auto item = nb::cast<Index>(one.attr("item"));
        if (item < 0 || item >= self.instance.item_count()) throw std::length_error("not of this instance");
        const Place place{nb::cast<Index>(one.attr("pool")), nb::cast<Bytes>(one.attr("offset"))};
        hint.kept.push_back({item, place, nb::cast<std::int64_t>(one.attr("count"))});
    }
    return hint;
}

// What is asked of each place, as the bytes of an array that is made at once: layouts may be large.
template <class Asked>
nb::bytes column_of(const Placed& placed, Asked what) {
    const std::size_t count = placed.layout.size();
    auto column =
        nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(count * 8)));
    if (!column.is_valid()) throw nb::python_error();
    char* to = PyBytes_AsString(column.ptr());
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t value = what(placed.layout[i]);
        std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
    return column;
}

nb::bytes pools_of(const Placed& placed) {
    return column_of(placed, [](const Place& place) { return std::int64_t{place.pool}; });
}

nb::bytes offsets_of(const Placed& placed) {
    return column_of(placed, [](const Place& place) { return place.offset; });
}

std::optional<nb::typed<nb::list, nb::int_>> score_of(const NativeInstance& self, TermObjects terms,
                                                      const Hint* hint, LayoutObject layout) {
    const Scorer scorer(self.instance, to_terms(terms), to_hint(hint));
    return to_python(scorer(to_layout(self.instance, layout)));
}

std::vector<Bytes> peaks_of(const NativeInstance& self, LayoutObject layout) {
    return pool_peaks(self.instance, to_layout(self.instance, layout));
}

std::vector<Occupied> occupied_by(const NativeInstance& self, LayoutObject layout) {
    return most_occupied(self.instance, to_layout(self.instance, layout));
}

}  // namespace

void bind_score(nb::module_& m) {
    nb::enum_<TermKind>(m, "TermKind", nb::is_arithmetic(), "Terms of the objective.")
        .value("PEAK", TermKind::peak)
        .value("POOL_PEAK", TermKind::pool_peak)
        .value("MAX_PEAK", TermKind::max_peak)
        .value("PLACEMENT_COST", TermKind::placement_cost)
        .value("REUSE_COST", TermKind::reuse_cost)
        .value("MOVES", TermKind::moves)
        .value("PREFERENCE", TermKind::preference)
        .value("BANK_COST", TermKind::bank_cost);
    nb::class_<Hint>(m, "Hint", "Where items are wished to be, and what moves are counted from.")
        .def(
            "__init__",
            [](Hint* self, const NativeInstance& instance, LayoutObject places, KeptObjects kept,
               std::int64_t buffers) { new (self) Hint(make_hint(instance, places, kept, buffers)); },
            nb::arg("instance"), nb::arg("places").none(), nb::arg("kept"), nb::arg("buffers"))
        .def_prop_ro(
            "places", [](const Hint& self) { return Placed{self.places}; }, "By item, where it is wished.")
        .def_prop_ro(
            "kept",
            [](const Hint& self) {
                std::vector<std::tuple<Index, Index, Bytes, std::int64_t>> kept;
                for (const Kept& one : self.kept) {
                    kept.emplace_back(one.item, one.place.pool, one.place.offset, one.count);
                }
                return kept;
            },
            "Item, pool and offset at which so many buffers are where the hint has them.")
        .def_ro("buffers", &Hint::buffers);
    nb::class_<Placed>(m, "Placed", "By item, its place: bytes of arrays of 64-bit integers, -1 for none.")
        .def_prop_ro("pools", &pools_of)
        .def_prop_ro("offsets", &offsets_of);
    nb::class_<Occupied>(m, "Occupied", "The most bytes in use at one moment, and the first such moment.")
        .def_ro("bytes", &Occupied::bytes)
        .def_ro("time", &Occupied::time);
    m.def("score", &score_of, nb::arg("instance"), nb::arg("terms"), nb::arg("hint").none(),
          nb::arg("layout"), "Values of a layout by term, or None where it does not fit.");
    m.def("most_occupied", &occupied_by, nb::arg("instance"), nb::arg("layout"),
          "By pool: what the layout occupies.");
    m.def("pool_peaks", &peaks_of, nb::arg("instance"), nb::arg("layout"),
          "By pool: the largest end of a part.");
}

}  // namespace memstow::bindings
