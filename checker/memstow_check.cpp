// memstow-check: reads a problem, a plan and a proof, and says whether the plan is right and its peak the
// least.
//
// Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE).
//
// Written from docs/proofs.md alone, whose words it uses; it shares no code with memstow. What it does not
// know in a problem it refuses. It keeps the problem and those lemmas that a proof has not forgotten, nothing
// else.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "reading.hpp"

namespace {

using namespace checker;

using Index = std::uint32_t;  // of a buffer, in the order of the problem

// ---------------------------------------------------------------------------------------------------------------
// The problem

struct Range {
    std::int64_t begin, end;
};

struct Pool {
    std::string id = "memory";
    std::optional<Bytes> capacity;
    Bytes alignment = 1, base = 0;
    std::vector<Range> reserved;  // sorted, disjoint

    Bytes end() const { return capacity.value_or(kLimit); }
    // Of several pools, up to this height; up to 2^62 those without a capacity are left out.
    Bytes length(Bytes height) const { return capacity || height < kLimit ? std::min(end(), height) : 0; }
};

struct Buffer {
    std::string id;
    Bytes size = 0;
    Bytes alignment = 1;
    std::vector<Index> pools;         // where it may be, ascending
    std::optional<Bytes> pin_offset;  // in its pool, which is the only one then
    bool always = false;
    std::vector<Range> lives;
    // Where it may be in proofs, by "The grid" of the page: addresses that leave `residue` when divided by
    // `modulus`, and that are in none of the ranges.
    Bytes grain = 1;  // its alignment in any of its pools
    std::optional<Bytes> pin;
    Bytes modulus = 1, residue = 0;
    const std::vector<Range>* barred = nullptr;
    // Those with bytes that keep their distances from it, itself among them; 0: none.
    Index group = 0;
    Bytes place = 0;  // in the group: the distance from a to b is the difference of their places
};

class Problem {
  public:
    explicit Problem(const Json& document) {
        known_fields(document, "the problem",
                     {"version", "name", "pools", "buffers", "conflicts", "exclusive", "relative", "in_place",
                      "reuse_costs", "objective"});
        if (const Json* version = document.find("version")) {
            if (integer(*version, "the version") != 1) not_checked("the version is not 1");
        }
        read_pools(given(document, "pools", false));
        const Json* list = document.find("buffers");
        if (list == nullptr) not_checked("the problem has no buffers");
        for (const Json& one : list_of(*list, "buffers")) read_buffer(one);
        read_pairs(document, "conflicts", conflicts_);
        read_pairs(document, "exclusive", exclusive_);
        read_in_place(document);
        read_relative(document);
        if (const Json* costs = document.find("reuse_costs")) list_of(*costs, "reuse_costs");
        read_objective(given(document, "objective", true));
        if (pools.size() == 1) lay_space(kLimit);
    }
    Problem(const Problem&) = delete;

    std::vector<Pool> pools;
    std::vector<Buffer> buffers;
    bool about_peaks = true;      // the objective begins with the peak, or with the largest of several
    std::vector<Range> reserved;  // of all addresses, sorted and disjoint
    Bytes end = 0;                // of all addresses

    // The largest height that says something.
    Bytes highest() const {
        Bytes most = 0;
        for (const Pool& one : pools) most = std::max(most, one.end());
        return most;
    }

    // Whether the buffer may be in a pool without a capacity.
    bool may_leave_the_capacities(Index i) const {
        const auto& allowed = buffers[i].pools;
        return std::any_of(allowed.begin(), allowed.end(), [&](Index k) { return !pools[k].capacity; });
    }

    // "The space" of the page: all pools one after the other, each up to this height.
    void lay_space(Bytes height) {
        barred_.clear();
        std::vector<Bytes> starts{0};
        base_ = pools[0].base;
        reserved = pools[0].reserved;
        end = pools[0].end();
        if (pools.size() > 1) place_pools(height, starts);
        for (Buffer& one : buffers) {
            if (one.size == 0) continue;
            one.grain = 0;
            for (const Index k : one.pools) one.grain = std::gcd(one.grain, alignment_in(one, k));
            one.pin = one.pin_offset;
            if (one.pin) *one.pin = sum(*one.pin, starts[one.pools[0]]);
            auto& ranges = barred_[one.pools];
            one.barred = &ranges;  // which stays where it is
            if (!ranges.empty()) continue;
            ranges = reserved;
            for (Index k = 0; k < pools.size() && one.pools.size() < pools.size(); ++k) {
                if (std::find(one.pools.begin(), one.pools.end(), k) != one.pools.end()) continue;
                ranges.push_back({starts[k], starts[k] + pools[k].length(height)});
            }
            merge(ranges);
        }
        lay_grid();
    }

    std::optional<Index> pool_of(const std::string& id) const {
        for (Index k = 0; k < pools.size(); ++k) {
            if (pools[k].id == id) return k;
        }
        return std::nullopt;
    }

    Bytes alignment_in(const Buffer& one, Index pool) const {
        const Bytes part = one.alignment / std::gcd(one.alignment, pools[pool].alignment);
        if (pools[pool].alignment > kLimit / part)
            not_checked("the alignment of '" + one.id + "' is beyond 2^62");
        return pools[pool].alignment * part;
    }

    std::optional<Index> index_of(const std::string& id) const {
        const auto known = index_.find(id);
        return known == index_.end() ? std::nullopt : std::optional(known->second);
    }

    // The group of a buffer that is in one, itself included; else nothing.
    const std::vector<Index>& group_of(Index i) const { return groups_[buffers[i].group]; }
    bool one_group(Index i, Index j) const {
        return buffers[i].group != 0 && buffers[i].group == buffers[j].group;
    }
    Bytes distance(Index from, Index to) const { return buffers[to].place - buffers[from].place; }

    bool may_tie(Index i, Index j) const { return in_place_.contains(key(i, j)); }

    // Whether the two may not share a byte, unless they tie.
    bool meet(Index i, Index j) const {
        if (i == j || buffers[i].size == 0 || buffers[j].size == 0 || one_group(i, j)) return false;
        if (!conflicts_.empty() && conflicts_.contains(key(i, j))) return true;
        if (!live_together(buffers[i], buffers[j])) return false;
        return exclusive_.empty() || !exclusive_.contains(key(i, j));
    }

    // Whether a proof may take it that the two share no byte.
    bool conflict(Index i, Index j) const { return meet(i, j) && (in_place_.empty() || !may_tie(i, j)); }

    // Whether no two of these can be anything but in conflict: all are live at one time, and nothing is
    // exempt.
    bool all_conflict(const std::vector<Index>& some) const {
        if (exclusive_.empty() && in_place_.empty() && groups_.size() == 1) {
            std::int64_t latest = std::numeric_limits<std::int64_t>::min();
            std::int64_t first = std::numeric_limits<std::int64_t>::max();
            bool plain = true;
            for (const Index i : some) {
                const Buffer& one = buffers[i];
                plain = plain && one.size != 0 && !one.always && one.lives.size() == 1;
                if (!plain) break;
                latest = std::max(latest, one.lives[0].begin);
                first = std::min(first, one.lives[0].end);
            }
            if (plain && latest < first) return true;
        }
        for (std::size_t a = 0; a < some.size(); ++a) {
            for (std::size_t b = 0; b < a; ++b) {
                if (!conflict(some[a], some[b])) return false;
            }
        }
        return true;
    }

    // The least offset from `from` on at which the buffer may be, if there is one that ends within the limit.
    std::optional<Bytes> at_or_above(Index i, Bytes from) const {
        const Buffer& one = buffers[i];
        if (one.pin) return *one.pin >= from && pin_stands(one) ? one.pin : std::nullopt;
        for (Bytes at = std::max(from, Bytes{0});;) {
            const Bytes rest = (at % one.modulus + one.modulus - one.residue) % one.modulus;
            const Bytes up = rest == 0 ? 0 : one.modulus - rest;
            if (at > kLimit - one.size || up > kLimit - one.size - at) return std::nullopt;
            at += up;
            const auto next = std::upper_bound(one.barred->begin(), one.barred->end(), at,
                                               [](Bytes x, const Range& range) { return x < range.end; });
            if (next == one.barred->end() || next->begin >= at + one.size) return at;
            at = next->end;
        }
    }

    // The greatest one up to `to`.
    std::optional<Bytes> at_or_below(Index i, Bytes to) const {
        const Buffer& one = buffers[i];
        if (one.pin) return *one.pin <= to && pin_stands(one) ? one.pin : std::nullopt;
        for (Bytes at = std::min(to, kLimit - one.size);;) {
            if (at < 0) return std::nullopt;
            const Bytes down = (at % one.modulus + one.modulus - one.residue) % one.modulus;
            if (down > at) return std::nullopt;
            at -= down;
            const auto after = std::lower_bound(one.barred->begin(), one.barred->end(), at + one.size,
                                                [](const Range& range, Bytes x) { return range.begin < x; });
            if (after == one.barred->begin() || std::prev(after)->end <= at) return at;
            at = std::prev(after)->begin - one.size;
        }
    }

    static bool aligned(Bytes base, Bytes offset, Bytes alignment) {
        return (base % alignment + offset % alignment) % alignment == 0;
    }
    static bool within(const std::vector<Range>& ranges, const Buffer& one, Bytes offset) {
        return one.size != 0 && std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
                   return range.begin < offset + one.size && offset < range.end;
               });
    }

  private:
    static Bytes sum(Bytes a, Bytes b) {
        if (a > kLimit - b) not_checked("the pools have more than 2^62 addresses");
        return a + b;
    }

    // Sorted and disjoint.
    static void merge(std::vector<Range>& ranges) {
        std::sort(ranges.begin(), ranges.end(),
                  [](const Range& a, const Range& b) { return a.begin < b.begin; });
        std::vector<Range> merged;
        for (const Range& range : ranges) {
            if (merged.empty() || range.begin > merged.back().end) merged.push_back(range);
            merged.back().end = std::max(merged.back().end, range.end);
        }
        ranges = std::move(merged);
    }

    // Where several pools begin; what is between them is reserved.
    void place_pools(Bytes height, std::vector<Bytes>& starts) {
        Bytes step = 0;
        for (const Pool& one : pools) {
            step = std::gcd(step, one.base);
            for (const Range& range : one.reserved) step = std::gcd(step, range.end);
        }
        step = std::max(common_divisor(step), Bytes{1});
        for (const Buffer& one : buffers) {
            for (const Index k : one.size == 0 ? std::vector<Index>{} : one.pools) {
                const Bytes alignment = alignment_in(one, k), part = alignment / std::gcd(step, alignment);
                if (step > kLimit / part) not_checked("the alignments of the pools are beyond 2^62");
                step *= part;
            }
        }
        base_ = 0;
        starts.clear();
        reserved.clear();
        Bytes free_from = 0;
        for (Index k = 0; k < pools.size(); ++k) {
            Bytes start = pools[k].base % step;
            if (start < free_from) start = sum(sum(start, (free_from - start - 1) / step * step), step);
            if (start > 0) reserved.push_back({starts.empty() ? 0 : end, start});
            const Bytes length = pools[k].length(height);
            for (const Range& range : pools[k].reserved) {
                const Bytes top = k + 1 < pools.size() ? std::min(range.end, length) : range.end;
                if (range.begin < length) reserved.push_back({sum(start, range.begin), sum(start, top)});
            }
            starts.push_back(start);
            end = sum(start, length);
            free_from = sum(end, 1);
        }
        merge(reserved);
    }

    static std::uint64_t key(Index i, Index j) {
        return (std::uint64_t{std::min(i, j)} << 32) | std::max(i, j);
    }

    static bool live_together(const Buffer& a, const Buffer& b) {
        if (a.always || b.always) return (a.always || !a.lives.empty()) && (b.always || !b.lives.empty());
        for (const Range& one : a.lives) {
            for (const Range& other : b.lives) {
                if (one.begin < other.end && other.begin < one.end) return true;
            }
        }
        return false;
    }

    bool pin_stands(const Buffer& one) const {
        return *one.pin <= kLimit - one.size && aligned(base_, *one.pin, one.grain) &&
               !within(*one.barred, one, *one.pin);
    }

    void read_pools(const Json* list) {
        if (list == nullptr) return pools.emplace_back(), void();
        const std::size_t count = list_of(*list, "pools").size();
        if (count == 0 || count > 1'000) not_checked("the problem has no pool, or too many");
        for (const Json& value : list->items) {
            known_fields(value, "the pool", {"id", "capacity", "alignment", "reserved", "base", "cost"});
            Pool one;
            const Json* id = value.find("id");
            if (id == nullptr) not_checked("the pool has no id");
            one.id = text_of(*id, "the id of the pool");
            if (pool_of(one.id)) not_checked("two pools are called '" + one.id + "'");
            if (const Json* size = given(value, "capacity", true))
                one.capacity = bytes(*size, "the capacity");
            if (const Json* by = given(value, "alignment", false))
                one.alignment = bytes(*by, "the alignment", 1);
            if (const Json* base = given(value, "base", true)) one.base = bytes(*base, "the base");
            if (const Json* ranges = given(value, "reserved", false)) {
                for (const Json& range : list_of(*ranges, "reserved")) read_reserved(one, range);
            }
            merge(one.reserved);
            pools.push_back(std::move(one));
        }
    }

    static void read_reserved(Pool& pool, const Json& one) {
        known_fields(one, "a reserved range", {"offset", "size"});
        const Json *offset = one.find("offset"), *size = one.find("size");
        if (offset == nullptr || size == nullptr) not_checked("a reserved range lacks its offset or size");
        const Bytes begin = bytes(*offset, "a reserved offset"), length = bytes(*size, "a reserved size", 1);
        if (length > pool.end() || begin > pool.end() - length)
            not_checked("a reserved range ends beyond the pool");
        pool.reserved.push_back({begin, begin + length});
    }

    void read_life(Buffer& buffer, const Json& life) const {
        const std::string where = "a lifetime of '" + buffer.id + "'";
        if (list_of(life, where).size() != 2) not_checked(where + " has not two times");
        const Range range{integer(life.items[0], where), integer(life.items[1], where)};
        if (range.begin >= range.end) not_checked(where + " is empty");
        buffer.lives.push_back(range);
    }

    void read_buffer(const Json& one) {
        known_fields(one, "a buffer",
                     {"id", "size", "lifetime", "lifetimes", "alignment", "pools", "accesses", "pool",
                      "offset", "group"});
        Buffer buffer;
        const Json *id = one.find("id"), *size = one.find("size");
        if (id == nullptr || size == nullptr) not_checked("a buffer lacks its id or size");
        buffer.id = text_of(*id, "the id of a buffer");
        const std::string of = " of '" + buffer.id + "'";
        buffer.size = bytes(*size, "the size" + of);
        const Json *life = given(one, "lifetime", true), *lives = given(one, "lifetimes", true);
        if (life != nullptr && lives != nullptr) not_checked("'" + buffer.id + "' has its lifetime twice");
        if (life != nullptr && life->kind == Json::Kind::text) {
            if (life->text != "always") not_checked("the lifetime" + of + " is unknown");
            buffer.always = true;
        } else if (life != nullptr) {
            read_life(buffer, *life);
        }
        if (lives != nullptr) {
            if (list_of(*lives, "the lifetimes" + of).empty())
                not_checked("the lifetimes" + of + " are empty");
            for (const Json& range : lives->items) read_life(buffer, range);
        }
        if (const Json* value = given(one, "alignment", false))
            buffer.alignment = bytes(*value, "the alignment" + of, 1);
        const auto known = [&](const Json& value) {
            const auto index = pool_of(text_of(value, "a pool" + of));
            if (!index) not_checked("the pool '" + value.text + "'" + of + " is unknown");
            return *index;
        };
        if (const Json* allowed = given(one, "pools", true)) {
            for (const Json& value : list_of(*allowed, "the pools" + of))
                buffer.pools.push_back(known(value));
            std::sort(buffer.pools.begin(), buffer.pools.end());
            const auto twice = std::adjacent_find(buffer.pools.begin(), buffer.pools.end());
            if (buffer.pools.empty() || twice != buffer.pools.end())
                not_checked("the pools" + of + " are none, or one is named twice");
        } else {
            for (Index k = 0; k < pools.size(); ++k) buffer.pools.push_back(k);
        }
        const Json *pin = given(one, "pool", true), *offset = given(one, "offset", true);
        if (pin != nullptr) {
            const Index only = known(*pin);
            if (std::find(buffer.pools.begin(), buffer.pools.end(), only) == buffer.pools.end())
                not_checked("the pool" + of + " is none of its pools");
            buffer.pools = {only};
        }
        if (offset != nullptr && pin == nullptr)
            not_checked("'" + buffer.id + "' has an offset without a pool");
        if (offset != nullptr) buffer.pin_offset = bytes(*offset, "the offset" + of);
        for (const Index k : buffer.pools) alignment_in(buffer, k);
        constexpr std::size_t kMostBuffers = 100'000'000;
        if (buffers.size() >= kMostBuffers) not_checked("the problem has too many buffers");
        if (!index_.emplace(buffer.id, static_cast<Index>(buffers.size())).second) {
            not_checked("two buffers are called '" + buffer.id + "'");
        }
        buffers.push_back(std::move(buffer));
    }

    Index named(const Json& value, const std::string& where) const {
        const auto known = index_of(text_of(value, where));
        if (!known) not_checked(where + " names '" + value.text + "', which is no buffer");
        return *known;
    }

    void read_pairs(const Json& document, const std::string& name, std::unordered_set<std::uint64_t>& pairs) {
        const Json* list = document.find(name);
        if (list == nullptr) return;
        for (const Json& pair : list_of(*list, name)) {
            if (list_of(pair, name).size() != 2) not_checked(name + " has something that is no pair");
            const Index i = named(pair.items[0], name), j = named(pair.items[1], name);
            if (i == j) not_checked(name + " has a buffer paired with itself");
            pairs.insert(key(i, j));
        }
    }

    void read_in_place(const Json& document) {
        const Json* list = document.find("in_place");
        if (list == nullptr) return;
        for (const Json& pair : list_of(*list, "in_place")) {
            known_fields(pair, "in_place", {"input", "output"});
            const Json *input = pair.find("input"), *output = pair.find("output");
            if (input == nullptr || output == nullptr) not_checked("in_place lacks its input or output");
            const Index i = named(*input, "in_place"), j = named(*output, "in_place");
            if (i == j) not_checked("in_place has a buffer paired with itself");
            in_place_.insert(key(i, j));
        }
    }

    // Groups, through buffers without bytes as well, though these are in none themselves.
    void read_relative(const Json& document) {
        const Json* list = document.find("relative");
        if (list == nullptr) return;
        std::vector<std::vector<std::pair<Index, Bytes>>> ties(buffers.size());
        for (const Json& one : list_of(*list, "relative")) {
            known_fields(one, "relative", {"buffer", "base", "offset"});
            const Json *buffer = one.find("buffer"), *from = one.find("base"), *offset = one.find("offset");
            if (buffer == nullptr || from == nullptr || offset == nullptr)
                not_checked("relative lacks its buffer, base or offset");
            const Index i = named(*buffer, "relative"), j = named(*from, "relative");
            if (i == j) not_checked("relative has a buffer that is its own base");
            const Bytes by = integer(*offset, "an offset in relative");
            ties[j].push_back({i, by});
            ties[i].push_back({j, -by});
        }
        std::vector<char> seen(buffers.size());
        for (Index first = 0; first < buffers.size(); ++first) {
            if (seen[first] || ties[first].empty()) continue;
            std::vector<Index> reached{first}, sized;
            std::size_t ends = 0;
            Bytes lowest = 0, highest = 0;
            seen[first] = 1;
            for (std::size_t k = 0; k < reached.size(); ++k) {
                const Index i = reached[k];
                if (buffers[i].size != 0) sized.push_back(i);
                ends += ties[i].size();
                for (const auto& [to, by] : ties[i]) {
                    const Bytes place = buffers[i].place + by;
                    if (place > kLimit / 2 || place < -kLimit / 2) not_checked("a distance is beyond 2^61");
                    if (seen[to] && buffers[to].place != place) not_checked("distances contradict");
                    if (!seen[to]) reached.push_back(to);
                    seen[to] = 1;
                    buffers[to].place = place;
                    lowest = std::min(lowest, place);
                    highest = std::max(highest, place);
                }
            }
            if (ends / 2 != reached.size() - 1) not_checked("relative has a cycle");
            if (highest - lowest > kLimit / 2) not_checked("a distance is beyond 2^61");
            if (sized.size() < 2) continue;
            std::sort(sized.begin(), sized.end());
            for (const Index i : sized) buffers[i].group = static_cast<Index>(groups_.size());
            groups_.push_back(std::move(sized));
        }
        for (const std::uint64_t pair : conflicts_) {
            const auto i = static_cast<Index>(pair >> 32), j = static_cast<Index>(pair & 0xffffffffU);
            if (!one_group(i, j) || (may_tie(i, j) && distance(i, j) == 0)) continue;
            if (distance(i, j) < buffers[i].size && -distance(i, j) < buffers[j].size)
                not_checked("two that conflict overlap in their group");
        }
    }

    void read_objective(const Json* objective) {
        about_peaks = pools.size() == 1;  // what is least by default
        if (objective == nullptr) return;
        const auto& terms = list_of(*objective, "the objective");
        const std::string first = terms.empty() ? "" : text_of(terms[0], "the objective");
        about_peaks =
            first == "max_peak" || (pools.size() == 1 && (first == "peak" || first == "peak:" + pools[0].id));
    }

    // Of this, and of all sizes, distances and pins.
    Bytes common_divisor(Bytes of) const {
        for (Index i = 0; i < buffers.size(); ++i) {
            if (buffers[i].size == 0) continue;
            of = std::gcd(std::gcd(of, buffers[i].size), buffers[i].pin_offset.value_or(0));
            if (buffers[i].group != 0) of = std::gcd(of, distance(group_of(i)[0], i));
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
            one.residue = free(one) ? 0 : (one.grain - base_ % one.grain) % one.grain;
        }
    }

    Bytes base_ = 0;
    std::map<std::vector<Index>, std::vector<Range>> barred_;  // by pools
    std::unordered_map<std::string, Index> index_;
    std::unordered_set<std::uint64_t> conflicts_, exclusive_, in_place_;
    std::vector<std::vector<Index>> groups_{{}};  // the first is of those that are in none
};

// ---------------------------------------------------------------------------------------------------------------
// The plan

struct Plan {
    bool infeasible = false;
    Bytes peak = 0;
};

Plan checked_plan(const Problem& problem, const Json& document) {
    if (document.kind != Json::Kind::object) not_checked("the plan is no object");
    const Json *status = document.find("status"), *placements = document.find("placements");
    if (status == nullptr) not_checked("the plan has no status");
    Plan plan;
    const std::string& state = text_of(*status, "the status");
    if (state == "infeasible") {
        plan.infeasible = true;
        return plan;
    }
    if (state != "optimal" && state != "feasible")
        not_checked("the status is '" + state + "': there is no plan");
    if (placements == nullptr) not_checked("the plan has no placements");
    if (!problem.about_peaks) not_checked("the objective does not begin with the peak");
    const std::size_t count = problem.buffers.size();
    std::vector<std::optional<Bytes>> offsets(count);
    std::vector<Index> pools(count);
    for (const Json& one : list_of(*placements, "placements")) {
        known_fields(one, "a placement", {"buffer", "pool", "offset"});
        const Json *id = one.find("buffer"), *pool = one.find("pool"), *offset = one.find("offset");
        if (id == nullptr || pool == nullptr || offset == nullptr) not_checked("a placement lacks a field");
        const auto index = problem.index_of(text_of(*id, "the buffer of a placement"));
        if (!index) wrong("the plan places '" + id->text + "', which is no buffer");
        const auto there = problem.pool_of(text_of(*pool, "the pool of a placement"));
        const auto& allowed = problem.buffers[*index].pools;
        if (!there || std::find(allowed.begin(), allowed.end(), *there) == allowed.end())
            wrong("the plan names another pool");
        pools[*index] = *there;
        if (offsets[*index]) wrong("the plan places '" + id->text + "' twice");
        offsets[*index] = bytes(*offset, "the offset of '" + id->text + "'");
    }
    for (std::size_t i = 0; i < count; ++i) {
        const Buffer& one = problem.buffers[i];
        if (!offsets[i]) wrong("the plan does not place '" + one.id + "'");
        const Bytes at = *offsets[i];
        const Pool& pool = problem.pools[pools[i]];
        if (one.size > pool.end() || at > pool.end() - one.size)
            wrong("'" + one.id + "' ends beyond the pool");
        if (!Problem::aligned(pool.base, at, problem.alignment_in(one, pools[i])))
            wrong("'" + one.id + "' is not aligned");
        if (one.pin_offset && *one.pin_offset != at) wrong("'" + one.id + "' is not where it is pinned");
        if (Problem::within(pool.reserved, one, at)) wrong("'" + one.id + "' is in a reserved range");
        if (one.size != 0) plan.peak = std::max(plan.peak, at + one.size);
        const auto& group = problem.group_of(static_cast<Index>(i));
        if (!group.empty() && (pools[i] != pools[group[0]] ||
                               at - *offsets[group[0]] != problem.distance(group[0], static_cast<Index>(i))))
            wrong("'" + one.id + "' is not at its distance from '" + problem.buffers[group[0]].id + "'");
    }
    for (std::size_t i = 0; i < count; ++i) {
        const Bytes begin = *offsets[i], end = begin + problem.buffers[i].size;
        for (std::size_t j = 0; j < i; ++j) {
            if (pools[i] != pools[j] || *offsets[j] >= end || begin >= *offsets[j] + problem.buffers[j].size)
                continue;
            const auto a = static_cast<Index>(i), b = static_cast<Index>(j);
            if (!problem.meet(a, b) || (begin == *offsets[j] && problem.may_tie(a, b))) continue;
            wrong("'" + problem.buffers[i].id + "' and '" + problem.buffers[j].id + "' overlap");
        }
    }
    return plan;
}

// ---------------------------------------------------------------------------------------------------------------
// The proof

struct Bound {
    Index item;
    Bytes low, high;
};

// Some buffers, each with the least and the greatest offset that it may have. Dead once a range is empty.
class Context {
  public:
    explicit Context(const Problem& problem) : problem_(problem), slot_(problem.buffers.size(), kNone) {}

    void clear() {
        for (const Bound& one : bounds) slot_[one.item] = kNone;
        bounds.clear();
        dead = false;
    }

    void add(Index item, Bytes low, Bytes high) {
        slot_[item] = static_cast<Index>(bounds.size());
        bounds.push_back({item, 0, 0});
        const auto least = problem_.at_or_above(item, low), most = problem_.at_or_below(item, high);
        if (!least || !most || *least > *most) {
            dead = true;
        } else {
            bounds.back() = {item, *least, *most};
        }
    }

    // The ranges that the same buffers had before, none of them empty.
    void restore(const std::vector<Bound>& before) {
        bounds = before;
        dead = false;
    }

    bool has(Index item) const { return slot_[item] != kNone; }
    Bound& operator[](Index item) { return bounds[slot_[item]]; }
    const Bound& operator[](Index item) const { return bounds[slot_[item]]; }

    void raise(Index item, Bytes to) {
        if (dead || to <= (*this)[item].low) return;
        const auto least = problem_.at_or_above(item, to);
        if (!least || *least > (*this)[item].high) {
            dead = true;
        } else {
            (*this)[item].low = *least;
        }
    }

    void lower(Index item, Bytes to) {
        if (dead || to >= (*this)[item].high) return;
        const auto most = problem_.at_or_below(item, to);
        if (!most || *most < (*this)[item].low) {
            dead = true;
        } else {
            (*this)[item].high = *most;
        }
    }

    std::vector<Bound> bounds;
    bool dead = false;

  private:
    static constexpr Index kNone = std::numeric_limits<Index>::max();
    const Problem& problem_;
    std::vector<Index> slot_;
};

class Proof {
  public:
    Proof(Problem& problem, const std::array<std::uint8_t, 32>& digest, std::streambuf& file, bool shows)
        : problem_(problem), digest_(digest), file_(file), shows_(shows), now_(problem) {}

    // The greatest height at most which no layout is, if the proof shows one.
    std::optional<Bytes> checked() {
        file_.begin("memstow proof 1\n", digest_);
        std::optional<Bytes> refuted;
        for (;; ++file_.step) {
            const Number kind = file_.number();
            if (kind == 0) break;
            if (kind != 4 && problem_.pools.size() > 1 && !height_) fail("the height comes first");
            if (kind == 1) {
                lemma();
            } else if (kind == 2) {
                const Number which = reference();
                if (shows_) std::cout << "forget lemma " << which << '\n';
                lemmas_.erase(which);
            } else if (kind == 3) {
                refuted = std::max(refuted.value_or(0), conclusion());
            } else if (kind == 4 && problem_.pools.size() > 1) {
                lay_space();
            } else {
                fail("an unknown kind of step, " + std::to_string(kind));
            }
        }
        file_.end();
        return refuted;
    }

  private:
    [[noreturn]] void fail(const std::string& why) const { file_.fail(why); }

    // A buffer of the context.
    Index item() {
        const Number value = file_.number();
        if (value >= problem_.buffers.size() || !now_.has(static_cast<Index>(value))) {
            fail("buffer " + std::to_string(value) + " is not in question here");
        }
        return static_cast<Index>(value);
    }

    Number reference() {
        const Number back = file_.number();
        if (back == 0 || back > made_ || !lemmas_.contains(made_ - back)) fail("there is no such lemma");
        return made_ - back;
    }

    template <typename Take>
    void ascending(Take take) {
        file_.ascending(problem_.buffers.size(), "buffer",
                        [&](Number one) { take(static_cast<Index>(one)); });
    }

    const std::string& id(Index item) const { return problem_.buffers[item].id; }
    Bytes size(Index item) const { return problem_.buffers[item].size; }

    void lemma() {
        now_.clear();
        ascending([&](Index one) {
            const Bytes low = file_.amount(), high = file_.amount();
            if (size(one) == 0) fail("a buffer without bytes");
            now_.add(one, low, high);
        });
        if (now_.dead) fail("a lemma whose ranges are empty");
        const std::vector<Bound> stated = now_.bounds;
        if (shows_) {
            std::cout << "lemma " << made_ << ": no layout of";
            for (const Bound& one : stated)
                std::cout << "  " << id(one.item) << " in " << one.low << ".." << one.high;
            std::cout << '\n';
        }
        justify();
        lemmas_.emplace(made_++, stated);
    }

    // The rule of a lemma, and a derivation for each of its cases.
    void justify() {
        const Number rule = file_.number();
        if (rule == 0) return derive("  because");
        if (rule == 1 || rule == 2) {
            const Index one = item();
            saved_ = now_.bounds;
            split(one, file_.amount(), rule == 1);
        } else if (rule == 3) {
            const Index one = item(), other = item();
            if (!problem_.conflict(one, other)) fail("an order of two that do not conflict");
            saved_ = now_.bounds;
            put_below(one, other);
            derive("  if " + id(one) + " is below " + id(other));
            now_.restore(saved_);
            put_below(other, one);
            derive("  if " + id(other) + " is below " + id(one));
        } else if (rule == 4) {
            const Index one = item(), other = item();
            check_twins(one, other);
            put_below(one, other);
            derive("  if " + id(one) + " is below its twin " + id(other));
        } else {
            fail("an unknown rule, " + std::to_string(rule));
        }
    }

    // From below; or the same from above.
    void split(Index one, Bytes at, bool low) {
        if (low ? at < now_[one].low : at > now_[one].high) fail("a split outside of the range");
        const std::vector<Index> group = moving_with(one);
        require_place(group, one, at);
        low ? now_.lower(one, at) : now_.raise(one, at);
        derive("  if " + id(one) + " is at " + (low ? "most at " : "least at ") + std::to_string(at));
        now_.restore(saved_);
        // Some layout has it, or what moves with it, right on top of another, or under it.
        std::optional<Bytes> next;
        for (const Index k : group) {
            const Bytes by = problem_.distance(one, k);
            for (const Bound& other : saved_) {
                if (!problem_.conflict(k, other.item)) continue;
                const Bytes first = low ? other.low + size(other.item) : other.high - size(k);
                const Bytes last = low ? other.high + size(other.item) : other.low - size(k);
                const auto farthest = group.size() > 1 ? std::optional(last) : allowed(k, last, low);
                if (farthest && (low ? *farthest <= at + by : *farthest >= at + by)) continue;
                const auto nearest = allowed(k, first, low);
                if (nearest && (!next || (low ? *nearest - by < *next : *nearest - by > *next)))
                    next = *nearest - by;
            }
        }
        if (!next) now_.dead = true;
        if (next && low) now_.raise(one, std::max(*next, at + 1));
        if (next && !low) now_.lower(one, std::min(*next, at - 1));
        derive("  if " + id(one) +
               (low ? " is above that, on top of another" : " is below that, under another"));
    }

    std::optional<Bytes> allowed(Index item, Bytes from, bool up) const {
        return up ? problem_.at_or_above(item, from) : problem_.at_or_below(item, from);
    }

    // The buffer, and those of the context that keep their distance from it.
    std::vector<Index> moving_with(Index one) const {
        std::vector<Index> some;
        for (const Index k : problem_.group_of(one)) {
            if (now_.has(k)) some.push_back(k);
        }
        return some.empty() ? std::vector<Index>{one} : some;
    }

    // Whether a group may be where this puts it: a group has no other least or greatest offset to speak of.
    void require_place(const std::vector<Index>& group, Index one, Bytes at) const {
        if (group.size() == 1) return;
        if (at < now_[one].low || at > now_[one].high) fail("a split outside of the range");
        for (const Index k : group) {
            const Bytes there = at + problem_.distance(one, k);
            if (there < now_[k].low || there > now_[k].high || problem_.at_or_above(k, there) != there)
                fail("a split where '" + id(k) + "' of the group may not be");
        }
    }

    void put_below(Index lower, Index upper) {
        const Bytes top = now_[upper].high, bottom = now_[lower].low;
        now_.lower(lower, top - size(lower));
        now_.raise(upper, bottom + size(lower));
    }

    void check_twins(Index one, Index other) const {
        const Buffer &a = problem_.buffers[one], &b = problem_.buffers[other];
        if (!problem_.conflict(one, other)) fail("twins that do not conflict");
        if (a.group != 0 || b.group != 0) fail("twins of a group");
        if (a.size != b.size || a.modulus != b.modulus || a.residue != b.residue || a.barred != b.barred ||
            a.pin || b.pin || now_[one].low != now_[other].low || now_[one].high != now_[other].high) {
            fail("twins that are not alike");
        }
        for (const Bound& third : now_.bounds) {
            if (third.item == one || third.item == other) continue;
            if (problem_.conflict(one, third.item) != problem_.conflict(other, third.item)) {
                fail("twins whose conflicts differ");
            }
        }
    }

    // What must hold of the others, wherever this one is in its range.
    void push(Index from) {
        if (now_.dead) return;
        const Bound by = now_[from];
        for (const Bound& other : now_.bounds) {
            if (!problem_.conflict(from, other.item)) continue;
            const Index k = other.item;
            const bool above = other.low + size(k) > by.high;  // it cannot end at or below the other
            const bool below = by.low + size(from) > other.high;
            if (above) now_.raise(k, by.low + size(from));
            if (below) now_.lower(k, by.high - size(k));
            if (now_.dead) return;
        }
    }

    // Those of its group, by their distances.
    void follow(Index from) {
        if (problem_.group_of(from).empty()) fail("'" + id(from) + "' is in no group");
        if (now_.dead) return;
        const Bound by = now_[from];
        for (const Index k : problem_.group_of(from)) {
            if (!now_.has(k)) continue;
            now_.raise(k, by.low + problem_.distance(from, k));
            now_.lower(k, by.high + problem_.distance(from, k));
            if (now_.dead) return;
        }
    }

    // Pushes, and what closes the case.
    void derive(const std::string& when) {
        if (shows_) std::cout << when << ':';
        for (;;) {
            const Number kind = file_.number();
            if (kind == 1 || kind == 5) {
                const Index from = item();
                if (shows_) std::cout << (kind == 1 ? " push " : " follow ") << id(from) << ',';
                kind == 1 ? push(from) : follow(from);
                continue;
            }
            if (kind == 2) {
                if (!now_.dead) fail("no range is empty");
                if (shows_) std::cout << " a range is empty\n";
            } else if (kind == 3) {
                overfull();
            } else if (kind == 4) {
                const Number which = reference();
                if (shows_) std::cout << " lemma " << which << '\n';
                check_within(lemmas_.at(which));
            } else {
                fail("an unknown part of a derivation, " + std::to_string(kind));
            }
            return;
        }
    }

    void check_within(const std::vector<Bound>& stated) const {
        if (now_.dead) return;
        for (const Bound& one : stated) {
            if (!now_.has(one.item))
                fail("the lemma is about '" + id(one.item) + "', which is not in question here");
            if (now_[one.item].low < one.low || now_[one.item].high > one.high) {
                fail("the lemma says less: '" + id(one.item) + "' may be elsewhere");
            }
        }
    }

    // "Overfull" of the page.
    void overfull() {
        const Bytes begin = file_.amount(), end = file_.amount();
        std::vector<Index> some;
        Bytes grid = 0;
        ascending([&](Index one) {
            if (!now_.has(one)) fail("'" + id(one) + "' is not in question here");
            some.push_back(one);
        });
        if (shows_) {
            std::cout << " overfull from " << begin << " to " << end << ':';
            for (const Index one : some) std::cout << ' ' << id(one);
            std::cout << '\n';
        }
        if (now_.dead) return;
        if (begin > end) fail("a stretch that ends before it begins");
        if (!problem_.all_conflict(some)) fail("two that do not conflict are in one stretch");
        const Buffer& first = problem_.buffers[some[0]];
        for (const Index one : some) {
            if (now_[one].low < begin || now_[one].high + size(one) > end)
                fail("'" + id(one) + "' may be elsewhere");
            const Buffer& buffer = problem_.buffers[one];
            grid = std::gcd(grid, std::gcd(buffer.modulus, std::max(buffer.residue, first.residue) -
                                                               std::min(buffer.residue, first.residue)));
        }
        const Bytes rest = (begin % grid + grid - first.residue % grid) % grid;
        const Bytes up = rest == 0 ? 0 : grid - rest;  // nothing begins before the first cell
        if (up > end - begin) return;
        Bytes room = end - begin - up;
        std::size_t gaps = 1;  // stretches that end at a reserved range, or at the end
        for (const Range& range : problem_.reserved) {
            const Bytes from = std::max(range.begin, begin + up), to = std::min(range.end, end);
            if (from >= to) continue;
            room -= to - from;
            ++gaps;
        }
        // Whole cells; but what is last before a reserved range, or the end, may leave a cell half full.
        std::vector<Bytes> spared;
        for (const Index one : some) {
            if (room < size(one)) return;
            room -= size(one);
            spared.push_back((grid - size(one) % grid) % grid);
        }
        std::sort(spared.begin(), spared.end());
        for (std::size_t k = 0; k + gaps < spared.size(); ++k) {
            if (room < spared[k]) return;
            room -= spared[k];
        }
        fail("the stretch is not overfull");
    }

    // Of several pools: what is proven is about this height, and about addresses that it determines.
    void lay_space() {
        if (file_.step > 0) fail("a second space");
        height_ = file_.amount();
        problem_.lay_space(*height_);
        if (shows_) std::cout << "addresses of all pools end at " << problem_.end << '\n';
    }

    Bytes conclusion() {
        const Bytes height = file_.amount();
        if (height_ && height != *height_) fail("a conclusion for another height");
        const Bytes end = height_ ? problem_.end : std::min(height, problem_.end);
        if (shows_) std::cout << "no layout has a peak of at most " << height << '\n';
        now_.clear();
        for (Index i = 0; i < problem_.buffers.size(); ++i) {
            const bool has_room = height_ == kLimit && problem_.may_leave_the_capacities(i);
            if (size(i) != 0 && !has_room) now_.add(i, 0, end - size(i));
        }
        derive("  because");
        return height;
    }

    Problem& problem_;
    const std::array<std::uint8_t, 32>& digest_;
    ProofFile file_;
    const bool shows_;
    Context now_;
    std::vector<Bound> saved_;  // of the lemma at hand, before its cases
    std::unordered_map<Number, std::vector<Bound>> lemmas_;
    Number made_ = 0;
    std::optional<Bytes> height_;
};

// ---------------------------------------------------------------------------------------------------------------

// Without a plan the steps are printed.
Verdict compared(const std::string& problem_text, const std::string* plan_text, std::streambuf& file) {
    Problem problem(JsonReader(problem_text, "the problem").document());
    std::optional<Plan> plan;
    if (plan_text != nullptr) plan = checked_plan(problem, JsonReader(*plan_text, "the plan").document());
    const auto digest = Sha256::of(problem_text);
    Proof proof(problem, digest, file, plan_text == nullptr);
    const std::optional<Bytes> refuted = proof.checked();
    if (!plan) return {verified, "", refuted};
    if (plan->infeasible) {
        if (!refuted || *refuted < problem.highest())
            wrong("the plan says infeasible, but the proof does not show it");
        const std::string room =
            problem.pools.size() > 1 ? "the pools" : std::to_string(problem.highest()) + " bytes";
        return {verified, "verified: no layout fits into " + room, refuted};
    }
    if (refuted && *refuted >= plan->peak) wrong("the proof contradicts the plan");
    const std::string peak = std::to_string(plan->peak);
    if (plan->peak == 0 || (refuted && *refuted == plan->peak - 1)) {
        return {verified, "verified: peak " + peak + " is least", refuted};
    }
    return {weaker,
            "the plan is right, but its peak " + peak + " is not proven least: only that none is below " +
                std::to_string(refuted ? *refuted + 1 : 0),
            refuted};
}

#ifndef MEMSTOW_CHECK_WITHIN  // another program has a `main` of its own

Verdict verdict_on(const char* problem_path, const char* plan_path, const char* proof_path) {
    const std::string problem = content_of(problem_path);
    const std::string plan = plan_path == nullptr ? "" : content_of(plan_path);
    std::ifstream file(proof_path, std::ios::binary);
    if (!file) not_checked(std::string("cannot read ") + proof_path);
    return compared(problem, plan_path == nullptr ? nullptr : &plan, *file.rdbuf());
}

}  // namespace

int main(int count, char** words) {
    if (count != 4) {
        std::cerr << "usage: memstow-check PROBLEM PLAN PROOF\n"
                     "       memstow-check --text PROBLEM PROOF\n";
        return unchecked;
    }
    const bool shows = std::string_view(words[1]) == "--text";
    const Verdict verdict =
        verdict_of([&] { return verdict_on(words[shows ? 2 : 1], shows ? nullptr : words[2], words[3]); });
    if (!verdict.words.empty()) std::cout << verdict.words << '\n';
    return verdict.code;
}

#else
}  // namespace
#endif
