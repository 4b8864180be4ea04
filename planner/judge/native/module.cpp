// The door between Python and the judge: converts arguments and results, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "formulas.hpp"
#include "frame.hpp"
#include "order.hpp"
#include "places.hpp"
#include "replay.hpp"
#include "sweep.hpp"
#include "windows.hpp"

namespace {

namespace nb = nanobind;
using memstow::judge::Columns;
using memstow::judge::Defect;
using memstow::judge::Finding;
using memstow::judge::Formulas;

using Ints = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> span_of(const Ints& ints) { return {ints.data(), ints.size()}; }

// Lets other threads of Python work meanwhile, where that is worth the turns it takes.
class Released {
  public:
    explicit Released(const Ints& column) {
        if (column.size() > kFew) release_.emplace();
    }

  private:
    static constexpr std::size_t kFew = 1000;
    std::optional<nb::gil_scoped_release> release_;
};

std::tuple<Defect, std::int64_t, std::int64_t> as_tuple(const Finding& finding) {
    return {finding.defect, finding.first, finding.second};
}

auto check_columns(const Ints& sizes, const Ints& begins, const Ints& ends, const Ints& alignments) {
    const Released released(sizes);
    return as_tuple(
        memstow::judge::check_columns({span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)}));
}

// An integer of Python, which has as many bits as it needs; the value is not negative.
nb::int_ integer(memstow::judge::Wide value) {
    if (value <= std::numeric_limits<std::int64_t>::max()) return nb::int_(static_cast<std::int64_t>(value));
    const auto low = static_cast<std::uint64_t>(value);
    return nb::int_((nb::int_(static_cast<std::uint64_t>(value >> 64)) << nb::int_(64)) | nb::int_(low));
}

// The finding, the peak, and the least peak that any layout has; nothing is counted for invalid places.
auto judge_places(const Ints& sizes, const Ints& begins, const Ints& ends, const Ints& alignments,
                  const Ints& offsets, std::int64_t capacity) {
    const Columns columns{span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)};
    memstow::judge::Verdict verdict;
    {
        const Released released(sizes);
        verdict = memstow::judge::judge(columns, span_of(offsets), capacity);
    }
    return std::tuple{as_tuple(verdict.finding), verdict.peak, integer(verdict.least_peak)};
}

// The finding, the peak, the most live bytes and the first moment of so many.
auto judge_plan(const Ints& sizes, const Ints& begins, const Ints& ends, const Ints& alignments,
                const Ints& offsets, std::int64_t capacity) {
    const Released released(sizes);
    const Columns columns{span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)};
    const memstow::judge::Verdict verdict = memstow::judge::judge(columns, span_of(offsets), capacity);
    return std::tuple{as_tuple(verdict.finding), verdict.peak, verdict.live, verdict.moment};
}

using memstow::judge::Rules;

std::vector<Rules::Pair> listed_pairs(const Ints& numbers, std::int64_t count) {
    std::vector<Rules::Pair> pairs;
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
        const std::int64_t one = numbers.data()[i], other = numbers.data()[i + 1];
        if (one < 0 || other < 0 || one >= count || other >= count) throw nb::index_error("no such buffer");
        pairs.emplace_back(one, other);
    }
    return pairs;
}

// By pool its capacity, alignment, base and cost; by reserved range its pool, begin and end; lists of pools.
using Memory = std::tuple<std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>>,
                          std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>>,
                          std::vector<std::vector<std::size_t>>>;

// The finding; by pool the peak, the most bytes in use at one moment and the first such moment; and the cost
// of all accesses. Nothing is counted for what is not right. With pins, or none, and what holds between
// buffers: pairs, and ties of three numbers each. `places`: offsets and, with several pools, the numbers of
// these; `choices`: lists of pools and accesses, or none.
auto judge_related(const std::tuple<Ints, Ints, Ints, Ints>& buffers, const std::pair<Ints, Ints>& places,
                   const Memory& memory, const std::pair<Ints, Ints>& choices, const Ints& pins,
                   const std::tuple<Ints, Ints, Ints>& pairs, const Ints& ties) {
    const auto& [sizes, begins, ends, alignments] = buffers;
    const auto& [described, ranges, lists] = memory;
    const auto& [list_of, accesses] = choices;
    const Released released(sizes);
    const Columns columns{span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)};
    const auto count = static_cast<std::int64_t>(sizes.size());
    const std::vector<Rules::Pair> conflicts = listed_pairs(std::get<0>(pairs), count);
    const std::vector<Rules::Pair> exclusive = listed_pairs(std::get<1>(pairs), count);
    const std::vector<Rules::Pair> in_place = listed_pairs(std::get<2>(pairs), count);
    std::vector<Rules::Tie> tied;
    for (std::size_t i = 0; i + 2 < ties.size(); i += 3) {
        const std::int64_t *const tie = ties.data() + i, buffer = tie[0], base = tie[1];
        if (buffer < 0 || base < 0 || buffer >= count || base >= count)
            throw nb::index_error("no such buffer");
        tied.push_back({buffer, base, tie[2]});
    }
    std::vector<memstow::judge::Pool> pools;
    for (const auto& [capacity, alignment, base, cost] : described) {
        if (alignment < 1) throw nb::value_error("an alignment of 1 or more for each pool");
        pools.push_back({capacity, alignment, base, cost});
    }
    if (pools.empty()) throw nb::value_error("at least one pool");
    std::vector<Rules::Reserved> reserved;
    for (const auto& [pool, begin, end] : ranges) {
        if (pool >= pools.size()) throw nb::index_error("no such pool");
        reserved.push_back({static_cast<std::int64_t>(pool), begin, end});
    }
    std::vector<std::size_t> list_start{0}, list_pools;
    for (const std::vector<std::size_t>& list : lists) {
        list_pools.insert(list_pools.end(), list.begin(), list.end());
        list_start.push_back(list_pools.size());
    }
    const auto list_count = static_cast<std::int64_t>(lists.size());
    if (std::ranges::any_of(span_of(list_of), [&](std::int64_t list) { return list >= list_count; }))
        throw nb::index_error("no such list");
    const Ints& homes = places.second;
    // One that is negative is none of the pools.
    const std::vector<std::size_t> home_of(homes.data(), homes.data() + homes.size());
    Rules rules;
    rules.pools = pools;
    rules.reserved = reserved;
    rules.list_of = span_of(list_of);
    rules.list_start = list_start;
    rules.list_pools = list_pools;
    rules.pins = span_of(pins);
    rules.conflicts = conflicts;
    rules.exclusive = exclusive;
    rules.in_place = in_place;
    rules.ties = tied;
    const memstow::judge::Places placed{span_of(places.first), home_of};
    std::vector<memstow::judge::Most> most;
    const Finding finding = memstow::judge::judge_by_rules(columns, rules, placed, &most);
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> uses;
    if (finding.defect != Defect::none) return std::tuple{as_tuple(finding), uses, std::int64_t{0}};
    const memstow::judge::Worth worth =
        memstow::judge::worth_of(columns, rules, {span_of(accesses), {}, {}}, placed);
    for (std::size_t pool = 0; pool < pools.size(); ++pool)
        uses.emplace_back(worth.peaks[pool], static_cast<std::int64_t>(most[pool].bytes), most[pool].moment);
    constexpr memstow::judge::Wide kMost = std::numeric_limits<std::int64_t>::max();
    const std::int64_t cost = static_cast<std::int64_t>(std::min(worth.placement_cost, kMost));
    return std::tuple{as_tuple(finding), uses, cost};
}

std::vector<std::int64_t> peaks_of(const Ints& sizes, const std::pair<Ints, Ints>& places,
                                   std::size_t pools) {
    const auto& [offsets, homes] = places;
    if (sizes.size() != offsets.size()) throw nb::value_error("an offset for each size");
    if (homes.size() != (pools == 1 && homes.size() == 0 ? 0 : sizes.size()))
        throw nb::value_error("a pool for each size");
    const std::vector<std::size_t> home_of(homes.data(), homes.data() + homes.size());
    // One that is negative is none of the pools.
    if (std::ranges::any_of(home_of, [&](std::size_t home) { return home >= pools; }))
        throw nb::index_error("no such pool");
    return memstow::judge::peaks_of(span_of(sizes), {span_of(offsets), home_of}, pools);
}

using memstow::judge::BufferPair;
using memstow::judge::Frame;
using memstow::judge::Goal;
using memstow::judge::Order;

// Numbers of buffers; one that is negative is none.
std::size_t index(std::int64_t number) {
    return number < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(number);
}

std::vector<BufferPair> pairs_of(const std::pair<Ints, Ints>& sides) {
    const auto& [ones, others] = sides;
    if (ones.size() != others.size()) throw nb::value_error("two buffers for each pair");
    std::vector<BufferPair> pairs;
    pairs.reserve(ones.size());
    for (std::size_t k = 0; k < ones.size(); ++k)
        pairs.push_back({index(ones.data()[k]), index(others.data()[k])});
    return pairs;
}

using Sides = std::pair<Ints, Ints>;

std::optional<Frame> frame(const std::tuple<Ints, Ints, Ints, Ints>& buffers, const Ints& allowed,
                           const Ints& capacities, const Sides& conflicts, const Sides& exclusive,
                           const Sides& in_place, const std::tuple<Ints, Ints, Ints>& ties) {
    const auto column = [](const Ints& ints) {
        return std::vector<std::int64_t>(ints.data(), ints.data() + ints.size());
    };
    const auto& [begins, ends, alignments, pins] = buffers;
    const auto& [tied, bases, distances] = ties;
    if (bases.size() != tied.size() || distances.size() != tied.size())
        throw nb::value_error("a base and a distance for each tie");
    Frame::Parts parts{.begins = column(begins),
                       .ends = column(ends),
                       .alignments = column(alignments),
                       .pins = column(pins),
                       .allowed = {allowed.data(), allowed.data() + allowed.size()},
                       .capacities = column(capacities),
                       .conflicts = pairs_of(conflicts),
                       .exclusive = pairs_of(exclusive),
                       .in_place = pairs_of(in_place),
                       .ties = {}};
    for (std::size_t k = 0; k < tied.size(); ++k)
        parts.ties.push_back({index(tied.data()[k]), index(bases.data()[k]), distances.data()[k]});
    const Released released(begins);
    return Frame::of(std::move(parts));
}

std::int64_t least(const Frame& self, const Ints& sizes, Goal goal, std::size_t pool) {
    const Released released(sizes);
    return self.least(span_of(sizes), goal, pool);
}

std::optional<Order> order(const Frame& self, const Sides& above, const Ints& pools, const Sides& shared,
                           const Ints& empty, const Ints& largest) {
    const std::vector<BufferPair> pairs = pairs_of(shared);
    const Released released(largest);
    return Order::of(self,
                     {.start = span_of(above.first),
                      .below = span_of(above.second),
                      .pools = span_of(pools),
                      .shared = pairs,
                      .empty = span_of(empty)},
                     span_of(largest));
}

bool keeps_apart(const Order& self) {
    nb::gil_scoped_release release;
    return self.keeps_apart();
}

std::optional<std::vector<std::int64_t>> peaks_of_order(const Order& self, const Ints& sizes) {
    const Released released(sizes);
    return self.peaks(span_of(sizes));
}

using Values = std::vector<std::int64_t>;

Formulas formulas(std::vector<std::string> names,
                  const std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>& axes) {
    if (names.size() != axes.size()) throw nb::value_error("an axis for each name");
    std::vector<memstow::judge::Axis> all;
    for (const auto& [first, last, step] : axes) {
        const bool sound = -memstow::judge::kMostOfAxis <= first && first <= last &&
                           last <= memstow::judge::kMostOfAxis && step > 0 && (last - first) % step == 0;
        if (!sound) throw nb::value_error("first, last and step of an axis");
        all.push_back({first, last, step});
    }
    return {std::move(names), std::move(all)};
}

void check(const Formulas& self, std::size_t formula) {
    if (formula >= self.count()) throw nb::index_error("no such formula");
}

// The value of each formula; nothing where one has none.
std::optional<Values> values(const Formulas& self, const Values& at) {
    if (at.size() != self.symbols()) throw nb::value_error("a value for each symbol");
    Values at_point;
    at_point.reserve(self.count());
    for (std::size_t formula = 0; formula < self.count(); ++formula) {
        const std::optional<std::int64_t> value = self.value(formula, at);
        if (!value) return std::nullopt;
        at_point.push_back(*value);
    }
    return at_point;
}

std::optional<std::int64_t> value(const Formulas& self, std::size_t formula, const Values& at) {
    check(self, formula);
    if (at.size() != self.symbols()) throw nb::value_error("a value for each symbol");
    return self.value(formula, at);
}

Values used(const Formulas& self, std::size_t formula) {
    check(self, formula);
    return self.used(formula);
}

bool is_never_below(const Formulas& self, std::size_t formula, std::int64_t least) {
    check(self, formula);
    return self.is_never_below(formula, least);
}

std::optional<std::tuple<std::int64_t, std::int64_t, Values, std::int64_t>> largest(
    const Formulas& self, std::size_t formula, std::int64_t most, std::int64_t left,
    std::optional<std::int64_t> above, bool negated) {
    check(self, formula);
    nb::gil_scoped_release release;
    const auto extreme = self.largest(formula, most, left, above, negated);
    if (!extreme) return std::nullopt;
    return std::tuple{extreme->value, extreme->seen, extreme->at, extreme->looked};
}

std::optional<std::int64_t> proven(const Ints& sizes, const Ints& begins, const Ints& ends,
                                   const Ints& alignments, const Ints& members, std::int64_t moment) {
    const Released released(sizes);
    return memstow::judge::proven({span_of(sizes), span_of(begins), span_of(ends), span_of(alignments)},
                                  span_of(members), moment);
}

memstow::judge::Room room_for(const Ints& sizes, const Ints& begins, const Ints& ends, std::int64_t height,
                              std::int64_t steps) {
    if (begins.size() != sizes.size() || ends.size() != sizes.size()) {
        throw nb::value_error("a begin and an end are needed for each size");
    }
    nb::gil_scoped_release release;
    return memstow::judge::room_for(span_of(sizes), span_of(begins), span_of(ends), height, steps);
}

using memstow::judge::Lives;
using memstow::judge::Sweep;

Lives lives_in(const Ints& begins, const Ints& ends, const Ints& offsets, const Ints& sizes,
               const Ints& groups) {
    const Lives lives{span_of(begins), span_of(ends), span_of(offsets), span_of(sizes), span_of(groups)};
    if (!memstow::judge::are_sound(lives)) {
        throw nb::value_error("lives have the same number of entries, at least one moment and one byte each");
    }
    return lives;
}

void make_sweep(Sweep* self, const Ints& begins, const Ints& ends, const Ints& offsets, const Ints& sizes,
                const Ints& groups) {
    new (self) Sweep(lives_in(begins, ends, offsets, sizes, groups));
}

std::vector<Sweep::Pair> next(Sweep& self, std::size_t count) {
    nb::gil_scoped_release release;
    return self.next(count);
}

auto most_of(const memstow::judge::Most& most) { return std::tuple{integer(most.bytes), most.moment}; }

auto most_so_far(const Sweep& self) { return most_of(self.most()); }

auto most_occupied(const Ints& begins, const Ints& ends, const Ints& offsets, const Ints& sizes,
                   const Ints& groups) {
    const Lives lives = lives_in(begins, ends, offsets, sizes, groups);
    memstow::judge::Most most;
    {
        const Released released(sizes);
        most = memstow::judge::most_occupied(lives);
    }
    return most_of(most);
}

using memstow::judge::Program;
using memstow::judge::Uses;

std::vector<std::int64_t> numbers(const Ints& ints) { return {ints.data(), ints.data() + ints.size()}; }

Program program(const nb::bytes& kinds, const std::pair<Ints, Ints>& inputs,
                const std::pair<Ints, Ints>& outputs, const std::pair<Ints, Ints>& pairs,
                const Ints& inputs_of_graph, const Ints& kept) {
    const auto uses = [](const std::pair<Ints, Ints>& columns) {
        return Uses{numbers(columns.first), numbers(columns.second)};
    };
    return {std::string(kinds.c_str(), kinds.size()),
            uses(inputs),
            uses(outputs),
            uses(pairs),
            numbers(inputs_of_graph),
            numbers(kept)};
}

// By tensor where it is made and needed last, and the pairs that share a place; nothing for no run.
std::optional<std::tuple<Values, Values, std::vector<std::pair<std::int64_t, std::int64_t>>>> run(
    const Program& self, const Ints& order) {
    std::optional<memstow::judge::Run> run = self.run(span_of(order));
    if (!run) return std::nullopt;
    return std::tuple{std::move(run->born), std::move(run->needed), std::move(run->shared)};
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
        .value("OVERLAP", Defect::overlap)
        .value("RESERVED", Defect::reserved)
        .value("PIN", Defect::pin)
        .value("TIE", Defect::tie)
        .value("POOL", Defect::pool);
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
        "judge_related", &judge_related, nb::arg("buffers"), nb::arg("places"), nb::arg("memory"),
        nb::arg("choices"), nb::arg("pins"), nb::arg("pairs"), nb::arg("ties"),
        "The first thing that is wrong with places in one pool or several; by pool the peak, the most live "
        "bytes, and when; and the cost of all accesses, at most 2^63 - 1.\n\n"
        "`buffers` are the four columns; `places` offsets and, with several pools, by buffer their numbers. "
        "`memory`: by pool its capacity, alignment, base and cost; the pool, begin and end of reserved "
        "ranges; lists of pools. `choices`: by buffer, or none, its list or -1 for any pool, and its "
        "accesses or -1 for its bytes. `pins`: by buffer, or none; `pairs` conflicts, exclusive and "
        "in-place pairs, one after the other; `ties` buffers, bases and distances.");
    m.def("peaks_of", &peaks_of, nb::arg("sizes"), nb::arg("places"), nb::arg("pools"),
          "By pool the peak of valid places: offsets and, of more than one pool, by buffer its number.");
    nb::enum_<Goal>(m, "Goal", "What is counted of the peaks of pools.")
        .value("SUM", Goal::sum)
        .value("LARGEST", Goal::largest)
        .value("ONE", Goal::one);
    nb::class_<Order>(m, "Order", "Which buffers are above which, whatever their sizes are.")
        .def("keeps_apart", &keeps_apart,
             "Whether of every two that conflict one ends where the other begins, or below, at every size; "
             "False as well where that takes too long to see.")
        .def("peaks", &peaks_of_order, nb::arg("sizes"),
             "By pool the peak with these sizes; None where they do not fit.");
    nb::class_<Frame>(m, "Frame", "All of a problem but the sizes.")
        .def("least", &least, nb::arg("sizes"), nb::arg("goal"), nb::arg("pool"),
             "No layout with these sizes has less; `pool`: which of them is the one.")
        .def("order", &order, nb::arg("above"), nb::arg("pools"), nb::arg("shared"), nb::arg("empty"),
             nb::arg("largest"), nb::keep_alive<0, 1>(),
             "The order in which buffer i is above below[start[i]:start[i + 1]], the first and second of "
             "`above`; None where it is not sound. By buffer its pool, and a size that it never exceeds; "
             "`shared`: buffers that begin where others do; `empty`: those that are said to have no bytes.");
    m.def("frame", &frame, nb::arg("buffers"), nb::arg("allowed"), nb::arg("capacities"),
          nb::arg("conflicts"), nb::arg("exclusive"), nb::arg("in_place"), nb::arg("ties"),
          "All of a problem but the sizes; None where it is not sound. `buffers`: begins, ends, alignments, "
          "and offsets that they must have or -1, if any; `allowed`: by buffer the bits of its pools.");
    nb::class_<Formulas>(m, "Formulas", "Formulas of symbols, as the judge reads them.")
        .def(nb::new_(&formulas), nb::arg("names"), nb::arg("axes"))
        .def("read", &Formulas::read, nb::arg("text"),
             "Whether the text is a formula that can be read here; then it is the next one, counted from 0.")
        .def("values", &values, nb::arg("at"), "The value of each; None where one has none.")
        .def("value", &value, nb::arg("formula"), nb::arg("at"))
        .def("used", &used, nb::arg("formula"), "The symbols that are in it, by position.")
        .def("is_never_below", &is_never_below, nb::arg("formula"), nb::arg("least"))
        .def("largest", &largest, nb::arg("formula"), nb::arg("most"), nb::arg("left"),
             nb::arg("above").none(), nb::arg("negated"),
             "No value is above the first; the second is the largest seen, and where; among how many boxes.");
    m.def(
        "proven", &proven, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"), nb::arg("alignments"),
        nb::arg("members"), nb::arg("moment"),
        "The least peak of any layout that follows from buffers that live at one moment; None for no such.");
    nb::class_<Sweep>(m, "Sweep", "Lives in one pool by begin, and those that share a byte at one moment.")
        .def("__init__", &make_sweep, nb::arg("begins"), nb::arg("ends"), nb::arg("offsets"),
             nb::arg("sizes"), nb::arg("groups"))
        .def("next", &next, nb::arg("count"),
             "The next pairs that meet and are not of one group, at least so many if there are.")
        .def("most", &most_so_far,
             "Of the lives so far, the most bytes live at one moment, with what is shared each time, and "
             "when.");
    m.def("most_occupied", &most_occupied, nb::arg("begins"), nb::arg("ends"), nb::arg("offsets"),
          nb::arg("sizes"), nb::arg("groups"),
          "The most bytes in use at one moment, each counted once, and the first such moment.");
    nb::class_<Program>(m, "Program", "A graph by number, as the judge runs it.")
        .def(nb::new_(&program), nb::arg("kinds"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("pairs"),
             nb::arg("given"), nb::arg("kept"))
        .def_prop_ro(
            "has_two_producers", &Program::has_two_producers,
            "Whether two operators make one tensor that is no state, or one makes an input of the graph.")
        .def_prop_ro("has_wrong_pair", &Program::has_wrong_pair,
                     "Whether a pair in place is not an input and an output of its operator.")
        .def("run", &run, nb::arg("order"),
             "By tensor, at which place it is made and at which it is needed last, and pairs that share a "
             "place. Place 0 is before the first operator of the order, k is the k-th, and one more than all "
             "is the end. None where an operator is missing, or reads what is made later.");
    nb::enum_<memstow::judge::Room>(m, "Room", "Whether there is a layout below a height.")
        .value("NONE", memstow::judge::Room::none)
        .value("SOME", memstow::judge::Room::some)
        .value("TOO_MUCH", memstow::judge::Room::too_much);
    m.def("room_for", &room_for, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"), nb::arg("height"),
          nb::arg("steps"),
          "Whether these buffers have a layout that is no higher, by a search of so many steps.");
}
