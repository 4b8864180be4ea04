#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

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
using shapes::Best;
using shapes::Exact;
using shapes::Extent;
using shapes::Formulas;
using shapes::LiveEvents;
using shapes::Measure;
using shapes::Shaped;
using shapes::Start;

std::optional<Shaped> make(const NativeInstance& instance, const Ints& sizes, Index points,
                           std::size_t most_linked) {
    const std::span<const std::int64_t> values = span_of(sizes);
    const std::size_t columns = static_cast<std::size_t>(points) + 1;
    if (values.size() != instance.instance.parts.size() * columns)
        throw nb::value_error("a size for each part and column");
    nb::gil_scoped_release release;
    return shapes::shape(instance.instance, values, points, most_linked);
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

Best search(const Shaped& self, Aim aim, const std::vector<std::vector<Index>>& sequences,
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
    if (!self.linked) throw nb::value_error("nothing is linked");
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
using Values = std::vector<std::optional<Bytes>>;

Formulas formulas(std::vector<std::string> names, const std::vector<Range>& ranges) {
    if (!ranges.empty() && (names.size() != ranges.size() || names.size() > shapes::kMostSymbols))
        throw nb::value_error("a range for each of at most 16 names");
    std::vector<shapes::SymbolRange> all;
    for (const auto& [low, high, step] : ranges) {
        if (low < -kLimit || low > high || high > kLimit || step < 1 || step > kLimit)
            throw nb::value_error("the least value, the largest value and the step of a symbol");
        all.push_back({low, high, step});
    }
    return {std::move(names), std::move(all)};
}

void check(const Formulas& self, Index formula, bool needs_ranges = false) {
    if (formula < 0 || formula >= self.count()) throw nb::index_error("no such formula");
    if (needs_ranges && !self.has_ranges()) throw nb::value_error("the symbols have no ranges");
}

void check(const Formulas& self, const Values& at) {
    if (at.size() != self.symbols()) throw nb::value_error("a value for each symbol");
    for (const std::optional<Bytes>& value : at)
        if (value && (*value < -kLimit || *value > kLimit)) throw nb::value_error("a value beyond 2^62");
}

// Nothing where the text is a formula; else why not, where, and a message or a name for it.
std::optional<std::tuple<const char*, std::size_t, std::string>> read(Formulas& self, std::string_view text) {
    constexpr std::array kCodes{"stray", "formula_syntax", "formula_too_deep", "unknown_symbol"};
    const std::optional<shapes::SyntaxError> error = self.read(text);
    if (!error) return std::nullopt;
    return std::tuple{kCodes[static_cast<std::size_t>(error->kind)], error->position, error->message};
}

// The operations by their names, with what goes with each.
std::vector<std::pair<const char*, Bytes>> nodes(const Formulas& self, Index formula) {
    constexpr std::array kNames{"number", "name", "huge", "negate",   "+",     "-",   "*",  "*",
                                "//",     "%",    "end",  "ceil_div", "align", "min", "max"};
    check(self, formula);
    std::vector<std::pair<const char*, Bytes>> result;
    for (const auto& [op, operand] : self.nodes(formula))
        result.emplace_back(kNames[static_cast<std::size_t>(op)], operand);
    return result;
}

// An integer of Python, which has as many bits as it needs.
nb::object integer(shapes::Wide value) {
    constexpr int kLower = 62;
    const shapes::Wide upper = value >> kLower;
    return (nb::int_(static_cast<std::int64_t>(upper)) << nb::int_(kLower)) +
           nb::int_(static_cast<std::int64_t>(value - (upper << kLower)));
}

// The value, or why there is none, and what is wrong.
nb::object value(const Formulas& self, Index formula, const Values& at) {
    check(self, formula);
    check(self, at);
    const shapes::Value result = shapes::value_of(self.nodes(formula), at);
    if (const Bytes* const number = std::get_if<Bytes>(&result)) return nb::int_(*number);
    constexpr std::array kReasons{"divisor", "overflow", "symbol", "huge"};
    const auto& [kind, wrong] = std::get<shapes::NoValue>(result);
    return nb::make_tuple(kReasons[static_cast<std::size_t>(kind)], integer(wrong));
}

// The value of each formula; nothing where one has none, or one below 0.
std::optional<std::vector<Bytes>> sizes_at(const Formulas& self, const Values& at) {
    check(self, at);
    std::vector<Bytes> sizes;
    for (Index formula = 0; formula < self.count(); ++formula) {
        const shapes::Value result = shapes::value_of(self.nodes(formula), at);
        const Bytes* const size = std::get_if<Bytes>(&result);
        if (size == nullptr || *size < 0) return std::nullopt;
        sizes.push_back(*size);
    }
    return sizes;
}

// The least and the largest value, whether there is one everywhere, and how it may move.
std::tuple<Bytes, Bytes, bool, std::uint32_t> facts(const Formulas& self, Index formula,
                                                    const std::vector<std::pair<Bytes, Bytes>>& ranges) {
    check(self, formula);
    if (ranges.size() != self.symbols() || ranges.size() > shapes::kMostSymbols)
        throw nb::value_error("a range for each of at most 16 symbols");
    std::vector<Extent> extents;
    for (const auto& [low, high] : ranges) extents.push_back({low, high});
    const shapes::Facts result = shapes::facts_of(self.nodes(formula), extents);
    return {result.low, result.high, result.sure, result.moves};
}

std::optional<std::pair<Bytes, Bytes>> pair_of(const std::optional<Extent>& extent) {
    if (!extent) return std::nullopt;
    return std::pair{extent->low, extent->high};
}

std::optional<std::pair<Bytes, Bytes>> if_monotone(const Formulas& self, Index formula) {
    check(self, formula, true);
    return pair_of(self.if_monotone(formula));
}

std::optional<std::pair<Bytes, Bytes>> of_all_values(const Formulas& self, Index formula) {
    check(self, formula, true);
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
    nb::class_<Best>(m, "BestSequence", "A sequence of items, and what it needs.")
        .def_ro("sequence", &Best::sequence)
        .def_ro("choices", &Best::choices)
        .def_ro("peaks", &Best::peaks)
        .def_ro("fits", &Best::fits);
    nb::class_<Exact>(m, "ExactSequence", "What a complete search has found.")
        .def_ro("complete", &Exact::complete)
        .def_ro("best", &Exact::best)
        .def_ro("nodes", &Exact::nodes);
    nb::class_<Shaped>(m, "Shaped", "Items whose sizes differ from point to point.")
        .def_ro("linked", &Shaped::linked, "Whether it can be searched; if not, a search returns a start.")
        .def_ro("anywhere", &Shaped::anywhere, "Whether no item is pinned.")
        .def("set_measure", &set_measure, nb::arg("measure"), nb::arg("pool"), nb::arg("least"),
             nb::arg("weight"))
        .def("search", &search, nb::arg("aim"), nb::arg("sequences"), nb::arg("choices"), nb::arg("seed"),
             nb::arg("budget"))
        .def("below", &below, nb::arg("limits"), nb::arg("budget"))
        .def("arcs", &arcs, nb::arg("sequence"), nb::arg("choices"));
    nb::class_<Formulas>(m, "Formulas", "Formulas of the same symbols, by number.")
        .def(nb::new_(&formulas), nb::arg("names"), nb::arg("ranges"))
        .def("read", &read, nb::arg("text"))
        .def("nodes", &nodes, nb::arg("formula"))
        .def("value", &value, nb::arg("formula"), nb::arg("at"),
             nb::sig("def value(self, formula: int, at: collections.abc.Sequence[int | None]) -> "
                     "int | tuple[str, int]"))
        .def("sizes_at", &sizes_at, nb::arg("at"))
        .def("facts", &facts, nb::arg("formula"), nb::arg("ranges"))
        .def("if_monotone", &if_monotone, nb::arg("formula"))
        .def("of_all_values", &of_all_values, nb::arg("formula"));
    nb::class_<LiveEvents>(m, "LiveEvents", "Lifetimes of buffers, for many sizes.")
        .def(nb::new_(&live_events), nb::arg("buffers"), nb::arg("begins"), nb::arg("ends"))
        .def("most", &most_live, nb::arg("sizes"));
    m.def("shape", &make, nb::arg("instance"), nb::arg("sizes"), nb::arg("points"), nb::arg("most_linked"),
          "The instance with sizes by part and column, or None where too many pairs conflict.");
}

}  // namespace memstow::bindings
