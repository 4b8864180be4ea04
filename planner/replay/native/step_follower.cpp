#include "step_follower.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace memstow::replay {

StepFollower::StepFollower(const StepTable& table) : unit_(table.unit), sizes_(sizes_of(table)) {
    events_.reserve(table.events.size());
    for (const StepEvent& event : table.events) {
        const Bytes size = table.allocations[event.allocation].size;
        events_.push_back({size, event.allocation, kind_of(size, event.is_free), 0});
    }
}

void StepFollower::begin_step() {
    if (++step_ == 0) {
        for (Event& event : events_) event.step = 0;
        step_ = 1;
    }
    position_ = 0;
    is_sure_ = true;
}

Index StepFollower::allocated(Bytes size) {
    const Index event = follow(size, false);
    return event == kNone ? kNone : events_[event].allocation;
}

void StepFollower::freed(Bytes size) { follow(size, true); }

bool StepFollower::begins_with(Bytes size) const {
    // Nothing can be freed before it.
    return !events_.empty() && kind_of(size, false) == events_.front().kind;
}

// The recorded event that one of this kind is; kNone if it is none.
Index StepFollower::follow(Bytes size, bool is_free) {
    if (is_sure_ && position_ < events_.size()) {
        Event& next = events_[position_];
        const bool has_size = size <= next.size && next.size - size < unit_;
        if (has_size && (next.kind & 1) == is_free && next.step != step_) {
            next.step = step_;
            return position_++;
        }
    }
    const Index event = search(kind_of(size, is_free));
    if (event != kNone) events_[event].step = step_;
    return event;
}

StepFollower::Kind StepFollower::kind_of(Bytes size, bool is_free) const {
    const Index number = size > std::numeric_limits<Bytes>::max() - unit_
                             ? kNone
                             : sizes_.find((size + unit_ - 1) / unit_ * unit_);
    return (number == kNone ? kUnknown : 2 * number) + is_free;
}

Index StepFollower::search(Kind kind) {
    if (is_sure_) {
        is_sure_ = false;
        in_a_row_ = 0;
        base_ = position_;
        for (Index i = 0; i <= kWindow; ++i) differences_[i] = static_cast<int>(i);
    }
    const Index last = std::min<Index>(kWindow, static_cast<Index>(events_.size()) - base_);
    int fewest = std::numeric_limits<int>::max();
    for (Index i = 0; i <= last; ++i) {
        // The event was added.
        int count = differences_[i] + 1;
        if (i > 0) {
            // It is the recorded one, or that one in another size, or both a free and an allocation differ.
            const Kind recorded = events_[base_ + i - 1].kind;
            const int as_this = recorded == kind ? 0 : ((recorded ^ kind) & 1) != 0 ? 2 : 1;
            // Or the recorded one was left out.
            count = std::min({count, differences_[i - 1] + as_this, next_[i - 1] + 1});
        }
        next_[i] = count;
        fewest = std::min(fewest, count);
    }
    // Of places that are equally likely the one that changes least, and rather one to which the event
    // belongs.
    Index event = kNone;
    Index position = kNone;
    const auto distance = [this](Index to, Index from) {
        return std::abs(static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from));
    };
    for (Index i = 0; i <= last; ++i) {
        if (next_[i] != fewest) continue;
        const Index here = base_ + i;
        const bool is_event =
            i > 0 && events_[here - 1].kind == kind && differences_[i - 1] == fewest && is_open(here - 1);
        if (is_event && (event == kNone || distance(here - 1, position_) < distance(event, position_)))
            event = here - 1;
        if (position == kNone || distance(here, position_) < distance(position, position_)) position = here;
    }
    position_ = event == kNone ? position : event + 1;
    in_a_row_ = event == kNone ? 0 : in_a_row_ + 1;
    is_sure_ = in_a_row_ >= kEnough;
    differences_ = next_;
    if (position_ - base_ > kWindow / 2) {
        const Index moved = position_ - base_ - kWindow / 2;
        // What lies beyond the window is reached by leaving events out.
        for (Index i = 0; i <= kWindow; ++i) {
            differences_[i] = i + moved <= last ? differences_[i + moved] - fewest : differences_[i - 1] + 1;
        }
        base_ += moved;
    }
    return event;
}

}  // namespace memstow::replay
