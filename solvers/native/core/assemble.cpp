#include "core/assemble.hpp"

#include "core/rows.hpp"

namespace memstow {

std::vector<std::int64_t> assemble_rows(Instance& instance,
                                        std::span<const std::pair<Index, Index>> conflicts) {
    TimeRows rows = time_rows(instance.lives.values);
    instance.time_rows = count_of(rows.times);
    instance.row_count = instance.time_rows + count_of(conflicts);

    const std::size_t part_count = instance.parts.size();
    Lists<Index> listed;  // explicit rows, by part
    std::vector<Index> count(part_count + 1, 0);
    for (const auto& [first, second] : conflicts) {
        ++count[first + 1];
        ++count[second + 1];
    }
    for (std::size_t i = 0; i < part_count; ++i) count[i + 1] += count[i];
    listed.start = count;
    listed.values.resize(conflicts.size() * 2);
    Index row = instance.time_rows;
    for (const auto& [first, second] : conflicts) {
        listed.values[count[first]++] = row;
        listed.values[count[second]++] = row;
        ++row;
    }

    instance.rows = {};
    instance.rows.start.reserve(part_count + 1);
    instance.rows.values.reserve(instance.lives.values.size() + listed.values.size());
    std::vector<RowRange>& ranges = instance.rows.values;
    for (std::size_t part = 0; part < part_count; ++part) {
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
        for (Index life = instance.lives.start[part]; life < (instance.lives.start[part + 1]); ++life) {
            add(rows.ranges[life]);
        }
        for (Index explicit_row : listed[part]) add({explicit_row, explicit_row + 1});
        instance.rows.close();
    }
    return std::move(rows.times);
}

}  // namespace memstow
