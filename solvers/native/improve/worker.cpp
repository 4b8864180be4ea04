#include "improve/worker.hpp"

#include <algorithm>
#include <utility>

namespace memstow::improve {

namespace {

// Steps of one turn: some tenths of a second.
constexpr std::int64_t kTurn = 20'000'000;
// Steps of the first attempt at a target height.
constexpr std::int64_t kAttempt = 10'000'000;
constexpr std::int64_t kLongestAttempt = std::int64_t{1} << 40;
constexpr double kFirstShare = 0.3;
// With fewer items dives and ejection are as good and quicker.
constexpr Index kLargeEnoughToGrow = 2048;
// A growth goes on while each of its turns places this part of the items.
constexpr std::size_t kTurnsToGrow = 50;

bool one_choice_each(const Instance& instance, Index pool) {
    for (Index item = 0; item < instance.item_count(); ++item) {
        if (instance.choices[item].size() != 1 || instance.choices[item][0].pool != pool) return false;
    }
    return instance.item_count() > 0;
}

}  // namespace

Bytes height_of(const Instance& instance, Index pool, const Layout& layout) {
    Bytes height = 0;
    for (const Part& part : instance.parts) {
        const Place& place = layout[part.item];
        if (place.pool != pool || place.offset < 0) continue;
        height = std::max(height, place.offset + part.delta + part.size);
    }
    return height;
}

Worker::Worker(const Instance& instance, const Goal& goal, const Layout& start, std::uint64_t seed,
               bool ejects_first, const Budget& budget)
    : instance_(instance),
      goal_(goal),
      best_(start),
      height_(height_of(instance, goal.pool, start)),
      seed_(seed),
      budget_(budget),
      dives_(one_choice_each(instance, goal.pool)),
      grows_(instance.item_count() >= kLargeEnoughToGrow && height_ > goal.bound),
      way_(ejects_first ? Way::ejection
           : grows_     ? Way::growth
           : dives_     ? Way::keys
                        : Way::ejection),
      left_(kTurn),
      share_(kFirstShare),
      patience_(kAttempt) {}

void Worker::adopt(const Layout& layout, Bytes height) {
    if (height >= height_) return;
    best_ = layout;
    height_ = height;
}

void Worker::record(Layout layout) {
    height_ = height_of(instance_, goal_.pool, layout);
    best_ = std::move(layout);
}

bool Worker::work(const Stop& stop) {
    bool stopped = false;
    const Stop counted = [&](std::int64_t steps) {
        left_ -= steps;
        stopped = stopped || stop(steps);
        return stopped || left_ <= 0;
    };
    while (height_ > goal_.bound && !stopped) {
        if (left_ <= 0) end_turn();
        if (search(counted)) {
            left_ = std::max(left_, kTurn / 2);  // goes on while it helps
            return true;
        }
    }
    return false;
}

Worker::Way Worker::after(Way way) const {
    switch (way) {
        case Way::keys:
            return Way::ejection;
        case Way::ejection:
            return grows_ ? Way::growth : dives_ ? Way::keys : Way::ejection;
        case Way::growth:
            return dives_ ? Way::keys : Way::ejection;
    }
    return way;
}

// The next way, unless a growth gets on.
void Worker::end_turn() {
    left_ = kTurn;
    if (way_ == Way::growth) {
        const std::size_t before = std::exchange(grown_, growth_->placed());
        if (grown_ > before + best_.size() / kTurnsToGrow) return;
    }
    way_ = after(way_);
    if (growth_) grown_ = growth_->placed();
}

bool Worker::search(const Stop& stop) {
    switch (way_) {
        case Way::keys:
            return search_keys(stop);
        case Way::ejection:
            return eject(stop);
        case Way::growth:
            return grow(stop);
    }
    return false;
}

bool Worker::search_keys(const Stop& stop) {
    if (!keys_) keys_.emplace(instance_, goal_.pool, goal_.bound, seed_, budget_);
    if (!keys_->run(height_, stop)) return false;
    record(keys_->layout);
    return true;
}

bool Worker::grow(const Stop& stop) {
    if (!growth_)
        growth_.emplace(instance_, goal_.pool, best_, goal_.bound, goal_.unit, seed_, budget_, dives_);
    if (!growth_->run(height_, stop)) return false;
    // An item that meets no other may end above the target: dives do not look at it.
    if (height_of(instance_, goal_.pool, growth_->layout) >= height_) return false;
    record(growth_->layout);
    return true;
}

bool Worker::eject(const Stop& stop) {
    const double gap = height_ - goal_.bound;
    const Bytes drop = std::max(goal_.unit, static_cast<Bytes>(gap * share_) / goal_.unit * goal_.unit);
    const Bytes target = std::max(goal_.bound, height_ - drop);
    if (!ejection_) ejection_.emplace(instance_, goal_.pool, best_, seed_);
    ejection_->load(best_);
    std::int64_t used = 0;
    bool stopped = false;
    const Stop limited = [&](std::int64_t steps) {
        used += steps;
        stopped = stop(steps);
        return stopped || used > patience_;
    };
    const bool reached = ejection_->reach(target, limited);
    const Stop bare = [&](std::int64_t steps) { return stop(steps); };
    const bool whole = reached || ejection_->complete(height_ - 1, bare);
    if (whole && ejection_->height() < height_) {
        ejection_->save(best_);
        height_ = ejection_->height();
        if (reached) share_ = std::min(1.0, share_ * 1.5);
        return true;
    }
    if (stopped) return false;
    share_ /= 2;
    if (gap * share_ < goal_.unit) {
        share_ = kFirstShare;
        patience_ = std::min(patience_ * 2, kLongestAttempt);
    }
    return false;
}

}  // namespace memstow::improve
