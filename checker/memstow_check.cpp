// memstow-check: reads a problem, a plan and a proof, and says whether the plan is right and its peak, or
// what it costs, the least.
//
// Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE).
//
// Written from docs/proofs.md alone, whose words it uses; it shares no code with memstow. Of a proof it keeps
// the limits and those lemmas that it has not forgotten, nothing else.
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <unordered_map>

#include "reading.hpp"

namespace {

using namespace checker;

// ---------------------------------------------------------------------------------------------------------------
// The problem

constexpr Range kEver{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};

// Of which layouts something is said: those with a peak of at most so much in each pool, and in all, and
// with costs of at most so much.
struct Heights {
    Number number = 0;                               // as the proof has them: one height of all, or these
    std::shared_ptr<const std::vector<Bytes>> each;  // by pool, of the sum, and by cost; 2^62: any

    Bytes of(Index pool) const { return each ? (*each)[pool] : static_cast<Bytes>(number); }
    Bytes cost(std::size_t sort) const { return each ? (*each)[each->size() - 3 + sort] : kLimit; }
    Bytes sum() const { return each ? (*each)[each->size() - 4] : kLimit; }
    std::string words() const {
        const std::string what = std::to_string(each ? number - kLimit - 1 : number);
        return (each ? "what is within heights " : "a peak of at most ") + what;
    }
};

using Costs = std::array<Bytes, 3>;    // of each sort
using Pools = std::map<Index, Costs>;  // where something may be, and what that costs

struct Buffer {
    std::string id;
    Bytes size = 0;
    Bytes alignment = 1;
    Pools pools;
    std::vector<Index> in_proof;      // those of the space at hand, ascending
    std::optional<Bytes> pin_offset;  // in its pool, which is the only one then
    std::vector<Range> lives;         // of one that lives always as long as there are numbers
    // Where it may be in proofs, by "The grid" of the page: addresses that leave `residue` when divided by
    // `modulus`, and that are in none of the ranges.
    Bytes grain = 1;  // its alignment in any of its pools
    std::optional<Bytes> pin;
    Bytes modulus = 1, residue = 0;
    const std::vector<Range>* barred = nullptr;
    Index unit = 0;
    Bytes place = 0;  // in the unit: the distance from a to b is the difference of their places
};

// What the objective may begin with: costs, the (largest) peak, the sum of all, and from kOwn on that of each
// pool.
enum Term : Index { kPlacement, kPreference, kReuse, kPeak, kSum, kOwn };
constexpr std::string_view kTerms[] = {"placement_cost", "preference", "reuse_cost", "max_peak", "peak"};
constexpr std::string_view kTermNames[] = {"placement cost ", "preference ", "reuse cost ", "peak ",
                                           "sum of peaks "};
using Values = std::vector<Bytes>;  // by term

// The sum and the product of two of at most 2^62 and one; more than 2^62 is always 2^62 and one.
constexpr Bytes kOver = kLimit + 1;
constexpr Bytes plus(Bytes a, Bytes b) { return a > kLimit - b ? kOver : a + b; }
constexpr Costs plus(Costs a, Costs b) { return {plus(a[0], b[0]), plus(a[1], b[1]), plus(a[2], b[2])}; }
// How far from here the next number is that leaves the residue when divided by the modulus.
constexpr Bytes gap_to(Bytes from, Bytes residue, Bytes modulus) {
    const Bytes over = from % modulus - residue;
    return over > 0 ? modulus - over : -over;
}
constexpr Bytes times(Bytes a, Bytes b) { return b != 0 && a > kLimit / b ? kOver : a * b; }

class Problem {
  public:
    Problem(const Json& document, ProofFile& proof) : file(proof) {
        document.has_only({"version", "name", "pools", "buffers", "conflicts", "exclusive", "relative",
                           "in_place", "reuse_costs", "objective"});
        if (bytes_or(1, document.find("version")) != 1) not_checked("the version is not 1");
        read_pools(document);
        read_objective(document);
        for (const Json& one : document["buffers"].list()) read_buffer(one);
        for (const Json& one : document.list("conflicts")) conflicts_.insert(pair_of(one.pair()));
        for (const Json& one : document.list("exclusive")) exclusive_.insert(pair_of(one.pair()));
        for (const Json& one : document.list("in_place")) {
            one.has_only({"input", "output"});
            in_place_.insert(pair_of({one["input"], one["output"]}));
        }
        read_relative(document);
        read_costs(document);
        if (pools.size() == 1) lay_space({static_cast<Number>(kLimit), nullptr});
        forget_conflicts();
    }
    Problem(const Problem&) = delete;
    ProofFile& file;  // which counts the work

    struct Pool : checker::Pool {
        Bytes cost = 0, start = 0;  // in the space

        // Of several pools, up to this height; up to 2^62 those without a capacity are left out.
        Bytes length(Bytes height) const {
            return std::min(end, height) == kLimit ? 0 : std::min(end, height);
        }
    };
    std::vector<Pool> pools;
    std::vector<Buffer> buffers;
    std::vector<Index> terms;     // what the objective begins with
    std::vector<Range> reserved;  // of all addresses, sorted and disjoint
    Bytes end = 0;                // of all addresses

    // A group, or a buffer that is in none: all of it is in one pool. After these, in the order of the open
    // pairs, two that are `kApart`, or share bytes, for which they pay.
    struct Unit {
        std::vector<Index> members;  // ascending
        Pools pools;                 // which all of them may be in
    };
    static constexpr Index kApart = 0, kShared = 1;
    std::vector<Unit> units;
    Costs most_cost{};  // no layout costs more

    static Bytes cheapest(const Unit& one, std::size_t sort) {
        Bytes least = kOver;
        for (const auto& [k, costs] : one.pools) least = std::min(least, costs[sort]);
        return least;
    }
    // What all units cost at least, and what divides the differences of their costs.
    std::pair<Bytes, Bytes> floor_and_step(std::size_t sort) const {
        Bytes least = sort == kReuse ? fixed_cost : 0, step = 0;
        for (const Unit& one : units) {
            if (one.pools.empty()) continue;
            least += cheapest(one, sort);
            for (const auto& [k, costs] : one.pools) step = std::gcd(step, costs[sort] - cheapest(one, sort));
        }
        return {least, step};
    }

    // Pairs that pay or not, by the layout, ascending; and what others pay in each.
    std::vector<std::pair<Index, Index>> open_pairs;
    Bytes fixed_cost = 0;
    Index pair_units() const { return static_cast<Index>(units.size() - open_pairs.size()); }  // the first
    Bytes cost_of(std::size_t pair) const { return units[pair_units() + pair].pools.at(kShared)[kReuse]; }
    std::optional<std::size_t> open_pair(Index i, Index j) const {
        const auto pair = std::minmax(i, j);
        const auto known = std::ranges::lower_bound(open_pairs, std::pair<Index, Index>(pair));
        if (known == open_pairs.end() || *known != std::pair<Index, Index>(pair)) return std::nullopt;
        return known - open_pairs.begin();
    }

    // Whether two in place tie or share no byte from here on, or may share any, as at first.
    void let_tie(bool ties_count) {
        ties_count_ = ties_count;
        forget_conflicts();
    }

    // Nothing costs anything for another term.
    bool has_term(Index term) const { return std::ranges::find(terms, term) != terms.end(); }
    std::string name_of(Index term) const {
        if (term < kOwn) return std::string(kTermNames[term]);
        std::string quoted;  // so that no id reads like another verdict
        for (const char one : pools[term - kOwn].id) quoted.append(one == '\'' ? 2 : 1, one);
        return "peak of '" + quoted + "' ";
    }

    // The largest height that says something.
    Bytes highest() const { return std::ranges::max(pools, {}, &Pool::end).end; }

    // How high layouts of these heights may be in a pool.
    Bytes top(const Heights& heights, Index k) const { return std::min(heights.of(k), pools[k].end); }
    // The same of all pools, then the sum and the costs.
    std::vector<Bytes> tops(const Heights& heights) const {
        std::vector<Bytes> all;
        for (Index k = 0; k < pools.size(); ++k) all.push_back(top(heights, k));
        all.push_back(heights.sum());
        for (const Term sort : {kPlacement, kPreference, kReuse}) all.push_back(heights.cost(sort));
        return all;
    }

    // "The space" of the page: all pools one after the other, each up to its height. Some units may be in
    // these pools alone, and pairs among them may be apart, so that they conflict.
    void lay_space(const Heights& heights, const std::map<Index, std::vector<Index>>& within = {}) {
        barred_.clear();
        apart_.clear();
        for (const auto& [unit, allowed] : within) {
            if (unit < pair_units() || allowed.back() != kApart) continue;
            const auto& [i, j] = open_pairs[unit - pair_units()];
            apart_.insert(key(i, j));
        }
        forget_conflicts();
        for (Buffer& one : buffers) {
            one.in_proof.clear();
            for (const auto& [k, costs] : one.pools) one.in_proof.push_back(k);
        }
        for (const auto& [unit, allowed] : within) {
            for (const Index i : units[unit].members) buffers[i].in_proof = allowed;
        }
        base_ = pools[0].base;
        reserved = pools[0].reserved;
        end = pools[0].end;
        for (Buffer& one : buffers) one.pin = one.pin_offset;
        if (pools.size() > 1) place_pools(heights);
        for (Buffer& one : buffers) {
            if (one.size == 0) continue;
            one.grain = 0;
            for (const Index k : one.in_proof) one.grain = std::gcd(one.grain, alignment_in(one, k));
            if (one.pin) *one.pin = sum(*one.pin, pools[one.in_proof[0]].start);
            auto& ranges = barred_[one.in_proof];
            one.barred = &ranges;  // which stays where it is
            if (!ranges.empty()) continue;
            // Each set of pools has its own: up to 64 MiB.
            if (barred_.size() > 1 && barred_.size() * reserved.size() > std::size_t{1} << 22)
                not_checked("buffers have too many lists of pools for so many reserved ranges");
            ranges = reserved;
            for (Index k = 0; k < pools.size() && one.in_proof.size() < pools.size(); ++k) {
                const Pool& pool = pools[k];
                if (!std::ranges::binary_search(one.in_proof, k))
                    ranges.push_back({pool.start, pool.start + pool.length(heights.of(k))});
            }
            make_disjoint(ranges);
        }
        file.work(buffers.size() * pools.size() + barred_.size() * reserved.size());
        lay_grid();
    }

    using Names = std::unordered_map<std::string, Index>;
    static std::optional<Index> number_of(const std::string& id, const Names& names) {
        const auto known = names.find(id);
        return known == names.end() ? std::nullopt : std::optional(known->second);
    }
    Names numbers, pool_numbers;  // of buffers and of pools, by their ids

    Bytes alignment_in(const Buffer& one, Index pool) const {
        return least_multiple(one.alignment, pools[pool].alignment);
    }

    // All that keep their distances from it, itself among them.
    const std::vector<Index>& group_of(Index i) const { return units[buffers[i].unit].members; }
    bool alone(Index i) const { return group_of(i).size() == 1; }
    bool one_group(Index i, Index j) const { return buffers[i].unit == buffers[j].unit; }
    Bytes distance(Index from, Index to) const { return buffers[to].place - buffers[from].place; }

    // Whether they share a byte at this distance.
    bool overlap(Index i, Index j, Bytes by) const {
        const Bytes a = buffers[i].size, b = buffers[j].size;
        return a > 0 && b > 0 && by < a && -by < b;
    }

    bool may_tie(Index i, Index j) const { return is(in_place_, i, j); }

    // Whether the two may not share a byte, unless they tie.
    bool meet(Index i, Index j) const {
        if (buffers[i].size == 0 || buffers[j].size == 0 || one_group(i, j)) return false;
        return is(conflicts_, i, j) || (live_together(buffers[i], buffers[j]) && !is(exclusive_, i, j));
    }

    // Those that do so whenever they live.
    template <typename Take>
    void each_conflict(Take take) const {
        for (const std::uint64_t pair : conflicts_) std::apply(take, two_of(pair));
    }

    // Whether the two share no byte in any layout.
    bool never_share(Index i, Index j) const { return meet(i, j) && !may_tie(i, j); }

    // Whether the two share no byte, in a proof, unless they tie; and whether they may.
    bool bound(Index i, Index j) const {
        return is(apart_, i, j) || (ties_count_ ? meet(i, j) : never_share(i, j));
    }
    bool partners(Index i, Index j) const {
        return ties_count_ && may_tie(i, j) && meet(i, j) && !is(apart_, i, j);
    }

    // Whether each two of these, ascending, never share a byte because all live at one moment.
    bool live_at_once(const std::vector<Index>& some) const {
        // To look at all pairs takes less.
        if (some.size() * some.size() < exclusive_.size() + in_place_.size()) return false;
        Range common = kEver;
        for (const Index i : some) {
            const Buffer& one = buffers[i];
            if (one.size == 0 || !alone(i) || one.lives.size() != 1) return false;
            common.begin = std::max(common.begin, one.lives[0].begin);
            common.end = std::min(common.end, one.lives[0].end);
        }
        const auto among = [&](std::uint64_t pair) {
            const auto [i, j] = two_of(pair);
            return std::ranges::binary_search(some, i) && std::ranges::binary_search(some, j);
        };
        file.work(some.size() + exclusive_.size() + in_place_.size());
        return common.begin < common.end && std::ranges::none_of(exclusive_, among) &&
               std::ranges::none_of(in_place_, among);
    }

    // All that it is bound to; until somebody asks for another. Up to 64 MiB are kept.
    const std::vector<bool>& bound_to(Index i) {
        if (!rows_[i].empty()) return rows_[i];
        if (kept_ > std::size_t{1} << 29) forget_conflicts();
        kept_ += buffers.size();
        for (Index k = 0; k < buffers.size(); ++k) rows_[i].push_back(bound(i, k));
        return rows_[i];
    }

    // The nearest offset from `from` on, upwards or downwards, at which the buffer may be and ends within the
    // limit. Inlined, checks take a tenth less time.
    [[gnu::always_inline]] std::optional<Bytes> allowed(Index i, Bytes from, bool up) const {
        const Buffer& one = buffers[i];
        const Bytes last = kLimit - one.size;
        if (one.pin)
            return (up ? *one.pin >= from : *one.pin <= from) && pin_stands(one) ? one.pin : std::nullopt;
        for (Bytes at = up ? std::max(from, Bytes{0}) : std::min(from, last); at >= 0 && at <= last;) {
            const Bytes gap = gap_to(at, one.residue, one.modulus);
            at += up || gap == 0 ? gap : gap - one.modulus;
            if (at < 0 || at > last) break;
            const auto next = std::ranges::upper_bound(*one.barred, at, {}, &Range::end);
            if (next == one.barred->end() || next->begin >= at + one.size) return at;
            at = up ? next->end : next->begin - one.size;
            file.work(1);
        }
        return std::nullopt;
    }

    static bool within(const std::vector<Range>& ranges, const Buffer& one, Bytes offset) {
        return one.size != 0 && std::ranges::any_of(ranges, [&](const Range& range) {
                   return range.begin < offset + one.size && offset < range.end;
               });
    }

  private:
    void forget_conflicts() {
        rows_.assign(buffers.size(), {});
        kept_ = 0;
    }

    // One that no checker works with where it is beyond the limit.
    static Bytes checked(Bytes amount, const std::string& what) {
        if (amount > kLimit) not_checked(what + " beyond 2^62");
        return amount;
    }
    static Bytes sum(Bytes a, Bytes b) { return checked(plus(a, b), "the addresses of the pools are"); }
    static Bytes least_multiple(Bytes a, Bytes b) {
        return checked(times(a, b / std::gcd(a, b)), "an alignment is");
    }

    // Where several pools begin; what is between them is reserved.
    void place_pools(const Heights& heights) {
        Bytes step = 0;
        for (const Pool& one : pools) {
            step = std::gcd(step, one.base);
            for (const Range& range : one.reserved) step = std::gcd(step, range.end);
        }
        step = std::max(common_divisor(step), Bytes{1});
        for (const Buffer& one : buffers) {
            for (const Index k : one.size == 0 ? std::vector<Index>{} : one.in_proof) {
                step = least_multiple(step, alignment_in(one, k));
            }
        }
        base_ = 0;
        reserved.clear();
        Bytes free_from = 0;
        for (Index k = 0; k < pools.size(); ++k) {
            const Bytes gap = gap_to(free_from, pools[k].base % step, step);
            const Bytes start = pools[k].start = sum(free_from, gap);
            if (start > 0) reserved.push_back({k == 0 ? 0 : end, start});
            const Bytes length = pools[k].length(heights.of(k));
            for (const Range& range : pools[k].reserved) {
                const Bytes top = k + 1 < pools.size() ? std::min(range.end, length) : range.end;
                if (range.begin < length) reserved.push_back({sum(start, range.begin), sum(start, top)});
            }
            end = sum(start, length);
            if (k + 1 < pools.size()) free_from = sum(end, 1);
        }
        make_disjoint(reserved);
    }

    using Pairs = std::unordered_set<std::uint64_t>;
    static bool is(const Pairs& some, Index i, Index j) { return !some.empty() && some.contains(key(i, j)); }

    static std::pair<Index, Index> two_of(std::uint64_t pair) {
        return {static_cast<Index>(pair >> 32), static_cast<Index>(pair & 0xffffffffU)};
    }

    bool live_together(const Buffer& a, const Buffer& b) const {
        file.work(a.lives.size());
        return std::ranges::any_of(a.lives, [&](const Range& one) {
            const auto other = std::ranges::upper_bound(b.lives, one.begin, {}, &Range::end);
            return other != b.lives.end() && other->begin < one.end;
        });
    }

    bool pin_stands(const Buffer& one) const {
        return *one.pin <= kLimit - one.size && aligned(base_, *one.pin, one.grain) &&
               !within(*one.barred, one, *one.pin);
    }

    void read_pools(const Json& document) {
        const Json* list = document.find("pools");
        if (list == nullptr) return pool_numbers.emplace(pools.emplace_back().id, 0), void();
        if (list->list().empty() || list->items.size() > 1'000) list->fail("are none, or too many");
        for (const Json& value : list->items) {
            Pool one{pool_of(value)};
            one.cost = bytes_or(0, value.find("cost"));
            if (!pool_numbers.emplace(one.id, static_cast<Index>(pools.size())).second)
                value.fail("has an id twice");
            pools.push_back(std::move(one));
        }
    }

    void read_buffer(const Json& one) {
        one.has_only({"id", "size", "lifetime", "lifetimes", "alignment", "pools", "accesses", "pool",
                      "offset", "group"});
        Buffer buffer;
        buffer.id = one["id"].string();
        buffer.size = one["size"].bytes();
        const Json *life = one.find("lifetime", true), *lives = one.find("lifetimes", true);
        if (life != nullptr && lives != nullptr) one.fail("has its lifetime twice");
        const auto live = [&](const Json& span) {
            const auto& times = span.pair();
            buffer.lives.push_back({times[0].integer(), times[1].integer()});
            if (buffer.lives.back().begin >= buffer.lives.back().end) span.fail("is empty");
        };
        if (life != nullptr && life->kind == Json::Kind::text && life->text == "always") {
            buffer.lives.push_back(kEver);
        } else if (life != nullptr) {
            live(*life);
        } else if (lives != nullptr) {
            for (const Json& span : lives->list()) live(span);
            if (buffer.lives.empty()) lives->fail("are none");
            make_disjoint(buffer.lives);
        }
        buffer.alignment = bytes_or(1, one.find("alignment"), 1);
        const Json *allowed = one.find("pools", true), *pin = one.find("pool", true);
        const Json* offset = one.find("offset", true);
        std::map<Index, Bytes> may;  // by pool that it may be in: how many are preferred
        for (Index k = 0; k < pools.size() && allowed == nullptr; ++k) may.emplace(k, k);
        for (const Json& value : one.list("pools", true)) {
            if (!may.emplace(named(value, pool_numbers), static_cast<Bytes>(may.size())).second)
                value.fail("has a pool twice");
        }
        if (pin != nullptr) {
            const Index pool = named(*pin, pool_numbers);
            std::erase_if(may, [&](const auto& other) { return other.first != pool; });
        }
        if (may.empty()) one.fail("has no pools, or others");
        if (offset != nullptr && pin == nullptr) one.fail("has an offset without a pool");
        if (offset != nullptr) buffer.pin_offset = offset->bytes();
        const Bytes accesses = bytes_or(buffer.size, one.find("accesses", true));
        const bool pays = has_term(kPlacement) && buffer.size > 0;
        const bool prefers = has_term(kPreference) && pin == nullptr;
        Costs dearest{};
        for (const auto& [k, before] : may) {
            alignment_in(buffer, k);
            const Costs costs{pays ? times(accesses, pools[k].cost) : 0,
                              prefers ? times(buffer.size, before) : 0, 0};
            buffer.pools.emplace(k, costs);
            dearest = {std::max(dearest[0], costs[0]), std::max(dearest[1], costs[1]), 0};
        }
        most_cost = plus(most_cost, dearest);
        checked(std::max(most_cost[0], most_cost[1]), "the costs are");
        if (buffers.size() >= 100'000'000) not_checked("the problem has too many buffers");
        if (!numbers.emplace(buffer.id, static_cast<Index>(buffers.size())).second)
            not_checked("two buffers are called '" + buffer.id + "'");
        buffers.push_back(std::move(buffer));
    }

    static Index named(const Json& value, const Names& names) {
        const auto known = number_of(value.string(), names);
        if (!known) value.fail("names '" + value.text + "', which is unknown");
        return *known;
    }

    std::uint64_t pair_of(const std::vector<Json>& names) const {
        const Index i = named(names[0], numbers), j = named(names[1], numbers);
        if (i == j) names[0].fail("has a buffer paired with itself");
        return key(i, j);
    }

    // Units are what entries connect, through buffers without bytes as well, though these are in none.
    void read_relative(const Json& document) {
        std::vector<std::vector<std::pair<Index, Bytes>>> tied(buffers.size());
        for (const Json& one : document.list("relative")) {
            one.has_only({"buffer", "base", "offset"});
            const Index i = named(one["buffer"], numbers), j = named(one["base"], numbers);
            const Bytes by = one["offset"].integer();
            tied[i].emplace_back(j, -by);
            tied[j].emplace_back(i, by);
        }
        std::vector<bool> known(buffers.size());
        for (Index first = 0; first < buffers.size(); ++first) {
            if (known[first]) continue;
            known[first] = true;
            std::vector<Index> group{first};
            std::size_t entries = 0;  // each twice
            Bytes lowest = 0, highest = 0;
            for (std::size_t n = 0; n < group.size(); ++n) {
                const Index i = group[n];
                for (const auto& [j, by] : tied[i]) {
                    ++entries;
                    if (known[j]) continue;
                    known[j] = true;
                    buffers[j].place = buffers[i].place + by;
                    lowest = std::min(lowest, buffers[j].place);
                    highest = std::max(highest, buffers[j].place);
                    if (highest - lowest > kLimit / 2) not_checked("a distance is beyond 2^61");
                    group.push_back(j);
                }
            }
            if (entries != 2 * (group.size() - 1)) not_checked("relative has a cycle");
            add_units(group);
        }
        for (const std::uint64_t pair : conflicts_) {
            const auto [i, j] = two_of(pair);
            if (!one_group(i, j) || (may_tie(i, j) && distance(i, j) == 0)) continue;
            if (overlap(i, j, distance(i, j))) not_checked("two that conflict overlap in their group");
        }
    }

    // One of those that have bytes, and one of each of the others.
    void add_units(std::vector<Index>& group) {
        std::ranges::sort(group, {}, [&](Index i) { return std::pair(buffers[i].size > 0, i); });
        Bytes before = 0;
        for (const Index i : group) {
            Buffer& one = buffers[i];
            if (std::exchange(before, one.size) == 0) units.push_back({{}, one.pools});
            Unit& unit = units.back();
            one.unit = static_cast<Index>(units.size() - 1);
            std::erase_if(unit.pools, [&](const auto& pool) { return !one.pools.contains(pool.first); });
            for (auto& [k, costs] : unit.pools) {
                if (!unit.members.empty()) costs = plus(costs, one.pools[k]);
            }
            unit.members.push_back(i);
        }
    }

    void read_costs(const Json& document) {
        std::map<std::uint64_t, Bytes> costs;
        for (const Json& one : document.list("reuse_costs")) {
            one.has_only({"buffers", "cost"});
            const Bytes cost = one["cost"].bytes();
            most_cost[kReuse] = checked(plus(most_cost[kReuse], cost), "the reuse costs are");
            costs[pair_of(one["buffers"].pair())] += cost;
        }
        for (const auto& [pair, cost] : costs) {
            const auto [i, j] = two_of(pair);
            if (!one_group(i, j)) {
                open_pairs.emplace_back(i, j);
                units.push_back({{}, {{kApart, {}}, {kShared, {0, 0, cost}}}});
            } else if (overlap(i, j, distance(i, j))) {
                fixed_cost += cost;
            }
        }
    }

    void read_objective(const Json& document) {
        if (document.find("objective", true) == nullptr) terms = {kPlacement, kSum};
        if (terms.size() == 2 && pools.size() == 1) terms = {kPeak};
        for (const Json& one : document.list("objective", true)) {
            const std::string& name = one.string();
            const auto known = std::ranges::find(kTerms, name);
            std::optional<Index> own;
            if (name.starts_with("peak:")) own = number_of(name.substr(5), pool_numbers);
            if (known == std::end(kTerms) && !own) break;
            const auto term = own ? kOwn + *own : static_cast<Index>(known - std::begin(kTerms));
            terms.push_back(pools.size() == 1 && term > kPeak ? kPeak : term);
        }
    }

    // Of this, and of all sizes, distances and pins.
    Bytes common_divisor(Bytes of) const {
        for (Index i = 0; i < buffers.size(); ++i) {
            if (buffers[i].size == 0) continue;
            of = std::gcd(std::gcd(of, buffers[i].size), buffers[i].pin.value_or(0));
            of = std::gcd(of, distance(group_of(i)[0], i));
        }
        return of;
    }

    // "The grid" of the page.
    void lay_grid() {
        Bytes grid = 0;
        for (const Range& range : reserved) grid = std::gcd(grid, range.end);
        grid = common_divisor(grid);
        if (grid == 0) return;
        const auto free = [&](const Buffer& one) { return grid % one.grain == 0 && base_ % one.grain == 0; };
        for (Bytes before = 0; before != grid;) {
            before = grid;
            for (const Buffer& one : buffers) {
                if (one.size != 0 && !free(one)) grid = std::gcd(grid, std::gcd(one.grain, base_));
            }
        }
        for (Buffer& one : buffers) {
            one.modulus = free(one) ? grid : one.grain;
            one.residue = free(one) ? 0 : gap_to(base_, 0, one.grain);
        }
    }

    Bytes base_ = 0;
    std::map<std::vector<Index>, std::vector<Range>> barred_;  // by pools
    Pairs conflicts_, exclusive_, in_place_, apart_;
    bool ties_count_ = false;
    std::vector<std::vector<bool>> rows_;  // by buffer: whether others are bound to it, or nothing
    std::size_t kept_ = 0;                 // of these
};

// ---------------------------------------------------------------------------------------------------------------
// The plan

// What it has of each term; nothing if it says that nothing fits.
std::optional<Values> checked_plan(const Problem& problem, const Json& document) {
    const std::string& state = document["status"].string();
    if (state == "infeasible") return std::nullopt;
    if (state != "optimal" && state != "feasible")
        not_checked("the status is '" + state + "': there is no plan");
    if (problem.terms.empty()) not_checked("the objective begins with nothing that proofs are about");
    Values values(kOwn + problem.pools.size());
    values[kReuse] = problem.fixed_cost;
    const std::size_t count = problem.buffers.size();
    std::vector<std::optional<Bytes>> offsets(count);
    std::vector<Index> pools(count);
    for (const Json& one : document["placements"].list()) {
        one.has_only({"buffer", "pool", "offset"});
        const std::string &id = one["buffer"].string(), &pool = one["pool"].string();
        const auto index = Problem::number_of(id, problem.numbers);
        if (!index) wrong("the plan places '" + id + "', which is no buffer");
        const auto there = Problem::number_of(pool, problem.pool_numbers);
        if (!there || !problem.buffers[*index].pools.contains(*there)) wrong("the plan names another pool");
        pools[*index] = *there;
        if (offsets[*index]) wrong("the plan places '" + id + "' twice");
        offsets[*index] = one["offset"].bytes();
    }
    for (Index i = 0; i < count; ++i) {
        const Buffer& one = problem.buffers[i];
        if (!offsets[i]) wrong("the plan does not place '" + one.id + "'");
        const Bytes at = *offsets[i];
        const Pool& pool = problem.pools[pools[i]];
        if (plus(at, one.size) > pool.end) wrong("'" + one.id + "' ends beyond the pool");
        if (!aligned(pool.base, at, problem.alignment_in(one, pools[i])))
            wrong("'" + one.id + "' is not aligned");
        if (one.pin_offset && *one.pin_offset != at) wrong("'" + one.id + "' is not where it is pinned");
        if (Problem::within(pool.reserved, one, at)) wrong("'" + one.id + "' is in a reserved range");
        Bytes& peak = values[kOwn + pools[i]];
        if (one.size != 0) peak = std::max(peak, at + one.size);
        const Costs& costs = one.pools.at(pools[i]);
        values[kPlacement] += costs[kPlacement];
        values[kPreference] += costs[kPreference];
        const Index first = problem.group_of(i)[0];
        if (pools[i] != pools[first] || at - *offsets[first] != problem.distance(first, i))
            wrong("'" + one.id + "' is not at its distance from '" + problem.buffers[first].id + "'");
    }
    const auto share = [&](Index i, Index j) {
        return pools[i] == pools[j] && problem.overlap(i, j, *offsets[j] - *offsets[i]);
    };
    const auto check = [&](Index i, Index j) {
        problem.file.work(1);
        if (!share(i, j) || !problem.meet(i, j)) return;
        if (*offsets[i] == *offsets[j] && problem.may_tie(i, j)) return;
        wrong("'" + problem.buffers[std::max(i, j)].id + "' and '" + problem.buffers[std::min(i, j)].id +
              "' overlap");
    };
    std::vector<Placed> placed;
    for (Index i = 0; i < count; ++i) {
        const Buffer& one = problem.buffers[i];
        for (const Range& life : one.lives) {
            if (one.size != 0) placed.push_back({i, pools[i], *offsets[i], one.size, life});
        }
    }
    each_near(placed, check);
    problem.each_conflict(check);
    for (std::size_t k = 0; k < problem.open_pairs.size(); ++k) {
        if (share(problem.open_pairs[k].first, problem.open_pairs[k].second))
            values[kReuse] += problem.cost_of(k);
    }
    for (const Bytes peak : std::span(values).subspan(kOwn)) {
        values[kPeak] = std::max(values[kPeak], peak);
        values[kSum] = plus(values[kSum], peak);
    }
    if (problem.has_term(kSum) && values[kSum] > kLimit) not_checked("the sum of the peaks is beyond 2^62");
    values[kSum] = std::min(values[kSum], kLimit);
    return values;
}

// ---------------------------------------------------------------------------------------------------------------
// The proof

struct Offsets {
    Bytes low, high;
};

using Ranges = std::vector<std::pair<Index, Offsets>>;

// Some buffers, each with the least and the greatest offset that it may have. Dead once a range is empty.
class Context {
  public:
    explicit Context(const Problem& problem)
        : problem_(problem), ranges_(problem.buffers.size()), in_(problem.buffers.size()) {}

    void clear() {
        for (const auto& [item, range] : stated) in_[item] = false;
        stated.clear();
        dead = false;
    }

    void add(Index item, Bytes low, Bytes high) {
        in_[item] = true;
        ranges_[item] = {-1, std::numeric_limits<Bytes>::max()};
        narrow(item, low, high);
        stated.emplace_back(item, ranges_[item]);
    }

    // Where that is more than what is known.
    void narrow(Index item, Bytes low, Bytes high) {
        if (dead) return;
        Offsets& one = ranges_[item];
        if (low <= one.low && high >= one.high) return;
        const auto least = low <= one.low ? std::optional(one.low) : problem_.allowed(item, low, true);
        const auto most = high >= one.high ? std::optional(one.high) : problem_.allowed(item, high, false);
        dead = !least || !most || *least > *most;
        if (!dead) one = {*least, *most};
    }
    void raise(Index item, Bytes to) { narrow(item, to, kLimit); }
    void lower(Index item, Bytes to) { narrow(item, -1, to); }

    // As they were added.
    void restore() {
        for (const auto& [item, range] : stated) ranges_[item] = range;
        dead = false;
    }

    bool has(Index item) const { return in_[item]; }
    const Offsets& operator[](Index item) const { return ranges_[item]; }

    Ranges stated;  // as they were added
    bool dead = false;

  private:
    const Problem& problem_;
    std::vector<Offsets> ranges_;  // by buffer
    std::vector<bool> in_;
};

// What is proven of layouts: those within the heights cost at least so much.
struct Shown {
    static constexpr Bytes kNone = std::numeric_limits<Bytes>::max();  // there are no such layouts
    struct Least {
        Index term;
        Heights heights;
        Bytes cost;
    };
    const Problem& problem;
    std::vector<Least> all;

    // What layouts have at least of a term that have no more than this of the others.
    Bytes least(Index term, const Values& most) const {
        Bytes least = 0;
        for (const Least& one : all) {
            // Up to which value of the term all of them are within the heights.
            Bytes value = kLimit;
            problem.file.work(problem.pools.size());
            const auto see = [&](Bytes reached, Bytes height, bool limits) {
                if (reached > height) value = std::min(value, limits ? height : -1);
            };
            for (const Index sort : {kPlacement, kPreference, kReuse})
                see(most[sort], one.heights.cost(sort), term == sort);
            see(most[kSum], one.heights.sum(), term == kSum);
            for (Index k = 0; k < problem.pools.size(); ++k) {
                const Bytes peak = std::min({problem.pools[k].end, most[kPeak], most[kSum], most[kOwn + k]});
                see(peak, one.heights.of(k), term == kPeak || term == kSum || term == kOwn + k);
            }
            if (one.cost > most[one.term]) least = std::max(least, value + 1);
            if (one.term == term && value == kLimit) least = std::max(least, one.cost);
        }
        return least;
    }
};

class Proof {
  public:
    Proof(Problem& problem, bool shows)
        : problem_(problem), file_(problem.file), shows_(shows), now_(problem) {
        if (!shows) return;
        for (Buffer& one : problem.buffers) one.id = printable(one.id);
    }

    Shown checked() {
        using Step = void (Proof::*)();
        constexpr Step kSteps[] = {&Proof::lemma, &Proof::forget,  &Proof::conclusion,  &Proof::space,
                                   &Proof::spent, &Proof::peaks,   &Proof::keep_within, &Proof::row,
                                   &Proof::cost,  &Proof::let_tie, &Proof::heights,     &Proof::rows,
                                   &Proof::chains};
        for (Number kind; (kind = file_.number()) != 0; ++file_.step) {
            if (kind > std::size(kSteps)) fail("an unknown kind of step, " + std::to_string(kind));
            const bool may_be_first =
                kind == 4 || kind == 7 || kind == 11 || (!several_ && (kind < 4 || kind == 10));
            if (!may_be_first && !heights_) fail("the height comes first");
            const Step step = kSteps[kind - 1];
            (this->*step)();
        }
        file_.end();
        return shown_;
    }

  private:
    // Units within some pools have a weight each; no layout within the heights has more of that in all than
    // there is room.
    struct Part {
        Index unit;
        std::vector<Index> pools;
        Bytes weight;
    };
    using Rest = std::pair<Bytes, Index>;
    using Parts = std::shared_ptr<const std::vector<Part>>;  // many limits may have the same
    struct Limit {
        Parts parts;
        Bytes room;
        Heights heights;
    };

    [[noreturn]] void fail(const std::string& why) const { file_.fail(why); }

    // One height of all pools, or some that the proof has named.
    Heights height() {
        const Number number = file_.number(), named = number - kLimit - 1;
        if (number <= static_cast<Number>(kLimit)) return {number, nullptr};
        if (named >= named_.size()) fail("a number beyond 2^62 that names no heights");
        return {number, named_[named]};
    }

    // Whether something of these is so of the others as well, which have these tops.
    void check_cover(const std::string& what, const Heights& heights, const std::vector<Bytes>& others) {
        file_.work(problem_.pools.size());
        if (!std::ranges::equal(problem_.tops(heights), others, std::greater_equal<>()))
            fail(what + " that does not hold so high");
    }

    // A buffer of the context.
    Index item() {
        const Number value = file_.number();
        if (value >= problem_.buffers.size() || !now_.has(static_cast<Index>(value)))
            fail("buffer " + std::to_string(value) + " is not in question here");
        return static_cast<Index>(value);
    }

    std::unordered_map<Number, Ranges>::const_iterator reference() {
        const Number back = file_.number();
        const auto which = back == 0 || back > made_ ? lemmas_.end() : lemmas_.find(made_ - back);
        if (which == lemmas_.end()) fail("there is no such lemma");
        return which;
    }

    const std::string& id(Index item) const { return problem_.buffers[item].id; }
    Bytes size(Index item) const { return problem_.buffers[item].size; }

    // The steps in words, where they are to be printed.
    template <typename... Part>
    void say(const Part&... words) const {
        if (shows_) (std::cout << ... << words);
    }

    void lemma() {
        now_.clear();
        file_.ascending(problem_.buffers.size(), "buffer", [&](Index one) {
            const Bytes low = file_.amount(), high = file_.amount();
            now_.add(sized(one), low, high);
        });
        if (now_.dead) fail("a lemma whose ranges are empty");
        say("lemma ", made_, ": no layout of");
        for (const auto& [k, range] : now_.stated) say("  ", id(k), " in ", range.low, "..", range.high);
        say('\n');
        const Number rule = file_.number();
        if (rule > 2) fail("an unknown rule, " + std::to_string(rule));
        if (rule > 0) {
            const Index one = item();
            split(one, file_.amount(), rule == 1);
        } else {
            say("  because");
            derive();
        }
        lemmas_[made_++] = now_.stated;
    }

    void forget() {
        const auto which = reference();
        say("forget lemma ", which->first, '\n');
        lemmas_.erase(which);
    }

    // From below; or the same from above.
    void split(Index one, Bytes at, bool low) {
        if (low ? at < now_[one].low : at > now_[one].high) fail("a split outside of the range");
        std::vector<std::pair<Index, Bytes>> moving;  // at these distances from it
        for (const Index k : problem_.group_of(one)) {
            if (now_.has(k)) moving.emplace_back(k, problem_.distance(one, k));
        }
        for (const auto& [k, by] : moving) {
            if (moving.size() > 1 && !may_be(k, at + by))
                fail("a split where '" + id(k) + "' of the group may not be");
        }
        low ? now_.lower(one, at) : now_.raise(one, at);
        say("  if ", id(one), " is at ", low ? "most at " : "least at ", at);
        derive();
        now_.restore();
        // Else it, with what ties with it, could go there, unless one of them came upon another.
        const Bytes place = *problem_.allowed(one, at, !low);
        const auto nearer = [&](Bytes a, Bytes b) { return low ? a < b : a > b; };
        std::optional<Bytes> next;
        std::set<std::pair<Index, Bytes>> known(moving.begin(), moving.end());
        for (std::size_t n = 0; n < moving.size(); ++n) {
            if (n == std::size_t{1} << 14) not_checked("more than 16,384 move at a split");
            const auto [k, by] = moving[n];
            std::optional<Bytes> nearest;
            const auto stop = [&, by = by](Index j, Bytes end) {
                const Bytes first = (low ? now_[j].low : now_[j].high) + end;
                const Bytes last = (low ? now_[j].high : now_[j].low) + end;
                if (nearer(place + by, last) && (!nearest || nearer(first, *nearest))) nearest = first;
            };
            file_.work(problem_.buffers.size());
            const auto& bound = problem_.bound_to(k);
            for (const auto& [j, range] : now_.stated) {
                if (!bound[j]) continue;
                stop(j, low ? size(j) : -size(k));
                if (!can_tie(k, j) || problem_.one_group(one, j)) continue;
                if (!problem_.alone(j) || !may_be(j, place + by)) {
                    stop(j, 0);
                } else if (known.emplace(j, by).second) {
                    moving.emplace_back(j, by);
                }
            }
            if (nearest) nearest = problem_.allowed(k, *nearest, low);
            if (nearest && (!next || nearer(*nearest - by, *next))) next = *nearest - by;
        }
        now_.dead = !next;
        if (next) low ? now_.raise(one, std::max(*next, at + 1)) : now_.lower(one, std::min(*next, at - 1));
        say("  if ", id(one), low ? " is above" : " is below", " that, where another stops it");
        derive();
    }

    // Whether the offset is one that the buffer may have here.
    bool may_be(Index k, Bytes at) const {
        return at >= now_[k].low && at <= now_[k].high && problem_.allowed(k, at, true) == at;
    }

    // Whether partners may have one offset here; where they do not, they conflict.
    bool can_tie(Index i, Index j) const {
        return now_[i].low <= now_[j].high && now_[j].low <= now_[i].high && problem_.partners(i, j);
    }
    bool conflict(Index i, Index j) const { return problem_.bound(i, j) && !can_tie(i, j); }

    // What must hold of the others, wherever this one is in its range.
    void push(Index from) {
        if (now_.dead) return;
        file_.work(problem_.buffers.size());
        const Offsets by = now_[from];
        const auto& bound = problem_.bound_to(from);
        for (const auto& [k, range] : now_.stated) {
            if (!bound[k]) continue;
            const bool above = now_[k].low + size(k) > by.high;  // it cannot end at or below the other
            const bool below = by.low + size(from) > now_[k].high;
            const bool ties = can_tie(from, k);
            if (above) now_.raise(k, by.low + (ties ? 0 : size(from)));
            if (below) now_.lower(k, by.high - (ties ? 0 : size(k)));
        }
    }

    // Those of its group, by their distances.
    void follow(Index from) {
        if (problem_.alone(from)) fail("'" + id(from) + "' is in no group");
        if (now_.dead) return;
        const Offsets by = now_[from];
        for (const Index k : problem_.group_of(from)) {
            if (!now_.has(k)) continue;
            now_.raise(k, by.low + problem_.distance(from, k));
            now_.lower(k, by.high + problem_.distance(from, k));
        }
    }

    // Pushes, and what closes the case.
    void derive() {
        say(':');
        for (;;) {
            const Number kind = file_.number();
            if (kind == 1 || kind == 5) {
                const Index from = item();
                say(kind == 1 ? " push " : " follow ", id(from), ',');
                kind == 1 ? push(from) : follow(from);
                continue;
            }
            if (kind == 2) {
                if (!now_.dead) fail("no range is empty");
                say(" a range is empty\n");
            } else if (kind == 3) {
                overfull();
            } else if (kind == 4) {
                const auto which = reference();
                say(" lemma ", which->first, '\n');
                check_within(which->second);
            } else {
                fail("an unknown part of a derivation, " + std::to_string(kind));
            }
            return;
        }
    }

    void check_within(const Ranges& stated) const {
        if (now_.dead) return;
        for (const auto& [one, range] : stated) {
            if (!now_.has(one)) fail("the lemma is about '" + id(one) + "', which is not in question here");
            if (now_[one].low < range.low || now_[one].high > range.high)
                fail("the lemma says less: '" + id(one) + "' may be elsewhere");
        }
    }

    template <typename Conflict>
    void check_pairs(const std::vector<Index>& some, const std::string& where, Conflict conflict) {
        if (problem_.live_at_once(some)) return;
        for (std::size_t a = 0; a < some.size(); ++a) {
            file_.work(a);
            for (std::size_t b = 0; b < a; ++b) {
                if (!conflict(some[a], some[b])) fail("two that do not conflict are in one " + where);
            }
        }
    }

    // "Overfull" of the page.
    void overfull() {
        const Bytes begin = file_.amount(), end = file_.amount();
        std::vector<Index> some;
        some.reserve(64);
        file_.ascending(problem_.buffers.size(), "buffer", [&](Index one) {
            if (!now_.has(one)) fail("'" + id(one) + "' is not in question here");
            some.push_back(one);
        });
        say(" overfull from ", begin, " to ", end, ':');
        for (const Index one : some) say(' ', id(one));
        say('\n');
        if (now_.dead) return;
        if (begin > end) fail("a stretch that ends before it begins");
        check_pairs(some, "stretch", [&](Index i, Index j) { return conflict(i, j); });
        const Buffer& first = problem_.buffers[some[0]];
        Bytes grid = first.modulus;
        for (const Index one : some) {
            if (now_[one].low < begin || now_[one].high + size(one) > end)
                fail("'" + id(one) + "' may be elsewhere");
            const Buffer& buffer = problem_.buffers[one];
            if (buffer.modulus == grid && buffer.residue == first.residue) continue;
            grid = std::gcd(grid, std::gcd(buffer.modulus, buffer.residue - first.residue));
        }
        // Nothing begins before the first cell.
        const Bytes first_cell = begin + gap_to(begin, first.residue % grid, grid);
        Bytes room = end - first_cell, need = 0;
        file_.work(problem_.reserved.size());
        std::size_t gaps = 1;  // stretches that end at a reserved range, or at the end
        for (const Range& range : problem_.reserved) {
            const Bytes from = std::max(range.begin, first_cell), to = std::min(range.end, end);
            if (from >= to) continue;
            room -= to - from;
            ++gaps;
        }
        // Whole cells; but what is last before a reserved range, or the end, may leave a cell half full.
        std::vector<Bytes> spared;
        for (const Index one : some) {
            need = plus(need, size(one));
            if (size(one) % grid != 0) spared.push_back(grid - size(one) % grid);
        }
        std::sort(spared.begin(), spared.end());
        for (std::size_t k = 0; k + gaps < spared.size(); ++k) need = plus(need, spared[k]);
        if (need <= room) fail("the stretch is not overfull");
    }

    void let_tie() {
        const Number count = file_.number();
        if (count > 1) fail("ties that neither count nor do not");
        lemmas_.clear();
        problem_.let_tie(count == 1);
        say("from here on pairs in place ", count == 1 ? "tie or are apart\n" : "may overlap\n");
    }

    // Of several pools: what is proven is about this height, and about addresses that it determines.
    void space() {
        lemmas_.clear();
        within_.reset();
        heights_ = height();
        problem_.lay_space(*heights_);
        say("addresses of all pools end at ", problem_.end, '\n');
    }

    // The same, where some units may be in some of their pools alone.
    void keep_within() {
        lemmas_.clear();
        heights_ = height();
        std::map<Index, std::vector<Index>> within;
        std::vector<Part> parts;
        file_.ascending(count(), "buffer or pair", [&](Index one) {
            const Index unit = unit_of(one);
            std::vector<Index> pools;
            say(words_of(unit), " within");
            file_.ascending(std::max(problem_.pools.size(), std::size_t{2}), "pool", [&](Index pool) {
                pools.push_back(pool_of(unit, pool));
                say(' ', name_of(unit, pool));
            });
            say('\n');
            if (!within.emplace(unit, pools).second) fail("two of one group");
            parts.push_back({unit, std::move(pools), 1});
        });
        problem_.lay_space(*heights_, within);
        within_ = std::make_shared<const std::vector<Part>>(std::move(parts));
    }

    // A buffer with bytes, and the number of its unit, or that of an open pair: they are numbered after all
    // buffers.
    Index sized(Number buffer) const {
        if (buffer >= problem_.buffers.size() || size(static_cast<Index>(buffer)) == 0)
            fail("a buffer without bytes");
        return static_cast<Index>(buffer);
    }
    std::size_t count() const { return problem_.buffers.size() + problem_.open_pairs.size(); }
    Index pair_unit(std::size_t pair) const { return static_cast<Index>(problem_.pair_units() + pair); }
    Index unit_of(Number one) const {
        const Number first = problem_.buffers.size();
        return one < first || one >= count() ? problem_.buffers[sized(one)].unit : pair_unit(one - first);
    }
    Index pool_of(Index unit, Number pool) const {
        if (pool > problem_.pools.size() || !problem_.units[unit].pools.contains(static_cast<Index>(pool)))
            fail("a pool where a buffer may not be");
        return static_cast<Index>(pool);
    }
    Index pool() {
        const Number number = file_.number();
        if (number >= problem_.pools.size()) fail("a pool that there is not");
        return static_cast<Index>(number);
    }
    std::string name_of(Index pool) const { return printable(problem_.pools[pool].id); }
    // A unit, and where it is.
    std::string words_of(Index unit) const {
        if (unit < problem_.pair_units()) return id(problem_.units[unit].members[0]);
        const auto& [i, j] = problem_.open_pairs[unit - problem_.pair_units()];
        return id(i) + " and " + id(j);
    }
    std::string name_of(Index unit, Index pool) const {
        if (unit < problem_.pair_units()) return name_of(pool);
        return pool == Problem::kApart ? "apart" : "sharing bytes";
    }

    // What fits into the cells of a pool.
    void row() {
        const Index number = pool();
        const Bytes divisor = nonzero("divisor");
        const std::vector<Index> some = row_in(number, 1);
        const auto [grid, cells] = cells_of(number, some);
        std::vector<Part> parts;
        add_parts(number, some, grid, parts);
        add_limit(std::move(parts), cells, divisor);
    }

    // What begins a cell of the pool for these, and how many of them there are.
    std::pair<Bytes, Bytes> cells_of(Index number, const std::vector<Index>& some) {
        Bytes grid = 0;
        for (const Index one : some)
            grid = std::gcd(grid, problem_.alignment_in(problem_.buffers[one], number));
        const Pool& pool = problem_.pools[number];
        const Bytes end = problem_.top(*heights_, number), first = gap_to(pool.base, 0, grid);
        const auto cells_below = [&](Bytes at) { return at <= first ? 0 : (at - first - 1) / grid + 1; };
        file_.work(pool.reserved.size());
        Bytes cells = cells_below(end);
        for (const Range& range : pool.reserved)
            cells -= cells_below(std::min(range.end, end)) - cells_below(std::min(range.begin, end));
        return {grid, cells};
    }

    // The same where each cell holds a chain: it is worth prices of buffers, less tolls of pairs.
    void chains() {
        const Index number = pool();
        const Bytes worth = file_.amount();
        std::vector<Index> some;
        std::map<Index, Bytes> prices;  // and tolls
        file_.ascending(count(), "buffer or pair", [&](Index one) {
            if (one < problem_.buffers.size()) pool_of(unit_of(some.emplace_back(one)), number);
            prices[one] = file_.amount();
        });
        if (some.empty() || some.size() > 1'000) not_checked("chains of no buffers, or of more than 1,000");
        const auto [grid, cells] = cells_of(number, some);
        const auto taken = [grid = grid](Bytes bytes) { return (bytes - 1) / grid + 1; };
        std::vector<Part> parts;
        std::vector<Rest> rests;
        tolls_.assign(some.size(), std::vector<Bytes>(some.size()));
        for (Index b = 0; b < some.size(); ++b) {
            const Index other = some[b];
            parts.push_back({unit_of(other), {number}, times(prices[other], taken(size(other)))});
            rests.emplace_back(-prices[other], b);
            file_.work(b);
            for (Index a = 0; a < b; ++a) {
                const std::size_t pair = problem_.open_pair(some[a], other).value_or(count());
                const auto toll = prices.find(static_cast<Index>(problem_.buffers.size() + pair));
                const bool never = problem_.never_share(some[a], other);
                const bool pays = !never && toll != prices.end();
                tolls_[a][b] = tolls_[b][a] = never ? kOver : pays ? toll->second : 0;
                const Bytes both = taken(std::min(size(some[a]), size(other)));
                if (pays)
                    parts.push_back({unit_of(toll->first), {Problem::kApart}, times(toll->second, both)});
            }
        }
        check_worth(std::move(rests), worth, 1);
        add_limit(std::move(parts), times(worth, cells), 1);
    }

    // A node: so much is left for these, each with its rest, negated.
    void check_worth(std::vector<Rest> rests, Bytes left, std::size_t depth) {
        file_.work(rests.size() * rests.size());
        if (node(depth, 1) == 1) {
            const Number first = file_.number();
            const auto mine = std::ranges::find(rests, first, &Rest::second);
            if (mine == rests.end()) fail("a branch that is none");
            const Bytes rest = mine->first;
            rests.erase(mine);
            std::vector<Rest> fewer;
            for (const auto& [one, k] : rests)
                if (one + tolls_[first][k] < 0) fewer.emplace_back(one + tolls_[first][k], k);
            if (left + rest < 0) fail("a chain that is worth more");
            check_worth(std::move(fewer), left + rest, depth + 1);
            return check_worth(std::move(rests), left, depth + 1);
        }
        std::ranges::sort(rests);
        std::vector<std::vector<Index>>
            classes;  // in which all but the first are worth no more than they pay
        for (const auto& [rest, k] : rests) {
            const auto pays = [&, rest = rest, k = k](Index other) { return tolls_[other][k] >= -rest; };
            const auto joins = [&](const auto& one) { return std::ranges::all_of(one, pays); };
            const auto mine = std::ranges::find_if(classes, joins);
            if (mine != classes.end()) {
                mine->push_back(k);
            } else if ((left += rest) < 0) {
                fail("a chain that may be worth more");
            } else {
                classes.push_back({k});
            }
        }
    }

    // A row for each pool: their bytes are below the peaks.
    void rows() {
        if (heights_->sum() == kLimit) fail("rows of peaks that may have any sum");
        const Bytes divisor = nonzero("divisor");
        std::vector<Part> parts;
        for (Index k = 0; k < problem_.pools.size(); ++k) add_parts(k, row_in(k, 0), 1, parts);
        add_limit(std::move(parts), heights_->sum(), divisor);
    }

    // Buffers that may be in the pool.
    std::vector<Index> row_in(Number pool, Number least) {
        std::vector<Index> some;
        const auto add = [&](Index one) {
            pool_of(problem_.buffers[sized(one)].unit, pool);
            some.push_back(one);
        };
        file_.ascending(problem_.buffers.size(), "buffer", add, least);
        return some;
    }

    // What these take of a pool, in cells: two of them share none, or pay where they do.
    void add_parts(Index pool, const std::vector<Index>& some, Bytes grid, std::vector<Part>& parts) {
        const auto cells = [&](Index one) { return (size(one) - 1) / grid + 1; };
        for (const Index one : some) parts.push_back({problem_.buffers[one].unit, {pool}, cells(one)});
        check_pairs(some, "row", [&](Index i, Index j) {
            if (problem_.never_share(i, j)) return true;
            const auto pair = problem_.open_pair(i, j);
            if (pair && ++pairs_ > std::size_t{1} << 21) not_checked("rows have more than 2^21 pairs");
            if (pair) parts.push_back({pair_unit(*pair), {Problem::kApart}, std::min(cells(i), cells(j))});
            return pair.has_value();
        });
    }

    // Pairs that share give as much more room, or as is too much of all.
    void add_limit(std::vector<Part> parts, Bytes room, Bytes divisor) {
        Bytes taken = 0;
        for (const Part& part : parts)
            taken = plus(taken, part.unit < problem_.pair_units() ? part.weight : 0);
        const Bytes excess = std::max(taken - room, Bytes{0});
        for (Part& part : parts) {
            if (part.unit >= problem_.pair_units())
                room = plus(room, part.weight = std::min(part.weight, excess));
            part.weight /= divisor;
        }
        if (std::max(taken, room) > kLimit) fail("a sum beyond 2^62");
        state(std::make_shared<const std::vector<Part>>(std::move(parts)), room / divisor);
    }

    // A limit.
    void state(const Parts& parts, Bytes room) {
        say("limit ", limits_.size(), " of ", heights_->words(), ": room for ", room, ", of which take\n");
        for (const Part& part : *parts) {
            say("  ", words_of(part.unit));
            for (const Index pool : part.pools) say(' ', name_of(part.unit, pool));
            say(' ', part.weight, '\n');
        }
        limits_.push_back({parts, room, *heights_});
    }

    // What units cost more than they must, of a cost that the heights have.
    void spent() {
        const Index sort = sort_of_cost();
        const auto [floor, step] = floors_[sort];
        const Bytes most = heights_->cost(sort);
        if (most == kLimit || most < floor || step == 0) fail("a cost that may be any, or cannot be");
        std::vector<Part> parts;
        for (Index unit = 0; unit < problem_.units.size() && !spent_[sort]; ++unit) {
            const Problem::Unit& one = problem_.units[unit];
            for (const auto& [pool, costs] : one.pools)
                parts.push_back({unit, {pool}, (costs[sort] - Problem::cheapest(one, sort)) / step});
        }
        if (!spent_[sort]) spent_[sort] = std::make_shared<const std::vector<Part>>(std::move(parts));
        state(spent_[sort], (most - floor) / step);
    }

    // Which cost is meant.
    Index sort_of_cost() {
        const Number sort = file_.number();
        if (sort > kReuse) fail("an unknown kind of cost");
        return static_cast<Index>(sort);
    }

    Bytes nonzero(const std::string& what) {
        const Bytes amount = file_.amount();
        if (amount == 0) fail("a " + what + " of 0");
        return amount;
    }

    void heights() {
        std::vector<Bytes> each;
        say("heights ", named_.size(), ':');
        for (const Pool& pool : problem_.pools)
            say(' ', printable(pool.id), ' ', each.emplace_back(file_.amount()));
        say(", in all ", each.emplace_back(file_.amount()));
        for (const Term sort : {kPlacement, kPreference, kReuse})
            say(", ", kTermNames[sort], each.emplace_back(file_.amount()));
        say('\n');
        named_.push_back(std::make_shared<const std::vector<Bytes>>(std::move(each)));
    }

    // What all layouts within the heights cost at least, by their peaks.
    void peaks() {
        const Index term = sort_of_cost();
        const Heights heights = height();
        lows_.assign(problem_.pools.size(), 0);
        tops_ = problem_.tops(heights);
        state(term, heights, least_within(term, heights, 1));
    }

    // The same at a node.
    Bytes least_within(Index term, const Heights& heights, std::size_t depth) {
        const Number kind = node(depth);
        file_.work(lows_.size());
        Bytes total = 0;
        for (const Bytes low : lows_) total = plus(total, low);
        const Bytes left = heights.sum() == kLimit ? kLimit : heights.sum() - total;
        std::vector<Bytes> tops = tops_;
        bool dead = false;
        for (Index k = 0; k < lows_.size(); ++k) {
            if (left < tops[k] - lows_[k]) tops[k] = lows_[k] + left;
            dead = dead || tops[k] < lows_[k];
        }
        if (kind == 0 && !dead) fail("peaks that are no contradiction");
        if (kind == 0) return Shown::kNone;
        if (kind == 2) {
            const Number number = file_.number();
            if (number >= shown_.all.size() - kKnown) fail("there is no such statement");
            const Shown::Least& one = shown_.all[kKnown + number];
            if (one.term != term && one.cost != Shown::kNone) fail("a statement about another cost");
            if (dead) return Shown::kNone;
            check_cover("a statement", one.heights, tops);
            return one.cost;
        }
        const Index pool = this->pool();
        const Bytes at = file_.amount(), low = lows_[pool], top = tops_[pool];
        const std::string begin = std::string(2 * depth, ' ') + "if the peak of " + name_of(pool);
        say(begin, " is at most ", at, '\n');
        tops_[pool] = std::min(top, at);
        const Bytes within = least_within(term, heights, depth + 1);
        tops_[pool] = top;
        say(begin, " is more\n");
        lows_[pool] = std::max(low, at + 1);
        const Bytes beyond = least_within(term, heights, depth + 1);
        lows_[pool] = low;
        return std::min(within, beyond);
    }

    void state(Index term, const Heights& heights, Bytes least) {
        say("no layout has ", heights.words());
        say(least < Shown::kNone ? " and a " + problem_.name_of(term) + "below " + std::to_string(least) : "",
            '\n');
        shown_.all.push_back({term, heights, least});
    }

    // What all layouts within the heights cost at least, by where units are.
    void cost() {
        const Index sort = sort_of_cost();
        const Heights heights = height();
        const auto [floor, step] = floors_[sort];
        const Bytes most = problem_.most_cost[sort];
        Bytes least = std::max(least_cost(sort, heights, floor, 1), floor);
        if (step > 0 && least <= most) least += (step - (least - floor) % step) % step;
        state(sort, heights, least > most ? Shown::kNone : least);
    }

    // The kind of a node of a tree.
    Number node(std::size_t depth, Number most = 2) {
        if (depth > 1'000) fail("a tree too deep");
        const Number kind = file_.number();
        if (kind > most) fail("an unknown kind of node, " + std::to_string(kind));
        return kind;
    }

    // Of layouts within the node, where units cost at least `floor` in all by themselves.
    Bytes least_cost(Index sort, const Heights& heights, Bytes floor, std::size_t depth) {
        const Number kind = node(depth);
        if (kind == 0) return floor;
        if (kind == 2) return weighed(sort, heights, floor);
        const Index number = unit_of(file_.number());
        Problem::Unit& unit = problem_.units[number];
        if (unit.pools.size() == 1) fail("a branch that is none");
        const Index pool = pool_of(number, file_.number());
        const Pools all = unit.pools;
        floor -= Problem::cheapest(unit, sort);
        Bytes least = Shown::kNone;
        for (const bool is_in : {true, false}) {
            unit.pools = all;  // at this node
            std::erase_if(unit.pools, [&](const auto& other) { return (other.first == pool) != is_in; });
            say(std::string(2 * depth, ' '), "if ", words_of(number), ": ");
            say(is_in ? "" : "not ", name_of(number, pool), '\n');
            least =
                std::min(least, least_cost(sort, heights, floor + Problem::cheapest(unit, sort), depth + 1));
        }
        unit.pools = all;
        return least;
    }

    // The same with a price for what limits give room for, without what must be there.
    Bytes weighed(Index sort, const Heights& heights, Bytes floor) {
        const Bytes scale = nonzero("scale");
        std::map<Index, std::map<Index, Bytes>> dearer;  // by unit, in each of its pools
        Bytes given_back = 0, total = 0;
        bool is_broken = false;
        file_.ascending(limits_.size(), "limit", [&](Index number) {
            const Limit& limit = limits_[number];
            const Bytes price = file_.amount();
            check_cover("a limit", limit.heights, problem_.tops(heights));
            file_.work(limit.parts->size());
            Bytes room = limit.room;
            for (const Part& part : *limit.parts) {
                const auto is_in = [&](const auto& one) {
                    return std::ranges::binary_search(part.pools, one.first);
                };
                if (std::ranges::all_of(problem_.units[part.unit].pools, is_in)) {
                    room = part.weight > room ? -1 : room - part.weight;
                    continue;
                }
                auto& by = dearer[part.unit];
                for (const Index pool : part.pools) by[pool] = plus(by[pool], times(price, part.weight));
            }
            is_broken = is_broken || room < 0;
            given_back = plus(given_back, times(price, std::max(room, Bytes{0})));
        });
        if (is_broken) return Shown::kNone;
        for (auto& [unit, by] : dearer) {
            floor -= Problem::cheapest(problem_.units[unit], sort);
            Bytes least = kOver;
            for (const auto& [pool, costs] : problem_.units[unit].pools)
                least = std::min(least, plus(times(scale, costs[sort]), by[pool]));
            total = plus(total, least);
        }
        total = plus(total, times(scale, floor));
        if (total > kLimit || given_back > kLimit) fail("a sum beyond 2^62");
        return total <= given_back ? 0 : (total - given_back - 1) / scale + 1;
    }

    void conclusion() {
        const Heights heights = height();
        if (heights_ && heights.number != heights_->number) fail("a conclusion for another height");
        file_.work(problem_.buffers.size());
        const Bytes end = several_ ? problem_.end : std::min(heights.of(0), problem_.end);
        if (within_) say("not all of these: ");
        say("no layout has ", heights.words(), "\n  because");
        now_.clear();
        for (Index i = 0; i < problem_.buffers.size(); ++i) {
            const auto has_room = [&](Index k) { return several_ && problem_.top(heights, k) == kLimit; };
            if (size(i) != 0 && std::ranges::none_of(problem_.buffers[i].in_proof, has_room))
                now_.add(i, 0, end - size(i));
        }
        derive();
        if (!within_) return shown_.all.push_back({kReuse, heights, Shown::kNone});
        state(within_, static_cast<Bytes>(within_->size()) - 1);
    }

    Problem& problem_;
    ProofFile& file_;
    const bool shows_, several_ = problem_.pools.size() > 1;
    Context now_;
    std::unordered_map<Number, Ranges> lemmas_;
    Number made_ = 0;
    std::optional<Heights> heights_;
    std::vector<std::shared_ptr<const std::vector<Bytes>>> named_;  // heights
    const std::pair<Bytes, Bytes> floors_[3] = {problem_.floor_and_step(kPlacement),
                                                problem_.floor_and_step(kPreference),
                                                problem_.floor_and_step(kReuse)};
    const Heights any_{static_cast<Number>(kLimit), nullptr};
    Shown shown_{problem_,
                 {{kPlacement, any_, floors_[0].first},
                  {kPreference, any_, floors_[1].first},
                  {kReuse, any_, floors_[2].first}}};
    static constexpr std::size_t kKnown = 3;  // before the proof
    std::vector<Bytes> lows_, tops_;          // by pool, at the node at hand; then what the heights have more
    Parts within_, spent_[3];
    std::size_t pairs_ = 0;                  // in rows
    std::vector<std::vector<Bytes>> tolls_;  // of chains
    std::vector<Limit> limits_;
};

// ---------------------------------------------------------------------------------------------------------------

// Without a plan the steps are printed.
Verdict compared(const std::string& problem_text, const std::string* plan_text, std::streambuf& stream) {
    ProofFile file(stream);
    Problem problem(JsonReader(problem_text, "the problem").document(), file);
    std::optional<Values> plan;
    if (plan_text != nullptr) plan = checked_plan(problem, JsonReader(*plan_text, "the plan").document());
    file.begin("memstow proof 1\n", sha256_of(problem_text));
    const Shown shown = Proof(problem, plan_text == nullptr).checked();
    if (plan_text == nullptr) return {verified, ""};
    Values most(kOwn + problem.pools.size(), kLimit);
    Verdict verdict{verified, "", shown.least(kPeak, most)};
    if (!plan) {
        if (verdict.least_peak <= problem.highest())
            wrong("the plan says infeasible, but the proof does not show it");
        const bool several = problem.pools.size() > 1;
        verdict.words = "verified: no layout fits into ";
        verdict.words += several ? "the pools" : std::to_string(problem.highest()) + " bytes";
        return verdict;
    }
    for (const Term term : {kPlacement, kPreference, kReuse}) {
        if (shown.least(term, *plan) > (*plan)[term]) wrong("the proof contradicts the plan");
    }
    bool shows_all = true;
    std::set<Index> known;
    for (const Index term : problem.terms) {  // among plans that are no worse in those before
        const Bytes value = (*plan)[term], bound = shown.least(term, most);
        const std::string name = problem.name_of(term) + std::to_string(value);
        if (verdict.bounds.empty() && bound == value) {
            verdict.words = "verified: " + name + " is least";
        } else if (verdict.bounds.empty()) {
            verdict.code = weaker;
            verdict.words = "the plan is right, but its " + name + " is not proven least: only that none is ";
            verdict.words += "below " + std::to_string(bound);
        } else if (shows_all && bound == value && !known.contains(term)) {
            verdict.words += ", then " + name;
        }
        known.insert(term);
        shows_all = shows_all && bound == value;
        verdict.bounds.push_back(bound);
        most[term] = value;
    }
    return verdict;
}

}  // namespace

#ifndef MEMSTOW_CHECK_WITHIN  // another program has a `main` of its own

int main(int count, char** words) { return program(count, words, "memstow-check", "PROBLEM", compared); }

#endif
