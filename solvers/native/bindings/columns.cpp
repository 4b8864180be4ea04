#include "greedy/columns.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/assemble.hpp"
#include "core/columns.hpp"
#include "core/reduction.hpp"

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
    std::vector<Index> buffers;  // by part
    std::size_t buffer_count = 0;
    Bytes unit = 1;
    WideBytes stacked = 0;
    std::vector<Index> homeless = {};          // buffers without a place even alone; then all else is empty
    std::vector<Reduction::Alone> alone = {};  // buffers without bytes; where there are none of these, at 0
    Value least_cost = 0;                      // of all accesses, each in the cheapest pool that is allowed
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

Description::Pairs pairs_in(const Ints& numbers) {
    Description::Pairs pairs;
    pairs.reserve(numbers.size() / 2);
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
        pairs.emplace_back(std::minmax(to_index(numbers.data()[i]), to_index(numbers.data()[i + 1])));
    }
    return pairs;
}

// By pool its capacity, alignment, base and cost; by reserved range its pool, begin and end; lists of pools.
using Memory = std::tuple<std::vector<std::tuple<Bytes, std::int64_t, Bytes, std::int64_t>>,
                          std::vector<std::tuple<Index, Bytes, Bytes>>, std::vector<std::vector<Index>>>;

// Of columns in this memory. `choices`: by buffer, or none, its list of pools or -1 for any, and its accesses
// or -1 for its bytes. With pins, by buffer or none, and with relations between buffers: conflicts, exclusive
// ones and those in place are pairs one after the other, ties a buffer, its base and the distance each.
ColumnInstance of_related(const std::tuple<Ints, Ints, Ints, Ints>& buffers, const Memory& memory,
                          const std::pair<Ints, Ints>& choices, const Ints& pins,
                          const std::tuple<Ints, Ints, Ints>& pairs, const Ints& ties) {
    nb::gil_scoped_release release;
    const auto& [sizes, begins, ends, alignments] = buffers;
    const auto& [pools, reserved, lists] = memory;
    const auto& [list_of, moved] = choices;
    for (const Ints* column : {&list_of, &moved}) {
        if (column->size() != 0 && column->size() != sizes.size())
            throw nb::value_error("a list and accesses for each buffer");
    }
    Description description;
    bool costs = false;
    std::vector<Index> all_pools;
    for (const auto& [capacity, alignment, base, cost] : pools) {
        costs = costs || cost > 0;
        all_pools.push_back(count_of(description.pools));
        description.pools.push_back({capacity, alignment, base, cost, {}, {}});
    }
    for (const auto& [pool, begin, end] : reserved) {
        description.pools.at(static_cast<std::size_t>(pool)).reserved.push_back({begin, end});
    }
    description.sizes = span_of(sizes);
    std::vector<std::int64_t> accesses;
    for (std::size_t i = 0; costs && i < sizes.size(); ++i) {
        const bool said = moved.size() > 0 && moved.data()[i] >= 0 && sizes.data()[i] > 0;
        accesses.push_back(said ? moved.data()[i] : sizes.data()[i]);
    }
    description.accesses = accesses;
    std::map<std::pair<Bytes, std::int64_t>, Index> kinds;
    description.kind_of.reserve(sizes.size());
    description.lives.values.reserve(sizes.size());
    description.lives.start.reserve(sizes.size() + 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Bytes alignment = alignments.data()[alignments.size() == 1 ? 0 : i];
        const std::int64_t list = list_of.size() > 0 ? list_of.data()[i] : -1;
        const auto [kind, is_new] = kinds.try_emplace({alignment, list}, count_of(description.kinds));
        if (is_new) {
            const auto& may_hold = list < 0 ? all_pools : lists.at(static_cast<std::size_t>(list));
            description.kinds.push_back({alignment, may_hold});
        }
        description.kind_of.push_back(kind->second);
        description.lives.values.push_back({begins.data()[i], ends.data()[i]});
        description.lives.close();
    }
    description.pins.assign(pins.data(), pins.data() + pins.size());
    for (std::size_t i = 0; i + 2 < ties.size(); i += 3) {
        const std::int64_t* const tie = ties.data() + i;
        description.ties.push_back({to_index(tie[0]), to_index(tie[1]), tie[2]});
    }
    description.conflicts = pairs_in(std::get<0>(pairs));
    description.exclusive = pairs_in(std::get<1>(pairs));
    description.in_place = pairs_in(std::get<2>(pairs));
    Reduction reduction = reduced(description);
    description = {};
    NativeInstance native{std::move(reduction.instance), {}, std::move(reduction.conflicts)};
    if (reduction.homeless.empty()) native.times = assemble_rows(native.instance, native.conflicts);
    const WideBytes height = stacked(native.instance);
    return {std::move(native),
            std::move(reduction.buffers),
            sizes.size(),
            reduction.unit,
            height,
            std::move(reduction.homeless),
            std::move(reduction.alone),
            reduction.least_cost};
}

// By buffer, in bytes.
PlacedColumns offsets_of(const ColumnInstance& self, const Ints& offsets) {
    const Instance& instance = self.native.instance;
    if (offsets.size() != static_cast<std::size_t>(instance.item_count())) {
        throw nb::value_error("an offset for each item is needed");
    }
    PlacedColumns placed{std::vector<std::int64_t>(self.buffer_count)};
    for (std::size_t part = 0; part < self.buffers.size(); ++part) {
        const Part& own = instance.parts[part];
        placed.offsets[self.buffers[part]] = (offsets.data()[own.item] + own.delta) * self.unit;
    }
    for (const Reduction::Alone& one : self.alone) placed.offsets[one.buffer] = one.place.offset;
    return placed;
}

// By buffer, the number of its pool.
PlacedColumns homes_of(const ColumnInstance& self, const Ints& pools) {
    const Instance& instance = self.native.instance;
    if (pools.size() != static_cast<std::size_t>(instance.item_count())) {
        throw nb::value_error("a pool for each item is needed");
    }
    PlacedColumns placed{std::vector<std::int64_t>(self.buffer_count)};
    for (std::size_t part = 0; part < self.buffers.size(); ++part) {
        placed.offsets[self.buffers[part]] = pools.data()[instance.parts[part].item];
    }
    for (const Reduction::Alone& one : self.alone) placed.offsets[one.buffer] = one.place.pool;
    return placed;
}

// The buffers of parts.
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
        .def_static("of_related", &of_related, nb::arg("buffers"), nb::arg("memory"), nb::arg("choices"),
                    nb::arg("pins"), nb::arg("pairs"), nb::arg("ties"))
        .def_prop_ro(
            "native", [](ColumnInstance& self) -> NativeInstance& { return self.native; },
            nb::rv_policy::reference_internal)
        .def_prop_ro("item_count",
                     [](const ColumnInstance& self) { return self.native.instance.item_count(); })
        .def_prop_ro("part_count", [](const ColumnInstance& self) { return self.buffers.size(); })
        .def_ro("homeless", &ColumnInstance::homeless, "Buffers without a place even alone.")
        .def_ro("unit", &ColumnInstance::unit)
        .def_prop_ro("stacked", [](const ColumnInstance& self) { return to_python(self.stacked); })
        .def_prop_ro("least_cost", [](const ColumnInstance& self) { return to_python(self.least_cost); })
        .def("offsets_of", &offsets_of, nb::arg("offsets"))
        .def("homes_of", &homes_of, nb::arg("pools"))
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
