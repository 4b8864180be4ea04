#include "formulas.hpp"

#include <algorithm>

namespace memstow::judge {
namespace {

using std::int64_t;
using std::size_t;
__extension__ typedef __int128 Wide;

// Rounded down; the divisor is positive.
Wide floor_of(Wide left, Wide right) { return left >= 0 ? left / right : -((-left + right - 1) / right); }

Wide ceiling_of(Wide left, Wide right) { return -floor_of(-left, right); }

}  // namespace

Formulas::Formulas(std::vector<std::string> names, std::vector<Axis> axes)
    : names_(std::move(names)), axes_(std::move(axes)) {}

bool Formulas::read(std::string_view text) {
    const bool sound = read_formula(text, names_, steps_);
    if (sound) {
        begins_.push_back(steps_.size());
    } else {
        steps_.resize(begins_.back());
    }
    return sound;
}

std::vector<int64_t> Formulas::used(size_t formula) const {
    std::vector<int64_t> sizes;
    for (size_t i = begins_[formula]; i < begins_[formula + 1]; ++i) {
        if (steps_[i].kind == Kind::symbol) sizes.push_back(steps_[i].argument);
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

std::optional<int64_t> Formulas::exact(Kind kind, int64_t left, int64_t right) {
    Wide wide = 0;
    if (kind == Kind::add) {
        wide = Wide{left} + right;
    } else if (kind == Kind::subtract) {
        wide = Wide{left} - right;
    } else if (kind == Kind::multiply) {
        wide = Wide{left} * right;
    } else if (right < 1) {
        return std::nullopt;
    } else if (kind == Kind::divide) {
        wide = floor_of(left, right);
    } else if (kind == Kind::rest) {
        wide = left - floor_of(left, right) * right;
    } else if (kind == Kind::divide_up) {
        wide = ceiling_of(left, right);
    } else {
        wide = ceiling_of(left, right) * right;
    }
    if (wide < -kMostValue || wide > kMostValue) return std::nullopt;
    return static_cast<int64_t>(wide);
}

std::optional<int64_t> Formulas::value(size_t formula, const std::vector<int64_t>& at) const {
    std::vector<int64_t> stack;
    for (size_t i = begins_[formula]; i < begins_[formula + 1]; ++i) {
        const Step step = steps_[i];
        switch (step.kind) {
            case Kind::number:
                stack.push_back(step.argument);
                break;
            case Kind::symbol:
                stack.push_back(at[static_cast<size_t>(step.argument)]);
                break;
            case Kind::minus:
                stack.back() = -stack.back();
                break;
            case Kind::least:
            case Kind::most: {
                const auto first = stack.end() - step.argument;
                *first = step.kind == Kind::least ? *std::min_element(first, stack.end())
                                                  : *std::max_element(first, stack.end());
                stack.erase(first + 1, stack.end());
                break;
            }
            default: {
                const int64_t right = stack.back();
                stack.pop_back();
                const std::optional<int64_t> result = exact(step.kind, stack.back(), right);
                if (!result) return std::nullopt;
                stack.back() = *result;
            }
        }
    }
    return stack.back();
}

// Bounds of an operation on all values within two bounds; nothing where it may have no value.
std::optional<Formulas::Bounds> Formulas::over(Kind kind, Bounds left, Bounds right) {
    Wide low = 0;
    Wide high = 0;
    const auto of_corners = [&](auto operation) {
        const auto [least, most] =
            std::minmax({Wide{operation(left.low, right.low)}, Wide{operation(left.low, right.high)},
                         Wide{operation(left.high, right.low)}, Wide{operation(left.high, right.high)}});
        low = least;
        high = most;
    };
    if (kind == Kind::add) {
        low = Wide{left.low} + right.low;
        high = Wide{left.high} + right.high;
    } else if (kind == Kind::subtract) {
        low = Wide{left.low} - right.high;
        high = Wide{left.high} - right.low;
    } else if (kind == Kind::multiply) {
        of_corners([](int64_t one, int64_t other) { return Wide{one} * other; });
    } else if (right.low < 1) {
        return std::nullopt;
    } else if (kind == Kind::divide) {
        // In the divisor a quotient rises or falls throughout, as its dividend is negative or not.
        of_corners([](int64_t one, int64_t other) { return floor_of(one, other); });
    } else if (kind == Kind::divide_up) {
        of_corners([](int64_t one, int64_t other) { return ceiling_of(one, other); });
    } else if (kind == Kind::align) {
        if (right.low == right.high) {
            low = ceiling_of(left.low, right.low) * right.low;
            high = ceiling_of(left.high, right.low) * right.low;
        } else {
            // The first multiple is less than one divisor above; of something positive it is at least one.
            low = left.low > 0 ? std::max(left.low, right.low) : left.low;
            high = Wide{left.high} + right.high - 1;
        }
    } else if (left.low >= 0 && left.high < right.low) {
        low = left.low;
        high = left.high;
    } else if (right.low == right.high && floor_of(left.low, right.low) == floor_of(left.high, right.low)) {
        const Wide below = floor_of(left.low, right.low) * right.low;
        low = left.low - below;
        high = left.high - below;
    } else {
        high = left.low >= 0 ? std::min(right.high - 1, left.high) : right.high - 1;
    }
    if (low < -kMostValue || high > kMostValue) return std::nullopt;
    return Bounds{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

std::optional<Formulas::Bounds> Formulas::bounds(size_t formula, const std::vector<int64_t>& low,
                                                 const std::vector<int64_t>& high) const {
    std::vector<Bounds> stack;
    for (size_t i = begins_[formula]; i < begins_[formula + 1]; ++i) {
        const Step step = steps_[i];
        const auto symbol = static_cast<size_t>(step.argument);
        switch (step.kind) {
            case Kind::number:
                stack.push_back({step.argument, step.argument});
                break;
            case Kind::symbol:
                stack.push_back({low[symbol], high[symbol]});
                break;
            case Kind::minus:
                stack.back() = {-stack.back().high, -stack.back().low};
                break;
            case Kind::least:
            case Kind::most: {
                const auto first = stack.end() - step.argument;
                for (auto other = first + 1; other != stack.end(); ++other) {
                    if (step.kind == Kind::least) {
                        *first = {std::min(first->low, other->low), std::min(first->high, other->high)};
                    } else {
                        *first = {std::max(first->low, other->low), std::max(first->high, other->high)};
                    }
                }
                stack.erase(first + 1, stack.end());
                break;
            }
            default: {
                const Bounds right = stack.back();
                stack.pop_back();
                const std::optional<Bounds> range = over(step.kind, stack.back(), right);
                if (!range) return std::nullopt;
                stack.back() = *range;
            }
        }
    }
    return stack.back();
}

bool Formulas::is_never_below(size_t formula, int64_t least) const {
    std::vector<int64_t> low, high;
    for (const Axis& axis : axes_) {
        low.push_back(axis.first);
        high.push_back(axis.last);
    }
    const std::optional<Bounds> range = bounds(formula, low, high);
    return range && range->low >= least;
}

}  // namespace memstow::judge
