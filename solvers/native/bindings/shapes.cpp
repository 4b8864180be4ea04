#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "shapes/arcs.hpp"
#include "shapes/exact.hpp"
#include "shapes/search.hpp"
#include "shapes/shaped.hpp"

namespace memstow::bindings {
namespace {

using shapes::Aim;
using shapes::Exact;
using shapes::Found;
using shapes::Measure;
using shapes::Shaped;
using shapes::Start;

std::optional<Shaped> make(const NativeInstance& instance, const Ints& sizes, Index points) {
    const std::span<const std::int64_t> values = span_of(sizes);
    const std::size_t columns = static_cast<std::size_t>(points) + 1;
    if (values.size() != instance.instance.parts.size() * columns)
        throw nb::value_error("a size for each part and column");
    nb::gil_scoped_release release;
    return shapes::shape(instance.instance, values, points);
}

void set_measure(Shaped& self, Measure measure, Index pool, std::vector<Bytes> least,
                 std::vector<double> weight) {
    if (count_of(least) != self.points || count_of(weight) != self.points)
        throw nb::value_error("a value for each point");
    self.measure = measure;
    self.pool = pool;
    self.least = std::move(least);
    self.weight = std::move(weight);
}

Found search(const Shaped& self, Aim aim, const std::vector<std::vector<Index>>& sequences,
             const std::vector<std::vector<Index>>& choices, std::uint64_t seed, Budget& budget) {
    if (sequences.empty() || sequences.size() != choices.size()) throw nb::value_error("no start");
    std::vector<Start> starts;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        if (count_of(sequences[i]) != self.items() || count_of(choices[i]) != self.items())
            throw nb::value_error("a place and a choice for each item");
        starts.push_back({sequences[i], choices[i]});
    }
    nb::gil_scoped_release release;
    return shapes::search(self, aim, starts, seed, budget);
}

Exact below(const Shaped& self, const std::vector<Bytes>& limits, Budget& budget) {
    if (count_of(limits) != self.points) throw nb::value_error("a limit for each point");
    nb::gil_scoped_release release;
    return shapes::below(self, limits, budget);
}

std::vector<std::pair<Index, Index>> arcs(const Shaped& self, const std::vector<Index>& sequence,
                                          const std::vector<Index>& choices) {
    if (count_of(sequence) != self.items() || count_of(choices) != self.items())
        throw nb::value_error("a place and a choice for each item");
    std::vector<std::pair<Index, Index>> result;
    for (const auto& [upper, lower] : shapes::arcs(self, sequence, choices))
        result.emplace_back(upper, lower);
    return result;
}

}  // namespace

void bind_shapes(nb::module_& m) {
    nb::enum_<Measure>(m, "PeakMeasure", "What is counted as the peak.")
        .value("SUM", Measure::kSum)
        .value("LARGEST", Measure::kLargest)
        .value("ONE_POOL", Measure::kOnePool);
    nb::enum_<Aim>(m, "ShapesAim", "What is made small.")
        .value("WORST", Aim::kWorst)
        .value("SUM", Aim::kSum)
        .value("FIRST", Aim::kFirst);
    nb::class_<Found>(m, "FoundSequence", "A sequence of items, and what it needs.")
        .def_ro("sequence", &Found::sequence)
        .def_ro("choices", &Found::choices)
        .def_ro("peaks", &Found::peaks)
        .def_ro("fits", &Found::fits);
    nb::class_<Exact>(m, "ExactSequence", "What a complete search has found.")
        .def_ro("complete", &Exact::complete)
        .def_ro("found", &Exact::found)
        .def_ro("nodes", &Exact::nodes);
    nb::class_<Shaped>(m, "Shaped", "Items whose sizes differ from point to point.")
        .def("set_measure", &set_measure, nb::arg("measure"), nb::arg("pool"), nb::arg("least"),
             nb::arg("weight"))
        .def("search", &search, nb::arg("aim"), nb::arg("sequences"), nb::arg("choices"), nb::arg("seed"),
             nb::arg("budget"))
        .def("below", &below, nb::arg("limits"), nb::arg("budget"))
        .def("arcs", &arcs, nb::arg("sequence"), nb::arg("choices"));
    m.def("shape", &make, nb::arg("instance"), nb::arg("sizes"), nb::arg("points"),
          "The instance with sizes by part and column, or None where too many pairs conflict.");
}

}  // namespace memstow::bindings
