#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "places.hpp"
#include "sweep.hpp"

namespace memstow::judge {
namespace {

using std::int64_t;
using Pairs = std::set<Rules::Pair>;

Pairs in_order(std::span<const Rules::Pair> pairs) {
    Pairs ordered;
    for (const auto& [one, other] : pairs) ordered.insert(std::minmax(one, other));
    return ordered;
}

// The value of a list by buffer, which may be shorter than there are buffers.
int64_t value_of(std::span<const int64_t> column, int64_t i) {
    return static_cast<std::size_t>(i) < column.size() ? column[static_cast<std::size_t>(i)] : -1;
}

// Which banks places touch.
class Touched {
  public:
    Touched(const Columns& columns, const Rules& rules, const Places& places)
        : columns_(columns), rules_(rules.banks), places_(places), of_pool_(rules.pools.size()) {
        for (const Banks::Run& run : rules_.runs) {
            std::vector<Range>& banks = of_pool_[static_cast<std::size_t>(run.pool)];
            for (int64_t k = 0; k < run.count; ++k) {
                banks.emplace_back(run.begin + k * run.size, run.begin + (k + 1) * run.size);
            }
        }
        for (std::vector<Range>& banks : of_pool_) std::ranges::sort(banks);
    }

    // Of one buffer, by the numbers of banks.
    Defect defect(int64_t i) const {
        const bool within = value_of(rules_.within, i) >= 0;
        const int64_t list = value_of(rules_.list_of, i);
        if ((!within && list < 0) || bytes(i).first == bytes(i).second) return Defect::none;
        const std::vector<std::size_t> numbers = touched(i);
        const auto [begin, end] = bytes(i);
        int64_t inside = 0;
        for (const std::size_t number : numbers) {
            const auto& [first, last] = banks(i)[number];
            inside += std::min(end, last) - std::max(begin, first);
        }
        const bool is_inside = inside == end - begin;
        if (within && !(is_inside && numbers.size() == 1)) return Defect::across;
        if (list < 0) return Defect::none;
        const auto start = rules_.list_start.begin() + list;
        const auto allowed = rules_.list_banks.subspan(start[0], start[1] - start[0]);
        const auto may_be_in = [&](std::size_t number) { return std::ranges::count(allowed, number) > 0; };
        return is_inside && std::ranges::all_of(numbers, may_be_in) ? Defect::none : Defect::bank;
    }

    // The first two that may touch no common bank and do.
    Finding of_conflicts() const {
        for (const Banks::Conflict& conflict : rules_.conflicts) {
            if (conflict.cost >= 0) continue;
            std::map<std::pair<std::size_t, std::size_t>, int64_t> first_in;
            for (std::size_t at = conflict.first; at < conflict.last; ++at) {
                const auto i = static_cast<int64_t>(rules_.members[at]);
                for (const std::size_t number : touched(i)) {
                    const auto [known, is_new] = first_in.try_emplace({places_.pool(at_of(i)), number}, i);
                    if (is_new) continue;
                    const auto [one, other] = std::minmax(known->second, i);
                    return {Defect::shared, one, other};
                }
            }
        }
        return {};
    }

    Wide cost() const {
        Wide sum = 0;
        for (const Banks::Conflict& conflict : rules_.conflicts) {
            if (conflict.cost <= 0) continue;
            for (std::size_t a = conflict.first; a < conflict.last; ++a) {
                for (std::size_t b = a + 1; b < conflict.last; ++b) {
                    if (meet(static_cast<int64_t>(rules_.members[a]),
                             static_cast<int64_t>(rules_.members[b])))
                        sum += conflict.cost;
                }
            }
        }
        return sum;
    }

  private:
    using Range = std::pair<int64_t, int64_t>;

    static std::size_t at_of(int64_t i) { return static_cast<std::size_t>(i); }
    const std::vector<Range>& banks(int64_t i) const { return of_pool_[places_.pool(at_of(i))]; }
    Range bytes(int64_t i) const {
        const int64_t offset = places_.offsets[at_of(i)];
        return {offset, offset + columns_.sizes[at_of(i)]};
    }

    bool touches(int64_t i, const Range& bank) const {
        const auto [begin, end] = bytes(i);
        return std::max(begin, bank.first) < std::min(end, bank.second);
    }

    std::vector<std::size_t> touched(int64_t i) const {
        std::vector<std::size_t> numbers;
        const auto [begin, end] = bytes(i);
        const std::vector<Range>& all = banks(i);
        auto bank = std::ranges::upper_bound(all, begin, {}, &Range::second);
        for (; begin < end && bank != all.end() && bank->first < end; ++bank) {
            numbers.push_back(static_cast<std::size_t>(bank - all.begin()));
        }
        return numbers;
    }

    // Whether the first bank that the higher one touches is touched by the other as well.
    bool meet(int64_t one, int64_t other) const {
        if (places_.pool(at_of(one)) != places_.pool(at_of(other))) return false;
        if (bytes(one).first > bytes(other).first) std::swap(one, other);
        const auto [begin, end] = bytes(other);
        const std::vector<Range>& all = banks(other);
        const auto bank = std::ranges::upper_bound(all, begin, {}, &Range::second);
        return bank != all.end() && touches(other, *bank) && touches(one, *bank);
    }

    const Columns& columns_;
    const Banks& rules_;
    const Places& places_;
    std::vector<std::vector<Range>> of_pool_;
};

class Judge {
  public:
    Judge(const Columns& columns, const Rules& rules, const Places& places)
        : columns_(columns),
          rules_(rules),
          places_(places),
          conflicts_(in_order(rules.conflicts)),
          exclusive_(in_order(rules.exclusive)),
          in_place_(in_order(rules.in_place)),
          touched_(columns, rules, places) {
        if (!rules.ties.empty()) follow_ties();
        if (rules.lives.empty()) return;
        lives_.resize(columns.sizes.size());
        for (const Rules::Life& more : rules.lives) {
            lives_[static_cast<std::size_t>(more.buffer)].emplace_back(more.begin, more.end);
        }
        for (int64_t i = 0; i < count(); ++i) lives_[static_cast<std::size_t>(i)].push_back(life(i));
    }

    Finding of_places() const {
        for (int64_t i = 0; i < count(); ++i) {
            const Defect defect = of_place(i);
            if (defect != Defect::none) return {defect, i, -1};
        }
        return {};
    }

    // Of each group the first buffer that has bytes says where the others are.
    Finding of_ties() const {
        std::map<int64_t, int64_t> first_of;
        for (int64_t i = 0; i < static_cast<int64_t>(tied_.size()); ++i) {
            if (size(i) == 0 || tied(i).group == kAlone) continue;
            const auto [known, is_first] = first_of.try_emplace(tied(i).group, i);
            const int64_t first = known->second;
            if (is_first) continue;
            if (pool(i) != pool(first) || Wide{offset(i)} - offset(first) != tied(i).at - tied(first).at) {
                return {Defect::tie, first, i};
            }
        }
        return {};
    }

    // Those that may never share a byte, and then by pool those that live at one moment. `most`: where there
    // are none, by pool the most bytes in use at one moment.
    Finding of_overlaps(std::vector<Most>* most) const {
        for (const auto& [one, other] : conflicts_) {
            if (share_bytes(one, other) && must_be_apart(one, other)) return {Defect::overlap, one, other};
        }
        for (std::size_t home = 0; home < rules_.pools.size(); ++home) {
            const Finding finding = of_overlaps_in(home, most);
            if (finding.defect != Defect::none) return finding;
        }
        return {};
    }

    Finding of_banks() const { return touched_.of_conflicts(); }

  private:
    using Range = std::pair<int64_t, int64_t>;

    struct Tied {
        int64_t group = kAlone;
        Wide at = 0;  // from the first buffer of the group
    };

    // Each life of each buffer with bytes in one pool.
    struct LivesIn {
        std::vector<int64_t> buffers, begins, ends, offsets, sizes, groups;

        LivesIn(const Judge& judge, std::size_t home) {
            for (int64_t i = 0; i < judge.count(); ++i) {
                if (judge.size(i) == 0 || judge.pool(i) != home) continue;
                if (judge.lives_.empty()) {
                    add(judge, i, judge.life(i));
                } else {
                    for (const Range& life : judge.lives_[static_cast<std::size_t>(i)]) add(judge, i, life);
                }
            }
        }

        void add(const Judge& judge, int64_t i, const Range& life) {
            buffers.push_back(i);
            begins.push_back(life.first);
            ends.push_back(life.second);
            offsets.push_back(judge.offset(i));
            sizes.push_back(judge.size(i));
            groups.push_back(judge.tied_.empty() ? kAlone : judge.tied(i).group);
        }

        Lives columns() const { return {begins, ends, offsets, sizes, groups}; }

        // Whenever they live.
        bool has_groups_with_shared_bytes() const {
            std::vector<std::tuple<int64_t, int64_t, int64_t>> ranges;
            for (std::size_t life = 0; life < groups.size(); ++life) {
                if (groups[life] == kAlone) continue;
                ranges.emplace_back(groups[life], offsets[life], offsets[life] + sizes[life]);
            }
            std::ranges::sort(ranges);
            const auto meets = [](const auto& below, const auto& above) {
                return std::get<0>(below) == std::get<0>(above) && std::get<1>(above) < std::get<2>(below);
            };
            return std::ranges::adjacent_find(ranges, meets) != ranges.end();
        }
    };

    // Two that live at one moment in this pool and share a byte, unless they may.
    Finding of_overlaps_in(std::size_t home, std::vector<Most>* most) const {
        const LivesIn lives(*this, home);
        Sweep sweep(lives.columns());
        bool shared = false;
        while (true) {
            const std::vector<Sweep::Pair> pairs = sweep.next(kPairsAtOnce);
            if (pairs.empty()) break;
            shared = true;
            for (const auto& [life, before] : pairs) {
                const auto [one, other] = std::minmax(lives.buffers[life], lives.buffers[before]);
                if (one != other && must_be_apart(one, other)) return {Defect::overlap, one, other};
            }
        }
        if (most != nullptr) {
            // Adding up sizes takes less time than counting bytes.
            const bool adds_up = !shared && !lives.has_groups_with_shared_bytes();
            most->push_back(adds_up ? sweep.most() : most_occupied(lives.columns()));
        }
        return {};
    }

    bool share_bytes(int64_t one, int64_t other) const {
        const auto bytes = [&](int64_t i) { return Range{offset(i), offset(i) + size(i)}; };
        return pool(one) == pool(other) && overlap(bytes(one), bytes(other));
    }

    static constexpr std::size_t kPairsAtOnce = 1024;

    const Tied& tied(int64_t i) const { return tied_[static_cast<std::size_t>(i)]; }

    // Goes from each tied buffer that was not yet reached through all that are tied to it.
    void follow_ties() {
        using Link = std::tuple<int64_t, int64_t, int64_t>;  // from, to, distance
        std::vector<Link> links;
        links.reserve(2 * rules_.ties.size());
        for (const Rules::Tie& tie : rules_.ties) {
            links.emplace_back(tie.base, tie.buffer, tie.distance);
            links.emplace_back(tie.buffer, tie.base, -tie.distance);
        }
        std::ranges::sort(links);
        const auto from = [](const Link& link) { return std::get<0>(link); };
        tied_.resize(columns_.sizes.size());
        for (const auto& [first, other, distance] : links) {
            if (tied(first).group >= 0) continue;
            tied_[static_cast<std::size_t>(first)] = {first, 0};
            for (std::vector<int64_t> reached{first}; !reached.empty();) {
                const int64_t here = reached.back();
                reached.pop_back();
                for (const auto& [unused, to, step] : std::ranges::equal_range(links, here, {}, from)) {
                    if (tied(to).group >= 0) continue;
                    tied_[static_cast<std::size_t>(to)] = {first, tied(here).at + step};
                    reached.push_back(to);
                }
            }
        }
    }

    int64_t count() const { return static_cast<int64_t>(columns_.sizes.size()); }
    int64_t size(int64_t i) const { return columns_.sizes[static_cast<std::size_t>(i)]; }
    int64_t offset(int64_t i) const { return places_.offsets[static_cast<std::size_t>(i)]; }
    std::size_t pool(int64_t i) const { return places_.pool(static_cast<std::size_t>(i)); }

    int64_t alignment(int64_t i) const {
        return columns_.alignments[columns_.alignments.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    }

    bool may_go_to(int64_t i, std::size_t to) const {
        const auto known = static_cast<std::size_t>(i) < rules_.list_of.size();
        const int64_t list = known ? rules_.list_of[static_cast<std::size_t>(i)] : -1;
        if (list < 0) return to < rules_.pools.size();
        const std::size_t first = rules_.list_start[static_cast<std::size_t>(list)];
        const std::size_t last = rules_.list_start[static_cast<std::size_t>(list) + 1];
        return std::ranges::count(rules_.list_pools.subspan(first, last - first), to) > 0;
    }

    Defect of_place(int64_t i) const {
        if (!may_go_to(i, pool(i))) return Defect::pool;
        const Pool& own = rules_.pools[pool(i)];
        if (offset(i) < 0 || offset(i) > own.capacity - size(i)) return Defect::place;
        const Wide address = Wide{own.base} + offset(i);
        if (address % alignment(i) != 0 || address % own.alignment != 0) return Defect::unaligned;
        if (static_cast<std::size_t>(i) < rules_.pins.size()) {
            const int64_t pin = rules_.pins[static_cast<std::size_t>(i)];
            if (pin >= 0 && pin != offset(i)) return Defect::pin;
        }
        for (const Rules::Reserved& range : rules_.reserved) {
            if (static_cast<std::size_t>(range.pool) != pool(i)) continue;
            if (overlap({range.begin, range.end}, {offset(i), offset(i) + size(i)})) return Defect::reserved;
        }
        return touched_.defect(i);
    }

    bool must_be_apart(int64_t one, int64_t other) const {
        const Rules::Pair pair{one, other};
        if (in_place_.contains(pair) && offset(one) == offset(other)) return false;
        if (conflicts_.contains(pair)) return true;
        if (!tied_.empty() && tied(one).group != kAlone && tied(one).group == tied(other).group) return false;
        return !exclusive_.contains(pair) && meet(one, other);
    }

    bool meet(int64_t one, int64_t other) const {
        if (lives_.empty()) return overlap(life(one), life(other));
        for (const Range& a : lives_[static_cast<std::size_t>(one)]) {
            for (const Range& b : lives_[static_cast<std::size_t>(other)]) {
                if (overlap(a, b)) return true;
            }
        }
        return false;
    }

    Range life(int64_t i) const {
        return {columns_.begins[static_cast<std::size_t>(i)], columns_.ends[static_cast<std::size_t>(i)]};
    }

    static bool overlap(const Range& a, const Range& b) {
        return std::max(a.first, b.first) < std::min(a.second, b.second);
    }

    const Columns& columns_;
    const Rules& rules_;
    const Places& places_;
    Pairs conflicts_;
    Pairs exclusive_;
    Pairs in_place_;
    Touched touched_;
    std::vector<Tied> tied_;                 // by buffer; empty where nothing is tied
    std::vector<std::vector<Range>> lives_;  // by buffer; empty where each has but one
};

}  // namespace

Finding judge_by_rules(const Columns& columns, const Rules& rules, const Places& places,
                       std::vector<Most>* most) {
    const Finding of_columns = check_columns(columns);
    if (of_columns.defect != Defect::none) return of_columns;
    const std::size_t count = columns.sizes.size();
    if (places.offsets.size() != count || (!places.pools.empty() && places.pools.size() != count)) {
        return {Defect::length, -1, -1};
    }
    const Judge judge(columns, rules, places);
    const Finding of_places = judge.of_places();
    if (of_places.defect != Defect::none) return of_places;
    const Finding of_ties = judge.of_ties();
    if (of_ties.defect != Defect::none) return of_ties;
    const Finding of_overlaps = judge.of_overlaps(most);
    return of_overlaps.defect != Defect::none ? of_overlaps : judge.of_banks();
}

Worth worth_of(const Columns& columns, const Rules& rules, const Costs& costs, const Places& places) {
    Worth worth;
    worth.peaks.resize(rules.pools.size(), 0);
    for (std::size_t i = 0; i < columns.sizes.size(); ++i) {
        const int64_t size = columns.sizes[i];
        const std::size_t pool = places.pool(i);
        const bool counted = i < costs.accesses.size() && costs.accesses[i] >= 0;
        if (size == 0) continue;
        worth.placement_cost += Wide{counted ? costs.accesses[i] : size} * rules.pools[pool].cost;
        worth.peaks[pool] = std::max(worth.peaks[pool], places.offsets[i] + size);
        const int64_t list = i < rules.list_of.size() ? rules.list_of[i] : -1;
        std::size_t rank = pool;
        if (list >= 0) {
            const std::size_t first = rules.list_start[static_cast<std::size_t>(list)];
            for (rank = 0; rules.list_pools[first + rank] != pool;) ++rank;
        }
        worth.preference += Wide{size} * static_cast<int64_t>(rank);
        if (costs.start.offsets.empty() || costs.start.offsets[i] < 0) continue;
        worth.moves += costs.start.offsets[i] != places.offsets[i] || costs.start.pool(i) != pool;
    }
    for (const Costs::Reuse& pair : costs.reuse) {
        const auto one = static_cast<std::size_t>(pair.one), other = static_cast<std::size_t>(pair.other);
        const int64_t begin = std::max(places.offsets[one], places.offsets[other]);
        const int64_t end =
            std::min(places.offsets[one] + columns.sizes[one], places.offsets[other] + columns.sizes[other]);
        if (places.pool(one) == places.pool(other) && begin < end) worth.reuse_cost += pair.cost;
    }
    worth.bank_cost = Touched(columns, rules, places).cost();
    return worth;
}

}  // namespace memstow::judge
