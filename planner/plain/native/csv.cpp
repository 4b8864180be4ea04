// A plain problem from CSV. Quotes, pins and gaps are left to the ordinary reader.
#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "problem.hpp"
#include "text.hpp"

namespace memstow::plain {
namespace {

enum class Meaning { id, lower, upper, last, size, alignment, gaps, offset };

constexpr int kMeanings = 8;
constexpr int kNowhere = -1;
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

// An integer of at most 64 bits.
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

// Where the columns are.
struct Header {
    std::array<int, kMeanings> position;
    std::size_t width = 0;

    int of(Meaning meaning) const { return position[static_cast<std::size_t>(meaning)]; }
};

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

std::optional<Header> header_of(const std::vector<std::string_view>& cells) {
    Header header;
    header.position.fill(kNowhere);
    header.width = cells.size();
    while (header.width > 0 && stripped(cells[header.width - 1]).empty()) --header.width;
    for (std::size_t i = 0; i < header.width; ++i) {
        const std::optional<Meaning> meaning = meaning_of(cells[i]);
        if (!meaning || header.of(*meaning) != kNowhere) return std::nullopt;
        header.position[static_cast<std::size_t>(*meaning)] = static_cast<int>(i);
    }
    const bool has_last = header.of(Meaning::last) != kNowhere;
    const bool has_upper = header.of(Meaning::upper) != kNowhere;
    for (const Meaning meaning : {Meaning::id, Meaning::lower, Meaning::size}) {
        if (header.of(meaning) == kNowhere) return std::nullopt;
    }
    return has_last == has_upper ? std::nullopt : std::optional(header);
}

// The lines of the text that are not blank, cut into cells.
class Lines {
  public:
    explicit Lines(std::string_view text) : rest_(text) {}

    // False at the end.
    bool next(std::vector<std::string_view>& cells) {
        while (!rest_.empty()) {
            const std::size_t end = std::min(rest_.find('\n'), rest_.size());
            std::string_view line = rest_.substr(0, end);
            rest_.remove_prefix(std::min(end + 1, rest_.size()));
            if (line.ends_with('\r')) line.remove_suffix(1);
            cut(line, cells);
            if (cells.size() > 1 || !stripped(cells[0]).empty()) return true;
        }
        return false;
    }

  private:
    static void cut(std::string_view line, std::vector<std::string_view>& cells) {
        cells.clear();
        while (true) {
            const std::size_t comma = line.find(',');
            cells.push_back(line.substr(0, comma));
            if (comma == std::string_view::npos) return;
            line.remove_prefix(comma + 1);
        }
    }

    std::string_view rest_;
};

// Whether a cell of the column is there and says something.
std::string_view cell_of(const Header& header, const std::vector<std::string_view>& cells, Meaning meaning) {
    const int at = header.of(meaning);
    return at == kNowhere ? std::string_view() : cells[static_cast<std::size_t>(at)];
}

std::optional<Buffer> buffer_of(const Header& header, const std::vector<std::string_view>& cells) {
    const bool has_last = header.of(Meaning::last) != kNowhere;
    const auto size = integer(cell_of(header, cells, Meaning::size));
    const auto begin = integer(cell_of(header, cells, Meaning::lower));
    const auto end = integer(cell_of(header, cells, has_last ? Meaning::last : Meaning::upper));
    const std::string_view alignment = cell_of(header, cells, Meaning::alignment);
    const auto step = alignment.empty() ? std::optional<std::int64_t>(1) : integer(alignment);
    if (!size || !begin || !end || !step || *end >= kLimit) return std::nullopt;
    return Buffer{*size, *begin, *end + (has_last ? 1 : 0), *step};
}

// A carriage return ends a line for the ordinary reader, too, where no line feed follows.
bool has_lone_return(std::string_view text) {
    for (std::size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1)) {
        if (at + 1 == text.size() || text[at + 1] != '\n') return true;
    }
    return false;
}

}  // namespace

std::optional<Problem> read_csv(std::string_view text) {
    text = without_mark(text);
    const std::size_t lines = count(text, '\n');
    if (lines + 1 >= std::numeric_limits<Number>::max()) return std::nullopt;
    if (count(text, ',') + 4 * (lines + 1) > kMostValues) return std::nullopt;
    // What a cell in quotes may hold, and what ends a text early, are for the ordinary reader.
    if (text.find('"') != std::string_view::npos || text.find('\0') != std::string_view::npos ||
        has_lone_return(text) || !is_utf8(text)) {
        return std::nullopt;
    }
    Lines rows(text);
    std::vector<std::string_view> cells;
    if (!rows.next(cells)) return std::nullopt;
    const std::optional<Header> header = header_of(cells);
    if (!header) return std::nullopt;
    Problem problem;
    for (auto* column : {&problem.sizes, &problem.begins, &problem.ends, &problem.alignments}) {
        column->reserve(lines);
    }
    problem.names.reserve(lines, text.size() / 4);
    while (rows.next(cells)) {
        if (cells.size() < header->width) return std::nullopt;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (cells[i].size() > kLongestCell || (i >= header->width && !cells[i].empty()))
                return std::nullopt;
        }
        for (const Meaning meaning : {Meaning::gaps, Meaning::offset}) {
            if (!cell_of(*header, cells, meaning).empty()) return std::nullopt;
        }
        const std::optional<Buffer> buffer = buffer_of(*header, cells);
        if (!buffer || !add(problem, cell_of(*header, cells, Meaning::id), *buffer)) return std::nullopt;
    }
    return !problem.sizes.empty() && finish(problem) ? std::optional(std::move(problem)) : std::nullopt;
}

}  // namespace memstow::plain
