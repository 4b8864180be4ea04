#include <cstdint>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "formulas.hpp"

namespace memstow::judge {
namespace {

using std::int64_t;
using std::size_t;
__extension__ typedef __int128 Wide;

// Boxes of points, the one with the highest bound first; that box is split where it has the most values.
class Search {
  public:
    Search(const Formulas& all, size_t formula, bool negated)
        : all_(all), formula_(formula), sign_(negated ? -1 : 1) {
        for (const Axis& axis : all.axes()) at_.push_back(axis.first);
        Box box(all.axes().size(), {0, 0});
        for (const int64_t symbol : all.used(formula)) {
            const Axis& axis = all.axes()[static_cast<size_t>(symbol)];
            box[static_cast<size_t>(symbol)].second = (axis.last - axis.first) / axis.step;
        }
        if (see(at_, true)) look(std::move(box));
    }

    std::optional<Largest> run(int64_t most, int64_t left, std::optional<int64_t> above) {
        while (has_values_ && bound() > seen_) {
            const bool known = above && (seen_ > *above || bound() <= *above);
            if ((known && bound() < kUnknown) || looked_ >= most || left <= 0) {
                if (bound() >= kUnknown) return std::nullopt;
                return Largest{static_cast<int64_t>(bound()), seen_, at_, looked_};
            }
            split();
            left -= 2;
        }
        if (!has_values_) return std::nullopt;
        return Largest{seen_, seen_, at_, looked_};
    }

  private:
    using Box = std::vector<std::pair<int64_t, int64_t>>;
    struct Waiting {
        Wide bound;
        int64_t number;
        Box box;

        // The one before comes out of the queue later.
        bool operator<(const Waiting& other) const {
            return std::tuple(bound, -number) < std::tuple(other.bound, -other.number);
        }
    };
    // Above each bound: such boxes are split first.
    static constexpr Wide kUnknown = Wide{1} << 70;

    Wide bound() const { return waiting_.empty() ? Wide{seen_} : waiting_.top().bound; }

    bool see(const std::vector<int64_t>& at, bool first) {
        const std::optional<int64_t> value = all_.value(formula_, at);
        has_values_ = has_values_ && value.has_value();
        if (value && (first || sign_ * *value > seen_)) {
            seen_ = sign_ * *value;
            at_ = at;
        }
        return has_values_;
    }

    void split() {
        Box box = waiting_.top().box;
        waiting_.pop();
        size_t widest = 0;
        for (size_t i = 1; i < box.size(); ++i) {
            if (box[i].second - box[i].first > box[widest].second - box[widest].first) widest = i;
        }
        const auto [first, last] = box[widest];
        const int64_t middle = first + (last - first) / 2;
        box[widest] = {first, middle};
        look(box);
        box[widest] = {middle + 1, last};
        if (has_values_) look(std::move(box));
    }

    void look(Box box) {
        ++looked_;
        std::vector<int64_t> low, high;
        for (size_t i = 0; i < box.size(); ++i) {
            const Axis& axis = all_.axes()[i];
            low.push_back(axis.first + axis.step * box[i].first);
            high.push_back(axis.first + axis.step * box[i].second);
        }
        if (!see(high, false) || !see(low, false) || low == high) return;
        const std::optional<Formulas::Bounds> bounds = all_.bounds(formula_, low, high);
        const Wide highest = !bounds ? kUnknown : Wide{sign_ > 0 ? bounds->high : -bounds->low};
        if (highest > seen_) waiting_.push({highest, looked_, std::move(box)});
    }

    const Formulas& all_;
    size_t formula_;
    int64_t sign_;
    bool has_values_ = true;
    int64_t seen_ = 0;
    int64_t looked_ = 0;
    std::vector<int64_t> at_;
    std::priority_queue<Waiting> waiting_;
};

}  // namespace

std::optional<Largest> Formulas::largest(size_t formula, int64_t most, int64_t left,
                                         std::optional<int64_t> above, bool negated) const {
    return Search(*this, formula, negated).run(most, left, above);
}

}  // namespace memstow::judge
