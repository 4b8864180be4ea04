#include "recompute/rehearsal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace memstow::recompute {
namespace {

// Operators looked at to tell what it costs to have an item again.
constexpr int kMostLooked = 40;
constexpr Index kNever = std::numeric_limits<Index>::max();

enum class Where : char { kNowhere, kHere, kAway };

class Run {
  public:
    Run(const Program& program, Bytes limit, const std::vector<double>& weights, const Taste& taste,
        const Budget& budget)
        : program_(program),
          budget_(budget),
          limit_(limit),
          weights_(weights),
          taste_(taste),
          where_(program.items.size(), Where::kNowhere),
          out_(program.items.size(), -1),
          next_(program.items.size(), 0),
          pins_(program.items.size(), 0),
          serves_until_(program.items.size(), -1),
          mark_(program.operators.size(), 0) {
        for (Index item = 0; item < count_of(program_.items); ++item) {
            if (program_.items[item].producer < 0) add(item);
        }
        find_service();
    }

    Rehearsed result() {
        const Index count = count_of(program_.operators);
        for (now_ = 0; now_ < count; ++now_) {
            if (budget_.out_of_time()) return {};
            const Operator& op = program_.operators[now_];
            fixed_ = op.gap;
            fetch(op.inputs);
            fixed_ = op.fixed;
            perform(now_, true);
            for (const Index input : op.inputs) advance(input);
        }
        std::vector<Index> kept;
        for (Index item = 0; item < count_of(program_.items); ++item) {
            if (program_.items[item].kept) kept.push_back(item);
        }
        now_ = count;
        fixed_ = program_.end;
        fetch(kept);
        return std::move(result_);
    }

  private:
    // Until when an item can serve to make another again: the last reader of it, or of what is made of it.
    void find_service() {
        for (Index op = count_of(program_.operators) - 1; op >= 0; --op) {
            for (const Index output : program_.operators[op].outputs) own_service(output);
            if (program_.operators[op].once) continue;
            Index until = -1;
            for (const Index output : program_.operators[op].outputs) {
                until = std::max(until, serves_until_[output]);
            }
            for (const Index input : program_.operators[op].inputs) {
                serves_until_[input] = std::max(serves_until_[input], until);
            }
        }
        for (Index item = 0; item < count_of(program_.items); ++item) own_service(item);
    }

    void own_service(Index item) {
        const Item& entry = program_.items[item];
        const Index last = entry.kept ? kNever : entry.readers.empty() ? -1 : entry.readers.back();
        serves_until_[item] = std::max(serves_until_[item], last);
    }

    void advance(Index item) {
        const auto& readers = program_.items[item].readers;
        while (next_[item] < count_of(readers) && readers[next_[item]] <= now_) ++next_[item];
    }

    // The next first run that reads the item; kNever where there is none.
    Index next_reader(Index item) const {
        const auto& readers = program_.items[item].readers;
        return next_[item] < count_of(readers) ? readers[next_[item]] : kNever;
    }

    bool needed(Index item) const { return program_.items[item].kept || next_reader(item) != kNever; }

    void add(Index item) {
        if (where_[item] == Where::kHere) return;
        where_[item] = Where::kHere;
        level_ += program_.items[item].size;
        here_.push_back(item);
    }

    void remove(Index item, Where to) {
        where_[item] = to;
        level_ -= program_.items[item].size;
        here_.erase(std::find(here_.begin(), here_.end(), item));
    }

    // Brings all of these here: copies back what is away, and runs again who makes what is nowhere.
    void fetch(const std::vector<Index>& wanted) {
        std::vector<Index> again;
        std::vector<Index> todo = wanted;
        ++stamp_;
        while (!todo.empty()) {
            const Index item = todo.back();
            todo.pop_back();
            ++pins_[item];
            if (where_[item] != Where::kNowhere) continue;
            const Index maker = program_.items[item].producer;
            // Had it been let go for good, its life would only be longer than was counted.
            if (maker < 0 || program_.operators[maker].once || mark_[maker] == stamp_) continue;
            mark_[maker] = stamp_;
            again.push_back(maker);
            for (const Index input : program_.operators[maker].inputs) todo.push_back(input);
        }
        std::sort(again.begin(), again.end());
        for (const Index op : again) {
            for (const Index input : program_.operators[op].inputs) copy_back(input);
            perform(op, false);
            for (const Index input : program_.operators[op].inputs) --pins_[input];
        }
        for (const Index item : wanted) copy_back(item);
        for (const Index item : wanted) --pins_[item];
    }

    void copy_back(Index item) {
        if (where_[item] != Where::kAway) return;
        make_room(program_.items[item].size);
        result_.copies.push_back({item, out_[item], count_of(result_.runs)});
        add(item);
    }

    void perform(Index op, bool first) {
        const Operator& operation = program_.operators[op];
        for (const Index input : operation.inputs) ++pins_[input];
        Bytes need = operation.extra;
        for (const Index output : operation.outputs) {
            ++pins_[output];
            if (where_[output] == Where::kAway) where_[output] = Where::kNowhere;
            if (where_[output] != Where::kHere) need += program_.items[output].size;
        }
        if (level_ + fixed_ + need > limit_) give_way(op, first, need);
        make_room(need);
        for (const Index output : operation.outputs) add(output);
        for (const Index input : operation.inputs) --pins_[input];
        for (const Index output : operation.outputs) --pins_[output];
        result_.runs.push_back(op);
        for (const Index input : given_way_) {
            if (where_[input] != Where::kHere) continue;
            remove(input, Where::kNowhere);
            if (serves_until_[input] > now_ && !can_drop(input)) ++lost_;
        }
        given_way_.clear();
    }

    // Inputs that nobody needs after the operator make way for its outputs.
    void give_way(Index op, bool first, Bytes& need) {
        for (const InPlace& pair : program_.operators[op].pairs) {
            const Item& input = program_.items[pair.input];
            const bool later =
                input.kept || (!input.readers.empty() &&
                               (first ? input.readers.back() > now_ : input.readers.back() >= now_));
            if (later || pins_[pair.input] > (first ? 1 : 2) || where_[pair.output] == Where::kHere) continue;
            if (std::find(given_way_.begin(), given_way_.end(), pair.input) != given_way_.end()) continue;
            if (!can_go_for_good(pair.input)) continue;
            given_way_.push_back(pair.input);
            need -= std::min(input.size, program_.items[pair.output].size);
        }
    }

    void make_room(Bytes bytes) {
        if (level_ + fixed_ + bytes <= limit_) return;
        struct Victim {
            double score;
            Index item;
        };
        std::vector<Victim> victims;
        for (const Index item : here_) {
            if (pins_[item] > 0 || !can_leave(item)) continue;
            victims.push_back({score(item), item});
        }
        result_.steps += count_of(here_);
        std::sort(victims.begin(), victims.end(), [](const Victim& a, const Victim& b) {
            return a.score != b.score ? a.score < b.score : a.item < b.item;
        });
        for (const Victim& victim : victims) {
            if (level_ + fixed_ + bytes <= limit_) return;
            leave(victim.item);
        }
    }

    bool can_drop(Index item) const {
        const Index maker = program_.items[item].producer;
        return maker >= 0 && !program_.operators[maker].once;
    }

    bool can_copy(Index item) const {
        // Copies go out after an operator and come back before one.
        return program_.items[item].spillable && !result_.runs.empty() && next_reader(item) != kNever;
    }

    bool can_leave(Index item) const { return !needed(item) || can_drop(item) || can_copy(item); }

    // Whether all that is needed can still be had when the item is no longer here.
    bool can_go_for_good(Index item) {
        if (serves_until_[item] < now_ || (lost_ == 0 && can_drop(item))) return true;
        can_have_.assign(program_.items.size(), false);
        for (Index i = 0; i < count_of(program_.items); ++i) {
            if (program_.items[i].producer < 0) can_have_[i] = i != item && where_[i] != Where::kNowhere;
        }
        const Index count = std::min(now_ + 1, count_of(program_.operators));
        for (Index op = 0; op < count; ++op) {
            const Operator& operation = program_.operators[op];
            // What runs now has its inputs.
            const bool again = op == now_ || (!operation.once &&
                                              std::all_of(operation.inputs.begin(), operation.inputs.end(),
                                                          [&](Index i) { return can_have_[i]; }));
            for (const Index output : operation.outputs) {
                can_have_[output] = again || (output != item && where_[output] != Where::kNowhere);
                if (!can_have_[output] && needed(output)) return false;
            }
        }
        for (Index i = 0; i < count_of(program_.items); ++i) {
            if (program_.items[i].producer < 0 && !can_have_[i] && needed(i) && i != item) return false;
        }
        return true;
    }

    void leave(Index item) {
        if (needed(item) && can_copy(item) &&
            (!can_drop(item) || 2.0 * program_.items[item].size < again_cost(item))) {
            out_[item] = count_of(result_.runs) - 1;
            remove(item, Where::kAway);
            return;
        }
        if (needed(item) && !can_drop(item)) return;
        if (!can_go_for_good(item)) return;
        remove(item, Where::kNowhere);
        if (serves_until_[item] >= now_ && !can_drop(item)) ++lost_;
    }

    // What it costs to make the item again from what is here.
    double again_cost(Index item) {
        double cost = 0;
        ++stamp_;
        todo_.assign(1, item);
        int looked = 0;
        while (!todo_.empty()) {
            const Index next = todo_.back();
            todo_.pop_back();
            const Index maker = program_.items[next].producer;
            if (maker < 0 || program_.operators[maker].once) {
                return std::numeric_limits<double>::infinity();
            }
            if (mark_[maker] == stamp_) continue;
            mark_[maker] = stamp_;
            cost += program_.operators[maker].cost;
            if (++looked > kMostLooked) break;
            for (const Index input : program_.operators[maker].inputs) {
                if (where_[input] == Where::kNowhere) todo_.push_back(input);
            }
        }
        result_.steps += looked;
        return cost;
    }

    double score(Index item) {
        const Item& entry = program_.items[item];
        if (serves_until_[item] < now_) return -1;
        const bool direct = needed(item);
        double cost = can_drop(item) ? again_cost(item) : std::numeric_limits<double>::infinity();
        if (direct && entry.spillable) cost = std::min(cost, 2.0 * entry.size);
        if (std::isinf(cost) && !direct) cost = entry.size;
        double value = weights_[item] * cost / entry.size;
        if (!direct) value *= taste_.indirect;
        if (taste_.far > 0) {
            const Index next = next_reader(item);
            const Index until =
                next != kNever ? next : std::min(serves_until_[item], count_of(program_.operators));
            value /= std::pow(static_cast<double>(std::max<Index>(until - now_, 0) + 1), taste_.far);
        }
        return value;
    }

    const Program& program_;
    const Budget& budget_;
    Bytes limit_;
    const std::vector<double>& weights_;
    const Taste& taste_;
    Rehearsed result_;
    std::vector<Where> where_;
    std::vector<Index> out_, next_, pins_, serves_until_, here_, given_way_, todo_;
    std::vector<bool> can_have_;
    Index lost_ = 0;  // items that are gone for good although others could be made of them
    std::vector<std::int64_t> mark_;
    std::int64_t stamp_ = 0;
    Bytes level_ = 0, fixed_ = 0;
    Index now_ = 0;
};

}  // namespace

Rehearsed rehearse(const Program& program, Bytes limit, const std::vector<double>& weights,
                   const Taste& taste, const Budget& budget) {
    Rehearsed rehearsed = Run(program, limit, weights, taste, budget).result();
    if (rehearsed.runs.empty()) return rehearsed;
    settle(program, rehearsed);
    return rehearsed;
}

}  // namespace memstow::recompute
