// The arrays of solvers.instance.Instance, read into an instance of the native core and out of one.
#include "core/instance.hpp"

#include <nanobind/stl/string_view.h>

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/assemble.hpp"

namespace memstow::bindings {
namespace {

std::vector<Index> to_indices(const Column& column) {
    std::vector<Index> result(column.size());
    for (std::size_t i = 0; i < column.size(); ++i) result[i] = to_index(column[i]);
    return result;
}

void read_pools(nb::handle from, Instance& to) {
    const Column capacity(from, "capacity");
    const Column start(from, "reserved_start");
    const Column begin(from, "reserved_begin");
    const Column end(from, "reserved_end");
    for (std::size_t p = 0; p < capacity.size(); ++p) {
        Pool pool{capacity[p], {}};
        for (Index r = start[p]; r < (start[p + 1]); ++r) {
            pool.reserved.push_back({begin[r], end[r]});
        }
        to.pools.push_back(std::move(pool));
    }
}

void read_banks(nb::handle from, Instance& to) {
    const Column start(from, "bank_start"), begin(from, "bank_begin"), end(from, "bank_end");
    for (std::size_t p = 0; p + 1 < start.size(); ++p) {
        std::vector<Range>& banks = to.banks.of_pool.emplace_back();
        for (std::int64_t b = start[p]; b < start[p + 1]; ++b) banks.push_back({begin[b], end[b]});
    }
    const Column windows(from, "window_start"), low(from, "window_low"), high(from, "window_high");
    if (windows.size() > 1) {
        const Column choices(from, "choice_start");
        for (std::size_t i = 0; i + 1 < choices.size(); ++i) {
            to.banks.first_choice.push_back(to_index(choices[i]));
        }
        to.banks.windows.start = to_indices(windows);
        for (std::size_t i = 0; i < low.size(); ++i) to.banks.windows.values.push_back({low[i], high[i]});
    }
    const Column apart(from, "apart"), costs(from, "bank_costs");
    for (std::size_t i = 0; i + 1 < apart.size(); i += 2) {
        to.banks.apart.emplace_back(to_index(apart[i]), to_index(apart[i + 1]));
    }
    for (std::size_t i = 0; i + 2 < costs.size(); i += 3) {
        to.banks.costs.push_back({to_index(costs[i]), to_index(costs[i + 1]), costs[i + 2]});
    }
}

void read_choices(nb::handle from, Instance& to) {
    const Column start(from, "choice_start");
    const Column pool(from, "choice_pool");
    const Column modulus(from, "choice_modulus");
    const Column residue(from, "choice_residue");
    const Column low(from, "choice_low");
    const Column high(from, "choice_high");
    const Column cost(from, "choice_cost");
    const Column rank(from, "choice_rank");
    std::vector<Choice> choices;
    for (std::size_t item = 0; item + 1 < start.size(); ++item) {
        choices.clear();
        for (Index c = to_index(start[item]); c < start[item + 1]; ++c) {
            choices.push_back({to_index(pool[c]), modulus[c], residue[c], low[c], high[c], cost[c], rank[c]});
        }
        to.choices.add(choices);
    }
}

void read_parts(nb::handle from, Instance& to) {
    to.item_parts = to_indices(Column(from, "item_parts"));
    const Column delta(from, "part_delta");
    const Column size(from, "part_size");
    to.parts.reserve(size.size());
    for (Index item = 0; item < to.item_count(); ++item) {
        for (Index p = to.item_parts[item]; p < (to.item_parts[item + 1]); ++p) {
            to.parts.push_back({item, delta[p], size[p]});
        }
    }
    to.lives.start = to_indices(Column(from, "life_start"));
    const Column begin(from, "life_begin");
    const Column end(from, "life_end");
    to.lives.values.reserve(begin.size());
    for (std::size_t i = 0; i < begin.size(); ++i) to.lives.values.push_back({begin[i], end[i]});
}

std::unique_ptr<NativeInstance> read_instance(nb::handle from) {
    auto result = std::make_unique<NativeInstance>();
    Instance& to = result->instance;
    read_pools(from, to);
    read_choices(from, to);
    read_parts(from, to);
    read_banks(from, to);
    const Column exempt(from, "exempt");
    for (std::size_t i = 0; i + 2 < exempt.size(); i += 3) {
        to.exempt.push_back({to_index(exempt[i]), to_index(exempt[i + 1]), exempt[i + 2] != 0});
    }
    const Column reuse(from, "reuse");
    for (std::size_t i = 0; i + 2 < reuse.size(); i += 3) {
        to.reuse.push_back({to_index(reuse[i]), to_index(reuse[i + 1]), reuse[i + 2]});
    }
    const Column listed(from, "conflicts");
    result->conflicts.reserve(listed.size() / 2);
    for (std::size_t i = 0; i + 1 < listed.size(); i += 2) {
        result->conflicts.emplace_back(to_index(listed[i]), to_index(listed[i + 1]));
    }
    nb::gil_scoped_release release;
    result->times = assemble_rows(to, result->conflicts);
    return result;
}

// One column of an array of structures, or of numbers, as Python reads it.
template <class Values, class Member>
nb::bytes column_of(const Values& from, Member member) {
    std::vector<std::int64_t> column;
    column.reserve(from.size());
    for (const auto& value : from) column.push_back(std::invoke(member, value));
    return bytes_of(column);
}

// Several numbers of each, one after the other.
template <class Values, class... Members>
nb::bytes rows_of(const Values& from, Members... members) {
    std::vector<std::int64_t> rows;
    rows.reserve(from.size() * sizeof...(members));
    for (const auto& value : from) (rows.push_back(std::invoke(members, value)), ...);
    return bytes_of(rows);
}

// Of each choice of each item, a number.
template <class Member>
nb::bytes choices_of(const Instance& from, Member member) {
    std::vector<std::int64_t> column;
    for (Index item = 0; item < from.item_count(); ++item) {
        for (const Choice& choice : from.choices[item]) column.push_back(std::invoke(member, choice));
    }
    return bytes_of(column);
}

// Where each list begins among all, which are one after the other.
template <class Holder, class Values>
nb::bytes starts_of(const std::vector<Holder>& holders, const Values& values_of) {
    std::vector<std::int64_t> starts{0};
    for (const Holder& holder : holders) {
        starts.push_back(starts.back() + static_cast<std::int64_t>(std::invoke(values_of, holder).size()));
    }
    return bytes_of(starts);
}

// Of the ranges of all, the ends on one side.
template <class Holder, class Values>
nb::bytes ends_of(const std::vector<Holder>& holders, const Values& values_of, Bytes Range::* side) {
    std::vector<std::int64_t> ends;
    for (const Holder& holder : holders) {
        for (const Range& range : std::invoke(values_of, holder)) ends.push_back(range.*side);
    }
    return bytes_of(ends);
}

nb::bytes choice_starts(const Instance& from) {
    std::vector<std::int64_t> starts{0};
    for (Index item = 0; item < from.item_count(); ++item) {
        starts.push_back(starts.back() + static_cast<std::int64_t>(from.choices[item].size()));
    }
    return bytes_of(starts);
}

// The arrays of solvers.instance.Instance by name.
nb::bytes array_of(const NativeInstance& self, std::string_view name) {
    using Pair = std::pair<Index, Index>;
    using Read = nb::bytes (*)(const NativeInstance&);
    static constexpr std::identity kItself;
    static const std::map<std::string_view, Read> kArrays{
        {"capacity", [](auto& of) { return column_of(of.instance.pools, &Pool::capacity); }},
        {"reserved_start", [](auto& of) { return starts_of(of.instance.pools, &Pool::reserved); }},
        {"reserved_begin",
         [](auto& of) { return ends_of(of.instance.pools, &Pool::reserved, &Range::begin); }},
        {"reserved_end", [](auto& of) { return ends_of(of.instance.pools, &Pool::reserved, &Range::end); }},
        {"bank_start", [](auto& of) { return starts_of(of.instance.banks.of_pool, kItself); }},
        {"bank_begin", [](auto& of) { return ends_of(of.instance.banks.of_pool, kItself, &Range::begin); }},
        {"bank_end", [](auto& of) { return ends_of(of.instance.banks.of_pool, kItself, &Range::end); }},
        {"choice_start", [](auto& of) { return choice_starts(of.instance); }},
        {"choice_pool", [](auto& of) { return choices_of(of.instance, &Choice::pool); }},
        {"choice_modulus", [](auto& of) { return choices_of(of.instance, &Choice::modulus); }},
        {"choice_residue", [](auto& of) { return choices_of(of.instance, &Choice::residue); }},
        {"choice_low", [](auto& of) { return choices_of(of.instance, &Choice::low); }},
        {"choice_high", [](auto& of) { return choices_of(of.instance, &Choice::high); }},
        {"choice_cost", [](auto& of) { return choices_of(of.instance, &Choice::cost); }},
        {"choice_rank", [](auto& of) { return choices_of(of.instance, &Choice::rank); }},
        {"window_start", [](auto& of) { return column_of(of.instance.banks.windows.start, kItself); }},
        {"window_low", [](auto& of) { return column_of(of.instance.banks.windows.values, &Range::begin); }},
        {"window_high", [](auto& of) { return column_of(of.instance.banks.windows.values, &Range::end); }},
        {"item_parts", [](auto& of) { return column_of(of.instance.item_parts, kItself); }},
        {"part_delta", [](auto& of) { return column_of(of.instance.parts, &Part::delta); }},
        {"part_size", [](auto& of) { return column_of(of.instance.parts, &Part::size); }},
        {"life_start", [](auto& of) { return column_of(of.instance.lives.start, kItself); }},
        {"life_begin", [](auto& of) { return column_of(of.instance.lives.values, &Lifetime::begin); }},
        {"life_end", [](auto& of) { return column_of(of.instance.lives.values, &Lifetime::end); }},
        {"conflicts", [](auto& of) { return rows_of(of.conflicts, &Pair::first, &Pair::second); }},
        {"exempt",
         [](auto& of) {
             return rows_of(of.instance.exempt, &ExemptPair::first, &ExemptPair::second,
                            &ExemptPair::in_place);
         }},
        {"reuse",
         [](auto& of) {
             return rows_of(of.instance.reuse, &ReuseCost::first, &ReuseCost::second, &ReuseCost::cost);
         }},
        {"apart", [](auto& of) { return rows_of(of.instance.banks.apart, &Pair::first, &Pair::second); }},
        {"bank_costs",
         [](auto& of) {
             return rows_of(of.instance.banks.costs, &ReuseCost::first, &ReuseCost::second, &ReuseCost::cost);
         }},
    };
    const auto known = kArrays.find(name);
    if (known == kArrays.end()) throw nb::key_error("no such array");
    return known->second(self);
}

}  // namespace

void bind_instance(nb::module_& m) {
    nb::class_<NativeInstance>(m, "Instance", "The arrays of solvers.instance.Instance, and their rows.")
        .def(
            "__init__",
            [](NativeInstance* self, InstanceObject arrays) {
                new (self) NativeInstance(std::move(*read_instance(arrays)));
            },
            nb::arg("arrays"))
        .def("array", &array_of, nb::arg("name"), "Such an array of solvers.instance.Instance, as bytes.");
    m.attr("UNBOUNDED") = kLimit;
}

}  // namespace memstow::bindings
