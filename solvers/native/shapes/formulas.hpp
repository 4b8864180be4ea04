// Formulas of symbols in exact integers: read, evaluated, and bounded over ranges of their symbols. This is
// the only reading of formulas outside of the judge, which has one of its own. `planner/formulas/formula.py`
// has the grammar, and the words for what goes wrong here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/instance.hpp"

namespace memstow::shapes {

// Products and sums of two values of formulas.
__extension__ using Wide = __int128;

// A formula is nodes in a row, operands before their operation. `TimesFirst` joins the first two operands of
// a product, `End` is where a chain of operations of one precedence ends, `Huge` a number beyond 2^62.
enum class Op : std::uint8_t {
    kNumber,
    kName,
    kHuge,
    kNegate,
    kPlus,
    kMinus,
    kTimes,
    kTimesFirst,
    kDivide,
    kRemainder,
    kEnd,
    kCeilDiv,
    kAlign,
    kMin,
    kMax
};

struct Node {
    Op op;
    Bytes operand;  // the number, the index of the name, where in the text it is, or how many arguments

    bool operator==(const Node&) const = default;
};

// Why a text is no formula, and the index of the character where that shows.
struct SyntaxError {
    enum class Kind { kStray, kSyntax, kTooDeep, kUnknownSymbol };

    Kind kind;
    std::size_t position;
    std::string message;  // of kStray nothing, of kUnknownSymbol the name
};

// The nodes of a formula in which these names are known.
std::variant<std::vector<Node>, SyntaxError> parse(std::string_view text,
                                                   const std::vector<std::string>& names);

// Why a formula has no value.
struct NoValue {
    enum class Kind { kDivisor, kOverflow, kSymbol, kHuge };

    Kind kind;
    Wide value;  // the divisor, the value beyond 2^62, the index of the symbol, or where in the text it is
};

using Value = std::variant<Bytes, NoValue>;

// The value where the names have these values, of which none may be one that is beyond 2^62.
Value value_of(std::span<const Node> nodes, std::span<const std::optional<Bytes>> at);

// The least and the largest value.
struct Extent {
    Bytes low = 0, high = 0;
};

// What is proven of a formula over ranges of its symbols by interval arithmetic. Values at which it has no
// value are left out of account; `sure` says that there are none.
struct Facts {
    Bytes low = 0, high = 0;  // no value is beyond
    bool sure = true;
    // How it may move when a symbol grows: of two bits for each symbol, one if it may rise, one if it may
    // fall.
    std::uint32_t moves = 0;
    std::size_t begin = 0;  // of its nodes

    // Whether it goes in one direction as each symbol grows, and whether that is down.
    bool is_monotone() const { return (moves & moves >> 1 & 0x5555'5555) == 0; }
    bool falls(std::size_t symbol) const { return (moves >> (2 * symbol) & 2) != 0; }
};

inline constexpr std::size_t kMostSymbols = 16;

// There may be at most so many ranges.
Facts facts_of(std::span<const Node> nodes, std::span<const Extent> ranges);

// The values that a symbol takes: from `low` to `high` in steps.
struct SymbolRange {
    Bytes low = 0, high = 0, step = 1;
};

// Formulas of the same symbols, by number.
class Formulas {
  public:
    // Without ranges, only what needs none is to be asked for.
    Formulas(std::vector<std::string> names, std::vector<SymbolRange> ranges)
        : names_(std::move(names)), ranges_(std::move(ranges)) {}

    // Nothing where the text is a formula, which then is the next one, counted from 0.
    std::optional<SyntaxError> read(std::string_view text);

    Index count() const { return count_of(ends_); }
    std::size_t symbols() const { return names_.size(); }
    bool has_ranges() const { return ranges_.size() == names_.size(); }
    std::span<const Node> nodes(Index formula) const;
    // The least and the largest value of a formula that surely has a value everywhere, and goes in one
    // direction as each symbol grows; nothing where that is not shown.
    std::optional<Extent> if_monotone(Index formula) const;
    // The same by all values; nothing where it has none at some.
    std::optional<Extent> of_all_values(Index formula) const;

  private:
    std::vector<std::string> names_;
    std::vector<SymbolRange> ranges_;
    std::vector<Node> nodes_;
    std::vector<std::size_t> ends_;
};

}  // namespace memstow::shapes
