#include "improve/growth.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/arithmetic.hpp"

namespace memstow::improve {

namespace {

// Moves without progress after which a window is taken to be stuck, in the first attempt.
constexpr std::int64_t kPatience = 3000;
constexpr int kMostDoublings = 8;
// Steps of the dives that a first attempt opens with.
constexpr std::int64_t kOpeningSteps = 60'000'000;
// By how much of the gap to the best layout the target rises each time that a window is stuck.
constexpr double kRaises[] = {1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0 / 2};
constexpr int kRaiseCount = 4;

// The next window has a quarter more items, and this many at least.
constexpr std::size_t kLeastMore = 256;

}  // namespace

Growth::Growth(const Instance& instance, Index pool, const Layout& start, Bytes bound, Bytes unit,
               std::uint64_t seed, const Budget& budget, bool dives)
    : instance_(instance),
      pool_(pool),
      bound_(bound),
      unit_(unit),
      random_(seed),
      budget_(budget),
      dives_(dives),
      takes_part_(start.size()) {
    layout = start;
    for (std::size_t i = 0; i < start.size(); ++i) {
        takes_part_[i] = start[i].pool == pool && start[i].offset >= 0;
    }
    rank_rows();
    list_items();
    list_stackable();
    choose_top();
}

std::vector<Bytes> Growth::loads() const {
    std::vector<Bytes> load(static_cast<std::size_t>(instance_.time_rows) + 1, 0);
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        if (!takes_part_[instance_.parts[part].item]) continue;
        for (const RowRange& rows : instance_.rows[part]) {
            if (rows.begin >= instance_.time_rows) continue;
            load[rows.begin] += instance_.parts[part].size;
            load[rows.end] -= instance_.parts[part].size;
        }
    }
    std::partial_sum(load.begin(), load.end(), load.begin());
    load.pop_back();
    return load;
}

// The fullest row first; then always the fuller one of the two beside the window.
void Growth::rank_rows() {
    const std::vector<Bytes> load = loads();
    rank_.resize(load.size());
    if (load.empty()) return;
    const Index rows = count_of(load);
    Index low = static_cast<Index>(std::max_element(load.begin(), load.end()) - load.begin());
    Index high = low + 1;
    rank_[low] = 0;
    for (Index rank = 1; rank < rows; ++rank) {
        const bool up = low == 0 || (high < rows && load[high] >= load[low - 1]);
        rank_[up ? high++ : --low] = rank;
    }
}

void Growth::list_items() {
    const auto fullest = static_cast<Index>(std::find(rank_.begin(), rank_.end(), 0) - rank_.begin());
    struct Entry {
        Index rank;
        double weight;
        Index item;
    };
    std::vector<Entry> entries;
    for (Index item = 0; item < instance_.item_count(); ++item) {
        if (!takes_part_[item]) continue;
        Index rank = count_of(rank_);
        double rows = 0;
        Bytes extent = 0;
        for (Index part = instance_.item_parts[item]; part < instance_.item_parts[item + 1]; ++part) {
            extent = std::max(extent, instance_.parts[part].delta + instance_.parts[part].size);
            for (const RowRange& range : instance_.rows[part]) {
                if (range.begin >= instance_.time_rows) continue;
                rows += range.end - range.begin;
                // Ranks rise on both sides.
                const Index nearest = std::clamp(fullest, range.begin, range.end - 1);
                rank = std::min(rank, rank_[nearest]);
            }
        }
        if (rank == 0) {
            entries.push_back({rank, rows, item});
            ++stacked_;
        } else {
            entries.push_back({rank, extent * std::sqrt(rows), item});
        }
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        if (a.rank != b.rank) return a.rank < b.rank;
        return a.weight != b.weight ? a.weight > b.weight : a.item < b.item;
    });
    order_.resize(entries.size());
    std::transform(entries.begin(), entries.end(), order_.begin(), [](const Entry& e) { return e.item; });
}

// What has one place above the other only: no group, no range of offsets, none it may share bytes with.
void Growth::list_stackable() {
    stackable_.assign(takes_part_.size(), 0);
    const bool reserved = !instance_.pools[pool_].reserved.empty();
    for (std::size_t k = 0; k < stacked_; ++k) {
        const std::span<const Part> parts = instance_.parts_of(order_[k]);
        stackable_[order_[k]] = !reserved && parts.size() == 1 && parts[0].delta == 0;
    }
    for (const ExemptPair& pair : instance_.exempt) {
        const Index first = instance_.parts[pair.first].item;
        const Index second = instance_.parts[pair.second].item;
        if (stackable_[first] && stackable_[second]) stackable_[first] = stackable_[second] = 0;
    }
}

// All but the topmost lose what they lack to whole steps of their grid, and the bound takes the greatest loss
// of any for that of the topmost: another one on top may be too high.
void Growth::choose_top() {
    const auto loss = [&](Index item) {
        const Bytes modulus = std::max<Bytes>(instance_.choices[item][0].modulus, 1);
        const Bytes rest = instance_.parts_of(item)[0].size % modulus;
        return rest == 0 ? 0 : modulus - rest;
    };
    std::size_t top = 0;
    Bytes greatest = 0;
    for (std::size_t k = 0; k < stacked_; ++k) {
        // Of several the one that lives shortest.
        if (!stackable_[order_[k]] || loss(order_[k]) < std::max<Bytes>(greatest, 1)) continue;
        greatest = loss(order_[k]);
        top = k;
    }
    if (greatest == 0) return;
    const auto begin = order_.begin() + top;
    std::rotate(begin, begin + 1, order_.begin() + stacked_);
}

// A new attempt, with more patience than the last. Whether its opening is done; false when told to stop.
bool Growth::open(const Ejection::Stop& stop) {
    if (!opening_) {
        for (const Index item : order_) layout[item] = {pool_, kUnplaced};
        target_ = bound_;
        raises_ = 0;
        next_ = widest_ = 0;
        opening_ = std::make_unique<Opening>(instance_, pool_, target_, order_, stacked_,
                                             kOpeningSteps << doublings(), random_.next(), budget_);
    }
    if (dives_ && !opening_->run(stop)) return false;
    opening_->save(layout);
    next_ = opening_->count();
    opening_.reset();
    widen();
    stack();
    ++attempts_;
    return !stop(4 * count_of(order_));
}

// The ejection only knows the items of the window and some more: what it does not know costs nothing.
void Growth::widen() {
    if (ejection_) {
        ejection_->save(layout);
        moves_ += ejection_->moves;
    }
    const std::size_t first = std::max(stacked_, next_);
    widest_ = std::min(order_.size(), first + std::max(first / 4, kLeastMore));
    std::vector<char> known(takes_part_.size(), 0);
    for (std::size_t k = 0; k < widest_; ++k) known[order_[k]] = 1;
    ejection_.emplace(instance_, pool_, layout, std::move(known), random_.next());
    ejection_->set_limit(target_);
}

// What lives long is at the bottom, so that what ends leaves its room at the top, on both sides.
void Growth::stack() {
    Bytes top = 0;
    for (; next_ < stacked_; ++next_) {
        const Index item = order_[next_];
        const std::span<const Choice> choices = instance_.choices[item];
        const auto choice = std::find_if(choices.begin(), choices.end(),
                                         [&](const Choice& entry) { return entry.pool == pool_; });
        const Bytes size = instance_.parts_of(item)[0].size;
        const Bytes offset = raised(*choice, top);
        const bool within = choice->low <= offset && offset <= std::min(choice->high, target_ - size);
        if (!stackable_[item] || !within || choice->low == choice->high) {
            ejection_->admit(item);
            continue;
        }
        ejection_->place(item, offset);
        top = offset + size;
    }
}

int Growth::doublings() const { return std::clamp(attempts_ - 1, 0, kMostDoublings); }

Growth::Pause Growth::grow(const Ejection::Stop& stop) {
    bool stopped = false;
    const Ejection::Stop noted = [&](std::int64_t steps) {
        // A move of what has no place below the target is one as well.
        stopped = stopped || stop(std::max<std::int64_t>(steps, 1));
        return stopped;
    };
    const std::int64_t patience = kPatience << doublings();
    for (;;) {
        if (!ejection_->settle(noted, patience)) return stopped ? Pause::stopped : Pause::stuck;
        if (next_ == order_.size()) return Pause::complete;
        if (next_ == widest_) {
            widen();
            if (stop(count_of(order_))) return Pause::stopped;
        }
        ejection_->admit(order_[next_++]);
    }
}

// Whether a higher target is still below the height.
bool Growth::raise(Bytes height) {
    while (raises_ < kRaiseCount) {
        const auto by = static_cast<Bytes>(static_cast<double>(height - bound_) * kRaises[raises_++]);
        const Bytes higher = bound_ + by / unit_ * unit_;
        if (higher <= target_ || higher >= height) continue;
        target_ = higher;
        ejection_->set_limit(target_);
        return true;
    }
    return false;
}

bool Growth::run(Bytes height, const Ejection::Stop& stop) {
    for (;;) {
        if (!ejection_ && !open(stop)) return false;
        const Pause pause = target_ < height ? grow(stop) : Pause::stuck;
        if (pause == Pause::stopped) return false;
        if (pause == Pause::stuck && raise(height)) continue;
        const bool complete = pause == Pause::complete;
        if (complete) ejection_->save(layout);
        ejection_.reset();
        if (complete) return true;
    }
}

}  // namespace memstow::improve
