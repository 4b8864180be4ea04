#include "assemble.hpp"

#include "rows.hpp"

namespace memstow {

std::vector<std::int64_t> assemble_rows(Instance& instance,
                                        std::span<const std::pair<Index, Index>> conflicts) {
    TimeRows made = time_rows(instance.lives.values);
    instance.time_rows = static_cast<Index>(made.times.size());
    instance.row_count = instance.time_rows + static_cast<Index>(conflicts.size());

    const std::size_t part_count = instance.parts.size();
    Lists<Index> listed;  // explicit rows, by part
    std::vector<Index> count(part_count + 1, 0);
    for (const auto& [first, second] : conflicts) {
        ++count[static_cast<std::size_t>(first) + 1];
        ++count[static_cast<std::size_t>(second) + 1];
    }
    for (std::size_t i = 0; i < part_count; ++i) count[i + 1] += count[i];
    listed.start = count;
    listed.values.resize(conflicts.size() * 2);
    Index row = instance.time_rows;
    for (const auto& [first, second] : conflicts) {
        listed.values[static_cast<std::size_t>(count[static_cast<std::size_t>(first)]++)] = row;
        listed.values[static_cast<std::size_t>(count[static_cast<std::size_t>(second)]++)] = row;
        ++row;
    }

    instance.rows = {};
    instance.rows.start.reserve(part_count + 1);
    instance.rows.values.reserve(instance.lives.values.size() + listed.values.size());
    std::vector<RowRange>& ranges = instance.rows.values;
    for (Index part = 0; part < static_cast<Index>(part_count); ++part) {
        const std::size_t first_of_part = ranges.size();
        const auto add = [&](RowRange range) {
            // A life up to the last moment touches the row of the first listed conflict: those stay apart.
            const bool same_kind = range.begin != instance.time_rows;
            if (ranges.size() > first_of_part && same_kind && ranges.back().end >= range.begin) {
                ranges.back().end = std::max(ranges.back().end, range.end);
            } else {
                ranges.push_back(range);
            }
        };
        for (auto life = static_cast<std::size_t>(instance.lives.start[static_cast<std::size_t>(part)]);
             life < static_cast<std::size_t>(instance.lives.start[static_cast<std::size_t>(part) + 1]);
             ++life) {
            add(made.ranges[life]);
        }
        for (Index explicit_row : listed[part]) add({explicit_row, explicit_row + 1});
        instance.rows.close();
    }
    return std::move(made.times);
}

}  // namespace memstow
