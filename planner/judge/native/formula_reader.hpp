// A formula as steps for a stack: operands before operators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memstow::judge {

// No number of a formula, and no value of one, is above this.
inline constexpr std::int64_t kMostValue = std::int64_t{1} << 62;

enum class Kind : std::uint8_t {
    number,
    symbol,
    minus,
    add,
    subtract,
    multiply,
    divide,
    rest,
    divide_up,
    align,
    least,
    most
};
struct Step {
    Kind kind;
    std::int64_t argument;  // the number, the position of the symbol, or how many arguments
};

// Appends the steps of a formula of these symbols; false, with some steps or none, where the text is none.
bool read_formula(std::string_view text, const std::vector<std::string>& names, std::vector<Step>& steps);

}  // namespace memstow::judge
