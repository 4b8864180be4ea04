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

// What a stripe is cut like: by what is so many columns wide, which costs and makes so much in addition.
struct Reference {
    Cost cost = 0;
    Bytes bytes = 0;
    Place columns = 0;

    auto operator<=>(const Reference&) const = default;
};

// Of so many columns of that.
struct Strips {
    Reference reference;
    Place columns = 0;
};

// What is there as a whole at the begin of a stripe and what it makes, or at its end and what it reads.
struct Around {
    Load at_begin, at_end;

    // With something that is made, which may be a part of what is there at the end.
    Load with(Bytes made, Bytes unit) const {
        Load more = at_begin;
        more.add(made, unit);
        return more.height() < at_end.height() ? at_end : more;
    }
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
        if (program_.start > limits_.most) return {};
        states_[0].push_back({std::max(program_.start, limits_.least), 0, kNobody, 0, 0, kNobody});
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

    // What is there as a whole while [begin, end) runs: with what is beside it at its begin, or at its end,
    // which may be what it reads then.
    Around around(const Segment& segment, Index begin, Index end) const {
        const Operator& last = program_.operators[at(end) - 1];
        Load at_begin = program_.base, at_end = program_.base;
        for (const Whole& whole : program_.wholes) {
            if (whole.begin >= end || whole.end < begin) continue;
            const bool inside = whole.maker >= begin && whole.maker < end;
            if (inside && !segment.leaves(whole.maker - begin)) continue;
            at_begin.add(whole.size, program_.unit);
            const bool is_apart = whole.begin < last.beside_begin || whole.begin >= last.beside_end;
            const bool is_made = whole.begin >= 0 && is_apart;
            if (whole.end > begin || is_made) at_end.add(whole.size, program_.unit);
        }
        if (begin > 0) at_begin.add(program_.operators[at(begin) - 1].beside, program_.unit);
        at_end.add(last.beside, program_.unit);
        return {at_begin, at_end};
    }

    void stripe(Index begin, Index end) {
        Place rows = 0;
        for (Index i = begin; i < end; ++i) rows += program_.operators[at(i)].rows;
        if (rows > kMostRows) {
            complete_ = false;
            return;
        }
        std::optional<Segment> segment = Segment::of(program_, begin, end);
        if (!segment) return;
        const Around whole = around(*segment, begin, end);
        const Load least = whole.with(0, program_.unit);
        if (least.height() > limits_.most) return;
        budget_.count(segment->make_rows());
        // No strips need less than those of one column.
        const Place columns = program_.operators[at(end) - 1].columns;
        if (limits_.most < kLimit && segment->need(columns, 1, least).bytes > limits_.most) return;
        std::vector<Way> ways;
        for (const Strips& strips : strips_of(begin, end)) {
            const auto& [cost, made, reference] = strips.reference;
            Need need = segment->need(reference, strips.columns, whole.with(made, program_.unit));
            need.cost += cost;
            if (need.cost <= limits_.cost) ways.push_back({need.bytes, need.cost, strips.columns, kNobody});
            // The first is of one strip.
            if (ways.size() == 1 && need.bytes <= limits_.least && !segment->skips_columns()) break;
            budget_.count((reference + strips.columns - 1) / strips.columns * (end - begin));
            if (budget_.spent()) {
                complete_ = false;
                break;
            }
        }
        keep_best(ways);
        for (const Way& way : ways) add(begin, end, way);
    }

    // The strips to try of [begin, end).
    const std::vector<Strips>& strips_of(Index begin, Index end) {
        const Place columns = program_.operators[at(end) - 1].columns;
        const std::vector<Reference> references = references_of(begin, end);
        std::vector<Strips>& all = strips_[{columns, references}];
        if (!all.empty()) return all;
        if (program_.reads.empty()) {
            for (Place c = columns; c >= 1; c = fewer(columns, c)) all.push_back({references[0], c});
            return all;
        }
        // Of a path any may be the best; those that are cut in the same places are the same.
        std::map<std::vector<Place>, std::vector<Reference>> known;
        for (const Reference& reference : references) {
            for (Place c = reference.columns; c >= 1; --c) {
                std::vector<Place> ends;
                for (Place from = 0; from < reference.columns; from += c) {
                    const Place stop = std::min(from + c, reference.columns) * columns / reference.columns;
                    if (stop > (ends.empty() ? 0 : ends.back())) ends.push_back(stop);
                }
                budget_.count(reference.columns / c);
                if (is_new(reference, known[std::move(ends)])) all.push_back({reference, c});
            }
        }
        return all;
    }

    // What stripes of [begin, end) may be cut like, the cheapest first.
    std::vector<Reference> references_of(Index begin, Index end) const {
        const std::vector<Operator>& operators = program_.operators;
        std::vector<Reference> all{{0, 0, operators[at(end) - 1].columns}};
        // They may be in the middle of a stripe that begins before them, or ends after them.
        const bool begins = begin == 0 || !operators[at(begin) - 1].may_stay;
        const bool ends = !operators[at(end) - 1].may_stay;
        for (const OffPath& other : program_.off_path) {
            const bool is_later = ends && other.after >= end, is_earlier = begins && other.before < begin;
            if (!is_later && !is_earlier) all.push_back({other.cost, other.bytes, other.columns});
        }
        for (Index later = end; !ends && later < program_.count() && operators[at(later)].can; ++later) {
            Bytes made = 0;
            for (const Whole& whole : program_.wholes) {
                if (whole.maker == later) made += whole.size;
            }
            all.push_back({0, made, operators[at(later)].columns});
        }
        std::ranges::sort(all);
        std::map<Place, std::vector<Reference>> known;
        std::erase_if(all, [&](const Reference& one) { return !is_new(one, known[one.columns]); });
        return all;
    }

    // Whether none of those before, which cost no more, makes as little; it is one of them then.
    static bool is_new(const Reference& reference, std::vector<Reference>& before) {
        const auto is_as_good = [&](const Reference& known) { return known.bytes <= reference.bytes; };
        if (std::ranges::any_of(before, is_as_good)) return false;
        before.push_back(reference);
        return true;
    }

    // The next width to try after this one; 0 after the last.
    static Place fewer(Place reference, Place columns) {
        if (reference <= kMostWidths || columns == 1) return columns - 1;
        const Place strips = (reference + columns - 1) / columns;
        return std::min(columns - 1, (reference + strips) / (strips + 1));
    }

    void add(Index begin, Index end, const Way& way) {
        if (way.bytes > limits_.most) return;
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
    std::map<std::pair<Place, std::vector<Reference>>, std::vector<Strips>> strips_;
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
