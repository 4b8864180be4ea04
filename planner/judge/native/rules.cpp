#include <algorithm>
#include <map>
#include <set>

#include "places.hpp"

namespace memstow::judge {
namespace {

using std::int64_t;
using Pairs = std::set<Rules::Pair>;

Pairs in_order(const std::vector<Rules::Pair>& pairs) {
    Pairs ordered;
    for (const auto& [one, other] : pairs) ordered.insert(std::minmax(one, other));
    return ordered;
}

class Judge {
  public:
    Judge(const Columns& columns, const Rules& rules, std::span<const int64_t> offsets)
        : columns_(columns),
          rules_(rules),
          offsets_(offsets),
          conflicts_(in_order(rules.conflicts)),
          exclusive_(in_order(rules.exclusive)),
          in_place_(in_order(rules.in_place)) {
        if (!rules.ties.empty()) follow_ties();
    }

    Finding of_places(int64_t capacity) const {
        for (int64_t i = 0; i < count(); ++i) {
            const Defect defect = of_place(i, capacity);
            if (defect != Defect::none) return {defect, i, -1};
        }
        return {};
    }

    // Of each group the first buffer that has bytes says where the others are.
    Finding of_ties() const {
        std::map<int64_t, int64_t> first_of;
        for (int64_t i = 0; i < static_cast<int64_t>(tied_.size()); ++i) {
            if (size(i) == 0) continue;
            const auto [known, is_first] = first_of.try_emplace(tied(i).group, i);
            const int64_t first = known->second;
            if (!is_first && Wide{offset(i)} - offset(first) != tied(i).at - tied(first).at) {
                return {Defect::tie, first, i};
            }
        }
        return {};
    }

    // By address: what shares a byte with a buffer begins before its end.
    Finding of_overlaps() const {
        std::vector<int64_t> order;
        for (int64_t i = 0; i < count(); ++i) {
            if (size(i) > 0) order.push_back(i);
        }
        std::ranges::sort(order, {}, [&](int64_t i) { return offset(i); });
        for (std::size_t a = 0; a < order.size(); ++a) {
            for (std::size_t b = a + 1; b < order.size(); ++b) {
                if (offset(order[b]) - offset(order[a]) >= size(order[a])) break;
                const auto [one, other] = std::minmax(order[a], order[b]);
                if (must_be_apart(one, other)) return {Defect::overlap, one, other};
            }
        }
        return {};
    }

  private:
    struct Tied {
        int64_t group = -1;
        Wide at = 0;  // from the first buffer of the group
    };

    const Tied& tied(int64_t i) const { return tied_[static_cast<std::size_t>(i)]; }

    // Goes from each buffer that was not yet reached through all that are tied to it.
    void follow_ties() {
        std::vector<std::vector<std::pair<int64_t, int64_t>>> ties(columns_.sizes.size());
        for (const Rules::Tie& tie : rules_.ties) {
            ties[static_cast<std::size_t>(tie.base)].emplace_back(tie.buffer, tie.distance);
            ties[static_cast<std::size_t>(tie.buffer)].emplace_back(tie.base, -tie.distance);
        }
        tied_.resize(columns_.sizes.size());
        for (int64_t first = 0; first < count(); ++first) {
            if (tied(first).group >= 0) continue;
            tied_[static_cast<std::size_t>(first)] = {first, 0};
            for (std::vector<int64_t> reached{first}; !reached.empty();) {
                const int64_t from = reached.back();
                reached.pop_back();
                for (const auto& [to, distance] : ties[static_cast<std::size_t>(from)]) {
                    if (tied(to).group >= 0) continue;
                    tied_[static_cast<std::size_t>(to)] = {first, tied(from).at + distance};
                    reached.push_back(to);
                }
            }
        }
    }

    int64_t count() const { return static_cast<int64_t>(columns_.sizes.size()); }
    int64_t size(int64_t i) const { return columns_.sizes[static_cast<std::size_t>(i)]; }
    int64_t offset(int64_t i) const { return offsets_[static_cast<std::size_t>(i)]; }

    int64_t alignment(int64_t i) const {
        return columns_.alignments[columns_.alignments.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    }

    Defect of_place(int64_t i, int64_t capacity) const {
        if (offset(i) < 0 || offset(i) > capacity - size(i)) return Defect::place;
        if (offset(i) % alignment(i) != 0) return Defect::unaligned;
        if (!rules_.pins.empty()) {
            const int64_t pin = rules_.pins[static_cast<std::size_t>(i)];
            if (pin >= 0 && pin != offset(i)) return Defect::pin;
        }
        for (const auto& [begin, end] : rules_.reserved) {
            if (overlap({begin, end}, {offset(i), offset(i) + size(i)})) return Defect::reserved;
        }
        return Defect::none;
    }

    bool must_be_apart(int64_t one, int64_t other) const {
        const Rules::Pair pair{one, other};
        if (in_place_.contains(pair) && offset(one) == offset(other)) return false;
        if (conflicts_.contains(pair)) return true;
        if (!tied_.empty() && tied(one).group == tied(other).group) return false;
        return !exclusive_.contains(pair) && meet(one, other);
    }

    bool meet(int64_t one, int64_t other) const {
        if (rules_.lives.empty()) return overlap(life(one), life(other));
        for (const Rules::Range& a : rules_.lives[static_cast<std::size_t>(one)]) {
            for (const Rules::Range& b : rules_.lives[static_cast<std::size_t>(other)]) {
                if (overlap(a, b)) return true;
            }
        }
        return false;
    }

    Rules::Range life(int64_t i) const {
        return {columns_.begins[static_cast<std::size_t>(i)], columns_.ends[static_cast<std::size_t>(i)]};
    }

    static bool overlap(const Rules::Range& a, const Rules::Range& b) {
        return std::max(a.first, b.first) < std::min(a.second, b.second);
    }

    const Columns& columns_;
    const Rules& rules_;
    std::span<const int64_t> offsets_;
    Pairs conflicts_;
    Pairs exclusive_;
    Pairs in_place_;
    std::vector<Tied> tied_;  // by buffer; empty where nothing is tied
};

}  // namespace

Finding judge_by_rules(const Columns& columns, const Rules& rules, std::span<const int64_t> offsets,
                       int64_t capacity) {
    const Finding of_columns = check_columns(columns);
    if (of_columns.defect != Defect::none) return of_columns;
    if (offsets.size() != columns.sizes.size()) return {Defect::length, -1, -1};
    const Judge judge(columns, rules, offsets);
    const Finding of_places = judge.of_places(capacity);
    if (of_places.defect != Defect::none) return of_places;
    const Finding of_ties = judge.of_ties();
    return of_ties.defect != Defect::none ? of_ties : judge.of_overlaps();
}

}  // namespace memstow::judge
