#include "greedy/columns.hpp"

#include <cstdint>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"

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

}  // namespace

void bind_columns(nb::module_& m) {
    nb::class_<PlacedColumns>(m, "PlacedColumns", "Offsets by buffer, as bytes of 64-bit integers.")
        .def_prop_ro("offsets", [](const PlacedColumns& self) { return bytes_of(self.offsets); });
    m.def("place_columns", &place_columns, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"),
          nb::arg("alignments"), nb::arg("placements"), nb::arg("budget"),
          "The greedy layout of buffers that are given as valid columns.");
}

}  // namespace memstow::bindings
