// A CSV as the ordinary reader sees it, where it has no quotes: a header and lines of cells.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace memstow::plain {

// What a column holds; `last` is the last moment of a life, `upper` the first after it.
enum class Meaning { id, lower, upper, last, size, alignment, gaps, offset };

// An integer of at most 64 bits.
std::optional<std::int64_t> integer(std::string_view cell);

class Table {
  public:
    // What goes on after the line that was read.
    enum class Row { read, end, odd };

    // Reads the header. Nothing where the ordinary reader should read it: there are quotes, unknown columns,
    // bytes that are not UTF-8.
    static std::optional<Table> open(std::string_view text);

    bool has(Meaning meaning) const { return place_of(meaning) != kNowhere; }
    // The next line that is not blank; `odd` where it is not as wide as the header.
    Row next();
    // The cell of the line; empty where there is no such column.
    std::string_view cell(Meaning meaning) const;
    // About how many lines there are.
    std::size_t lines() const { return lines_; }

  private:
    static constexpr int kMeanings = 8;
    static constexpr int kNowhere = -1;

    explicit Table(std::string_view text) : rest_(text) { position_.fill(kNowhere); }
    int place_of(Meaning meaning) const { return position_[static_cast<std::size_t>(meaning)]; }
    bool read_line();
    bool read_header();

    std::string_view rest_;
    std::array<int, kMeanings> position_;
    std::size_t width_ = 0;
    std::size_t lines_ = 0;
    std::vector<std::string_view> cells_;
};

}  // namespace memstow::plain
