#include "reuse/local_search.hpp"

#include <algorithm>
#include <cmath>

namespace memstow::reuse {
namespace {

// Measured on two problems of 154 and 296 buffers (benchmarks/results.md); other values were worse.
constexpr std::size_t kMostTakenOut = 10;
constexpr std::size_t kMostEjections = 20;  // of a move, of what stands in the way of what is put back
constexpr double kSizeNoise = 0.9;  // how much chance there is in the order of putting back, largest first
constexpr double kAnywhere = 0.7;   // how often any of the cheapest offsets does, not the lowest
constexpr double kHot = 0.7;        // heat at the begin and end of a round, in costs of an average pair
constexpr double kCold = 0.1;
constexpr std::int64_t kFirstRound = 4000;  // moves; each round has twice as many as the one before

}  // namespace

LocalSearch::LocalSearch(const Instance& instance, const Costs& costs, std::uint64_t seed)
    : board_(instance, costs),
      pairs_(costs.pairs),
      parts_(instance.parts),
      random_(seed),
      round_(kFirstRound),
      is_out_(instance.item_count(), 0),
      stays_(instance.item_count(), 1) {
    for (const Part& part : instance.parts) item_of_.push_back(part.item);
    double sum = 0;
    for (const ReuseCost& pair : pairs_) sum += pair.cost;
    if (!pairs_.empty()) scale_ = sum / pairs_.size();
}

void LocalSearch::start(Bytes height, const std::vector<Bytes>& offsets) {
    board_.set_height(height);
    now_ = best_ = offsets;
    Bytes twice = 0;
    for (Index i = 0; i < board_.count(); ++i) twice += board_.cost_of(i, now_);
    now_cost_ = best_cost_ = twice / 2;
}

void LocalSearch::take_out(Index item) {
    if (is_out_[item]) return;
    now_cost_ -= board_.cost_of(item, now_);
    is_out_[item] = 1;
    out_.push_back(item);
    before_.push_back(now_[item]);
    now_[item] = kUnplaced;
}

// An item of a pair that overlaps, else any.
Index LocalSearch::pick_paying() {
    for (int tries = 0; tries < 50; ++tries) {
        const ReuseCost& pair = pairs_[random_.below(pairs_.size())];
        const Part &a = parts_[pair.first], &b = parts_[pair.second];
        const Bytes x = now_[a.item] + a.delta, y = now_[b.item] + b.delta;
        if (x < y + b.size && y < x + a.size) return random_.below(2) == 0 ? a.item : b.item;
    }
    return (random_.below(now_.size()));
}

void LocalSearch::choose() {
    const Index first = pick_paying();
    take_out(first);
    const auto relations = board_.relations(first);
    if (relations.empty()) return;
    for (auto more = random_.below(kMostTakenOut); more > 0; --more) {
        take_out(relations[random_.below(relations.size())].other);
    }
}

bool LocalSearch::put_back() {
    order_.clear();
    for (const Index item : out_) {
        const double size = board_.top(item);
        order_.emplace_back(-size * (1 - kSizeNoise * random_.unit()), item);
    }
    std::sort(order_.begin(), order_.end());
    waiting_.clear();
    for (auto entry = order_.rbegin(); entry != order_.rend(); ++entry) waiting_.push_back(entry->second);
    const bool anywhere = random_.unit() < kAnywhere;
    for (std::size_t tries = out_.size() + kMostEjections; !waiting_.empty(); --tries) {
        if (tries == 0) return false;
        const Index item = waiting_.back();
        waiting_.pop_back();
        if (!put(item, anywhere)) return false;
    }
    return true;
}

// Where it costs least; where there is no room, in the place of what has been in the way least often.
bool LocalSearch::put(Index item, bool anywhere) {
    const Board::Spot spot = board_.cheapest(item, now_, anywhere, random_);
    if (spot.offset != kUnplaced) {
        now_[item] = spot.offset;
        now_cost_ += spot.cost;
        return true;
    }
    const Bytes offset = board_.least_in_the_way(item, now_, stays_, scale_, random_);
    if (offset == kUnplaced) return false;
    now_[item] = offset;
    std::vector<Index> blockers;
    board_.visit_in_the_way(item, now_, [&](Index other) { blockers.push_back(other); });
    now_[item] = kUnplaced;
    for (const Index other : blockers) {
        if (now_[other] == kUnplaced) continue;  // in the way with several parts
        stays_[other] += 1;
        if (is_out_[other]) {
            now_cost_ -= board_.cost_of(other, now_);
            now_[other] = kUnplaced;
        } else {
            take_out(other);
        }
        waiting_.insert(waiting_.begin(), other);
    }
    now_[item] = offset;
    now_cost_ += board_.cost_of(item, now_);
    return true;
}

void LocalSearch::restore() {
    for (std::size_t k = 0; k < out_.size(); ++k) now_[out_[k]] = before_[k];
}

void LocalSearch::step() {
    const Bytes cost = now_cost_;
    out_.clear();
    before_.clear();
    choose();
    const bool back = put_back();
    for (const Index item : out_) {
        is_out_[item] = 0;
        stays_[item] = 1;
    }
    const double worse = (now_cost_ - cost) / scale_;
    if (!back || (worse > 0 && worse > -heat_ * std::log(random_.unit() + 1e-12))) {
        restore();
        now_cost_ = cost;
    } else if (now_cost_ < best_cost_) {
        best_cost_ = now_cost_;
        best_ = now_;
    }
}

void LocalSearch::run(std::int64_t most_steps, Bytes enough, Budget& budget) {
    if (pairs_.empty() || now_.empty()) return;
    const std::int64_t until = board_.steps() + most_steps;
    while (board_.steps() < until && best_cost_ > enough && !budget.spent()) {
        if (move_ == round_) {
            move_ = 0;
            round_ *= 2;
            now_ = best_;
            now_cost_ = best_cost_;
        }
        heat_ = kHot * std::pow(kCold / kHot, static_cast<double>(move_++) / round_);
        const std::int64_t before = board_.steps();
        step();
        budget.count(board_.steps() - before);
    }
}

}  // namespace memstow::reuse
