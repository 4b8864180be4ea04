#include "shapes/formulas.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace memstow::shapes {
namespace {

bool within(Wide value) { return -kLimit <= value && value <= kLimit; }

// Rounded down, and up; the divisor is positive.
Wide quotient_down(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }
Wide quotient_up(Wide a, Wide b) { return -quotient_down(-a, b); }

// Left and right joined by an operation of two.
Wide joined(Op op, Wide a, Wide b) {
    switch (op) {
        case Op::kPlus:
            return a + b;
        case Op::kMinus:
            return a - b;
        case Op::kDivide:
            return quotient_down(a, b);
        case Op::kRemainder:
            return a - quotient_down(a, b) * b;
        case Op::kCeilDiv:
            return quotient_up(a, b);
        case Op::kAlign:
            return quotient_up(a, b) * b;
        default:
            return a * b;
    }
}

bool divides(Op op) {
    return op == Op::kDivide || op == Op::kRemainder || op == Op::kCeilDiv || op == Op::kAlign;
}

// How a formula may move when a symbol grows: two bits for each symbol.
using Moves = std::uint32_t;
constexpr Moves kRising = 0x5555'5555;
constexpr Moves kFalling = kRising << 1;

Moves flipped(Moves moves) { return (moves & kRising) << 1 | (moves & kFalling) >> 1; }

Moves anyhow(Moves moves) { return moves | flipped(moves); }

Facts clipped(Wide low, Wide high, bool sure, Moves moves) {
    if (low < -kLimit || high > kLimit) {
        sure = false;
        low = std::clamp<Wide>(low, -kLimit, kLimit);
        high = std::clamp<Wide>(high, -kLimit, kLimit);
    }
    return {static_cast<Bytes>(low), static_cast<Bytes>(high), sure, low == high ? 0 : moves, 0};
}

// Of a formula that has a value nowhere: nothing is claimed.
Facts nowhere() { return {-kLimit, kLimit, false, 0, 0}; }

Facts negated(const Facts& facts) {
    return {-facts.high, -facts.low, facts.sure, flipped(facts.moves), facts.begin};
}

// How a product with this factor moves while the factor stays.
Moves scaled(Moves moves, const Facts& factor) {
    if (factor.low >= 0) return moves;
    return factor.high <= 0 ? flipped(moves) : anyhow(moves);
}

Facts product(const Facts& a, const Facts& b) {
    const std::array<Wide, 4> corners{Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low,
                                      Wide{a.high} * b.high};
    const auto [least, most] = std::minmax_element(corners.begin(), corners.end());
    return clipped(*least, *most, a.sure && b.sure, scaled(a.moves, b) | scaled(b.moves, a));
}

// The product of something and itself is never negative.
Facts square(const Facts& root) {
    const Facts facts = product(root, root);
    return clipped(std::max<Bytes>(facts.low, 0), facts.high, facts.sure, facts.moves);
}

Facts quotient(const Facts& a, const Facts& b) {
    if (b.high < 1) return nowhere();
    const Bytes least = std::max<Bytes>(b.low, 1);
    return clipped(quotient_down(a.low, a.low < 0 ? least : b.high),
                   quotient_down(a.high, a.high < 0 ? b.high : least), a.sure && b.sure && b.low >= 1,
                   a.moves | flipped(scaled(b.moves, a)));
}

Facts remainder(const Facts& a, const Facts& b) {
    if (b.high < 1) return nowhere();
    const Bytes least = std::max<Bytes>(b.low, 1);
    const bool sure = a.sure && b.sure && b.low >= 1;
    if (a.low >= 0 && a.high < least) return clipped(a.low, a.high, sure, a.moves);
    const Wide times = quotient_down(a.low, least);
    if (b.low == b.high && quotient_down(a.high, least) == times) {
        // Between two multiples of the divisor the remainder goes as the dividend does.
        return clipped(a.low - times * least, a.high - times * least, sure, a.moves);
    }
    const Bytes high = a.low >= 0 ? std::min(b.high - 1, a.high) : b.high - 1;
    return clipped(0, high, sure, anyhow(a.moves | b.moves));
}

Facts aligned(const Facts& a, const Facts& b) {
    if (b.high < 1) return nowhere();
    const Bytes least = std::max<Bytes>(b.low, 1);
    const bool sure = a.sure && b.sure && b.low >= 1;
    if (b.low == b.high) {
        return clipped(quotient_up(a.low, least) * least, quotient_up(a.high, least) * least, sure, a.moves);
    }
    // The least multiple at or above a positive value is at least one step, and less than a step above it.
    const Wide low = a.low > 0 ? std::max(a.low, least) : a.low;
    const Wide high = a.high > 0 ? Wide{a.high} + b.high - 1 : 0;
    return clipped(low, high, sure, a.moves | anyhow(b.moves));
}

Facts joined(Op op, const Facts& a, const Facts& b) {
    switch (op) {
        case Op::kPlus:
            return clipped(Wide{a.low} + b.low, Wide{a.high} + b.high, a.sure && b.sure, a.moves | b.moves);
        case Op::kMinus:
            return joined(Op::kPlus, a, negated(b));
        case Op::kDivide:
            return quotient(a, b);
        case Op::kRemainder:
            return remainder(a, b);
        case Op::kCeilDiv:
            // The quotient rounded up is minus that of minus the dividend, rounded down.
            return negated(quotient(negated(a), b));
        case Op::kAlign:
            return aligned(a, b);
        default:
            return product(a, b);
    }
}

// The smallest or the largest of some.
Facts chosen(Op op, std::span<const Facts> arguments) {
    Facts facts = arguments.front();
    for (const Facts& other : arguments.subspan(1)) {
        const bool least = op == Op::kMin;
        facts.low = least ? std::min(facts.low, other.low) : std::max(facts.low, other.low);
        facts.high = least ? std::min(facts.high, other.high) : std::max(facts.high, other.high);
        facts.sure = facts.sure && other.sure;
        facts.moves |= other.moves;
    }
    if (facts.low == facts.high) facts.moves = 0;
    return facts;
}

}  // namespace

Value value_of(std::span<const Node> nodes, std::span<const std::optional<Bytes>> at) {
    std::vector<Bytes> stack;
    for (const auto& [op, operand] : nodes) {
        switch (op) {
            case Op::kNumber:
                stack.push_back(operand);
                break;
            case Op::kName:
                if (!at[operand]) return NoValue{NoValue::Kind::kSymbol, operand};
                stack.push_back(*at[operand]);
                break;
            case Op::kHuge:
                return NoValue{NoValue::Kind::kHuge, operand};
            case Op::kNegate:
                stack.back() = -stack.back();
                break;
            case Op::kEnd:
                break;
            case Op::kMin:
            case Op::kMax: {
                const auto first = stack.end() - operand;
                *first = op == Op::kMin ? *std::min_element(first, stack.end())
                                        : *std::max_element(first, stack.end());
                stack.erase(first + 1, stack.end());
                break;
            }
            default: {
                const Bytes right = stack.back();
                stack.pop_back();
                if (divides(op) && right <= 0) return NoValue{NoValue::Kind::kDivisor, right};
                const Wide value = joined(op, Wide{stack.back()}, Wide{right});
                if (!within(value)) return NoValue{NoValue::Kind::kOverflow, value};
                stack.back() = static_cast<Bytes>(value);
            }
        }
    }
    return stack.back();
}

Facts facts_of(std::span<const Node> nodes, std::span<const Extent> ranges) {
    std::vector<Facts> stack;
    const auto push = [&](Facts facts, std::size_t begin) {
        facts.begin = begin;
        stack.push_back(facts);
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto& [op, operand] = nodes[i];
        switch (op) {
            case Op::kNumber:
                push(clipped(operand, operand, true, 0), i);
                break;
            case Op::kName:
                push(clipped(ranges[operand].low, ranges[operand].high, true, Moves{1} << (2 * operand)), i);
                break;
            case Op::kHuge:
                push({kLimit, kLimit, false, 0, 0}, i);
                break;
            case Op::kNegate:
                stack.back() = negated(stack.back());
                break;
            case Op::kEnd:
                break;
            case Op::kMin:
            case Op::kMax: {
                const auto first = stack.end() - operand;
                *first = chosen(op, {first, stack.end()});
                stack.erase(first + 1, stack.end());
                break;
            }
            default: {
                const Facts b = stack.back();
                stack.pop_back();
                const Facts a = stack.back();
                stack.pop_back();
                const bool same =
                    op == Op::kTimesFirst && std::ranges::equal(nodes.subspan(a.begin, b.begin - a.begin),
                                                                nodes.subspan(b.begin, i - b.begin));
                push(same ? square(a) : joined(op, a, b), a.begin);
            }
        }
    }
    return stack.back();
}

std::optional<SyntaxError> Formulas::read(std::string_view text) {
    std::variant<std::vector<Node>, SyntaxError> result = parse(text, names_);
    if (auto* error = std::get_if<SyntaxError>(&result)) return std::move(*error);
    const std::vector<Node>& nodes = std::get<std::vector<Node>>(result);
    nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
    ends_.push_back(nodes_.size());
    return std::nullopt;
}

std::span<const Node> Formulas::nodes(Index formula) const {
    const auto number = static_cast<std::size_t>(formula);
    const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
    return {nodes_.data() + begin, ends_[number] - begin};
}

std::optional<Extent> Formulas::if_monotone(Index formula) const {
    std::vector<Extent> whole;
    for (const SymbolRange& range : ranges_) whole.push_back({range.low, range.high});
    const Facts facts = facts_of(nodes(formula), whole);
    if (!facts.sure || !facts.is_monotone()) return std::nullopt;
    std::vector<std::optional<Bytes>> lowest, highest;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const bool falls = facts.falls(i);
        lowest.push_back(falls ? whole[i].high : whole[i].low);
        highest.push_back(falls ? whole[i].low : whole[i].high);
    }
    const Value low = value_of(nodes(formula), lowest), high = value_of(nodes(formula), highest);
    return Extent{std::get<Bytes>(low), std::get<Bytes>(high)};
}

std::optional<Extent> Formulas::of_all_values(Index formula) const {
    std::vector<std::size_t> used;
    for (const Node& node : nodes(formula)) {
        if (node.op == Op::kName) used.push_back(node.operand);
    }
    std::vector<std::optional<Bytes>> at;
    for (const SymbolRange& range : ranges_) at.push_back(range.low);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    std::optional<Extent> extent;
    while (true) {
        const Value value = value_of(nodes(formula), at);
        const Bytes* const here = std::get_if<Bytes>(&value);
        if (here == nullptr) return std::nullopt;
        if (!extent) extent = Extent{*here, *here};
        extent = Extent{std::min(extent->low, *here), std::max(extent->high, *here)};
        // The next combination: like the figures of a number.
        auto symbol = used.begin();
        for (; symbol != used.end() && *at[*symbol] > ranges_[*symbol].high - ranges_[*symbol].step;
             ++symbol) {
            at[*symbol] = ranges_[*symbol].low;
        }
        if (symbol == used.end()) return extent;
        *at[*symbol] += ranges_[*symbol].step;
    }
}

}  // namespace memstow::shapes
