#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "recompute/cheapest_path.hpp"
#include "recompute/moment.hpp"
#include "recompute/rehearsal.hpp"

namespace memstow::bindings {
namespace {

using recompute::Program;
using recompute::Rehearsed;

// To look at a run takes about as long as so many steps of other searches.
constexpr std::int64_t kStepsPerRun = 8;

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
    self->base = nb::cast<std::int64_t>(from.attr("base"));
}

struct TinyObject : nb::object {
    NB_OBJECT_DEFAULT(TinyObject, nb::object, "memstow.solvers.graph_programs.TinyProgram", is_any)
};
struct TurnsObject : nb::object {
    NB_OBJECT_DEFAULT(TurnsObject, nb::object, "memstow.solvers.graph_programs.Turns", is_any)
};

template <typename Value>
Value attribute(const nb::object& from, const char* name) {
    return nb::cast<Value>(from.attr(name));
}

const Program* native_of(const nb::object& from) {
    // Kept by the arrays, and these by the program.
    return nb::cast<const Program*>(from.attr("arrays").attr("native"));
}

recompute::Path cheapest_path(TinyObject program, TurnsObject turns, Bytes limit, std::int64_t most,
                              std::int64_t most_states, Budget& budget) {
    recompute::TinyProgram tiny;
    tiny.program = native_of(program);
    tiny.extras = attribute<decltype(tiny.extras)>(program, "extras");
    tiny.waits = attribute<recompute::Set>(program, "waits");
    for (const nb::handle entry : program.attr("memories")) {
        const nb::object memory = nb::borrow(entry);
        tiny.memories.push_back({native_of(memory), attribute<Bytes>(memory, "room"),
                                 attribute<recompute::Set>(memory, "holds"),
                                 attribute<recompute::Set>(memory, "waits")});
    }
    const recompute::Turns when{attribute<std::vector<recompute::Set>>(turns, "needs"),
                                attribute<std::vector<recompute::Set>>(turns, "ends"),
                                attribute<bool>(turns, "free")};
    nb::gil_scoped_release release;
    return recompute::cheapest_path(tiny, when, limit, most, most_states, budget);
}

Rehearsed rehearse(const Program& self, Bytes limit, const std::vector<double>& weights, double far,
                   double indirect, bool polished, Budget& budget) {
    if (weights.size() != self.items.size()) throw nb::value_error("one weight for each item");
    nb::gil_scoped_release release;
    Rehearsed rehearsed = recompute::rehearse(self, limit, weights, {far, indirect}, budget);
    if (polished && !rehearsed.runs.empty()) recompute::polish(self, rehearsed, limit, budget);
    budget.count((rehearsed.steps + count_of(rehearsed.runs)) * kStepsPerRun);
    return rehearsed;
}

recompute::Moment cheapest(const Program& self, Index op, const std::vector<bool>& before,
                           const std::vector<bool>& after, std::int64_t byte_price, std::int64_t cost_price,
                           const Budget& budget) {
    nb::gil_scoped_release release;
    return recompute::cheapest(self, op, {before, after}, {byte_price, cost_price}, budget);
}

std::vector<std::tuple<Index, Index, Index, Index>> waiting(const recompute::Path& path) {
    std::vector<std::tuple<Index, Index, Index, Index>> result;
    for (const recompute::Waiting& copy : path.copies) {
        result.emplace_back(copy.item, copy.out, copy.back, copy.where);
    }
    return result;
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
    nb::class_<recompute::Path>(m, "Path", "What to do, in order: runs, by operator, and copies.")
        .def_prop_ro("is_known",
                     [](const recompute::Path& self) { return self.end == recompute::Path::End::kFound; })
        .def_prop_ro("is_stopped",
                     [](const recompute::Path& self) { return self.end == recompute::Path::End::kStopped; })
        .def_ro("cost", &recompute::Path::cost)
        .def_ro("bytes", &recompute::Path::peak)
        .def_ro("runs", &recompute::Path::runs)
        .def_prop_ro("copies", &waiting)
        .def_ro("states", &recompute::Path::states);
    m.def("cheapest_path", &cheapest_path, nb::arg("program"), nb::arg("turns"), nb::arg("limit"),
          nb::arg("most"), nb::arg("most_states"), nb::arg("budget"));
}

}  // namespace memstow::bindings
