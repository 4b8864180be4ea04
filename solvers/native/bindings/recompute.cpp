#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "recompute/moment.hpp"
#include "recompute/rehearsal.hpp"

namespace memstow::bindings {
namespace {

using recompute::Program;
using recompute::Rehearsed;

std::vector<Index> list(const Column& start, const Column& values, std::size_t i) {
    std::vector<Index> result;
    for (std::int64_t k = start[i]; k < start[i + 1]; ++k) result.push_back(to_index(values[k]));
    return result;
}

struct ArraysObject : nb::object {
    NB_OBJECT_DEFAULT(ArraysObject, nb::object, "memstow.solvers.graph_programs.RecomputeArrays", is_any)
};

void read(Program* self, ArraysObject from) {
    new (self) Program();
    const Column extra(from, "extra"), fixed(from, "fixed"), gap(from, "gap"), cost(from, "cost");
    const Column once(from, "once"), input_start(from, "input_start"), inputs(from, "inputs");
    const Column output_start(from, "output_start"), outputs(from, "outputs"), in_place(from, "in_place");
    const Column size(from, "size"), producer(from, "producer"), kept(from, "kept");
    const Column spillable(from, "spillable");
    for (std::size_t i = 0; i < size.size(); ++i) {
        self->items.push_back(
            {size[i], producer[i] < 0 ? -1 : to_index(producer[i]), kept[i] != 0, spillable[i] != 0, {}});
    }
    for (std::size_t i = 0; i < extra.size(); ++i) {
        self->operators.push_back({extra[i],
                                   fixed[i],
                                   gap[i],
                                   cost[i],
                                   once[i] != 0,
                                   list(input_start, inputs, i),
                                   list(output_start, outputs, i),
                                   {}});
        for (const Index input : self->operators.back().inputs) {
            self->items[input].readers.push_back(static_cast<Index>(i));
        }
    }
    for (std::size_t k = 0; k < in_place.size(); k += 3) {
        self->operators[in_place[k]].pairs.push_back({to_index(in_place[k + 1]), to_index(in_place[k + 2])});
    }
    self->start = nb::cast<std::int64_t>(from.attr("start"));
    self->end = nb::cast<std::int64_t>(from.attr("end"));
}

Rehearsed rehearse(const Program& self, Bytes limit, const std::vector<double>& weights, double far,
                   double indirect, bool polished, Budget& budget) {
    if (weights.size() != self.items.size()) throw nb::value_error("one weight for each item");
    nb::gil_scoped_release release;
    Rehearsed rehearsed = recompute::rehearse(self, limit, weights, {far, indirect}, budget);
    if (polished && !rehearsed.runs.empty()) recompute::polish(self, rehearsed, limit, budget);
    budget.count(rehearsed.steps + count_of(rehearsed.runs));
    return rehearsed;
}

recompute::Moment cheapest(const Program& self, Index op, const std::vector<bool>& before,
                           const std::vector<bool>& after, std::int64_t byte_price, std::int64_t cost_price,
                           const Budget& budget) {
    nb::gil_scoped_release release;
    return recompute::cheapest(self, op, {before, after}, {byte_price, cost_price}, budget);
}

std::vector<std::tuple<Index, Index, Index>> copies(const Rehearsed& rehearsed) {
    std::vector<std::tuple<Index, Index, Index>> result;
    for (const recompute::Copy& copy : rehearsed.copies) result.emplace_back(copy.item, copy.out, copy.back);
    return result;
}

}  // namespace

void bind_recompute(nb::module_& m) {
    nb::class_<Rehearsed>(m, "Rehearsed", "A run of a program in little memory.")
        .def_ro("runs", &Rehearsed::runs)
        .def_prop_ro("copies", &copies)
        .def_ro("peak", &Rehearsed::peak)
        .def_ro("cost", &Rehearsed::cost)
        .def_ro("steps", &Rehearsed::steps);
    nb::class_<recompute::Moment>(m, "Moment", "The least that one moment takes.")
        .def_ro("price", &recompute::Moment::price)
        .def_ro("held", &recompute::Moment::held)
        .def_ro("cost", &recompute::Moment::cost)
        .def_ro("kept", &recompute::Moment::kept);
    nb::class_<Program>(m, "RecomputeProgram", "A program whose operators may run again.")
        .def("__init__", &read, nb::arg("arrays"))
        .def("rehearse", &rehearse, nb::arg("limit"), nb::arg("weights"), nb::arg("far"), nb::arg("indirect"),
             nb::arg("polished"), nb::arg("budget"))
        .def("cheapest", &cheapest, nb::arg("op"), nb::arg("before"), nb::arg("after"), nb::arg("byte_price"),
             nb::arg("cost_price"), nb::arg("budget"));
}

}  // namespace memstow::bindings
