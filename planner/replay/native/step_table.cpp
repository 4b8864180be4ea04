#include "step_table.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>

namespace memstow::replay {

namespace {

constexpr std::string_view kHeading = "memstow-replay 1 ";
// Larger than any memory, and small enough that sums of two do not overflow.
constexpr Bytes kMostBytes = Bytes{1} << 62;
constexpr std::size_t kMostEvents = std::size_t{1} << 30;
// `- 0` and the end of its line.
constexpr std::size_t kShortestLine = 4;

class Lines {
  public:
    explicit Lines(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }
    std::size_t left() const { return rest_.size(); }

    // Whether the rest begins so; then goes past that.
    bool skip(std::string_view expected) {
        const bool is_there = rest_.starts_with(expected);
        if (is_there) rest_.remove_prefix(expected.size());
        return is_there;
    }

    // A number without sign and leading zeros, and the one character after it.
    Bytes number(char after) {
        Bytes value = 0;
        const char* begin = rest_.data();
        const char* all = begin + rest_.size();
        const auto [end, error] = std::from_chars(begin, all, value);
        const bool is_number = error == std::errc() && (*begin != '0' || end == begin + 1);
        if (!is_number || end == all || *end != after) refuse("it is not of the form of a step table");
        if (value > kMostBytes) refuse("a number is larger than any memory");
        rest_.remove_prefix(static_cast<std::size_t>(end - begin) + 1);
        return value;
    }

    void next_line() { ++line_; }
    std::size_t line() const { return line_; }

    [[noreturn]] void refuse(const std::string& reason) const {
        throw std::invalid_argument("line " + std::to_string(line_) + ": " + reason);
    }

  private:
    std::string_view rest_;
    std::size_t line_ = 1;
};

PlannedAllocation read_allocation(Lines& lines, const StepTable& table) {
    const Bytes size = lines.number(' ');
    const Bytes offset = lines.number('\n');
    if (size == 0 || size % table.unit != 0 || offset % table.unit != 0) {
        lines.refuse("size and offset are not multiples of the unit");
    }
    if (offset + size > table.arena) lines.refuse("the allocation does not end within the arena");
    return {size, offset};
}

// Runs the step, event by event. Lines follow the one of the heading.
void refuse_overlaps(const StepTable& table, std::size_t heading) {
    LiveRanges live(offsets_of(table));
    for (std::size_t i = 0; i < table.events.size(); ++i) {
        const auto [allocation, is_free] = table.events[i];
        const auto [size, offset] = table.allocations[allocation];
        const Index place = live.place_of(offset);
        if (is_free) {
            live.erase(place);
            continue;
        }
        if (live.is_occupied(offset, live.places_below(offset + size))) {
            throw std::invalid_argument("line " + std::to_string(heading + 1 + i) +
                                        ": the allocation shares bytes with one that is live with it");
        }
        live.insert(place, offset + size);
    }
}

template <class Member>
std::vector<Bytes> distinct(const StepTable& table, Member member) {
    std::vector<Bytes> values;
    values.reserve(table.allocations.size());
    for (const PlannedAllocation& planned : table.allocations) values.push_back(planned.*member);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

// The lines from a heading on. The line after the last event is still to come.
StepTable read_step_table(Lines& lines) {
    const std::size_t heading = lines.line();
    if (!lines.skip(kHeading)) {
        lines.refuse((heading == 1 ? "" : "there are more lines than events; ") +
                     ("a step table begins with `" + std::string(kHeading) + "`"));
    }
    StepTable table;
    table.unit = lines.number(' ');
    table.arena = lines.number(' ');
    const Bytes count = lines.number('\n');
    if (table.unit == 0 || table.arena % table.unit != 0)
        lines.refuse("the arena is not a multiple of the unit");
    if (count > kMostEvents || count > lines.left() / kShortestLine) {
        lines.refuse("there are fewer events than it says");
    }
    table.events.reserve(count);
    std::vector<bool> is_live;
    for (Bytes i = 0; i < count; ++i) {
        lines.next_line();
        if (lines.skip("+ ")) {
            table.events.push_back({static_cast<Index>(table.allocations.size()), false});
            table.allocations.push_back(read_allocation(lines, table));
            is_live.push_back(true);
        } else if (lines.skip("- ")) {
            const Bytes allocation = lines.number('\n');
            if (allocation >= is_live.size() || !is_live[allocation]) {
                lines.refuse("the allocation is freed before it is made, or twice");
            }
            is_live[allocation] = false;
            table.events.push_back({static_cast<Index>(allocation), true});
        } else {
            lines.refuse("an event begins with + or -");
        }
    }
    refuse_overlaps(table, heading);
    return table;
}

}  // namespace

std::vector<Bytes> offsets_of(const StepTable& table) { return distinct(table, &PlannedAllocation::offset); }

std::vector<Bytes> sizes_of(const StepTable& table) { return distinct(table, &PlannedAllocation::size); }

std::vector<StepTable> read_step_tables(std::string_view text) {
    Lines lines(text);
    std::vector<StepTable> tables;
    do {
        tables.push_back(read_step_table(lines));
        lines.next_line();
    } while (!lines.at_end());
    return tables;
}

}  // namespace memstow::replay
