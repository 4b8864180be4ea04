#include "stripes/front.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "stripes/segment.hpp"

namespace memstow::stripes {
namespace {

// With more columns, strips of equal number are tried with the fewest columns only.
constexpr Place kMostWidths = 512;
// More steps than this for the rows of one stripe are not gone through.
constexpr Place kMostRows = 1 << 20;
constexpr std::size_t kMostStates = 1 << 22;

// Of so many columns of what is `reference` columns wide.
struct Strips {
    Place reference = 0;
    Place columns = 0;
};

struct Way {
    Bytes bytes = 0;
    Cost cost = 0;
    Place columns = 0;
    Index other = kNobody;
};

// Operators before one place are done.
struct State {
    Bytes bytes = 0;
    Cost cost = 0;
    Index before = kNobody;  // the place where the last choice began
    std::size_t from = 0;    // which state there
    Place columns = 0;
    Index other = kNobody;
};

// Only what nothing else is at most as large as in both; ascending in bytes, so descending in cost.
template <typename Item>
void keep_best(std::vector<Item>& items) {
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
        return a.bytes != b.bytes ? a.bytes < b.bytes : a.cost < b.cost;
    });
    std::size_t kept = 0;
    for (const Item& item : items) {
        if (kept > 0 && items[kept - 1].cost <= item.cost) continue;
        items[kept++] = item;
    }
    items.resize(kept);
}

class Search {
  public:
    Search(const Program& program, const Limits& limits, Budget& budget)
        : program_(program), limits_(limits), budget_(budget), states_(at(program.count()) + 1) {}

    Front run() {
        states_[0].push_back({program_.start, 0, kNobody, 0, 0, kNobody});
        for (Index begin = 0; begin < program_.count(); ++begin) from(begin);
        keep_best(states_.back());
        Front front;
        front.complete = complete_;
        for (const State& state : states_.back()) front.points.push_back(point(state));
        return front;
    }

  private:
    static std::size_t at(Index place) { return static_cast<std::size_t>(place); }

    void from(Index begin) {
        keep_best(states_[at(begin)]);
        count_ += states_[at(begin)].size();
        if (count_ > kMostStates) complete_ = false;
        const Operator& first = program_.operators[at(begin)];
        add(begin, begin + 1, {first.alone, first.cost, 0, kNobody});
        for (std::size_t i = 0; i < program_.others.size(); ++i) {
            const Other& other = program_.others[i];
            if (other.begin == begin) {
                add(begin, other.end, {other.needs, other.cost, 0, static_cast<Index>(i)});
            }
        }
        const Index last = std::min(program_.count(), begin + limits_.longest);
        for (Index end = begin + 1; end <= program_.count(); ++end) {
            if (!program_.operators[at(end) - 1].can) break;
            if (end > last || budget_.spent() || count_ > kMostStates) {
                complete_ = false;
                break;
            }
            // One operator alone keeps no rows.
            if (end > begin + 1) stripe(begin, end);
        }
    }

    // What is there as a whole while [begin, end) runs.
    Load around(const Segment& segment, Index begin, Index end) const {
        Load load = program_.base;
        for (const Whole& whole : program_.wholes) {
            if (whole.begin >= end || whole.end < begin) continue;
            const bool inside = whole.maker >= begin && whole.maker < end;
            if (!inside || segment.leaves(whole.maker - begin)) load.add(whole.size, program_.unit);
        }
        return load;
    }

    void stripe(Index begin, Index end) {
        Place rows = 0;
        for (Index i = begin; i < end; ++i) rows += program_.operators[at(i)].rows;
        if (rows > kMostRows) {
            complete_ = false;
            return;
        }
        const std::optional<Segment> segment = Segment::of(program_, begin, end);
        if (!segment) return;
        const Load whole = around(*segment, begin, end);
        budget_.count(segment->steps());
        std::vector<Way> ways;
        for (const Strips& strips : strips_of(program_.operators[at(end) - 1].columns)) {
            const Need need = segment->need(strips.reference, strips.columns, whole);
            if (need.cost <= limits_.cost) ways.push_back({need.bytes, need.cost, strips.columns, kNobody});
            budget_.count((strips.reference + strips.columns - 1) / strips.columns * (end - begin));
            if (budget_.spent()) {
                complete_ = false;
                break;
            }
        }
        keep_best(ways);
        for (const Way& way : ways) add(begin, end, way);
    }

    // The strips to try where the last operator has so many columns.
    const std::vector<Strips>& strips_of(Place columns) {
        std::vector<Strips>& all = strips_[columns];
        if (!all.empty()) return all;
        if (program_.references.empty()) {
            for (Place c = columns; c >= 1; c = fewer(columns, c)) all.push_back({columns, c});
            return all;
        }
        // Of a path any may be the best; those that are cut in the same places are the same.
        std::set<std::vector<Place>> known;
        for (const Place reference : program_.references) {
            for (Place c = reference; c >= 1; --c) {
                std::vector<Place> ends;
                for (Place from = 0; from < reference; from += c) {
                    const Place end = std::min(from + c, reference) * columns / reference;
                    if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
                }
                budget_.count(reference / c);
                if (known.insert(std::move(ends)).second) all.push_back({reference, c});
            }
        }
        return all;
    }

    // The next width to try after this one; 0 after the last.
    static Place fewer(Place reference, Place columns) {
        if (reference <= kMostWidths || columns == 1) return columns - 1;
        const Place strips = (reference + columns - 1) / columns;
        return std::min(columns - 1, (reference + strips) / (strips + 1));
    }

    void add(Index begin, Index end, const Way& way) {
        const std::vector<State>& here = states_[at(begin)];
        std::vector<State>& there = states_[at(end)];
        // Of the states that need less than this way, the cheapest is the last.
        std::size_t i = 0;
        while (i + 1 < here.size() && here[i + 1].bytes <= way.bytes) ++i;
        for (; i < here.size(); ++i) {
            if (way.cost > limits_.cost - here[i].cost) continue;
            const Bytes bytes = std::max(here[i].bytes, way.bytes);
            there.push_back({bytes, here[i].cost + way.cost, begin, i, way.columns, way.other});
        }
        if (there.size() > kTidy && there.size() > 2 * tidied_[at(end)]) {
            keep_best(there);
            tidied_[at(end)] = there.size();
        }
    }

    Point point(const State& last) const {
        Point result{last.bytes, last.cost, {}};
        Index end = program_.count();
        for (const State* state = &last; state->before != kNobody;) {
            result.choices.push_back({state->before, end, state->columns, state->other});
            end = state->before;
            state = &states_[at(end)][state->from];
        }
        std::reverse(result.choices.begin(), result.choices.end());
        return result;
    }

    static constexpr std::size_t kTidy = 4096;

    const Program& program_;
    const Limits& limits_;
    Budget& budget_;
    std::map<Place, std::vector<Strips>> strips_;  // by the columns of the last operator
    std::vector<std::vector<State>> states_;
    std::vector<std::size_t> tidied_ = std::vector<std::size_t>(states_.size(), 0);
    std::size_t count_ = 0;
    bool complete_ = true;
};

}  // namespace

Front front(const Program& program, const Limits& limits, Budget& budget) {
    return Search(program, limits, budget).run();
}

}  // namespace memstow::stripes
