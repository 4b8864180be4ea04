// Formulas of symbols as the judge reads them: their values, bounds over boxes, and their largest values.
// What is not read here, or has no value, is left to the judge's Python, which has words for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formula_reader.hpp"

namespace memstow::judge {

// A symbol is between minus this and this, so that the width of its range is a number of 64 bits.
inline constexpr std::int64_t kMostOfAxis = std::int64_t{1} << 61;

// The values of a symbol: `first`, `first + step`, ... up to `last`.
struct Axis {
    std::int64_t first, last, step;
};

// No value is above `value`; `seen` is the largest that was seen, at `at`, among `looked` boxes of points.
struct Largest {
    std::int64_t value, seen;
    std::vector<std::int64_t> at;
    std::int64_t looked;
};

class Formulas {
  public:
    Formulas(std::vector<std::string> names, std::vector<Axis> axes);

    // Whether the text is a formula that can be read here; then it is the next one, counted from 0.
    bool read(std::string_view text);

    struct Bounds {
        std::int64_t low, high;
    };

    const std::vector<Axis>& axes() const { return axes_; }
    std::size_t count() const { return begins_.size() - 1; }
    std::size_t symbols() const { return axes_.size(); }
    // The symbols of the formula, by position.
    std::vector<std::int64_t> used(std::size_t formula) const;
    // Nothing where the formula has no value at this point.
    std::optional<std::int64_t> value(std::size_t formula, const std::vector<std::int64_t>& at) const;
    // Over all points from `low` to `high`; nothing where it may have no value at some.
    std::optional<Bounds> bounds(std::size_t formula, const std::vector<std::int64_t>& low,
                                 const std::vector<std::int64_t>& high) const;
    // Whether bounds alone show that it has a value everywhere, which is never below this.
    bool is_never_below(std::size_t formula, std::int64_t least) const;
    // The largest value; ends with what is known after so many boxes, of which `left` are for all formulas.
    // With `above` it ends when it is known whether there is a value above that. `negated`: of minus the
    // formula. Nothing where it has no value somewhere, or that it has one everywhere cannot be shown.
    std::optional<Largest> largest(std::size_t formula, std::int64_t most, std::int64_t left,
                                   std::optional<std::int64_t> above, bool negated) const;

  private:
    static std::optional<std::int64_t> exact(Kind kind, std::int64_t left, std::int64_t right);
    static std::optional<Bounds> over(Kind kind, Bounds left, Bounds right);

    std::vector<std::string> names_;
    std::vector<Axis> axes_;
    std::vector<Step> steps_;
    std::vector<std::size_t> begins_{0};
};

}  // namespace memstow::judge
