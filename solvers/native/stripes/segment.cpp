#include "stripes/segment.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace memstow::stripes {
namespace {

// cost * part / whole, rounded up, for products of more than 64 bits.
Cost share(Cost cost, Place part, Place whole) {
    return cost / whole * part + (cost % whole * part + whole - 1) / whole;
}

}  // namespace

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
    segment.count_made();
    segment.replay();
    return segment;
}

bool Segment::is_stripe() {
    leaves_.resize(at(count_));
    for (Index place = 0; place < count_; ++place) {
        const Operator& operation = op(place);
        if (!operation.can) return false;
        const bool read_inside = !operation.readers.empty() && operation.readers.front().at < begin_ + count_;
        if (operation.reduces && read_inside) return false;
        leaves_[at(place)] = operation.kept || operation.last_reader >= begin_ + count_;
    }
    return true;
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

// Whether rows of it are kept now.
void Segment::look(Index place) {
    if (is_sink(place)) return;
    held_[at(place)] = needed_from(place) < done_[at(place)];
}

void Segment::step(Index here) {
    ++steps_;
    const auto touch = [&](Index place) {
        first_[at(place)] = std::min(first_[at(place)], here);
        last_[at(place)] = std::max(last_[at(place)], here);
    };
    touch(here);
    for (const Use& use : op(here).uses) {
        if (const Index from = source(use); from != kNobody) touch(from);
    }
    for (Index place = 0; place < count_; ++place) {
        if (held_[at(place)] != 0) touch(place);
    }
    const Place done = ++done_[at(here)];
    if (!is_sink(here)) {
        // The row is there before it is known that nobody needs it.
        const Place from = std::min(needed_from(here), done - 1);
        rows_[at(here)] = std::max(rows_[at(here)], done - from);
    }
    look(here);
    for (const Use& use : op(here).uses) {
        if (const Index from = source(use); from != kNobody) look(from);
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
    first_.assign(at(count_), count_);
    last_.assign(at(count_), -1);
    done_.assign(at(count_), 0);
    held_.assign(at(count_), 0);
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

Need Segment::need(Place columns, const Load& whole) const {
    const Place reference = reference_columns();
    std::vector<Place> widest(at(count_), 0);
    std::vector<Place> total(at(count_), 0);
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
    Need need;
    for (Index place = 0; place < count_; ++place) {
        const Operator& operation = op(place);
        need.cost += operation.reduces ? operation.cost
                                       : share(operation.cost, rows_made_[at(place)] * total[at(place)],
                                               operation.rows * operation.columns);
    }
    need.bytes = fullest(widest, whole);
    return need;
}

// The most over the phases: a ring lives in those from its first place to its last.
Bytes Segment::fullest(const std::vector<Place>& widest, Load whole) const {
    const Bytes unit = program_->unit;
    for (Index place = 0; place < count_; ++place) whole.add(op(place).sums, unit);
    std::vector<Bytes> change(at(count_) + 1, 0);
    std::vector<Bytes> rest(at(count_), whole.rest);
    for (Index place = 0; place < count_; ++place) {
        const Load& extra = op(place).extra;
        change[at(place)] += extra.bytes;
        change[at(place) + 1] -= extra.bytes;
        rest[at(place)] = std::max(rest[at(place)], extra.rest);
        if (is_sink(place) || last_[at(place)] < 0) continue;
        Load ring;
        ring.add(rows_[at(place)] * widest[at(place)] * op(place).pixel, unit);
        change[at(first_[at(place)])] += ring.bytes;
        change[at(last_[at(place)]) + 1] -= ring.bytes;
        if (ring.rest == 0) continue;
        for (Index k = first_[at(place)]; k <= last_[at(place)]; ++k) {
            rest[at(k)] = std::max(rest[at(k)], ring.rest);
        }
    }
    Bytes most = 0, level = whole.bytes;
    for (Index place = 0; place < count_; ++place) {
        level += change[at(place)];
        most = std::max(most, level - rest[at(place)]);
    }
    return most;
}

}  // namespace memstow::stripes
