#include "stripes/front.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "stripes/branches.hpp"
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

const Load& higher(const Load& a, const Load& b) { return a.height() < b.height() ? b : a; }

// What is there as a whole at the begin of a stripe and what it makes, or at its end and what it reads.
struct Around {
    Load at_begin, at_end;
    Load gone;  // where what it reads is last there, if that is before the next one runs
    Load bare;  // at its begin, but for what is needed beside it

    // With something that is made, which may be a part of what is there at the end.
    Load with(Bytes made, Bytes unit) const {
        Load more = at_begin;
        more.add(made, unit);
        return higher(at_end, more);
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
    Index here = 0;          // which of those there
    std::size_t from = 0;    // which state of that
    Place columns = 0;
    Index other = kNobody;
};

// Those at one place with one of its levels.
struct Here {
    Index level = 0;
    // Whoever read what this place of the path hands on, it stays until the next one runs; -1: what is there
    // from the start.
    Index stays = kNothing;
    std::vector<State> states = {};
    std::size_t tidied = 0;  // so many of them are the best of these, ascending in bytes

    // Whether one of those is as good.
    bool has_as_good(Bytes bytes, Cost cost) const {
        const std::span best = std::span(states).first(tidied);
        const auto next = std::ranges::upper_bound(best, bytes, {}, &State::bytes);
        return next != best.begin() && std::prev(next)->cost <= cost;
    }
};

// What a stripe needs at least is one of these.
class FewNeeds {
  public:
    FewNeeds() = default;
    explicit FewNeeds(const Need& one) { add(one); }

    void add(const Need& one) { all_[count_++] = one; }
    auto begin() const { return all_.begin(); }
    auto end() const { return all_.begin() + count_; }

  private:
    std::array<Need, 4> all_;
    std::ptrdiff_t count_ = 0;
};

// A stripe, and of a path the same with its branches, if there are some, and with what comes to it from what
// stays.
class Stripe {
  public:
    explicit Stripe(Segment segment) : segment_(std::move(segment)), stays_(kNothing) {}
    // `without`: the same without what stays, whose rows are made.
    Stripe(const Stripe& without, Index stays) : segment_(without.segment_), stays_(stays) {}

    const Segment& segment() const { return segment_; }

    // Before `needs`; how many steps that took, if they are not made yet. `longer`: one to the same end, that
    // begins so many places before it.
    std::int64_t make_rows(const Program& program, Index begin, Index end, Stripe* longer = nullptr,
                           Index before = 0) {
        if (has_rows_) return 0;
        has_rows_ = true;
        std::int64_t steps = longer == nullptr ? 0 : longer->make_rows(program, begin - before, end);
        if (longer != nullptr) {
            std::vector<Index> places(at(end - begin));
            std::iota(places.begin(), places.end(), before);
            segment_.take_rows(longer->segment_, std::move(places));
        } else if (stays_ == kNothing) {
            steps += segment_.make_rows();
        }
        if (program.around.path.empty()) return steps;
        steps += program.around.path[at(end) - 1] - program.around.path[at(begin)];
        branches_ = branches_of(program.around, begin, end, stays_);
        if (!branches_) return steps;
        branches_->program.unit = program.unit;
        all_ = Segment::of(branches_->program, 0, branches_->program.count());
        if (!all_) return steps;
        std::optional<std::vector<Index>> places;
        if (longer != nullptr && longer->all_) places = branches_->places_in(*longer->branches_);
        if (places)
            all_->take_rows(*longer->all_, *std::move(places));
        else
            steps += all_->make_rows();
        // Where a branch needs more rows, it is not known what is there without it.
        knows_branches_ = true;
        for (Index place = 0; place < end - begin; ++place) {
            const Place of_all = all_->rows_made()[at(branches_->path[at(place)])];
            knows_branches_ = knows_branches_ && of_all == segment_.rows_made()[at(place)];
        }
        return steps;
    }

    // Whether strips of one column do.
    bool fits(Place reference, const Load& whole, Bytes most) {
        const auto [first, other, alone] = needs(reference, 1, whole);
        return first.bytes <= most || (other && other->bytes <= most);
    }

    struct Needs {
        Need all;                   // with its branches
        std::optional<Need> other;  // without some of them, which may cost less
        Cost alone = 0;             // of the path

        void add(Bytes bytes) {
            all.bytes += bytes;
            if (other) other->bytes += bytes;
        }
    };

    // Bytes that are live all the time add to all moments alike, but for what is left of a unit.
    Needs needs(Place reference, Place columns, const Load& whole) {
        const auto [known, is_new] = known_.try_emplace({whole.rest, reference, columns});
        if (is_new) {
            known->second = needs_of(reference, columns, whole);
            known->second.add(-whole.bytes);
        }
        Needs needs = known->second;
        needs.add(whole.bytes);
        return needs;
    }

    // The same as these, with what comes to it from what stays, which may be a part of what runs again for so
    // much; `whole`: without what is needed beside it.
    FewNeeds needs_at_least(const FewNeeds& known, Place reference, Place columns, const Load& whole,
                            Cost again) {
        const auto [all, other, alone] = needs(reference, columns, whole);
        FewNeeds more(Need{all.bytes, alone + std::max<Cost>(all.cost - alone - again, 0)});
        if (other) more.add(*other);
        FewNeeds both;
        for (const Need& one : known) {
            for (const Need& need : more)
                both.add({std::max(one.bytes, need.bytes), std::max(one.cost, need.cost)});
        }
        return both;
    }

  private:
    Needs needs_of(Place reference, Place columns, const Load& whole) const {
        Sure own, of_all;
        const Need alone = segment_.need(reference, columns, whole, knows_branches_ ? &own : nullptr);
        if (!knows_branches_) return {alone, std::nullopt, alone.cost};
        Need all = all_->need(reference, columns, whole, &of_all);
        all.bytes = std::max(alone.bytes, all.bytes);
        // What branches cost once is counted beside the path.
        all.cost = std::max(alone.cost, all.cost - branches_->cost);
        Bytes least_more = kLimit, least_instead = kLimit;
        for (const Branches::Group& group : branches_->groups) {
            Bytes kept = 0;
            for (const Index member : group.members) kept += of_all.rings[at(member)];
            for (const Index begin : group.begins) {
                kept += of_all.rings[at(branches_->path[at(begin)])] - own.rings[at(begin)];
            }
            least_more = std::min(least_more, group.instead - kept - (branches_->program.unit - 1));
            least_instead = std::min(least_instead, group.instead);
        }
        Bytes instead = alone.bytes + least_instead;
        // If one as a whole takes less than the rows that it saves, others may be there as well.
        if (least_more >= 0) instead = std::max(instead, of_all.bytes + least_more);
        return {all, Need{instead, alone.cost}, alone.cost};
    }

    Segment segment_;
    Index stays_;
    std::optional<Branches> branches_;
    std::optional<Segment> all_;
    bool has_rows_ = false, knows_branches_ = false;
    std::map<std::array<Place, 3>, Needs> known_;  // without those bytes
};

// What runs again adds to the cost, at the begin of a stripe and at its end.
struct Levels {
    Index here = 0;  // which of those at the begin
    Index end = 0;
    Cost entry = 0;  // of that at the end, unless it is the same
    Cost all = 0;
};

// Only what nothing else is at most as large as in both; ascending in bytes, so descending in cost. So many
// are so already.
template <typename Item>
void keep_best(std::vector<Item>& items, std::size_t tidied = 0) {
    const auto is_before = [](const Item& a, const Item& b) {
        return a.bytes != b.bytes ? a.bytes < b.bytes : a.cost < b.cost;
    };
    const auto others = items.begin() + static_cast<std::ptrdiff_t>(tidied);
    std::stable_sort(others, items.end(), is_before);
    std::inplace_merge(items.begin(), others, items.end(), is_before);
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
        : program_(program),
          limits_(limits),
          budget_(budget),
          longest_(at(program.count()) + 1),
          places_(at(program.count()) + 1) {
        places_[0].resize(1);
        for (Index place = 0; place < program.count(); ++place) {
            const Operator& operation = program.operators[at(place)];
            for (Index level = 0; level < count_of(operation.levels); ++level)
                places_[at(place) + 1].push_back({level});
            parts_.push_back(operation.continues ? parts_.back() : place);
        }
    }

    Front run() {
        if (program_.start > limits_.most) return {};
        const auto [first, last] = program_.must_run.value_or(std::pair{Index{0}, program_.count() - 1});
        first_ = first;
        for (Index begin = 0; begin <= first; ++begin) {
            places_[at(begin)][0].states.push_back(
                {std::max(program_.start, limits_.least), 0, kNobody, 0, 0, 0, kNobody});
        }
        // What comes after all that must run only adds to it.
        for (Index begin = 0; begin <= last; ++begin) from(begin);
        std::vector<Last> all;
        for (Index end = last + 1; end <= program_.count(); ++end) {
            for (const Here& here : places_[at(end)]) {
                for (const State& state : here.states) all.push_back({state.bytes, state.cost, end, &state});
            }
        }
        keep_best(all);
        Front front;
        front.complete = complete_;
        for (const Last& one : all) front.points.push_back(point(one));
        return front;
    }

  private:
    void from(Index begin) {
        longest_[at(begin)].stripe.reset();
        for (Here& here : places_[at(begin)]) {
            keep_best(here.states, here.tidied);
            if (here.stays != kNothing) leave_out_worse(here, places_[at(begin)][at(here.level)]);
            count_ += here.states.size();
        }
        if (count_ > kMostStates) complete_ = false;
        const Operator& first = program_.operators[at(begin)];
        for (const Levels& levels : levels_of(begin, begin + 1)) {
            const Level& last = first.levels[at(levels.end)];
            const Index stays = places_[at(begin)][at(levels.here)].stays;
            Bytes alone = last.alone, gone = 0;
            if (stays != kNothing) alone = std::max(alone, first.alone_beside[at(stays + 1)]);
            if (at(begin) < last.beside_gone.size())
                gone = around(nullptr, begin, begin + 1, levels).gone.height();
            add_or_stay(begin, begin + 1, levels, {alone, first.cost, 0, kNobody}, gone);
        }
        for (std::size_t i = 0; i < program_.others.size(); ++i) {
            const Other& other = program_.others[i];
            if (other.begin == begin) {
                add(begin, other.end, {}, {other.needs, other.cost, 0, static_cast<Index>(i)});
            }
        }
        const Index last = std::min(program_.count(), begin + limits_.longest);
        for (Index end = begin + 1; end <= program_.count(); ++end) {
            if (!program_.operators[at(end) - 1].can) break;
            if (end > last || budget_.spent() || count_ > kMostStates) {
                complete_ = false;
                break;
            }
            // One operator alone keeps no rows; and before the first that must run, nothing need be done.
            if (end > begin + 1 && end > first_) stripe(begin, end);
        }
    }

    // Without those that are no better than one of the others; both are ascending in bytes.
    static void leave_out_worse(Here& here, const Here& others) {
        auto other = others.states.begin();
        Cost least = kLimit;
        std::erase_if(here.states, [&](const State& state) {
            for (; other != others.states.end() && other->bytes <= state.bytes; ++other) least = other->cost;
            return least <= state.cost;
        });
    }

    // Those of a stripe [begin, end).
    std::vector<Levels> levels_of(Index begin, Index end) const {
        const bool is_same = begin > 0 && parts_[at(begin) - 1] == parts_[at(end) - 1];
        const std::vector<Level>& to = program_.operators[at(end) - 1].levels;
        std::vector<Levels> all;
        for (Index from = 0; from < count_of(places_[at(begin)]); ++from) {
            const Here& here = places_[at(begin)][at(from)];
            if (here.states.empty()) continue;
            const Cost before = begin > 0 ? program_.operators[at(begin) - 1].levels[at(here.level)].cost : 0;
            if (is_same) {
                all.push_back({from, here.level, 0, before});
                continue;
            }
            for (Index level = 0; level < count_of(to); ++level) {
                all.push_back({from, level, to[at(level)].cost, before + to[at(level)].cost});
            }
        }
        return all;
    }

    // What is there as a whole while [begin, end) runs: with what is beside it at its begin, or at its end,
    // which may be what it reads then, if that stays until the next one runs. Without a segment: of one that
    // runs by itself.
    Around around(const Segment* segment, Index begin, Index end, const Levels& levels) const {
        const Level& last = program_.operators[at(end) - 1].levels[at(levels.end)];
        Load at_begin = program_.base, at_end = program_.base;
        Load read, gone;
        for (const Whole& whole : program_.wholes) {
            if (whole.begin >= end || whole.end < begin) continue;
            const bool inside = whole.maker >= begin && whole.maker < end;
            if (inside && segment != nullptr && !segment->leaves(whole.maker - begin)) continue;
            at_begin.add(whole.size, program_.unit);
            const bool is_apart = whole.begin < last.beside_begin || whole.begin >= last.beside_end;
            if (whole.end > begin || is_apart) {
                at_end.add(whole.size, program_.unit);
            } else {
                read.add(whole.size, program_.unit);
            }
        }
        Load bare = at_begin;
        if (begin > 0) add_beside(begin, end, levels, at_begin, bare);
        read.add(at_end);
        at_end.add(last.beside, program_.unit);
        if (at(begin) < last.beside_read.size()) {
            if (last.beside_gone[at(begin)] > last.beside_read[at(begin)]) {
                gone = read;
                gone.add(last.beside_gone[at(begin)], program_.unit);
            }
            read.add(last.beside_read[at(begin)], program_.unit);
            at_end = higher(at_end, read);
        }
        return {at_begin, at_end, gone, bare};
    }

    // What is beside a stripe at its begin; to `bare` what stays.
    void add_beside(Index begin, Index end, const Levels& levels, Load& at_begin, Load& bare) const {
        const Here& here = places_[at(begin)][at(levels.here)];
        const Level& first = program_.operators[at(begin) - 1].levels[at(here.level)];
        if (here.stays != kNothing) {
            for (const Whole& whole : program_.wholes) {
                if (whole.begin == here.stays && whole.end == here.stays + 1)
                    bare.add(whole.size, program_.unit);
            }
            at_begin = bare;
            at_begin.add(first.beside_read[at(here.stays + 1)], program_.unit);
            return;
        }
        const std::size_t last = at(end - begin) - 1;
        const bool is_known = last < first.beside_next.size();
        at_begin.add(is_known ? first.beside_next[last] : first.beside, program_.unit);
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
        Longest& longest = longest_[at(end)];
        std::optional<Stripe> own;
        if (longest.stripe) {
            own.emplace(*std::move(segment));
        } else {
            longest = {begin, std::make_unique<Stripe>(*std::move(segment))};
        }
        Stripe& stripe = own ? *own : *longest.stripe;
        std::map<Index, Stripe> with_sources;  // by what stays
        std::map<std::tuple<Load, Load, Load, Index, Cost>, std::vector<Way>>
            ways;  // by all that they depend on
        const std::vector<Strips>* strips = nullptr;
        for (const Levels& levels : levels_of(begin, end)) {
            const Around whole = around(&stripe.segment(), begin, end, levels);
            const Load least = whole.with(0, program_.unit);
            if (least.height() > limits_.most) continue;
            budget_.count(stripe.make_rows(program_, begin, end, own ? longest.stripe.get() : nullptr,
                                           begin - longest.begin));
            // No strips need less than those of one column.
            const Place columns = program_.operators[at(end) - 1].columns;
            if (limits_.most < kLimit && !stripe.fits(columns, least, limits_.most)) continue;
            const Index stays = places_[at(begin)][at(levels.here)].stays;
            Stripe* with_source = nullptr;
            if (stays != kNothing && !program_.around.path.empty()) {
                with_source = &with_sources.try_emplace(stays, stripe, stays).first->second;
                budget_.count(with_source->make_rows(program_, begin, end));
            }
            if (strips == nullptr) strips = &strips_of(begin, end);
            // What runs again elsewhere is a part of no more than what strips may cost in addition.
            const Cost again =
                with_source == nullptr ? std::min(levels.all, dearest_of(*strips)) : levels.all;
            const auto [known, is_new] =
                ways.try_emplace({whole.at_begin, whole.at_end, whole.bare, stays, again});
            if (is_new) known->second = ways_of(stripe, with_source, *strips, end - begin, whole, again);
            for (const Way& way : known->second) add_or_stay(begin, end, levels, way, whole.gone.height());
        }
    }

    // `again`: what runs again elsewhere adds to the cost; what runs again in the stripe may be a part of it.
    // `with_source`: with what comes to it from what stays, if something does.
    std::vector<Way> ways_of(Stripe& stripe, Stripe* with_source, const std::vector<Strips>& all, Index count,
                             const Around& whole, Cost again) {
        std::vector<Way> ways;
        for (const Strips& strips : all) {
            const auto& [cost, made, reference] = strips.reference;
            const auto [first, other, alone] =
                stripe.needs(reference, strips.columns, whole.with(made, program_.unit));
            const Cost more = std::max<Cost>(cost - again, 0);
            FewNeeds needs(first);
            if (other) needs.add(*other);
            if (with_source != nullptr) {
                Load bare = whole.bare;
                bare.add(made, program_.unit);
                needs = with_source->needs_at_least(needs, reference, strips.columns, bare, again);
            }
            for (const Need& need : needs) {
                if (need.cost + more > limits_.cost) continue;
                ways.push_back({need.bytes, need.cost + more, strips.columns, kNobody});
            }
            // The first is of one strip, with which each of them costs least.
            const auto is_enough = [&](const Need& need) { return need.bytes <= limits_.least; };
            if (&strips == &all.front() && std::ranges::all_of(needs, is_enough) &&
                !stripe.segment().skips_columns())
                break;
            budget_.count((reference + strips.columns - 1) / strips.columns * count);
            if (budget_.spent()) {
                complete_ = false;
                break;
            }
        }
        keep_best(ways);
        return ways;
    }

    // The most that one of these costs in addition.
    static Cost dearest_of(const std::vector<Strips>& all) {
        Cost dearest = 0;
        for (const Strips& strips : all) dearest = std::max(dearest, strips.reference.cost);
        return dearest;
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

    // What it reads stays until the next one runs, or so much is there at once.
    void add_or_stay(Index begin, Index end, const Levels& levels, Way way, Bytes gone) {
        if (gone > way.bytes) add(begin, end, levels, way, begin - 1);
        way.bytes = std::max(way.bytes, gone);
        add(begin, end, levels, way);
    }

    // `stays`: what is there until the next one runs.
    void add(Index begin, Index end, const Levels& levels, Way way, Index stays = kNothing) {
        way.bytes = std::max(way.bytes, program_.operators[at(end) - 1].levels[at(levels.end)].peak);
        if (way.bytes > limits_.most || levels.entry > limits_.cost - way.cost) return;
        const Cost cost = way.cost + levels.entry;
        const std::vector<State>& here = places_[at(begin)][at(levels.here)].states;
        if (here.empty()) return;
        Here& there = of(places_[at(end)], levels.end, stays);
        // Of the states that need less than this way, the cheapest is the last.
        std::size_t i = 0;
        while (i + 1 < here.size() && here[i + 1].bytes <= way.bytes) ++i;
        for (; i < here.size(); ++i) {
            if (cost > limits_.cost - here[i].cost) continue;
            const Bytes bytes = std::max(here[i].bytes, way.bytes);
            if (there.has_as_good(bytes, here[i].cost + cost)) continue;
            there.states.push_back(
                {bytes, here[i].cost + cost, begin, levels.here, i, way.columns, way.other});
        }
        if (there.states.size() > 2 * std::max(there.tidied, kTidy)) {
            keep_best(there.states, there.tidied);
            there.tidied = there.states.size();
        }
    }

    static Here& of(std::vector<Here>& all, Index level, Index stays) {
        if (stays == kNothing) return all[at(level)];
        const auto known = std::ranges::find_if(
            all, [&](const Here& here) { return here.level == level && here.stays == stays; });
        return known != all.end() ? *known : all.emplace_back(level, stays);
    }

    struct Last {
        Bytes bytes;
        Cost cost;
        Index end;
        const State* state;
    };

    Point point(const Last& last) const {
        Point result{last.bytes, last.cost, {}};
        Index end = last.end;
        for (const State* state = last.state; state->before != kNobody;) {
            result.choices.push_back({state->before, end, state->columns, state->other});
            end = state->before;
            state = &places_[at(end)][at(state->here)].states[state->from];
        }
        std::reverse(result.choices.begin(), result.choices.end());
        return result;
    }

    static constexpr std::size_t kTidy = 32;

    const Program& program_;
    const Limits& limits_;
    Budget& budget_;
    std::map<std::pair<Place, std::vector<Reference>>, std::vector<Strips>> strips_;
    // By end that is still to come, the stripe that begins first.
    struct Longest {
        Index begin = 0;
        std::unique_ptr<Stripe> stripe;
    };
    std::vector<Longest> longest_;
    std::vector<std::vector<Here>> places_;  // by level
    std::vector<Index> parts_;               // by operator, the first with its levels
    std::size_t count_ = 0;
    Index first_ = 0;  // that must run
    bool complete_ = true;
};

}  // namespace

Front front(const Program& program, const Limits& limits, Budget& budget) {
    return Search(program, limits, budget).run();
}

}  // namespace memstow::stripes
