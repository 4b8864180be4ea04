// Descriptions of solvers.instance, and the arrays of an instance that are made of them.
#include "core/reduction.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/assemble.hpp"

namespace memstow::bindings {
namespace {

Ints ints(nb::handle from, const char* name) { return nb::cast<Ints>(from.attr(name)); }

std::vector<std::int64_t> values(nb::handle from, const char* name) {
    const Ints column = ints(from, name);
    return {column.data(), column.data() + column.size()};
}

void read_pools(nb::handle from, Description& to) {
    const Column capacity(from, "capacity"), alignment(from, "pool_alignment"), base(from, "base");
    const Column cost(from, "cost"), start(from, "reserved_start");
    const Column begin(from, "reserved_begin"), end(from, "reserved_end");
    for (std::size_t p = 0; p < capacity.size(); ++p) {
        PoolDescription& pool =
            to.pools.emplace_back(PoolDescription{capacity[p], alignment[p], base[p], cost[p], {}, {}});
        for (std::int64_t r = start[p]; r < start[p + 1]; ++r) pool.reserved.push_back({begin[r], end[r]});
    }
    const Column banks(from, "bank_start"), low(from, "bank_begin"), high(from, "bank_end");
    for (std::size_t p = 0; p + 1 < banks.size(); ++p) {
        for (std::int64_t b = banks[p]; b < banks[p + 1]; ++b) to.pools[p].banks.push_back({low[b], high[b]});
    }
}

void read_buffers(nb::handle from, Description& to) {
    const Column alignment(from, "alignment"), start(from, "kind_start"), pool(from, "kind_pool");
    for (std::size_t k = 0; k < alignment.size(); ++k) {
        BufferKind& kind = to.kinds.emplace_back(BufferKind{alignment[k], {}});
        for (std::int64_t p = start[k]; p < start[k + 1]; ++p) kind.pools.push_back(to_index(pool[p]));
    }
    const Column kinds(from, "kind");
    to.kind_of.reserve(kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) to.kind_of.push_back(to_index(kinds[i]));
    to.pins = values(from, "pin");
    const Column lives(from, "life_start"), begin(from, "life_begin"), end(from, "life_end");
    to.lives.start.clear();
    to.lives.start.reserve(lives.size());
    for (std::size_t i = 0; i < lives.size(); ++i) to.lives.start.push_back(to_index(lives[i]));
    to.lives.values.reserve(begin.size());
    for (std::size_t i = 0; i < begin.size(); ++i) to.lives.values.push_back({begin[i], end[i]});
}

Description::Pairs pairs(nb::handle from, const char* name) {
    const Column column(from, name);
    Description::Pairs read;
    read.reserve(column.size() / 2);
    for (std::size_t i = 0; i + 1 < column.size(); i += 2) {
        read.emplace_back(to_index(column[i]), to_index(column[i + 1]));
    }
    return read;
}

std::vector<ReuseCost> costs(nb::handle from, const char* name) {
    const Column column(from, name);
    std::vector<ReuseCost> read;
    for (std::size_t i = 0; i + 2 < column.size(); i += 3) {
        read.push_back({to_index(column[i]), to_index(column[i + 1]), column[i + 2]});
    }
    return read;
}

Reduction reduction_of(nb::handle from) {
    // These columns are read in place.
    const Ints sizes = ints(from, "size"), accesses = ints(from, "accesses");
    Description description;
    description.sizes = span_of(sizes);
    description.accesses = span_of(accesses);
    read_pools(from, description);
    read_buffers(from, description);
    const Column ties(from, "ties");
    for (std::size_t i = 0; i + 2 < ties.size(); i += 3) {
        description.ties.push_back({to_index(ties[i]), to_index(ties[i + 1]), ties[i + 2]});
    }
    description.conflicts = pairs(from, "conflicts");
    description.exclusive = pairs(from, "exclusive");
    description.in_place = pairs(from, "in_place");
    description.reuse = costs(from, "reuse");
    for (const std::int64_t buffer : values(from, "within_bank")) {
        description.within_bank.push_back(to_index(buffer));
    }
    description.in_banks = pairs(from, "in_banks");
    description.apart = pairs(from, "apart");
    description.bank_costs = costs(from, "bank_costs");
    description.usable = values(from, "usable");
    description.ranks = nb::cast<bool>(from.attr("ranks"));
    if (nb::cast<bool>(from.attr("in_bytes"))) description.unit = 1;
    const nb::gil_scoped_release release;
    return reduced(description);
}

// Of an instance whose native form may not be wanted yet, by the parts of each item and their deltas.
Hint hint_of_columns(const Ints& item_parts, const Ints& deltas, Bytes unit, const Ints& pools,
                     const Ints& offsets) {
    Instance instance;
    instance.item_parts.clear();
    for (const std::int64_t end : span_of(item_parts)) instance.item_parts.push_back(to_index(end));
    std::vector<Place> places;
    for (std::size_t part = 0; part < deltas.size(); ++part) {
        instance.parts.push_back({0, deltas.data()[part], 1});
        places.push_back({static_cast<Index>(pools.data()[part]), offsets.data()[part]});
    }
    return hint_of(instance, unit, places);
}

// The instance with its rows; the reduction has it no more.
NativeInstance assembled(Reduction& self) {
    if (self.instance.pools.empty()) throw nb::value_error("there is no instance, or it was taken");
    const nb::gil_scoped_release release;
    NativeInstance native{std::exchange(self.instance, {}), {}, std::exchange(self.conflicts, {})};
    native.times = assemble_rows(native.instance, native.conflicts);
    return native;
}

}  // namespace

void bind_reduction(nb::module_& m) {
    m.def("hint_of", &hint_of_columns, nb::arg("item_parts"), nb::arg("part_delta"), nb::arg("unit"),
          nb::arg("pools"), nb::arg("offsets"),
          "A hint from the places of the buffers of parts, in bytes: -1 for no pool, and for no place.");
    nb::class_<Reduction>(m, "Reduction",
                          "A description as the arrays of an instance, or the buffers without a place.")
        .def(
            "__init__",
            [](Reduction* self, DescriptionObject from) { new (self) Reduction(reduction_of(from)); },
            nb::arg("description"))
        .def("assembled", &assembled, "The instance, once.")
        .def_ro("unit", &Reduction::unit)
        .def_prop_ro(
            "least_cost", [](const Reduction& self) { return to_python(self.least_cost); },
            "The cost of all accesses, each in the cheapest pool that is allowed.")
        .def_prop_ro(
            "buffers",
            [](const Reduction& self) {
                return bytes_of(std::vector<std::int64_t>(self.buffers.begin(), self.buffers.end()));
            },
            "By part, its buffer, as bytes of 64-bit integers.")
        .def_prop_ro(
            "alone",
            [](const Reduction& self) {
                std::vector<std::tuple<Index, Index, Bytes>> alone;
                for (const Reduction::Alone& one : self.alone) {
                    alone.emplace_back(one.buffer, one.place.pool, one.place.offset);
                }
                return alone;
            },
            "Buffers of size 0, each with its pool and its offset in bytes.")
        .def_ro("homeless", &Reduction::homeless,
                "A buffer, or those of a group, without a place even alone.");
}

}  // namespace memstow::bindings
