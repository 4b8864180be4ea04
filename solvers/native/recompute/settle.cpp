#include <algorithm>

#include "recompute/rehearsal.hpp"

namespace memstow::recompute {
namespace {

class Settling {
  public:
    Settling(const Program& program, Rehearsed& rehearsed)
        : program_(program), rehearsed_(rehearsed), live_(program.items.size(), false) {}

    void run() {
        find_first_runs();
        begin();
        std::vector<Index> kept_runs;
        std::vector<Copy> kept_copies;
        const auto copies = sorted_copies();
        std::vector<std::vector<Copy>> out(copies.empty() ? 0 : rehearsed_.runs.size());
        auto back = copies.rbegin();
        Bytes gap = program_.end;
        for (Index k = count_of(rehearsed_.runs) - 1; k >= 0; --k) {
            // Backwards: copies go out after the run.
            if (!out.empty()) {
                for (const Copy& copy : out[k]) {
                    set(copy.item, true);
                    note(level_ + gap);
                }
            }
            if (keeps(k)) {
                perform(k, gap);
                kept_runs.push_back(k);
            }
            const Index op = rehearsed_.runs[k];
            if (first_[k]) gap = program_.operators[op].gap;
            for (; back != copies.rend() && back->back == k; ++back) {
                if (!live_[back->item]) continue;
                note(level_ + gap);
                set(back->item, false);
                out[back->out].push_back(*back);
                kept_copies.push_back(*back);
                pay(2 * program_.items[back->item].size);
            }
        }
        renumber(kept_runs, kept_copies);
    }

  private:
    void find_first_runs() {
        std::vector<bool> ran(program_.operators.size(), false);
        first_.clear();
        for (const Index op : rehearsed_.runs) {
            first_.push_back(!ran[op]);
            ran[op] = true;
        }
    }

    void begin() {
        rehearsed_.peak = program_.start;
        rehearsed_.cost = 0;
        for (Index item = 0; item < count_of(program_.items); ++item) {
            if (program_.items[item].kept) set(item, true);
        }
        note(level_ + program_.end);
    }

    std::vector<Copy> sorted_copies() const {
        std::vector<Copy> copies = rehearsed_.copies;
        std::stable_sort(copies.begin(), copies.end(),
                         [](const Copy& a, const Copy& b) { return a.back < b.back; });
        return copies;
    }

    void set(Index item, bool live) {
        if (live_[item] == live) return;
        live_[item] = live;
        level_ += live ? program_.items[item].size : -program_.items[item].size;
    }

    // Whoever runs very often may cost more than a number holds.
    void pay(std::int64_t cost) { rehearsed_.cost = std::min(rehearsed_.cost + cost, kLimit); }

    void note(Bytes bytes) { rehearsed_.peak = std::max(rehearsed_.peak, bytes); }

    bool keeps(Index k) const {
        const auto& outputs = program_.operators[rehearsed_.runs[k]].outputs;
        return first_[k] ||
               std::any_of(outputs.begin(), outputs.end(), [&](Index item) { return live_[item]; });
    }

    void perform(Index k, Bytes gap) {
        const Operator& op = program_.operators[rehearsed_.runs[k]];
        if (!first_[k]) pay(op.cost);
        const Bytes saved = saved_in_place(op);
        for (const Index output : op.outputs) set(output, true);
        const Bytes with_outputs = level_;
        Bytes during = with_outputs;
        for (const Index input : op.inputs) {
            if (!live_[input]) during += program_.items[input].size;
        }
        note(during + op.extra + (first_[k] ? op.fixed : gap) - saved);
        for (const Index output : op.outputs) set(output, false);
        for (const Index input : op.inputs) set(input, true);
    }

    // Before its outputs are taken away: what is live now is needed after the operator.
    Bytes saved_in_place(const Operator& op) const {
        std::vector<InPlace> pairs;
        for (const InPlace& pair : op.pairs) {
            if (!live_[pair.input]) pairs.push_back(pair);
        }
        const auto saves = [&](const InPlace& pair) {
            return std::min(program_.items[pair.input].size, program_.items[pair.output].size);
        };
        std::stable_sort(pairs.begin(), pairs.end(),
                         [&](const InPlace& a, const InPlace& b) { return saves(a) > saves(b); });
        std::vector<Index> inputs, outputs;
        Bytes saved = 0;
        for (const InPlace& pair : pairs) {
            if (std::find(inputs.begin(), inputs.end(), pair.input) != inputs.end()) continue;
            if (std::find(outputs.begin(), outputs.end(), pair.output) != outputs.end()) continue;
            inputs.push_back(pair.input);
            outputs.push_back(pair.output);
            saved += saves(pair);
        }
        return saved;
    }

    void renumber(std::vector<Index>& kept_runs, std::vector<Copy>& kept_copies) {
        std::reverse(kept_runs.begin(), kept_runs.end());
        std::reverse(kept_copies.begin(), kept_copies.end());
        // Of a run that is left out: the next that stays, and the one before it.
        std::vector<Index> next(rehearsed_.runs.size() + 1, count_of(kept_runs));
        for (Index k = count_of(rehearsed_.runs) - 1, at = count_of(kept_runs); k >= 0; --k) {
            if (at > 0 && kept_runs[at - 1] == k) --at;
            next[k] = at;
        }
        std::vector<Index> runs;
        for (const Index k : kept_runs) runs.push_back(rehearsed_.runs[k]);
        for (Copy& copy : kept_copies) {
            copy.out = next[copy.out + 1] - 1;
            copy.back = next[copy.back];
        }
        rehearsed_.runs = std::move(runs);
        rehearsed_.copies = std::move(kept_copies);
    }

    const Program& program_;
    Rehearsed& rehearsed_;
    std::vector<bool> live_;
    std::vector<bool> first_;
    Bytes level_ = 0;
};

}  // namespace

void settle(const Program& program, Rehearsed& rehearsed) { Settling(program, rehearsed).run(); }

namespace {

// The same without the run at this index: whoever reads what it makes reads what was made before.
Rehearsed without_run(const Rehearsed& rehearsed, Index at) {
    Rehearsed left = rehearsed;
    left.runs.erase(left.runs.begin() + at);
    for (Copy& copy : left.copies) {
        if (copy.out >= at) --copy.out;
        if (copy.back > at) --copy.back;
    }
    return left;
}

// Takes the change where it stays below the limit and costs less.
bool took(const Program& program, Rehearsed& rehearsed, Rehearsed trial, Bytes limit) {
    settle(program, trial);
    rehearsed.steps += count_of(trial.runs);
    if (trial.peak > limit || trial.cost >= rehearsed.cost) return false;
    trial.steps = rehearsed.steps;
    rehearsed = std::move(trial);
    return true;
}

bool is_valid(const Rehearsed& rehearsed) {
    return std::all_of(rehearsed.copies.begin(), rehearsed.copies.end(),
                       [](const Copy& copy) { return copy.out >= 0 && copy.out < copy.back; });
}

}  // namespace

void polish(const Program& program, Rehearsed& rehearsed, Bytes limit, const Budget& budget) {
    limit = std::max(limit, rehearsed.peak);
    for (Index c = count_of(rehearsed.copies) - 1; c >= 0; --c) {
        if (budget.out_of_time()) return;
        if (c >= count_of(rehearsed.copies)) continue;
        Rehearsed trial = rehearsed;
        trial.copies.erase(trial.copies.begin() + c);
        took(program, rehearsed, std::move(trial), limit);
    }
    struct Again {
        std::int64_t cost;
        Index op, back;  // the last of its runs but so many
    };
    std::vector<Again> again;
    std::vector<Index> count(program.operators.size(), 0);
    for (const Index op : rehearsed.runs) ++count[op];
    for (Index op = 0; op < count_of(count); ++op) {
        for (Index k = 1; k < count[op]; ++k) again.push_back({program.operators[op].cost, op, k - 1});
    }
    std::stable_sort(again.begin(), again.end(),
                     [](const Again& a, const Again& b) { return a.cost > b.cost; });
    for (const Again& repeat : again) {
        if (budget.out_of_time()) return;
        Index left = repeat.back;
        for (Index at = count_of(rehearsed.runs) - 1; at > 0; --at) {
            if (rehearsed.runs[at] != repeat.op || left-- > 0) continue;
            const bool first = std::find(rehearsed.runs.begin(), rehearsed.runs.begin() + at, repeat.op) ==
                               rehearsed.runs.begin() + at;
            Rehearsed trial = first ? Rehearsed{} : without_run(rehearsed, at);
            if (!first && is_valid(trial)) took(program, rehearsed, std::move(trial), limit);
            break;
        }
    }
}

}  // namespace memstow::recompute
