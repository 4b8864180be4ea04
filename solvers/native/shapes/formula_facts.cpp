#include "shapes/formula_facts.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace memstow::shapes {
namespace {

// How a formula may move when a symbol grows: two bits for each symbol.
using Moves = std::uint32_t;
constexpr Moves kRising = 0x5555'5555;
constexpr Moves kFalling = kRising << 1;

Moves flipped(Moves moves) { return (moves & kRising) << 1 | (moves & kFalling) >> 1; }

Moves anyhow(Moves moves) { return moves | flipped(moves); }

Facts of(Wide low, Wide high, bool sure, Moves moves) {
    if (low < -kLimit || high > kLimit) {
        sure = false;
        low = std::clamp<Wide>(low, -kLimit, kLimit);
        high = std::clamp<Wide>(high, -kLimit, kLimit);
    }
    return {static_cast<Bytes>(low), static_cast<Bytes>(high), sure, low == high ? 0 : moves, 0};
}
Facts nowhere() { return {-kLimit, kLimit, false, 0, 0}; }

Facts negated(const Facts& it) { return {-it.high, -it.low, it.sure, flipped(it.moves), it.begin}; }

// How a product with this factor moves while the factor stays.
Moves scaled(Moves moves, const Facts& factor) {
    if (factor.low >= 0) return moves;
    return factor.high <= 0 ? flipped(moves) : anyhow(moves);
}

Facts product(const Facts& a, const Facts& b) {
    const std::array<Wide, 4> corners{Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low,
                                      Wide{a.high} * b.high};
    const auto [least, most] = std::minmax_element(corners.begin(), corners.end());
    return of(*least, *most, a.sure && b.sure, scaled(a.moves, b) | scaled(b.moves, a));
}

// The product of something and itself is never negative.
Facts square(const Facts& root) {
    const Facts found = product(root, root);
    return of(std::max<Bytes>(found.low, 0), found.high, found.sure, found.moves);
}

Facts quotient(const Facts& a, const Facts& b) {
    if (b.high < 1) return nowhere();
    const Bytes least = std::max<Bytes>(b.low, 1);
    return of(quotient_down(a.low, a.low < 0 ? least : b.high),
              quotient_down(a.high, a.high < 0 ? b.high : least), a.sure && b.sure && b.low >= 1,
              a.moves | flipped(scaled(b.moves, a)));
}

Facts remainder(const Facts& a, const Facts& b) {
    if (b.high < 1) return nowhere();
    const Bytes least = std::max<Bytes>(b.low, 1);
    const bool sure = a.sure && b.sure && b.low >= 1;
    if (a.low >= 0 && a.high < least) return of(a.low, a.high, sure, a.moves);
    const Wide times = quotient_down(a.low, least);
    if (b.low == b.high && quotient_down(a.high, least) == times) {
        // Between two multiples of the divisor the remainder goes as the dividend does.
        return of(a.low - times * least, a.high - times * least, sure, a.moves);
    }
    const Bytes high = a.low >= 0 ? std::min(b.high - 1, a.high) : b.high - 1;
    return of(0, high, sure, anyhow(a.moves | b.moves));
}

Facts aligned(const Facts& a, const Facts& b) {
    if (b.high < 1) return nowhere();
    const Bytes least = std::max<Bytes>(b.low, 1);
    const bool sure = a.sure && b.sure && b.low >= 1;
    if (b.low == b.high) {
        return of(quotient_up(a.low, least) * least, quotient_up(a.high, least) * least, sure, a.moves);
    }
    const Wide low = a.low > 0 ? std::max(a.low, least) : a.low;
    const Wide high = a.high > 0 ? Wide{a.high} + b.high - 1 : 0;
    return of(low, high, sure, a.moves | anyhow(b.moves));
}

}  // namespace

Facts facts_of(std::span<const Node> nodes, std::span<const Extent> ranges) {
    std::vector<Facts> stack;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Node& node = nodes[i];
        if (node.op == Op::kNumber) {
            stack.push_back(of(node.operand, node.operand, true, 0));
            stack.back().begin = i;
            continue;
        }
        if (node.op == Op::kName) {
            const Extent& range = ranges[node.operand];
            stack.push_back(of(range.low, range.high, true, Moves{1} << (2 * node.operand)));
            stack.back().begin = i;
            continue;
        }
        if (node.op == Op::kNegate) {
            stack.back() = negated(stack.back());
            continue;
        }
        if (node.op == Op::kEnd) continue;
        if (node.op == Op::kMin || node.op == Op::kMax) {
            const auto first = stack.end() - node.operand;
            for (auto it = first + 1; it != stack.end(); ++it) {
                const bool least = node.op == Op::kMin;
                first->low = least ? std::min(first->low, it->low) : std::max(first->low, it->low);
                first->high = least ? std::min(first->high, it->high) : std::max(first->high, it->high);
                first->sure = first->sure && it->sure;
                first->moves |= it->moves;
            }
            if (first->low == first->high) first->moves = 0;
            stack.erase(first + 1, stack.end());
            continue;
        }
        const Facts b = stack.back();
        stack.pop_back();
        const Facts a = stack.back();
        Facts found;
        switch (node.op) {
            case Op::kPlus:
                found = of(Wide{a.low} + b.low, Wide{a.high} + b.high, a.sure && b.sure, a.moves | b.moves);
                break;
            case Op::kMinus:
                found = of(Wide{a.low} - b.high, Wide{a.high} - b.low, a.sure && b.sure,
                           a.moves | flipped(b.moves));
                break;
            case Op::kTimes:
                found = product(a, b);
                break;
            case Op::kTimesFirst: {
                const bool same = std::ranges::equal(nodes.subspan(a.begin, b.begin - a.begin),
                                                     nodes.subspan(b.begin, i - b.begin));
                found = same ? square(a) : product(a, b);
                break;
            }
            case Op::kDivide:
                found = quotient(a, b);
                break;
            case Op::kRemainder:
                found = remainder(a, b);
                break;
            case Op::kCeilDiv:
                // The quotient rounded up is minus that of minus the dividend, rounded down.
                found = negated(quotient(negated(a), b));
                break;
            default:
                found = aligned(a, b);
        }
        found.begin = a.begin;
        stack.back() = found;
    }
    return stack.back();
}

}  // namespace memstow::shapes
