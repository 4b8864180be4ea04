#include "shapes/layout.hpp"

#include <algorithm>
#include <utility>

#include "core/arithmetic.hpp"
#include "shapes/arcs.hpp"

namespace memstow::shapes {

namespace {

// Points count a little beside the worst one, so that the search has a slope to follow.
constexpr double kMeanShare = 0.05;
constexpr double kFirstShare = 16;
// A step of work is about as long as this: numbers compared in a row, or items looked at in turn.
constexpr std::int64_t kNumbersAStep = 4;
constexpr std::int64_t kItemsAStep = 4;

}  // namespace

SequenceLayout::SequenceLayout(const Shaped& shaped, Aim aim, std::vector<Index> sequence,
                               std::vector<Index> choices)
    : shaped_(shaped),
      aim_(aim),
      columns_(shaped.columns()),
      sequence_(std::move(sequence)),
      place_(places_in(sequence_)),
      choice_(std::move(choices)),
      offsets_(shaped.items() * shaped.columns()),
      over_(sequence_.size()),
      pool_peaks_(shaped.points * shaped.pools),
      peaks_(shaped.points),
      dirty_(sequence_.size(), 1),
      fresh_(shaped.columns()) {
    if (shaped.anywhere || !shaped.linked) {
        settle_by_lives();
    } else {
        settle(0);
    }
    measure();
}

// As `settle` does it where nothing is placed, in as many steps, which take less time: of what is below an
// item, most follows from the rest. Where something is in the way of a pin, it is in both, but other items
// may be elsewhere.
void SequenceLayout::settle_by_lives() {
    const std::vector<Index> pool = pools_of(shaped_, choice_);
    const auto below = next_below(shaped_, place_, pool);
    steps_ += count_of(sequence_) / kItemsAStep;
    for (const Index item : sequence_) {
        dirty_[item] = 0;
        const Choice& choice = chosen(item);
        Bytes* own = offsets(item);
        std::fill_n(own, columns_, choice.low);
        for (Index part = shaped_.item_parts[item]; part < shaped_.item_parts[item + 1]; ++part) {
            for (const Index lower : below[part]) {
                const Gap gap{lower, shaped_.parts[lower].delta - shaped_.parts[part].delta};
                raise_above(shaped_.parts[lower].item, gap, own);
            }
        }
        over_[item] = align(choice, own);
        if (choice.low == choice.high) std::fill_n(own, columns_, choice.low);
        const Links::OfItem links = shaped_.links[item];
        std::int64_t lower_links = 0;
        for (const Link link : links) {
            if (place_[link.other] <= place_[item] && pool[link.other] == choice.pool) ++lower_links;
        }
        steps_ += 1 + links.size() + (1 + lower_links) * columns_ / kNumbersAStep;
    }
}

double SequenceLayout::ratio(Index point) const {
    const Bytes least = shaped_.least[point];
    if (least == 0) return peaks_[point] == 0 ? 1 : 1 + static_cast<double>(peaks_[point]);
    return static_cast<double>(peaks_[point]) / static_cast<double>(least);
}

void SequenceLayout::move(Index item, Index place) {
    last_ = Step::kMove;
    last_item_ = item;
    last_from_ = place_[item];
    saved_quality_ = quality_;
    undo_.clear();
    saved_.clear();
    saved_over_.clear();
    const Index low = std::min(last_from_, place), high = std::max(last_from_, place);
    // The pairs whose sides change.
    for (const Link link : shaped_.links[item]) {
        const Index other = place_[link.other];
        if (other >= low && other <= high) dirty_[link.other] = 1;
    }
    dirty_[item] = 1;
    shift(last_from_, place);
    settle(low);
    measure();
}

void SequenceLayout::choose(Index item, Index choice) {
    last_ = Step::kChoose;
    last_item_ = item;
    last_from_ = choice_[item];
    saved_quality_ = quality_;
    undo_.clear();
    saved_.clear();
    saved_over_.clear();
    choice_[item] = choice;
    dirty_[item] = 1;
    mark_links(item);
    settle(place_[item]);
    measure();
}

void SequenceLayout::take_back() {
    if (last_ == Step::kMove) shift(place_[last_item_], last_from_);
    if (last_ == Step::kChoose) choice_[last_item_] = last_from_;
    last_ = Step::kNone;
    for (std::size_t i = 0; i < undo_.size(); ++i) {
        std::copy_n(saved_.data() + undo_[i].from, columns_, offsets(undo_[i].item));
        over_[undo_[i].item] = saved_over_[i];
    }
    pool_peaks_ = saved_pool_peaks_;
    peaks_ = saved_peaks_;
    quality_ = saved_quality_;
}

void SequenceLayout::shift(Index from, Index to) {
    const Index item = sequence_[from];
    const Index step = from < to ? 1 : -1;
    for (Index place = from; place != to; place += step) {
        sequence_[place] = sequence_[place + step];
        place_[sequence_[place]] = place;
    }
    sequence_[to] = item;
    place_[item] = to;
}

void SequenceLayout::mark_links(Index item) {
    const Index place = place_[item];
    for (const Link link : shaped_.links[item]) {
        if (place_[link.other] > place) dirty_[link.other] = 1;
    }
}

// Places again what has changed, from a place of the sequence on.
void SequenceLayout::settle(Index first) {
    steps_ += (count_of(sequence_) - first) / kItemsAStep;
    for (Index place = first; place < count_of(sequence_); ++place) {
        const Index item = sequence_[place];
        if (!dirty_[item]) continue;
        dirty_[item] = 0;
        if (this->place(item)) mark_links(item);
    }
}

// At least as high as an item and this gap above it.
void SequenceLayout::raise_above(Index lower, const Gap& gap, Bytes* own) const {
    const Bytes* from = offsets(lower);
    const Bytes* row = shaped_.row(gap);
    for (Index k = 0; k < columns_; ++k) own[k] = std::max(own[k], from[k] + row[k] + gap.distance);
}

// By how much that is too high then for the choice.
double SequenceLayout::align(const Choice& choice, Bytes* own) const {
    if (choice.modulus > 1) {
        for (Index k = 0; k < columns_; ++k) own[k] = align_up(own[k], choice.modulus, choice.residue);
    }
    return std::max(0.0, static_cast<double>(own[columns_ - 1] - choice.high));
}

// Whether the item's offsets have changed.
bool SequenceLayout::place(Index item) {
    const Choice& choice = chosen(item);
    Bytes* fresh = fresh_.data();
    std::fill_n(fresh, columns_, choice.low);
    const Index place = place_[item];
    const Links::OfItem links = shaped_.links[item];
    std::int64_t below = 1;
    for (const Link link : links) {
        if (place_[link.other] > place || chosen(link.other).pool != choice.pool) continue;
        ++below;
        raise_above(link.other, shaped_.gap(link), fresh);
    }
    steps_ += 1 + links.size() + below * columns_ / kNumbersAStep;
    const double over = align(choice, fresh);
    // A pin: the item is there whatever is below it.
    if (choice.low == choice.high) std::fill_n(fresh, columns_, choice.low);
    Bytes* own = offsets(item);
    if (over == over_[item] && std::equal(fresh, fresh + columns_, own)) return false;
    undo_.push_back({item, saved_.size()});
    saved_.insert(saved_.end(), own, own + columns_);
    saved_over_.push_back(over_[item]);
    std::copy_n(fresh, columns_, own);
    over_[item] = over;
    return true;
}

void SequenceLayout::measure() {
    saved_pool_peaks_ = pool_peaks_;
    saved_peaks_ = peaks_;
    std::fill(pool_peaks_.begin(), pool_peaks_.end(), 0);
    quality_.excess = 0;
    steps_ += count_of(sequence_) * (kItemsAStep + std::int64_t{shaped_.points}) / kNumbersAStep;
    for (Index item = 0; item < count_of(sequence_); ++item) {
        Bytes* peaks = row_of(chosen(item).pool);
        const Bytes* from = offsets(item);
        const Bytes* top = shaped_.top(item);
        for (Index k = 0; k < shaped_.points; ++k) {
            peaks[k] = std::max(peaks[k], top[k] == 0 ? 0 : from[k] + top[k]);
        }
        quality_.excess += over_[item];
    }
    for (Index k = 0; k < shaped_.points; ++k) {
        Bytes sum = 0, most = 0;
        for (Index pool = 0; pool < shaped_.pools; ++pool) {
            const Bytes peak = row_of(pool)[k];
            sum += peak;
            most = std::max(most, peak);
        }
        if (shaped_.measure == Measure::kSum) peaks_[k] = sum;
        if (shaped_.measure == Measure::kLargest) peaks_[k] = most;
        if (shaped_.measure == Measure::kOnePool) peaks_[k] = row_of(shaped_.pool)[k];
    }
    quality_.value = value();
}

double SequenceLayout::value() const {
    double worst = 1, mean = 0, weighted = 0, weights = 0;
    for (Index point = 0; point < shaped_.points; ++point) {
        const double now = ratio(point);
        if (aim_ != Aim::kFirst || point > 0) worst = std::max(worst, now);
        mean += now;
        weighted += shaped_.weight[point] * peaks_[point];
        weights += shaped_.weight[point] * shaped_.least[point];
    }
    mean /= std::max<double>(1, shaped_.points);
    if (aim_ == Aim::kSum) return weights > 0 ? weighted / weights : 1;
    const double first = aim_ == Aim::kFirst && shaped_.points > 0 ? kFirstShare * ratio(0) : 0;
    return first + worst + kMeanShare * mean;
}

Index SequenceLayout::highest_pool(Index point) const {
    if (shaped_.measure == Measure::kOnePool) return shaped_.pool;
    Index highest = 0;
    for (Index pool = 1; pool < shaped_.pools; ++pool) {
        if (row_of(pool)[point] > row_of(highest)[point]) highest = pool;
    }
    return highest;
}

void SequenceLayout::tower(Index point, Index pool, std::vector<Index>& items) {
    items.clear();
    steps_ += count_of(sequence_) / kItemsAStep;
    const auto end_of = [&](Index item) { return offsets(item)[point] + shaped_.top(item)[point]; };
    Index now = -1;
    for (const Index item : sequence_) {
        if (chosen(item).pool == pool && (now < 0 || end_of(item) > end_of(now))) now = item;
    }
    while (now >= 0) {
        items.push_back(now);
        steps_ += shaped_.links[now].size() / kItemsAStep;
        Index next = -1;
        Bytes most = chosen(now).low;
        for (const Link link : shaped_.links[now]) {
            if (place_[link.other] > place_[now] || chosen(link.other).pool != pool) continue;
            const Gap gap = shaped_.gap(link);
            const Bytes end = offsets(link.other)[point] + shaped_.row(gap)[point] + gap.distance;
            if (end > most) {
                most = end;
                next = link.other;
            }
        }
        now = next;
    }
}

}  // namespace memstow::shapes
