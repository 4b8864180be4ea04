#include "search/windows.hpp"

#include <nanobind/stl/vector.h>

#include <cstdint>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"

namespace memstow::bindings {
namespace {

// A bound, and the moments of the first and the last row of its window.
struct TimedWindow {
    search::WindowBound bound;
    std::int64_t first = 0;
    std::int64_t last = 0;
};

TimedWindow window_bound(const NativeInstance& self, Bytes bound, Bytes height, Budget& budget) {
    nb::gil_scoped_release release;
    TimedWindow window{search::window_bound(self.instance, bound, height, budget)};
    const RowRange& rows = window.bound.rows;
    if (rows.begin < rows.end) {
        window.first = self.times[rows.begin];
        window.last = self.times[rows.end - 1];
    }
    return window;
}

}  // namespace

void bind_windows(nb::module_& m) {
    nb::class_<TimedWindow>(m, "WindowBound", "A bound, and the window of time that shows it.")
        .def_prop_ro("bound", [](const TimedWindow& self) { return self.bound.bound; })
        .def_prop_ro("parts", [](const TimedWindow& self) { return self.bound.parts; })
        .def_prop_ro("nodes", [](const TimedWindow& self) { return self.bound.nodes; })
        .def_ro("first", &TimedWindow::first)
        .def_ro("last", &TimedWindow::last);
    m.def("window_bound", &window_bound, nb::arg("instance"), nb::arg("bound"), nb::arg("height"),
          nb::arg("budget"), "The best bound above the one given that windows of time show.");
}

}  // namespace memstow::bindings
