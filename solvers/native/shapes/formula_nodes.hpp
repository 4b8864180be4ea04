// A formula as nodes in a row: operands before their operation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/instance.hpp"

namespace memstow::shapes {

// Products and sums of two numbers of formulas.
__extension__ using Wide = __int128;

// Rounded down, and up; the divisor is positive.
inline Wide quotient_down(Wide a, Wide b) {
    const Wide towards_zero = a / b;
    return a % b < 0 ? towards_zero - 1 : towards_zero;
}

inline Wide quotient_up(Wide a, Wide b) { return -quotient_down(-a, b); }

// `Times` joins the first two operands of a product, `End` is where a chain of operations ends.
enum class Op : std::uint8_t {
    kNumber,
    kName,
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
    Bytes operand;

    bool operator==(const Node&) const = default;
};

// Appends the nodes of a formula in which these names are known; false where the text is not read.
bool parse(std::string_view text, const std::vector<std::string>& names, std::vector<Node>& nodes);

}  // namespace memstow::shapes
