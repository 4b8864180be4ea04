#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "shapes/arcs.hpp"
#include "shapes/exact.hpp"
#include "shapes/formulas.hpp"
#include "shapes/live.hpp"
#include "shapes/search.hpp"
#include "shapes/shaped.hpp"

namespace memstow::bindings {
namespace {

using shapes::Aim;
using shapes::Exact;
using shapes::Extent;
using shapes::Formulas;
using shapes::Found;
using shapes::LiveEvents;
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

using Range = std::tuple<Bytes, Bytes, Bytes>;

Formulas formulas(std::vector<std::string> names, const std::vector<Range>& ranges) {
    if (names.size() != ranges.size() || names.size() > Formulas::kMostSymbols)
        throw nb::value_error("a range for each of at most 16 names");
    std::vector<shapes::SymbolRange> all;
    for (const auto& [low, high, step] : ranges) {
        if (low < -kLimit || low > high || high > kLimit || step < 1 || step > kLimit)
            throw nb::value_error("the least value, the largest value and the step of a symbol");
        all.push_back({low, high, step});
    }
    return {std::move(names), std::move(all)};
}

void check(const Formulas& self, Index formula) {
    if (formula < 0 || formula >= self.count()) throw nb::index_error("no such formula");
}

// The value of each formula; nothing where one has none, or one below 0.
std::optional<std::vector<Bytes>> sizes_at(const Formulas& self, const std::vector<Bytes>& at) {
    if (at.size() != self.symbols()) throw nb::value_error("a value for each symbol");
    std::vector<Bytes> found;
    for (Index formula = 0; formula < self.count(); ++formula) {
        const std::optional<Bytes> value = self.value(formula, at);
        if (!value || *value < 0) return std::nullopt;
        found.push_back(*value);
    }
    return found;
}

std::optional<std::pair<Bytes, Bytes>> pair_of(const std::optional<Extent>& extent) {
    if (!extent) return std::nullopt;
    return std::pair{extent->low, extent->high};
}

std::optional<std::pair<Bytes, Bytes>> if_monotone(const Formulas& self, Index formula) {
    check(self, formula);
    return pair_of(self.if_monotone(formula));
}

std::optional<std::pair<Bytes, Bytes>> of_all_values(const Formulas& self, Index formula) {
    check(self, formula);
    nb::gil_scoped_release release;
    return pair_of(self.of_all_values(formula));
}

LiveEvents live_events(const Ints& buffers, const Ints& begins, const Ints& ends) {
    const std::span<const std::int64_t> of = span_of(buffers);
    if (begins.size() != of.size() || ends.size() != of.size())
        throw nb::value_error("a lifetime for each buffer");
    for (const std::int64_t buffer : of)
        if (buffer < 0) throw nb::value_error("buffers are counted from 0");
    nb::gil_scoped_release release;
    return LiveEvents(of, span_of(begins), span_of(ends));
}

std::optional<Bytes> most_live(const LiveEvents& self, const Ints& sizes) {
    if (self.buffers() > static_cast<std::int64_t>(sizes.size()))
        throw nb::value_error("a size for each buffer");
    nb::gil_scoped_release release;
    return self.most(span_of(sizes));
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
    nb::class_<Formulas>(m, "Formulas", "Formulas of symbols.")
        .def(nb::new_(&formulas), nb::arg("names"), nb::arg("ranges"))
        .def("read", &Formulas::read, nb::arg("text"))
        .def("sizes_at", &sizes_at, nb::arg("at"))
        .def("if_monotone", &if_monotone, nb::arg("formula"))
        .def("of_all_values", &of_all_values, nb::arg("formula"));
    nb::class_<LiveEvents>(m, "LiveEvents", "Lifetimes of buffers, for many sizes.")
        .def(nb::new_(&live_events), nb::arg("buffers"), nb::arg("begins"), nb::arg("ends"))
        .def("most", &most_live, nb::arg("sizes"));
    m.def("shape", &make, nb::arg("instance"), nb::arg("sizes"), nb::arg("points"),
          "The instance with sizes by part and column, or None where too many pairs conflict.");
}

}  // namespace memstow::bindings
