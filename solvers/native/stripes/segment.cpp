#include "stripes/segment.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/bounds.hpp"

namespace memstow::stripes {
namespace {

// cost * part / whole, rounded up, for products of more than 64 bits.
Cost share(Cost cost, Place part, Place whole) {
    if (cost == 0) return 0;
    const Cost each = cost / whole, rest = cost % whole;
    return each * part + (rest == 0 ? 0 : (rest * part + whole - 1) / whole);
}

}  // namespace

std::vector<Reads> reads_of(const std::vector<Operator>& path) {
    std::vector<Reads> all;
    for (const Operator& operation : path) {
        Reads& reads = all.emplace_back();
        for (const Use& use : operation.uses) {
            const Place step = use.rows.over == 1 ? use.rows.step : 0;
            reads.step = reads.end.empty() ? step : std::min(reads.step, step);
            reads.end.resize(operation.rows, 0);
            Place row = 0;
            for (Place& end : reads.end) end = std::max(end, use.rows.end(row++));
        }
        for (Place row = 1; row < operation.rows && !operation.uses.empty(); ++row) {
            const auto is_kept = [&](const Use& use) { return use.rows.first(row) < reads.end[row - 1]; };
            reads.overlap = reads.overlap && std::ranges::any_of(operation.uses, is_kept);
        }
    }
    return all;
}

template <typename Visit>
void Segment::for_readers(Index place, const Visit& visit) const {
    for (const Reader& reader : op(place).readers) {
        if (reader.at >= begin_ + count_) break;
        const Index there = reader.at - begin_;
        visit(there, op(there).uses[reader.use]);
    }
}

std::optional<Segment> Segment::of(const Program& program, Index begin, Index end) {
    Segment segment(program, begin, end);
    if (!segment.is_stripe()) return std::nullopt;
    return segment;
}

std::int64_t Segment::make_rows() {
    count_made();
    replay();
    find_lives();
    find_shared();
    return steps_;
}

void Segment::take_rows(const Segment& longer, std::vector<Index> places) {
    longer_ = &longer;
    places_ = std::move(places);
    for (const Index there : places_) {
        rows_made_.push_back(longer.rows_made_[at(there)]);
        rows_.push_back(longer.rows_[at(there)]);
    }
    find_lives();
    find_shared();
}

void Segment::find_shared() {
    for (Index place = 0; place + 1 < count_; ++place) is_shared_ = is_shared_ || op(place).shared;
}

// What is there while an operator on a branch runs is not known.
void Segment::find_lives() {
    const Segment& known = longest();
    std::vector<Index> here(at(known.count_), kNobody);
    for (Index place = 0; place < count_; ++place) here[at(in_longest(place))] = place;
    const auto lives_of = [&](const std::vector<PlaceSet>& touched) {
        std::vector<Life> lives(at(count_), {count_, -1});
        for (Index there = 0; there < count_of(touched); ++there) {
            if (here[at(there)] == kNobody) continue;
            touched[at(there)].for_all([&](Index place) {
                if (here[at(place)] != kNobody) lives[at(here[at(place)])].touch(here[at(there)]);
            });
        }
        return lives;
    };
    lives_ = lives_of(known.touched_);
    sure_ = lives_of(known.sure_touched_);
}

bool Segment::is_stripe() {
    leaves_.resize(at(count_));
    for (Index place = 0; place < count_; ++place) {
        const Operator& operation = op(place);
        if (!operation.can) return false;
        const bool read_inside = !operation.readers.empty() && operation.readers.front().at < begin_ + count_;
        if (operation.reduces && read_inside) return false;
        leaves_[at(place)] = operation.kept || operation.last_reader >= begin_ + count_;
        // Of a path, that would be as bad as one stripe that ends here and one that begins after it.
        const bool is_inside = place + 1 < count_ && leaves_[at(place)] != 0;
        if (is_inside && !program_->reads.empty()) return false;
    }
    return true;
}

bool Segment::skips_columns() const {
    for (Index place = 0; place + 1 < count_; ++place) {
        int readers = is_sink(place) ? 1 : 0;
        bool skips = false;
        for_readers(place, [&](Index reader, const Use& use) {
            ++readers;
            const Place columns = op(reader).columns;
            for (Place q = 0; q + 1 < columns; ++q) {
                skips = skips || use.columns.first(q + 1) > use.columns.end(q);
            }
        });
        // What lies between the columns that two need may be skipped as well.
        if (skips || readers > 1) return true;
    }
    return false;
}

void Segment::count_made() {
    rows_made_.assign(at(count_), 0);
    for (Index place = count_ - 1; place >= 0; --place) {
        Place& rows = rows_made_[at(place)];
        if (is_sink(place)) {
            rows = op(place).rows;
            continue;
        }
        for_readers(place, [&](Index reader, const Use& use) {
            if (rows_made_[at(reader)] > 0) rows = std::max(rows, use.rows.end(rows_made_[at(reader)] - 1));
        });
    }
}

Place Segment::needed_from(Index place) const {
    Place least = done_[at(place)];
    for_readers(place, [&](Index reader, const Use& use) {
        const Place next = done_[at(reader)];
        if (next < rows_made_[at(reader)]) least = std::min(least, use.rows.first(next));
    });
    return least;
}

// Whether rows of it are kept now, of which those from this one on are needed.
void Segment::look(Index place, Place needed) {
    if (!is_sink(place)) held_.set(place, needed < done_[at(place)]);
}

// What is there while an operator of a path with branches runs, also without some of the branches: then no
// reader on the path is further ahead of those after it, nor one before it closer to its end.
void Segment::touch_of_path(Index here) {
    PlaceSet& touched = sure_touched_[at(here)];
    touched.set(here);
    for (const Use& use : op(here).uses) {
        const Index from = source(use);
        if (from != kNobody && (op(from).is_branch || from == op(here).before)) touched.set(from);
    }
    touched.add(within_);
}

void Segment::step(Index here) {
    ++steps_;
    if (!op(here).is_branch) {
        PlaceSet& touched = touched_[at(here)];
        touched.set(here);
        for (const Use& use : op(here).uses) {
            if (const Index from = source(use); from != kNobody) touched.set(from);
        }
        touched.add(held_);
        if (program_->has_branches) touch_of_path(here);
    }
    const Place done = ++done_[at(here)];
    if (op(here).overlaps) within_.set(op(here).before, done < rows_made_[at(here)]);
    if (!is_sink(here)) {
        // The row is there before it is known that nobody needs it.
        const Place needed = needed_from(here);
        rows_[at(here)] = std::max(rows_[at(here)], done - std::min(needed, done - 1));
        look(here, needed);
    }
    for (const Use& use : op(here).uses) {
        if (const Index from = source(use); from != kNobody) look(from, needed_from(from));
    }
}

void Segment::make(Index place) {
    waiting_.assign(1, place);
    while (!waiting_.empty()) {
        const Index here = waiting_.back();
        const std::vector<Use>& uses = op(here).uses;
        const auto missing = std::find_if(uses.begin(), uses.end(), [&](const Use& use) {
            const Index from = source(use);
            return from != kNobody && done_[at(from)] < use.rows.end(done_[at(here)]);
        });
        if (missing != uses.end()) {
            waiting_.push_back(source(*missing));
        } else {
            step(here);
            waiting_.pop_back();
        }
    }
}

void Segment::replay() {
    rows_.assign(at(count_), 0);
    done_.assign(at(count_), 0);
    held_ = within_ = PlaceSet(count_);
    touched_.assign(at(count_), held_);
    if (program_->has_branches) sure_touched_ = touched_;
    const Place reference = last().rows;
    for (Place row = 0; row < reference; ++row) {
        for (Index place = 0; place + 1 < count_; ++place) {
            if (!is_sink(place)) continue;
            const Place until = (row + 1) * op(place).rows / reference;
            while (done_[at(place)] < until) make(place);
        }
        make(count_ - 1);
    }
}

Segment::Columns Segment::columns_of(Place reference, Place columns) const {
    Columns known{std::vector<Place>(at(count_), 0), std::vector<Place>(at(count_), 0)};
    auto& [widest, total] = known;
    std::vector<std::pair<Place, Place>> spans(at(count_));
    for (Place from = 0; from < reference; from += columns) {
        const Place to = std::min(from + columns, reference);
        for (Index place = count_ - 1; place >= 0; --place) {
            const Operator& operation = op(place);
            Place low = std::numeric_limits<Place>::max();
            Place high = -1;
            const auto include = [&](Place begin, Place end) {
                if (begin >= end) return;
                low = std::min(low, begin);
                high = std::max(high, end);
            };
            if (is_sink(place))
                include(from * operation.columns / reference, to * operation.columns / reference);
            if (!operation.reduces) {
                for_readers(place, [&](Index reader, const Use& use) {
                    const auto [begin, end] = spans[at(reader)];
                    if (begin < end) include(use.columns.first(begin), use.columns.end(end - 1));
                });
            }
            spans[at(place)] = high < 0 ? std::pair<Place, Place>{0, 0} : std::pair{low, high};
            const Place width = spans[at(place)].second - spans[at(place)].first;
            widest[at(place)] = std::max(widest[at(place)], width);
            total[at(place)] += width;
        }
    }
    return known;
}

const Segment::Columns& Segment::known_columns(Place reference, Place columns) const {
    const auto [known, is_new] = columns_.try_emplace({reference, columns});
    if (is_new) known->second = columns_of(reference, columns);
    return known->second;
}

Need Segment::need(Place reference, Place columns, const Load& whole, Sure* sure) const {
    const Columns& known = longest().known_columns(reference, columns);
    std::vector<Place> widest(at(count_));
    Need need;
    for (Index place = 0; place < count_; ++place) {
        const Operator& operation = op(place);
        const std::size_t there = at(in_longest(place));
        widest[at(place)] = known.widest[there];
        need.cost += operation.reduces ? operation.cost
                                       : share(operation.cost, rows_made_[at(place)] * known.total[there],
                                               operation.rows * operation.columns);
    }
    Load all = whole;
    for (Index place = 0; place < count_; ++place) all.add(op(place).sums, program_->unit);
    const std::vector<Load> rings = rings_of(widest);
    const bool is_path = is_shared_ && !program_->reads.empty();
    need.bytes = is_path ? fullest_of_path(widest, rings, all) : fullest(lives_, rings, all);
    if (sure != nullptr) {
        sure->bytes = program_->has_branches ? fullest(sure_, rings, all) : need.bytes;
        sure->rings.clear();
        for (const Load& ring : rings) sure->rings.push_back(ring.bytes);
    }
    return need;
}

// By place, the rows of it that are kept; nothing where all of it is there.
std::vector<Load> Segment::rings_of(const std::vector<Place>& widest) const {
    std::vector<Load> rings(at(count_));
    for (Index place = 0; place < count_; ++place) {
        if (is_sink(place) || lives_[at(place)].last < 0) continue;
        rings[at(place)].add(rows_[at(place)] * widest[at(place)] * op(place).pixel, program_->unit);
    }
    return rings;
}

// The most over the phases: a ring lives in those from its first place to its last.
Bytes Segment::fullest(const std::vector<Life>& lives, const std::vector<Load>& rings,
                       const Load& whole) const {
    Bytes most = 0;
    Index begin = 0;
    for (Index place = 0; place < count_; ++place) {
        if (place + 1 < count_ && !op(place).shared) continue;
        most = std::max(most, fullest_between(begin, place, lives, rings, whole));
        begin = place + 1;
    }
    return most;
}

// Of those from after one that others read to the next, or to the last. While these run, its rows wait for
// the next of the path at least as long as where nobody else reads them.
Bytes Segment::fullest_between(Index begin, Index end, const std::vector<Life>& lives,
                               const std::vector<Load>& rings, const Load& whole) const {
    std::vector<Bytes> change(at(end - begin) + 2, 0);
    std::vector<Bytes> rest(at(end - begin) + 1, whole.rest);
    const auto add = [&](const Load& load, Index first, Index last) {
        if (load.bytes == 0 || first > last) return;
        change[at(first - begin)] += load.bytes;
        change[at(last - begin) + 1] -= load.bytes;
        for (Index k = first; load.rest > 0 && k <= last; ++k) {
            rest[at(k - begin)] = std::max(rest[at(k - begin)], load.rest);
        }
    };
    for (Index place = begin; place <= end; ++place) {
        if (!op(place).is_branch) add(op(place).extra, place, place);
        const auto [first, last] = lives[at(place)];
        add(rings[at(place)], std::max(first, begin), std::min(last, end));
    }
    if (begin > 0) {
        Index reader = begin;
        while (op(reader).is_branch) ++reader;
        add(rings[at(begin) - 1], reader, reader);
    }
    Bytes most = 0, level = whole.bytes;
    for (Index place = begin; place <= end; ++place) {
        level += change[at(place - begin)];
        most = std::max(most, level - rest[at(place - begin)]);
    }
    return most;
}

// The bytes of rows between an operator of a path that is at its end and one that has made none yet: at least
// those of one ring, if it had all rows.
class Segment::Left {
  public:
    Left(const Segment& segment, const std::vector<Place>& widest) : segment_(segment), widest_(widest) {}

    // From each operator in turn, backwards; 0 where it is not known how their rows compare.
    Bytes before(Index from) {
        steps_ *= segment_.reads(from + 1).step;
        if (steps_ == 0 || steps_ > kLimit) return steps_ = 0;
        smallest_ = std::min(smallest_, widest_[at(from)] * segment_.op(from).pixel * steps_);
        const WideBytes rows = smallest_ * segment_.rows_made_[at(from)];
        // Most fit into 64 bits, whose division is much faster.
        if (rows <= kLimit) return static_cast<Bytes>(rows) / static_cast<Bytes>(steps_);
        return static_cast<Bytes>(std::min<WideBytes>(rows / steps_, kLimit / 2));
    }

  private:
    const Segment& segment_;
    const std::vector<Place>& widest_;
    WideBytes smallest_ = kLimit;
    WideBytes steps_ = 1;  // rows for each row of the one that has made none
};

// The bytes that a path needs at least, whoever else is in the stripe and pulls rows earlier than the path
// does.
//
// An operator that is not at its end and reads each row more than once keeps rows of what it reads
// (`overlap`). So all of these rings are there at two moments: when an operator makes its first row, those
// before it; and when it makes a row after the last operator has made its first, those after it as well.
// Unless one of them is at its end by then: then all of its rows are in the rings after it, but for what
// their readers have worked off (`left`).
//
// Between two that others read, only the path pulls: those are as they are by themselves.
Bytes Segment::fullest_of_path(const std::vector<Place>& widest, const std::vector<Load>& rings,
                               const Load& whole) const {
    const Index last = count_ - 1;
    Load overlapping;  // the rings that are there after the first row of the last one
    for (Index place = 0; place < last; ++place) {
        if (reads(place + 1).overlap) overlapping.add(rings[at(place)]);
    }
    const std::optional<Bytes> left = left_after_first_row(widest);
    Bytes most = whole.height();
    Index begin = 0;
    for (Index place = 0; place < count_; ++place) {
        Load here = whole;
        here.add(rings[at(place)]);
        here.add(op(place).extra);
        most = std::max(most, at_first_row(place, widest, rings, here, most));
        if (place < last && left) {
            Load all = here;
            all.add(overlapping);
            if (reads(place + 1).overlap) all.bytes -= rings[at(place)].bytes;  // it is here already
            if (place > 0 && !reads(place).overlap) all.add(rings[at(place) - 1]);
            most = std::max(most, std::min(whole.height() + *left, all.height()));
        }
        if (place < last && !op(place).shared) continue;
        most = std::max(most, between_shared(begin, place, rings, whole));
        begin = place + 1;
    }
    return most;
}

// From after one that others read to the next, or to the last: how long rows of that one wait is not known.
Bytes Segment::between_shared(Index begin, Index end, const std::vector<Load>& rings,
                              const Load& whole) const {
    std::vector<Life> lives = lives_;
    lives[at(end)] = {end, end};
    return fullest_between(begin, end, lives, rings, whole);
}

// `here`: without the rings before this operator. Where that is no more than so much, something less.
Bytes Segment::at_first_row(Index place, const std::vector<Place>& widest, const std::vector<Load>& rings,
                            const Load& here, Bytes most) const {
    Load all = here;
    Bytes least = kLimit;
    Left left(*this, widest);
    Place needed = 1;  // of the operator after the ring
    for (Index from = place - 1; from >= 0 && least > most; --from) {
        if (needed > 0 && (from + 1 == place || reads(from + 1).overlap)) all.add(rings[at(from)]);
        needed = needed > 0 ? reads(from + 1).end[at(needed - 1)] : 0;
        least = std::min(least, std::max(all.height(), here.height() + left.before(from)));
    }
    return std::min(least, all.height());
}

// After the first row of the last operator, how far others are ahead of that one is not known: half of what
// is left is in the rings between them when that makes its first row, or in those before it at its next row.
// None where that row needs nothing of one of them.
std::optional<Bytes> Segment::left_after_first_row(const std::vector<Place>& widest) const {
    Bytes least = kLimit;
    Left left(*this, widest);
    Place needed = 1;
    for (Index from = count_ - 2; from >= 0; --from) {
        needed = reads(from + 1).end[at(needed - 1)];
        if (needed == 0) return std::nullopt;
        least = std::min(least, left.before(from) / 2);
    }
    return least;
}

}  // namespace memstow::stripes
