#include "shapes/formulas.hpp"

#include <algorithm>

namespace memstow::shapes {
namespace {

bool within(Wide value) { return -kLimit <= value && value <= kLimit; }

}  // namespace

bool Formulas::read(std::string_view text) {
    const std::size_t before = nodes_.size();
    if (names_.size() > kMostSymbols || !parse(text, names_, nodes_)) {
        nodes_.resize(before);
        return false;
    }
    ends_.push_back(nodes_.size());
    return true;
}

std::span<const Node> Formulas::nodes_of(Index formula) const {
    const auto number = static_cast<std::size_t>(formula);
    const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
    return {nodes_.data() + begin, ends_[number] - begin};
}

std::optional<Bytes> Formulas::value(Index formula, std::span<const Bytes> at) const {
    std::vector<Bytes> values;
    for (const Node& node : nodes_of(formula)) {
        if (node.op == Op::kNumber) {
            values.push_back(node.operand);
            continue;
        }
        if (node.op == Op::kName) {
            values.push_back(at[node.operand]);
            if (!within(values.back())) return std::nullopt;
            continue;
        }
        if (node.op == Op::kNegate) {
            values.back() = -values.back();
            continue;
        }
        if (node.op == Op::kEnd) continue;
        if (node.op == Op::kMin || node.op == Op::kMax) {
            const std::span<Bytes> arguments(values.end() - node.operand, values.end());
            const Bytes found =
                node.op == Op::kMin ? std::ranges::min(arguments) : std::ranges::max(arguments);
            values.resize(values.size() - static_cast<std::size_t>(node.operand) + 1);
            values.back() = found;
            continue;
        }
        const Wide b = values.back();
        values.pop_back();
        const Wide a = values.back();
        Wide found = 0;
        switch (node.op) {
            case Op::kPlus:
                found = a + b;
                break;
            case Op::kMinus:
                found = a - b;
                break;
            case Op::kTimes:
            case Op::kTimesFirst:
                found = a * b;
                break;
            default:
                if (b <= 0) return std::nullopt;
                if (node.op == Op::kDivide) found = quotient_down(a, b);
                if (node.op == Op::kRemainder) found = a - quotient_down(a, b) * b;
                if (node.op == Op::kCeilDiv) found = quotient_up(a, b);
                if (node.op == Op::kAlign) found = quotient_up(a, b) * b;
        }
        if (!within(found)) return std::nullopt;
        values.back() = static_cast<Bytes>(found);
    }
    return values.back();
}

std::optional<Extent> Formulas::if_monotone(Index formula) const {
    std::vector<Extent> whole;
    for (const SymbolRange& range : ranges_) whole.push_back({range.low, range.high});
    const Facts found = facts_of(nodes_of(formula), whole);
    if (!found.sure || !found.is_monotone()) return std::nullopt;
    std::vector<Bytes> lowest, highest;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const bool falls = found.falls(i);
        lowest.push_back(falls ? whole[i].high : whole[i].low);
        highest.push_back(falls ? whole[i].low : whole[i].high);
    }
    const std::optional<Bytes> low = value(formula, lowest);
    const std::optional<Bytes> high = value(formula, highest);
    if (!low || !high || *low < 0) return std::nullopt;
    return Extent{*low, *high};
}

std::optional<Extent> Formulas::of_all_values(Index formula) const {
    std::vector<std::size_t> used;
    for (const Node& node : nodes_of(formula)) {
        if (node.op == Op::kName) used.push_back(node.operand);
    }
    std::vector<Bytes> at;
    for (const SymbolRange& range : ranges_) at.push_back(range.low);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    std::optional<Extent> found;
    while (true) {
        const std::optional<Bytes> here = value(formula, at);
        if (!here || *here < 0) return std::nullopt;
        if (!found) found = Extent{*here, *here};
        found = Extent{std::min(found->low, *here), std::max(found->high, *here)};
        // The next combination: like the figures of a number.
        auto it = used.begin();
        for (; it != used.end() && at[*it] > ranges_[*it].high - ranges_[*it].step; ++it) {
            at[*it] = ranges_[*it].low;
        }
        if (it == used.end()) return found;
        at[*it] += ranges_[*it].step;
    }
}

}  // namespace memstow::shapes
