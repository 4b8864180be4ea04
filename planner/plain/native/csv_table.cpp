#include "csv_table.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "names.hpp"
#include "text.hpp"

namespace memstow::plain {
namespace {

// A longer cell is left to the ordinary reader, which has limits of its own.
constexpr std::size_t kLongestCell = 8192;
constexpr std::size_t kLongestInteger = 4000;

struct Named {
    std::string_view name;
    Meaning meaning;
};

constexpr std::array kColumns{
    Named{"id", Meaning::id},        Named{"buffer", Meaning::id},
    Named{"buffer_id", Meaning::id}, Named{"lower", Meaning::lower},
    Named{"begin", Meaning::lower},  Named{"start", Meaning::lower},
    Named{"upper", Meaning::upper},  Named{"end", Meaning::last},
    Named{"size", Meaning::size},    Named{"alignment", Meaning::alignment},
    Named{"gaps", Meaning::gaps},    Named{"offset", Meaning::offset},
};

std::string_view stripped(std::string_view cell) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!cell.empty() && blank(cell.front())) cell.remove_prefix(1);
    while (!cell.empty() && blank(cell.back())) cell.remove_suffix(1);
    return cell;
}

std::optional<Meaning> meaning_of(std::string_view cell) {
    std::string name(stripped(cell));
    for (char& c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    for (const Named& column : kColumns) {
        if (column.name == name) return column.meaning;
    }
    return std::nullopt;
}

// A carriage return ends a line for the ordinary reader, too, where no line feed follows.
bool has_lone_return(std::string_view text) {
    for (std::size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1)) {
        if (at + 1 == text.size() || text[at + 1] != '\n') return true;
    }
    return false;
}

}  // namespace

std::optional<std::int64_t> integer(std::string_view cell) {
    cell = stripped(cell);
    const bool negative = cell.starts_with('-');
    if (negative || cell.starts_with('+')) cell.remove_prefix(1);
    if (cell.empty() || cell.size() > kLongestInteger) return std::nullopt;
    while (cell.size() > 1 && cell.front() == '0') cell.remove_prefix(1);
    // So many digits do not overflow an unsigned integer.
    if (cell.size() > 19) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : cell) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::optional<Table> Table::open(std::string_view text) {
    text = without_mark(text);
    Table table(text);
    table.lines_ = count(text, '\n') + 1;
    if (table.lines_ >= std::numeric_limits<Number>::max()) return std::nullopt;
    if (count(text, ',') + 4 * table.lines_ > kMostValues) return std::nullopt;
    // What a cell in quotes may hold, and what ends a text early, are for the ordinary reader.
    if (text.find('"') != std::string_view::npos || text.find('\0') != std::string_view::npos ||
        has_lone_return(text) || !is_utf8(text)) {
        return std::nullopt;
    }
    return table.read_line() && table.read_header() ? std::optional(std::move(table)) : std::nullopt;
}

bool Table::read_header() {
    width_ = cells_.size();
    while (width_ > 0 && stripped(cells_[width_ - 1]).empty()) --width_;
    for (std::size_t i = 0; i < width_; ++i) {
        const std::optional<Meaning> meaning = meaning_of(cells_[i]);
        if (!meaning || has(*meaning)) return false;
        position_[static_cast<std::size_t>(*meaning)] = static_cast<int>(i);
    }
    return !(has(Meaning::last) && has(Meaning::upper));
}

bool Table::read_line() {
    while (!rest_.empty()) {
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        cells_.clear();
        for (std::size_t comma = 0; comma != std::string_view::npos;) {
            comma = line.find(',');
            cells_.push_back(line.substr(0, comma));
            if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
        }
        if (cells_.size() > 1 || !stripped(cells_[0]).empty()) return true;
    }
    return false;
}

Table::Row Table::next() {
    if (!read_line()) return Row::end;
    if (cells_.size() < width_) return Row::odd;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        if (cells_[i].size() > kLongestCell || (i >= width_ && !cells_[i].empty())) return Row::odd;
    }
    return Row::read;
}

std::string_view Table::cell(Meaning meaning) const {
    return has(meaning) ? cells_[static_cast<std::size_t>(place_of(meaning))] : std::string_view();
}

}  // namespace memstow::plain
