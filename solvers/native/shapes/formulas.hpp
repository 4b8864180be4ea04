// Formulas of symbols: their values at points, and what holds for them over the ranges of their symbols. What
// is not read here, or has no value somewhere, is left to the planner, which says why.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/instance.hpp"
#include "shapes/formula_facts.hpp"
#include "shapes/formula_nodes.hpp"

namespace memstow::shapes {

// The values that a symbol takes: from `low` to `high` in steps.
struct SymbolRange {
    Bytes low = 0, high = 0, step = 1;
};

class Formulas {
  public:
    static constexpr std::size_t kMostSymbols = 16;

    Formulas(std::vector<std::string> names, std::vector<SymbolRange> ranges)
        : names_(std::move(names)), ranges_(std::move(ranges)) {}

    // Whether the text is a formula that can be read here; then it is the next one, counted from 0.
    bool read(std::string_view text);

    Index count() const { return count_of(ends_); }
    std::size_t symbols() const { return names_.size(); }
    // The value where the symbols have these values; nothing where the formula has none.
    std::optional<Bytes> value(Index formula, std::span<const Bytes> at) const;
    // The least and the largest value of a formula that surely has a value everywhere, none below 0, and
    // goes in one direction as each symbol grows; nothing where that is not shown.
    std::optional<Extent> if_monotone(Index formula) const;
    // The same by all values, each of which has to be one; of a formula that is no size somewhere nothing.
    std::optional<Extent> of_all_values(Index formula) const;

  private:
    std::span<const Node> nodes_of(Index formula) const;

    std::vector<std::string> names_;
    std::vector<SymbolRange> ranges_;
    std::vector<Node> nodes_;
    std::vector<std::size_t> ends_;
};

}  // namespace memstow::shapes
