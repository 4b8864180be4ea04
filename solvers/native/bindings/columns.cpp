#include "greedy/columns.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/columns.hpp"

namespace memstow::bindings {
namespace {

// Offsets by buffer; their bytes are made where the interpreter's lock is held.
struct PlacedColumns {
    std::vector<std::int64_t> offsets;
};

PlacedColumns place_columns(const Ints& sizes, const Ints& begins, const Ints& ends, const Ints& alignments,
                            std::int64_t placements, Budget& budget) {
    nb::gil_scoped_release release;
    const Columns columns{span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)};
    return {greedy::place(columns, placements, budget)};
}

// Of few buffers, in so few steps that letting other threads work meanwhile takes longer than they wait.
std::optional<greedy::Lowest> lowest(const Ints& sizes, const Ints& begins, const Ints& ends,
                                     const Ints& alignments, Bytes capacity, std::uint64_t seed,
                                     Budget& budget) {
    const Columns columns{span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)};
    return greedy::lowest(columns, capacity, seed, budget);
}

// An instance whose arrays Python never had.
struct ColumnInstance {
    NativeInstance native;
    std::vector<Index> buffers;  // by item
    std::size_t buffer_count = 0;
    Bytes unit = 1;
    WideBytes stacked = 0;
};

void make_instance(ColumnInstance* self, const Ints& sizes, const Ints& begins, const Ints& ends,
                   const Ints& alignments, Bytes capacity, bool by_begin) {
    nb::gil_scoped_release release;
    const Columns columns{span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)};
    FromColumns converted =
        instance_of(columns, capacity, by_begin ? ItemOrder::by_begin : ItemOrder::as_given);
    converted.instance.pools[0].capacity = capacity / converted.unit;
    // Rows tell all of them that a solver of ours asks for; published planners take buffers as they are
    // given.
    if (by_begin) converted.instance.lives = {};
    new (self) ColumnInstance{{std::move(converted.instance), std::move(converted.times)},
                              std::move(converted.buffers),
                              sizes.size(),
                              converted.unit,
                              converted.stacked};
}

// By buffer, in bytes; a buffer without bytes is at 0.
PlacedColumns offsets_of(const ColumnInstance& self, const Ints& offsets) {
    if (offsets.size() != self.buffers.size()) throw nb::value_error("an offset for each item is needed");
    PlacedColumns placed{std::vector<std::int64_t>(self.buffer_count)};
    for (std::size_t item = 0; item < self.buffers.size(); ++item) {
        placed.offsets[self.buffers[item]] = offsets.data()[item] * self.unit;
    }
    return placed;
}

// The buffers of parts, which are items as well.
PlacedColumns buffers_of(const ColumnInstance& self, const std::vector<Index>& parts) {
    PlacedColumns placed;
    for (const Index part : parts) placed.offsets.push_back(self.buffers.at(part));
    return placed;
}

}  // namespace

void bind_columns(nb::module_& m) {
    nb::class_<ColumnInstance>(m, "ColumnInstance", "An instance of columns, and the way back.")
        .def("__init__", &make_instance, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"),
             nb::arg("alignments"), nb::arg("capacity"), nb::arg("by_begin"))
        .def_prop_ro(
            "native", [](ColumnInstance& self) -> NativeInstance& { return self.native; },
            nb::rv_policy::reference_internal)
        .def_prop_ro("capacity",
                     [](const ColumnInstance& self) { return self.native.instance.pools[0].capacity; })
        .def_prop_ro("item_count", [](const ColumnInstance& self) { return self.buffers.size(); })
        .def_ro("unit", &ColumnInstance::unit)
        .def_prop_ro("stacked", [](const ColumnInstance& self) { return to_python(self.stacked); })
        .def("offsets_of", &offsets_of, nb::arg("offsets"))
        .def("buffers_of", &buffers_of, nb::arg("parts"));
    nb::class_<PlacedColumns>(m, "PlacedColumns", "Offsets by buffer, as bytes of 64-bit integers.")
        .def_prop_ro("offsets", [](const PlacedColumns& self) { return bytes_of(self.offsets); });
    nb::class_<greedy::Lowest>(m, "Lowest", "A layout no higher than the buffers of one moment need.")
        .def_prop_ro("offsets", [](const greedy::Lowest& self) { return bytes_of(self.offsets); })
        .def_prop_ro("members", [](const greedy::Lowest& self) { return bytes_of(self.members); })
        .def_ro("peak", &greedy::Lowest::peak)
        .def_ro("moment", &greedy::Lowest::moment)
        .def_ro("name", &greedy::Lowest::name);
    m.def("lowest", &lowest, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"), nb::arg("alignments"),
          nb::arg("capacity"), nb::arg("seed"), nb::arg("budget"),
          "Such a layout of a few buffers, if the greedy passes of the budget find one.");
    m.def("place_columns", &place_columns, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"),
          nb::arg("alignments"), nb::arg("placements"), nb::arg("budget"),
          "The greedy layout of buffers that are given as valid columns.");
}

}  // namespace memstow::bindings
