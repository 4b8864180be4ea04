// Plain problems and their plans from CSV. Pins and gaps are left to the ordinary reader.
#include "csv_table.hpp"
#include "plan.hpp"
#include "problem.hpp"

namespace memstow::plain {
namespace {

std::optional<Buffer> buffer_of(const Table& table) {
    const bool has_last = table.has(Meaning::last);
    const auto size = integer(table.cell(Meaning::size));
    const auto begin = integer(table.cell(Meaning::lower));
    const auto end = integer(table.cell(has_last ? Meaning::last : Meaning::upper));
    const std::string_view alignment = table.cell(Meaning::alignment);
    const auto step = alignment.empty() ? std::optional<std::int64_t>(1) : integer(alignment);
    if (!size || !begin || !end || !step || *end >= kLimit) return std::nullopt;
    return Buffer{*size, *begin, *end + (has_last ? 1 : 0), *step};
}

}  // namespace

std::optional<Problem> read_csv(std::string_view text) {
    std::optional<Table> table = Table::open(text);
    if (!table) return std::nullopt;
    for (const Meaning meaning : {Meaning::id, Meaning::lower, Meaning::size}) {
        if (!table->has(meaning)) return std::nullopt;
    }
    if (!table->has(Meaning::upper) && !table->has(Meaning::last)) return std::nullopt;
    Problem problem;
    for (auto* column : {&problem.sizes, &problem.begins, &problem.ends, &problem.alignments}) {
        column->reserve(table->lines());
    }
    problem.names.reserve(table->lines(), text.size() / 4);
    Table::Row row = table->next();
    for (; row == Table::Row::read; row = table->next()) {
        if (!table->cell(Meaning::gaps).empty() || !table->cell(Meaning::offset).empty()) return std::nullopt;
        const std::optional<Buffer> buffer = buffer_of(*table);
        if (!buffer || !add(problem, table->cell(Meaning::id), *buffer)) return std::nullopt;
    }
    const bool whole = row == Table::Row::end && !problem.sizes.empty();
    return whole && finish(problem) ? std::optional(std::move(problem)) : std::nullopt;
}

std::optional<Plan> read_plan_csv(const Problem& problem, std::string_view text) {
    std::optional<Table> table = Table::open(text);
    if (!table || !table->has(Meaning::id) || !table->has(Meaning::offset)) return std::nullopt;
    constexpr std::int64_t kNowhere = -1;
    const std::size_t count = problem.sizes.size();
    Plan plan;
    plan.offsets.assign(count, kNowhere);
    std::size_t placed = 0;
    Table::Row row = table->next();
    for (; row == Table::Row::read; row = table->next()) {
        const std::string_view name = table->cell(Meaning::id);
        const bool likely = placed < count && problem.names[placed] == name;
        const std::optional<Number> buffer =
            likely ? std::optional(static_cast<Number>(placed)) : find(problem.names, problem.order, name);
        const std::optional<std::int64_t> offset = integer(table->cell(Meaning::offset));
        if (!buffer || !offset || *offset < 0 || *offset > kLimit) return std::nullopt;
        if (plan.offsets[*buffer] != kNowhere) return std::nullopt;
        plan.offsets[*buffer] = *offset;
        ++placed;
    }
    return row == Table::Row::end && placed == count ? std::optional(std::move(plan)) : std::nullopt;
}

}  // namespace memstow::plain
