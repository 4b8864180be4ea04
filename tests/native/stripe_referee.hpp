// Stripes gone through with all of their rows and columns in sets, and every way to cut a program.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "stripes/front.hpp"

namespace stripe_programs {

using memstow::Budget;
using memstow::Bytes;
using memstow::Index;
using namespace memstow::stripes;

// Bytes and cost of a way.
using Value = std::pair<Bytes, Cost>;

// Goes through a stripe row by row with all rows in sets, and counts.
class Slow {
  public:
    explicit Slow(const Program& program) : program_(program) {}

    // None where it is no stripe.
    std::optional<Value> stripe(Index begin, Index end, Place columns) {
        begin_ = begin;
        end_ = end;
        for (Index at = begin; at < end; ++at) {
            const Operator& it = op(at);
            if (!it.can) return std::nullopt;
            for (const Reader& reader : it.readers) {
                if (it.reduces && reader.at < end) return std::nullopt;
            }
        }
        find_rows();
        find_columns(columns);
        return Value{bytes(), cost()};
    }

  private:
    const Operator& op(Index at) const { return program_.operators[static_cast<std::size_t>(at)]; }
    bool leaves(Index at) const { return op(at).kept || op(at).last_reader >= end_; }
    bool sink(Index at) const { return leaves(at) || op(at).reduces; }

    // (reader, use) inside of the stripe
    std::vector<std::pair<Index, const Use*>> inside(Index at) const {
        std::vector<std::pair<Index, const Use*>> found;
        for (Index reader = at + 1; reader < end_; ++reader) {
            for (const Use& use : op(reader).uses) {
                if (use.source == at) found.emplace_back(reader, &use);
            }
        }
        return found;
    }

    void find_rows() {
        made_.clear();
        done_.clear();
        most_.clear();
        busy_.clear();
        for (Index at = end_ - 1; at >= begin_; --at) {
            if (sink(at)) made_[at] = op(at).rows;
            for (const auto& [reader, use] : inside(at)) {
                if (sink(at)) continue;
                for (Place row = 0; row < made_[reader]; ++row) {
                    made_[at] = std::max(made_[at], use->rows.end(row));
                }
            }
        }
        const Index last = end_ - 1;
        for (Place row = 0; row < op(last).rows; ++row) {
            for (Index at = begin_; at < last; ++at) {
                while (sink(at) && done_[at] < (row + 1) * op(at).rows / op(last).rows) make(at);
            }
            make(last);
        }
    }

    void make(Index at) {
        for (const Use& use : op(at).uses) {
            while (use.source >= begin_ && done_[use.source] < use.rows.end(done_[at])) make(use.source);
        }
        busy_[at].insert(at);
        for (const Use& use : op(at).uses) {
            if (use.source >= begin_) busy_[use.source].insert(at);
        }
        for (Index other = begin_; other < end_; ++other) {
            if (!sink(other) && needed(other) < done_[other]) busy_[other].insert(at);
        }
        ++done_[at];
        if (!sink(at)) most_[at] = std::max({most_[at], done_[at] - needed(at), Place{1}});
    }

    // The first row that somebody still needs, of those that are made.
    Place needed(Index at) {
        Place first = done_[at];
        for (const auto& [reader, use] : inside(at)) {
            for (Place row = done_[reader]; row < made_[reader]; ++row) {
                first = std::min(first, use->rows.first(row));
            }
        }
        return first;
    }

    void find_columns(Place columns) {
        widest_.clear();
        total_.clear();
        const Place reference = op(end_ - 1).columns;
        for (Place from = 0; from < reference; from += columns) {
            const Place to = std::min(from + columns, reference);
            std::map<Index, std::set<Place>> made;
            for (Index at = end_ - 1; at >= begin_; --at) {
                const auto take = [&](Place begin, Place end) {
                    for (Place k = begin; k < end; ++k) made[at].insert(k);
                };
                if (sink(at)) take(from * op(at).columns / reference, to * op(at).columns / reference);
                if (!op(at).reduces) {
                    for (const auto& [reader, use] : inside(at)) {
                        if (made[reader].empty()) continue;
                        take(use->columns.first(*made[reader].begin()),
                             use->columns.end(*made[reader].rbegin()));
                    }
                }
                if (made[at].empty()) continue;
                const Place width = *made[at].rbegin() + 1 - *made[at].begin();
                widest_[at] = std::max(widest_[at], width);
                total_[at] += width;
            }
        }
    }

    Bytes bytes() {
        Bytes most = 0;
        for (Index now = begin_; now < end_; ++now) {
            Load load = program_.base;
            load.add(op(now).extra);
            for (const Whole& whole : program_.wholes) {
                if (whole.begin >= end_ || whole.end < begin_) continue;
                const bool own = whole.maker >= begin_ && whole.maker < end_;
                if (!own || leaves(whole.maker)) load.add(whole.size, program_.unit);
            }
            for (Index at = begin_; at < end_; ++at) {
                load.add(op(at).sums, program_.unit);
                if (sink(at) || busy_[at].empty()) continue;
                const bool there = *busy_[at].begin() <= now && now <= *busy_[at].rbegin();
                if (there) load.add(most_[at] * widest_[at] * op(at).pixel, program_.unit);
            }
            most = std::max(most, load.bytes - load.rest);
        }
        return most;
    }

    Cost cost() {
        Cost total = 0;
        for (Index at = begin_; at < end_; ++at) {
            const Operator& it = op(at);
            if (it.reduces) {
                total += it.cost;
                continue;
            }
            const Place whole = it.rows * it.columns;
            total += (it.cost * made_[at] * total_[at] + whole - 1) / whole;
        }
        return total;
    }

    const Program& program_;
    Index begin_ = 0, end_ = 0;
    std::map<Index, Place> made_, done_, most_, widest_, total_;
    std::map<Index, std::set<Index>> busy_;  // by operator: who runs while its ring is there
};

// The value of a choice; none where it is no choice.
inline std::optional<Value> value_of(const Program& program, const Choice& it) {
    if (it.other != kNobody) {
        const Other& other = program.others[static_cast<std::size_t>(it.other)];
        if (other.begin != it.begin || other.end != it.end) return std::nullopt;
        return Value{other.needs, other.cost};
    }
    if (it.columns > 0) return Slow(program).stripe(it.begin, it.end, it.columns);
    if (it.end != it.begin + 1) return std::nullopt;
    const Operator& alone = program.operators[static_cast<std::size_t>(it.begin)];
    return Value{alone.levels.front().alone, alone.cost};
}

// The values of all ways that cost at most so much and have stripes of at most so many operators, of which no
// other is as good in both.
class AllWays {
  public:
    AllWays(const Program& program, const Limits& limits) : program_(program), limits_(limits) {}

    std::vector<Value> best() {
        for (Index begin = 0; begin < program_.count(); ++begin) {
            for (Index end = begin + 1; end <= program_.count(); ++end) {
                Slow slow(program_);
                const Place widest = program_.operators[static_cast<std::size_t>(end) - 1].columns;
                for (Place columns = 1; columns <= widest && end - begin > 1; ++columns) {
                    if (end - begin <= limits_.longest) add(begin, end, slow.stripe(begin, end, columns));
                }
            }
            const auto place = static_cast<std::size_t>(begin);
            add(begin, begin + 1,
                Value{program_.operators[place].levels.front().alone, program_.operators[place].cost});
        }
        for (const Other& it : program_.others) add(it.begin, it.end, Value{it.needs, it.cost});
        const Index first = program_.must_run ? program_.must_run->first : 0;
        for (Index begin = 0; begin <= first; ++begin) go(begin, {program_.start, 0});
        std::vector<Value> kept;
        for (const Value& it : all_) {
            if (kept.empty() || it.second < kept.back().second) kept.push_back(it);
        }
        return kept;
    }

  private:
    void add(Index begin, Index end, const std::optional<Value>& value) {
        if (value) steps_[begin].insert({end, *value});
    }

    void go(Index at, const Value& value) {
        if (value.second > limits_.cost) return;
        if (at > (program_.must_run ? program_.must_run->second : program_.count() - 1)) all_.insert(value);
        for (const auto& [end, step] : steps_[at]) {
            go(end, {std::max(value.first, step.first), value.second + step.second});
        }
    }

    const Program& program_;
    const Limits limits_;
    std::map<Index, std::set<std::pair<Index, Value>>> steps_;
    std::set<Value> all_;
};

}  // namespace stripe_programs
