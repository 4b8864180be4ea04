#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "core/budget.hpp"
#include "stripes/front.hpp"
#include "stripes/path_cuts.hpp"

namespace memstow::bindings {
namespace {

using stripes::Axis;
using stripes::Place;

using Chosen = std::tuple<Index, Index, Place, Index>;
using FrontPoint = std::tuple<Bytes, stripes::Cost, std::vector<Chosen>>;

constexpr std::size_t kUse = 11;
constexpr std::size_t kFour = 4;
constexpr std::size_t kFive = 5;

Axis axis(const Column& from, std::size_t at) {
    const Axis read{from[at], from[at + 1], from[at + 2], from[at + 3], from[at + 4]};
    if (read.extent < 0 || read.step < 0 || read.over <= 0 || read.before < 0)
        throw nb::value_error("a bad axis");
    return read;
}

// A place in the order, or -1.
Index place(std::int64_t value, std::size_t count) {
    if (value < -1 || value > static_cast<std::int64_t>(count)) throw nb::value_error("no such operator");
    return value < 0 ? stripes::kNobody : to_index(value);
}

// [begin, end) of it.
std::vector<Bytes> part(const Column& from, std::int64_t begin, std::int64_t end) {
    if (begin < 0 || std::cmp_greater(end, from.size())) throw nb::value_error("no such part of a column");
    std::vector<Bytes> values;
    for (std::int64_t at = begin; at < end; ++at) values.push_back(from[static_cast<std::size_t>(at)]);
    return values;
}

struct ProgramObject : nb::object {
    NB_OBJECT_DEFAULT(ProgramObject, nb::object, "memstow.solvers.graph_programs.StripeProgram", is_any)
};

stripes::Program program_of(ProgramObject from) {
    const Column can(from, "can"), reduces(from, "reduces"), kept(from, "kept"), shared(from, "shared"),
        reader(from, "last_reader");
    const Column rows(from, "rows"), columns(from, "columns"), pixel(from, "pixel"), extra(from, "extra");
    const Column rest(from, "extra_rest"), sums(from, "sums"), alone(from, "alone"), cost(from, "cost"),
        start(from, "use_start");
    const Column may_stay(from, "may_stay"), continues(from, "continues"), level_start(from, "level_start");
    const Column level_cost(from, "level_cost"), level_peak(from, "level_peak"), beside(from, "beside"),
        ranges(from, "beside_range");
    const Column read_start(from, "beside_read_start"), beside_read(from, "beside_read");
    const Column next_start(from, "beside_next_start"), beside_next(from, "beside_next");
    const Column gone(from, "beside_gone"), alone_start(from, "alone_beside_start"),
        alone_beside(from, "alone_beside");
    const Column uses(from, "uses"), wholes(from, "wholes"), others(from, "others"),
        off_path(from, "off_path");
    const std::size_t count = can.size();
    for (const Column* column :
         {&reduces, &kept, &shared, &reader, &rows, &columns, &pixel, &extra, &rest, &sums, &cost}) {
        if (column->size() != count) throw nb::value_error("columns differ in length");
    }
    const bool is_path = nb::cast<bool>(from.attr("is_path"));
    const std::size_t levels = alone.size(), on_path = is_path ? count : 0, of_path = is_path ? levels : 0;
    if (may_stay.size() != on_path || continues.size() != on_path || level_cost.size() != of_path ||
        level_peak.size() != of_path || beside.size() != of_path || ranges.size() != 2 * of_path ||
        read_start.size() != (is_path ? levels + 1 : 0) || next_start.size() != read_start.size() ||
        gone.size() != beside_read.size() || alone_start.size() != level_start.size() ||
        level_start.size() != (is_path ? count + 1 : 0) || (!is_path && levels != count))
        throw nb::value_error("columns differ in length");
    if (start.size() != count + 1) throw nb::value_error("use_start has one more than there are operators");
    stripes::Program program;
    program.unit = nb::cast<std::int64_t>(from.attr("unit"));
    if (program.unit < 1) throw nb::value_error("a unit has at least one byte");
    program.base = {nb::cast<std::int64_t>(from.attr("base")),
                    nb::cast<std::int64_t>(from.attr("base_rest"))};
    program.start = nb::cast<std::int64_t>(from.attr("start"));
    program.operators.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        stripes::Operator& column = program.operators[i];
        column.can = can[i] != 0;
        column.reduces = reduces[i] != 0;
        column.kept = kept[i] != 0;
        column.shared = shared[i] != 0;
        column.last_reader = place(reader[i], count);
        column.rows = rows[i];
        column.columns = columns[i];
        column.pixel = pixel[i];
        column.extra = {extra[i], rest[i]};
        column.sums = sums[i];
        column.cost = cost[i];
        if (is_path) {
            column.may_stay = may_stay[i] != 0;
            column.continues = continues[i] != 0;
            column.alone_beside = part(alone_beside, alone_start[i], alone_start[i + 1]);
            if (level_start[i] < 0 || level_start[i + 1] <= level_start[i] ||
                std::cmp_greater(level_start[i + 1], levels))
                throw nb::value_error("an operator has at least one level");
            for (std::int64_t k = level_start[i]; k < level_start[i + 1]; ++k) {
                const std::size_t at = static_cast<std::size_t>(k);
                stripes::Level level{level_cost[at],
                                     alone[at],
                                     beside[at],
                                     place(ranges[2 * at], count),
                                     place(ranges[2 * at + 1], count),
                                     part(beside_read, read_start[at], read_start[at + 1]),
                                     part(gone, read_start[at], read_start[at + 1]),
                                     part(beside_next, next_start[at], next_start[at + 1]),
                                     level_peak[at]};
                column.levels.push_back(std::move(level));
            }
            if (column.continues &&
                (i == 0 || column.levels.size() != program.operators[i - 1].levels.size()))
                throw nb::value_error("operators differ in their levels");
        } else {
            column.levels.push_back({0, alone[i]});
        }
        if (column.can && (column.rows <= 0 || column.columns <= 0))
            throw nb::value_error("an image has no rows");
        for (std::int64_t k = start[i]; k < start[i + 1]; ++k) {
            const std::size_t at = static_cast<std::size_t>(k) * kUse;
            if (k < 0 || at + kUse > uses.size()) throw nb::value_error("no such use");
            const Index source = place(uses[at], i);
            column.uses.push_back({source, axis(uses, at + 1), axis(uses, at + 6)});
            if (source < 0) continue;
            const stripes::Reader reading{to_index(static_cast<std::int64_t>(i)),
                                          to_index(static_cast<std::int64_t>(column.uses.size()) - 1)};
            program.operators[source].readers.push_back(reading);
        }
    }
    for (std::size_t at = 0; at + kFour <= wholes.size(); at += kFour) {
        program.wholes.push_back({place(wholes[at], count), place(wholes[at + 1], count), wholes[at + 2],
                                  place(wholes[at + 3], count)});
    }
    for (std::size_t at = 0; at + kFour <= others.size(); at += kFour) {
        const Index begin = place(others[at], count), end = place(others[at + 1], count);
        if (begin < 0 || end <= begin) throw nb::value_error("another way runs at least one operator");
        program.others.push_back({begin, end, others[at + 2], others[at + 3]});
    }
    if (const nb::object must_run = from.attr("must_run"); !must_run.is_none()) {
        const auto [first, last] = nb::cast<std::pair<Index, Index>>(must_run);
        if (first < 0 || last < first || last >= program.count()) throw nb::value_error("no such operators");
        program.must_run = {first, last};
    }
    if (is_path) program.reads = stripes::reads_of(program.operators);
    const nb::object around = from.attr("around");
    if (!around.is_none()) {
        using Numbers = std::vector<std::int64_t>;
        const auto& [all, path, before] = nb::cast<std::tuple<ProgramObject, Numbers, Numbers>>(around);
        program.around.operators = program_of(all).operators;
        if (path.size() != count || before.size() != program.around.operators.size())
            throw nb::value_error("columns differ in length");
        for (const std::int64_t known : before) program.around.made_before.push_back(place(known, count));
        for (const std::int64_t operation : path) {
            const Index known = place(operation, program.around.operators.size());
            const Index before = program.around.path.empty() ? stripes::kNobody : program.around.path.back();
            if (known <= before || known == count_of(program.around.operators))
                throw nb::value_error("a path is in the order of its graph");
            program.around.path.push_back(known);
        }
    }
    for (std::size_t at = 0; at + kFive <= off_path.size(); at += kFive) {
        if (off_path[at] <= 0) throw nb::value_error("a stripe has columns");
        program.off_path.push_back({off_path[at], place(off_path[at + 1], count),
                                    place(off_path[at + 2], count), off_path[at + 3], off_path[at + 4]});
    }
    return program;
}

std::pair<std::vector<FrontPoint>, bool> front(ProgramObject from, stripes::Cost most_cost, Index longest,
                                               Bytes least, std::optional<Bytes> most, Budget& budget) {
    const stripes::Program program = program_of(from);
    nb::gil_scoped_release release;
    const stripes::Front best =
        stripes::front(program, {most_cost, longest, least, most.value_or(kLimit)}, budget);
    std::vector<FrontPoint> points;
    for (const stripes::Point& point : best.points) {
        std::vector<Chosen> choices;
        for (const stripes::Choice& choice : point.choices) {
            choices.emplace_back(choice.begin, choice.end, choice.columns, choice.other);
        }
        points.emplace_back(point.bytes, point.cost, std::move(choices));
    }
    return {std::move(points), best.complete};
}

struct WiresObject : nb::object {
    NB_OBJECT_DEFAULT(WiresObject, nb::object, "memstow.solvers.graph_programs.Wires", is_any)
};

// By place of the path: whether it continues, and its levels.
using CutLevel = std::tuple<stripes::Cost, Bytes, Bytes, Index, Index, std::vector<Bytes>, std::vector<Bytes>,
                            std::vector<Bytes>>;
using Cut = std::pair<bool, std::vector<CutLevel>>;

std::vector<Cut> cuts(WiresObject from, const std::vector<Index>& path, Budget& budget) {
    const Column size(from, "size"), maker(from, "maker"), to_end(from, "to_end");
    const Column start(from, "read_start"), reads(from, "reads"), again(from, "again");
    const Column part_again(from, "part_again"), piece(from, "piece");
    if (maker.size() != size.size() || to_end.size() != size.size() || start.size() == 0 ||
        piece.size() != size.size() || again.size() + 1 != start.size() || part_again.size() != again.size())
        throw nb::value_error("columns differ in length");
    stripes::Wires wires;
    wires.operations.resize(start.size() - 1);
    // None for -1.
    const auto number = [](std::int64_t value, std::size_t count) {
        const Index known = place(value, count);
        if (std::cmp_equal(known, count)) throw nb::value_error("no such operator or tensor");
        return known;
    };
    for (std::size_t i = 0; i < size.size(); ++i) {
        const Index known_maker = number(maker[i], wires.operations.size());
        wires.tensors.push_back({size[i], known_maker, to_end[i] != 0, piece[i]});
    }
    for (std::size_t i = 0; i < wires.operations.size(); ++i) {
        if (start[i] < 0 || std::cmp_greater(start[i + 1], reads.size()))
            throw nb::value_error("no such read");
        stripes::Wires::Operation& operation = wires.operations[i];
        if (again[i] >= 0) operation.again = again[i], operation.part_again = part_again[i];
        for (std::int64_t k = start[i]; k < start[i + 1]; ++k) {
            const Index tensor = number(reads[static_cast<std::size_t>(k)], size.size());
            if (tensor == stripes::kNobody) throw nb::value_error("no such tensor");
            operation.reads.push_back(tensor);
        }
    }
    wires.short_path = nb::cast<Index>(from.attr("short_path"));
    const Column later(from, "later");
    for (std::size_t at = 0; at + kFour <= later.size(); at += kFour) {
        const Index operation = number(later[at + 1], wires.operations.size());
        if (operation == stripes::kNobody || later[at + 2] < 0 || later[at + 3] < 0)
            throw nb::value_error("no such operator or cost");
        wires.later.push_back({place(later[at], path.size()), operation, later[at + 2], later[at + 3]});
    }
    for (const Index operation : path) {
        if (number(operation, wires.operations.size()) == stripes::kNobody)
            throw nb::value_error("no such operator");
    }
    nb::gil_scoped_release release;
    std::vector<Cut> all;
    for (const stripes::PathCut& cut : stripes::cuts_beside(wires, path, budget)) {
        Cut& own = all.emplace_back(cut.continues, Cut::second_type{});
        for (const auto& [cost, running, after, begin, end, read, next, gone] : cut.levels) {
            own.second.emplace_back(cost, running, after, begin, end, read, next, gone);
        }
    }
    return all;
}

}  // namespace

void bind_stripes(nb::module_& m) {
    m.def("cuts_beside", &cuts, nb::arg("wires"), nb::arg("path"), nb::arg("budget"));
    m.def("stripe_front", &front, nb::arg("program"), nb::arg("most_cost"), nb::arg("longest"),
          nb::arg("least_bytes"), nb::arg("most_bytes").none(), nb::arg("budget"));
}

}  // namespace memstow::bindings
