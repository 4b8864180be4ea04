// Schedules that run operators again, gone through moment by moment; and the cheapest of all of them.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "recompute/rehearsal.hpp"

namespace recompute_programs {

using namespace memstow;
using namespace memstow::recompute;

inline Bytes saves(const Program& program, const InPlace& pair) {
    return std::min(program.items[pair.input].size, program.items[pair.output].size);
}

// Sets of pairs of which no two share an input or an output.
template <class Visit>
void for_matchings(const std::vector<InPlace>& pairs, const Visit& visit) {
    for (unsigned some = 0; some < 1U << pairs.size(); ++some) {
        std::vector<InPlace> chosen;
        for (std::size_t k = 0; k < pairs.size(); ++k) {
            if ((some >> k & 1U) != 0) chosen.push_back(pairs[k]);
        }
        bool apart = true;
        for (std::size_t a = 0; a < chosen.size(); ++a) {
            for (std::size_t b = 0; b < a; ++b) {
                apart = apart && chosen[a].input != chosen[b].input && chosen[a].output != chosen[b].output;
            }
        }
        if (apart) visit(chosen);
    }
}

struct Measured {
    Bytes peak = 0;
    std::int64_t cost = 0;
};

// The run with index k is at time 4 k; copies go out just after it, and come back just before it.
class Replay {
  public:
    Replay(const Program& program, const Rehearsed& it) : program_(program), it_(it) {}

    // None where the program does not allow it.
    std::optional<Measured> measured() {
        if (!has_first_runs()) return std::nullopt;
        for (Index item = 0; item < count_of(program_.items); ++item) {
            if (!follow(item)) return std::nullopt;
        }
        found_.peak = program_.start;
        for (Index k = 0; k < count_of(it_.runs); ++k) look_at_run(k);
        for (const Copy& copy : it_.copies) {
            note(live(4 * copy.out + 1) + gap(copy.out + 1));
            note(live(4 * copy.back - 1) + gap(copy.back));
            found_.cost += 2 * program_.items[copy.item].size;
        }
        note(live(end()) + program_.end);
        return found_;
    }

  private:
    struct Life {
        Index item, begin, end;
    };

    Index end() const { return 4 * count_of(it_.runs); }
    void note(Bytes bytes) { found_.peak = std::max(found_.peak, bytes); }

    bool has_first_runs() {
        std::vector<Index> count(program_.operators.size(), 0);
        Index next = 0;
        for (const Index op : it_.runs) {
            if (op > next) return false;
            first_.push_back(op == next);
            next += op == next;
            if (++count[op] > 1 && program_.operators[op].once) return false;
        }
        return next == count_of(program_.operators);
    }

    // The lives of an item: each begins with a run or a copy that comes back, and ends with its last use.
    bool follow(Index item) {
        enum Kind { kBegin, kRead, kOut, kBack };
        std::vector<std::pair<Index, Kind>> events;
        const auto has = [&](const std::vector<Index>& list) {
            return std::find(list.begin(), list.end(), item) != list.end();
        };
        if (program_.items[item].producer < 0) events.emplace_back(-4, kBegin);
        for (Index k = 0; k < count_of(it_.runs); ++k) {
            const Operator& op = program_.operators[it_.runs[k]];
            if (has(op.inputs)) events.emplace_back(4 * k, kRead);
            if (has(op.outputs)) events.emplace_back(4 * k, kBegin);
        }
        for (const Copy& copy : it_.copies) {
            if (copy.item != item) continue;
            if (copy.out < 0 || copy.out >= copy.back || !program_.items[item].spillable) return false;
            events.emplace_back(4 * copy.out + 1, kOut);
            events.emplace_back(4 * copy.back - 1, kBack);
        }
        if (program_.items[item].kept) events.emplace_back(end(), kRead);
        std::stable_sort(events.begin(), events.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        bool here = false, away = false;
        for (const auto& [time, kind] : events) {
            if (kind == kBegin || kind == kBack) {
                if (away != (kind == kBack)) return false;
                lives_.push_back({item, time, time});
            } else {
                if (!here) return false;
                lives_.back().end = time;
            }
            away = kind == kOut;
            here = !away;
        }
        return !away;
    }

    Bytes live(Index time) const {
        Bytes bytes = 0;
        for (const Life& life : lives_) {
            if (life.begin <= time && time <= life.end) bytes += program_.items[life.item].size;
        }
        return bytes;
    }

    // What cannot be dropped between the first run before this index and the next.
    Bytes gap(Index k) const {
        while (k < count_of(it_.runs) && !first_[k]) ++k;
        return k < count_of(it_.runs) ? program_.operators[it_.runs[k]].gap : program_.end;
    }

    void look_at_run(Index k) {
        const Operator& op = program_.operators[it_.runs[k]];
        std::vector<InPlace> pairs;
        for (const InPlace& pair : op.pairs) {
            const bool ends = std::any_of(lives_.begin(), lives_.end(), [&](const Life& life) {
                return life.item == pair.input && life.begin < 4 * k && life.end == 4 * k;
            });
            if (ends) pairs.push_back(pair);
        }
        Bytes saved = 0;
        for_matchings(pairs, [&](const std::vector<InPlace>& chosen) {
            Bytes sum = 0;
            for (const InPlace& pair : chosen) sum += saves(program_, pair);
            saved = std::max(saved, sum);
        });
        note(live(4 * k) + op.extra + (first_[k] ? op.fixed : gap(k + 1)) - saved);
        if (!first_[k]) found_.cost += op.cost;
    }

    const Program& program_;
    const Rehearsed& it_;
    std::vector<bool> first_;
    std::vector<Life> lives_;
    Measured found_;
};

// Dijkstra's search over (first runs done, what is here, what is away): the least cost below a limit.
class AllSchedules {
  public:
    explicit AllSchedules(const Program& program) : program_(program) {}

    // The cheapest that never has more bytes; with the peak of one that costs so much.
    std::optional<Measured> cheapest(Bytes limit) const {
        const Index count = count_of(program_.operators);
        State start{0, 0, 0, false};
        for (Index item = 0; item < count_of(program_.items); ++item) {
            if (program_.items[item].producer < 0) start.here |= 1U << item;
        }
        if (program_.start > limit) return std::nullopt;
        std::map<State, Measured> best{{start, {program_.start, 0}}};
        using Entry = std::tuple<std::int64_t, Bytes, State>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
        queue.push({0, program_.start, start});
        while (!queue.empty()) {
            const auto [cost, peak, state] = queue.top();
            queue.pop();
            const Measured& known = best.at(state);
            if (std::pair(cost, peak) != std::pair(known.cost, known.peak)) continue;
            if (state.done == count && (kept() & ~state.here) == 0 && !state.waits) return known;
            const auto go = [&, cost = cost, peak = peak](const State& to, Bytes level, std::int64_t more) {
                if (level > limit) return;
                const Measured there{std::max(peak, level), cost + more};
                const auto [at, is_new] = best.insert({to, there});
                if (!is_new &&
                    std::pair(at->second.cost, at->second.peak) <= std::pair(there.cost, there.peak)) {
                    return;
                }
                at->second = there;
                queue.push({there.cost, there.peak, to});
            };
            steps(state, go);
        }
        return std::nullopt;
    }

    // All (peak, cost) of which no other is as good in both, from the largest peak.
    std::vector<Measured> front() const {
        std::vector<Measured> found;
        for (auto it = cheapest(kLimit); it; it = cheapest(it->peak - 1)) {
            if (!found.empty() && found.back().cost == it->cost) found.pop_back();
            found.push_back(*it);
        }
        return found;
    }

  private:
    struct State {
        Index done;
        unsigned here, away;
        bool waits;  // a copy has come back after the last first run: an operator has to follow
        auto operator<=>(const State&) const = default;
    };

    static unsigned mask(const std::vector<Index>& items) {
        unsigned found = 0;
        for (const Index item : items) found |= 1U << item;
        return found;
    }
    unsigned kept() const {
        unsigned found = 0;
        for (Index item = 0; item < count_of(program_.items); ++item) {
            if (program_.items[item].kept) found |= 1U << item;
        }
        return found;
    }
    Bytes bytes(unsigned items) const {
        Bytes sum = 0;
        for (Index item = 0; item < count_of(program_.items); ++item) {
            if ((items >> item & 1U) != 0) sum += program_.items[item].size;
        }
        return sum;
    }

    template <class Go>
    void steps(const State& state, const Go& go) const {
        const Index count = count_of(program_.operators);
        const Bytes gap = state.done < count ? program_.operators[state.done].gap : program_.end;
        for (Index item = 0; item < count_of(program_.items); ++item) {
            const unsigned one = 1U << item;
            const Bytes copied = program_.items[item].size;
            if ((state.here & one) != 0) {
                go({state.done, state.here & ~one, state.away, state.waits}, 0, 0);
                if (program_.items[item].spillable && state.done > 0 && !state.waits) {
                    go({state.done, state.here & ~one, state.away | one, false}, bytes(state.here) + gap,
                       copied);
                }
            }
            if ((state.away & one) != 0) {
                go({state.done, state.here | one, state.away & ~one, state.done == count},
                   bytes(state.here | one) + gap, copied);
            }
        }
        for (Index op = 0; op <= std::min(state.done, count - 1); ++op) run(state, op, gap, go);
    }

    template <class Go>
    void run(const State& state, Index op, Bytes gap, const Go& go) const {
        const Operator& it = program_.operators[op];
        const bool first = op == state.done;
        if ((mask(it.inputs) & ~state.here) != 0 || (!first && it.once)) return;
        if ((mask(it.outputs) & state.away) != 0) return;
        const unsigned after = state.here | mask(it.outputs);
        const Bytes level = bytes(after) + it.extra + (first ? it.fixed : gap);
        for_matchings(it.pairs, [&](const std::vector<InPlace>& chosen) {
            Bytes saved = 0;
            unsigned left = after;
            for (const InPlace& pair : chosen) {
                saved += saves(program_, pair);
                left &= ~(1U << pair.input);
            }
            go({state.done + first, left, state.away, false}, level - saved, first ? 0 : it.cost);
        });
    }

    const Program& program_;
};

}  // namespace recompute_programs
