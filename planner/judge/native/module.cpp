// The door between Python and the judge: converts arguments and results, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "places.hpp"

namespace {

namespace nb = nanobind;
using memstow::judge::Columns;
using memstow::judge::Defect;
using memstow::judge::Finding;

using Ints = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> span_of(const Ints& ints) { return {ints.data(), ints.size()}; }

std::tuple<Defect, std::int64_t, std::int64_t> told(const Finding& finding) {
    return {finding.defect, finding.first, finding.second};
}

auto check_columns(const Ints& sizes, const Ints& begins, const Ints& ends, const Ints& alignments) {
    nb::gil_scoped_release release;
    return told(
        memstow::judge::check_columns({span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)}));
}

// The finding, the peak, and the least peak that any layout has; nothing is counted for invalid places.
auto judge_places(const Ints& sizes, const Ints& begins, const Ints& ends, const Ints& alignments,
                  const Ints& offsets, std::int64_t capacity) {
    nb::gil_scoped_release release;
    const Columns columns{span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)};
    const memstow::judge::Verdict verdict = memstow::judge::judge(columns, span_of(offsets), capacity);
    return std::tuple{told(verdict.finding), verdict.peak, verdict.least_peak};
}

// The finding, the peak, the most live bytes and the first moment of so many.
auto judge_plan(const Ints& sizes, const Ints& begins, const Ints& ends, const Ints& alignments,
                const Ints& offsets, std::int64_t capacity) {
    nb::gil_scoped_release release;
    const Columns columns{span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)};
    const memstow::judge::Verdict verdict = memstow::judge::judge(columns, span_of(offsets), capacity);
    return std::tuple{told(verdict.finding), verdict.peak, verdict.live, verdict.moment};
}

std::optional<std::int64_t> proven(const Ints& sizes, const Ints& begins, const Ints& ends,
                                   const Ints& alignments, const Ints& members, std::int64_t moment) {
    nb::gil_scoped_release release;
    return memstow::judge::proven({span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)},
                                  span_of(members), moment);
}

}  // namespace

NB_MODULE(_judge, m) {
    m.doc() = "The part of the judge that reads columns.";
    nb::set_leak_warnings(false);
    nb::enum_<Defect>(m, "Defect", "What is wrong with a column, or with the places.")
        .value("NONE", Defect::none)
        .value("LENGTH", Defect::length)
        .value("SIZE", Defect::size)
        .value("LIFETIME", Defect::lifetime)
        .value("ALIGNMENT", Defect::alignment)
        .value("PLACE", Defect::place)
        .value("UNALIGNED", Defect::unaligned)
        .value("OVERLAP", Defect::overlap);
    m.def("check_columns", &check_columns, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"),
          nb::arg("alignments"),
          "The first thing that is wrong with the columns, and the buffers concerned.");
    m.def("judge_places", &judge_places, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"),
          nb::arg("alignments"), nb::arg("offsets"), nb::arg("capacity"),
          "The first thing that is wrong with the offsets, their peak, and the least peak of any layout.");
    m.def("judge_plan", &judge_plan, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"),
          nb::arg("alignments"), nb::arg("offsets"), nb::arg("capacity"),
          "The first thing that is wrong with the offsets, their peak, the most live bytes, and when.");
    m.def(
        "proven", &proven, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"), nb::arg("alignments"),
        nb::arg("members"), nb::arg("moment"),
        "The least peak of any layout that follows from buffers that live at one moment; None for no such.");
}
