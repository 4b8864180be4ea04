#include "improve/key_search.hpp"

#include <algorithm>
#include <cmath>

namespace memstow::improve {

namespace {

constexpr int kRules = 4;
constexpr std::size_t kMostWindows = 64;
// Above, a dive takes long enough to make do with few starts.
constexpr std::size_t kFewBoxes = 10'000;
// Up to here a bit for each pair is quicker than a tree, as in the greedy portfolio.
constexpr std::size_t kMostPairParts = 2048;
// Of one part decoded, in steps of the skyline.
constexpr std::int64_t kDecodeSteps = 50;

}  // namespace

KeySearch::KeySearch(const Instance& instance, Index pool, Bytes bound, std::uint64_t seed,
                     const Budget& budget)
    : instance_(instance), pool_(pool), bound_(bound), budget_(budget), random_(seed), skyline_(instance) {
    box_of_.resize(instance.item_count(), -1);
    for (std::size_t i = 0; i < skyline_.boxes().size(); ++i) {
        box_of_[skyline_.boxes()[i].item] = i;
    }
    for (Index item = 0; item < instance.item_count(); ++item) {
        if (instance.choices[item][0].low == instance.choices[item][0].high) pinned_.push_back(item);
    }
}

// First the four rules as they are and some noisy ones, a single dive each; then the best of these is
// bettered; after that every other time a new one.
void KeySearch::restart() {
    const int first = skyline_.boxes().size() <= kFewBoxes ? 6 * kRules : 2 * kRules;
    if (starts_ < first || starts_ % 2 == 1) {
        const double noise = starts_ < kRules ? 0 : starts_ < 3 * kRules ? 0.3 : 1.0;
        keys_ = skyline_.keys(starts_ < first ? starts_ % kRules : static_cast<int>(random_.below(kRules)),
                              noise, random_);
    } else {
        keys_ = best_keys_;
    }
    patience_ = starts_ < first ? -1 : 100 << std::min(4, (starts_ - first) / 20);
    ++starts_;
    stalled_ = 0;
    fresh_ = true;
    constexpr double kShares[] = {0.5, 0.0, 0.8};
    share_ = kShares[random_.below(3)];
    power_ = random_.below(2) == 0 ? 1 : 0.5;
    uphill_ = random_.below(3) == 0 ? 0.02 : 0;
}

bool KeySearch::dive(const std::vector<double>& keys, const Skyline::Stop& stop) {
    return skyline_.run(keys, bound_, order_, stop);
}

void KeySearch::note(const std::vector<double>& keys) {
    if (skyline_.top >= lowest_) return;
    lowest_ = skyline_.top;
    best_keys_ = keys;
}

double KeySearch::excess() const {
    double sum = 0;
    for (const Bytes end : skyline_.ends) sum += excess_of(end);
    return sum;
}

void KeySearch::aim(Bytes top) {
    target_ = bound_ + static_cast<Bytes>((std::max<Bytes>(1, top - bound_) - 1) * share_);
    cost_ = excess();
    ends_ = skyline_.ends;
    top_ = top;
    failing_.clear();
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        if (ends_[i] > target_) failing_.push_back(i);
    }
}

// Changes keys in windows around items that end too high. The windows are apart: what happens in one says
// little about another, so that each is judged on its own.
void KeySearch::perturb() {
    next_ = keys_;
    windows_.clear();
    changes_.clear();
    const std::size_t tries = std::min<std::size_t>(kMostWindows, 1 + failing_.size() / 4);
    for (std::size_t k = 0; k < tries; ++k) {
        const Index item = failing_[random_.below(failing_.size())];
        if (box_of_[item] < 0) continue;
        const Skyline::Box& box = skyline_.boxes()[box_of_[item]];
        const double life = box.end - box.begin;
        const Window window{box.begin - life * chance(), box.end + life * chance()};
        if (std::any_of(windows_.begin(), windows_.end(), [&](const Window& other) {
                return other.low < window.high && window.low < other.high;
            }))
            continue;
        const double share = 0.3 * chance();
        const double strength = chance();
        const auto change = [&](Index changed, double by) {
            changes_.push_back({changed, windows_.size()});
            next_[changed] *= growth(strength * by);
        };
        each_begun(window, [&](Index other) {
            if (chance() < share) change(other, 2 * chance() - 1);
        });
        if (random_.below(2) == 0) change(item, chance());
        windows_.push_back(window);
    }
}

template <class Job>
void KeySearch::each_begun(const Window& window, Job job) const {
    const std::vector<Skyline::Box>& boxes = skyline_.boxes();
    auto next = std::partition_point(boxes.begin(), boxes.end(),
                                     [&](const Skyline::Box& box) { return box.begin < window.low; });
    for (; next != boxes.end() && next->begin < window.high; ++next) job(next->item);
}

double KeySearch::excess_of(Bytes end) const {
    if (end <= target_) return 0;
    const double over = static_cast<double>(end - target_) / (bound_ + 1);
    return power_ == 1 ? over : std::sqrt(over);
}

// Takes back the changes in windows where more ends too high than before. False when there is nothing to gain
// from a dive with the others alone.
bool KeySearch::take_back_worse() {
    std::vector<char> worse(windows_.size(), 0);
    bool some_better = false;
    bool some_worse = false;
    for (std::size_t k = 0; k < windows_.size(); ++k) {
        double change = 0;
        each_begun(windows_[k],
                   [&](Index item) { change += excess_of(skyline_.ends[item]) - excess_of(ends_[item]); });
        worse[k] = change > 0;
        some_better = some_better || change < 0;
        some_worse = some_worse || change > 0;
    }
    if (!some_better || !some_worse) return false;
    for (const Change& change : changes_) {
        if (worse[change.window]) next_[change.item] = keys_[change.item];
    }
    return true;
}

// Keeps the layout of the last dive if it is lower than `height`.
void KeySearch::decode(Bytes height, const Skyline::Stop& stop) {
    if (skyline_.exact()) {
        if (skyline_.top >= height) return;
        layout = skyline_.layout(pool_);
        reached_ = !layout.empty();
        return;
    }
    std::vector<char> is_pinned(instance_.item_count(), 0);
    for (const Index item : pinned_) is_pinned[item] = 1;
    std::vector<Index> order = pinned_;
    for (const Index item : order_) {
        if (!is_pinned[item]) order.push_back(item);
    }
    // The shared one must not be counted in: its work decides when a deterministic run ends.
    Budget own(-1, -1, &budget_);
    const auto place = [&](auto& placer) {
        if (!placer) placer.emplace(instance_);
        return placer->run(order, greedy::Tactics{}, own, layout, greedy::WhenSpent::give_up, height - 1);
    };
    const bool done = instance_.parts.size() <= kMostPairParts      ? place(pairs_)
                      : greedy::NarrowTreeBoard::reaches(instance_) ? place(narrow_tree_)
                                                                    : place(tree_);
    if (stop(kDecodeSteps * count_of(instance_.parts)) || !done) return;
    Bytes top = 0;
    for (const Part& part : instance_.parts) {
        const Place& at_place = layout[part.item];
        if (at_place.offset == kUnplaced) return;
        top = std::max(top, at_place.offset + part.delta + part.size);
    }
    reached_ = top < height;
}

bool KeySearch::run(Bytes height, const Skyline::Stop& stop) {
    reached_ = false;
    while (!reached_) {
        if (keys_.empty() || stalled_ > patience_ || top_ <= bound_) restart();
        if (fresh_) {
            if (!dive(keys_, stop)) return false;
            fresh_ = false;
            note(keys_);
            aim(skyline_.top);
            decode(height, stop);
            continue;
        }
        ++stalled_;
        perturb();
        if (!dive(next_, stop)) return false;
        note(next_);
        double cost = excess();
        if (cost > cost_ && skyline_.top >= top_ && take_back_worse()) {
            if (!dive(next_, stop)) return false;
            note(next_);
            cost = excess();
        }
        if (cost > cost_ * (1 + uphill_) && skyline_.top >= top_) continue;
        if (cost < cost_ || skyline_.top < top_) stalled_ = 0;
        keys_.swap(next_);
        const bool lower = skyline_.top < top_;
        const Bytes top = skyline_.top;
        cost_ = cost;
        ends_ = skyline_.ends;
        if (lower) {
            aim(top);
        } else {
            top_ = top;
            failing_.clear();
            for (std::size_t i = 0; i < ends_.size(); ++i) {
                if (ends_[i] > target_) failing_.push_back(i);
            }
            if (failing_.empty()) aim(top);
        }
        if (skyline_.exact() || lower) decode(height, stop);
    }
    return true;
}

}  // namespace memstow::improve
