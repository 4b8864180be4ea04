#include "order/narrowing.hpp"

#include <algorithm>

namespace memstow::order {
namespace {

// Sets that are remembered of an operator: one more takes the place of the oldest.
constexpr std::size_t kMostShown = 64;
// Between looks at the clock.
constexpr std::int64_t kStepsBetweenLooks = 20'000;

}  // namespace

Narrowing::Narrowing(const Graph& graph)
    : given_(graph),
      precedence_(given_),
      graph_(graph),
      at_open_{kLimit, kLimit, 0, given_},
      shown_(graph.extra.size()),
      oldest_(graph.extra.size(), 0),
      sides_(graph.extra.size()) {}

void Narrowing::start(Bytes limit) {
    if (limit >= at_open_.limit) at_open_ = {kLimit, kLimit, 0, given_};
    limit_ = limit;
    precedence_ = at_open_.precedence;
    graph_.before = precedence_.direct();
    added_.erase(added_.begin() + static_cast<std::ptrdiff_t>(at_open_.added), added_.end());
    least_blocked_ = at_open_.least_blocked;
    for (auto& sets : shown_) {
        for (Shown& shown : sets) shown.checked = std::min(shown.checked, added_.size());
    }
    next_ = unchanged_ = 0;
}

bool Narrowing::late() {
    if (late_ || steps_ < next_look_) return late_;
    next_look_ = steps_ + kStepsBetweenLooks;
    late_ = budget_->out_of_time();
    return late_;
}

void Narrowing::block(Bytes bytes) { least_blocked_ = std::min(least_blocked_, bytes); }

void Narrowing::add(const Ordering& ordering) {
    precedence_.add(ordering.first, ordering.then);
    graph_.before[ordering.then].push_back(ordering.first);
    added_.push_back(ordering);
    steps_ += graph_.size();
}

bool Narrowing::still_shown(Index v, Shown& shown) const {
    if (shown.bytes > limit_) return false;
    const auto runs = [&](Index u) { return u == v || has(shown.set, u); };
    for (; shown.checked < added_.size(); ++shown.checked) {
        const auto [first, then, _] = added_[shown.checked];
        // v runs after the set.
        if (then == v ? !has(shown.set, first) : has(shown.set, then) && (first == v || !runs(first))) {
            return false;
        }
    }
    return true;
}

void Narrowing::sum_up(Index v) {
    std::erase_if(shown_[v], [&](Shown& shown) { return !still_shown(v, shown); });
    in_some_.assign(precedence_.words(), 0);
    in_all_.assign(precedence_.words(), ~Word{0});
    for (const Shown& shown : shown_[v]) {
        for (std::size_t k = 0; k < shown.set.size(); ++k) {
            in_some_[k] |= shown.set[k];
            in_all_[k] &= shown.set[k];
        }
    }
    steps_ += count_of(shown_[v]);
}

void Narrowing::show(Index v, const std::vector<Index>& best, Bytes bytes) {
    const auto before = precedence_.all_before(v);
    Shown shown{{before.begin(), before.end()}, bytes, added_.size()};
    for (const Index u : best) put(shown.set, u);
    for (std::size_t k = 0; k < shown.set.size(); ++k) {
        in_some_[k] |= shown.set[k];
        in_all_[k] &= shown.set[k];
    }
    steps_ += graph_.size() / 8;
    if (shown_[v].size() < kMostShown) {
        shown_[v].push_back(std::move(shown));
    } else {
        shown_[v][oldest_[v]++ % kMostShown] = std::move(shown);
    }
}

bool Narrowing::is_known(Index u, Cut::Must must) const {
    return must == Cut::Must::have ? has(in_some_, u) : !has(in_all_, u);
}

// False where v needs more than the limit whatever ran before.
bool Narrowing::find_ways(Index v) {
    ways_.clear();
    for (const Credits& credits : ways_to_save(graph_, v, sides_)) {
        if (ways_.size() == cuts_.size()) cuts_.push_back(std::make_unique<Cut>(graph_));
        Cut& cut = *cuts_[ways_.size()];
        const std::int64_t before = cut.steps();
        const Between between{open_, sides_, v, credits};
        const Bytes least = cut.least(between);
        const Bytes bytes = least + cut.elsewhere(between) + graph_.extra[v];
        steps_ += (cut.steps() - before) / kCutSteps + graph_.size();
        if (bytes > limit_) {
            block(bytes);
            continue;
        }
        cut.keep();
        ways_.push_back({&cut, bytes});
    }
    return !ways_.empty();
}

// Whether v can run within the limit after a set that has, or lacks, u.
bool Narrowing::possible(Index v, Index u, Cut::Must must) {
    for (const Way& way : ways_) {
        const Bytes room = limit_ - way.bytes;
        const std::int64_t before = way.cut->steps();
        const Cut::Rise rise = way.cut->rise(must, u, room);
        steps_ += (way.cut->steps() - before) / kCutSteps;
        if (rise.bytes <= room) {
            show(v, rise.best, way.bytes + rise.bytes);
            return true;
        }
        block(way.bytes + rise.bytes);
    }
    return false;
}

// False where v then needs more than the limit whatever ran before.
bool Narrowing::require(Index u, Cut::Must must) {
    std::erase_if(ways_, [&](Way& way) {
        const std::int64_t before = way.cut->steps();
        way.bytes += way.cut->require(must, u, limit_ - way.bytes);
        steps_ += (way.cut->steps() - before) / kCutSteps;
        if (way.bytes > limit_) block(way.bytes);
        return way.bytes > limit_;
    });
    return !ways_.empty();
}

Narrowing::Answer Narrowing::look_at(Index v) {
    sum_up(v);
    open_.clear();
    bool all_known = !shown_[v].empty();
    for (Index u = 0; u < graph_.size(); ++u) {
        sides_[u] = has(precedence_.all_before(v), u) ? Side::inside : Side::outside;
        if (u == v || precedence_.ordered(u, v)) continue;
        sides_[u] = Side::open;
        open_.push_back(u);
        all_known = all_known && is_known(u, Cut::Must::have) && is_known(u, Cut::Must::lack);
    }
    if (all_known) return Answer::open;
    if (!find_ways(v)) return Answer::none;
    show(v, ways_[0].cut->smallest(), ways_[0].bytes);
    show(v, ways_[0].cut->largest(), ways_[0].bytes);
    for (const Cut::Must must : {Cut::Must::have, Cut::Must::lack}) {
        for (const Index u : open_) {
            if (late()) return Answer::stopped;
            if (is_known(u, must) || precedence_.ordered(u, v) || possible(v, u, must)) continue;
            const bool first = must == Cut::Must::lack;
            add({first ? u : v, first ? v : u, v});
            if (!require(u, first ? Cut::Must::have : Cut::Must::lack)) return Answer::none;
            sum_up(v);
        }
    }
    return Answer::open;
}

Narrowing::Answer Narrowing::search(Bytes limit, std::int64_t steps, Budget& budget) {
    budget_ = &budget;
    if (late_) return Answer::stopped;
    if (limit != limit_) start(limit);
    const std::int64_t until = steps_ + steps;
    while (unchanged_ < graph_.size()) {
        const std::int64_t counted = steps_;
        const std::size_t added = added_.size();
        const Answer answer = look_at(next_);
        budget.count(steps_ - counted);
        if (answer != Answer::open) return answer;
        next_ = (next_ + 1) % graph_.size();
        if (next_ == 0) graph_.before = precedence_.direct();
        unchanged_ = added_.size() > added ? 0 : unchanged_ + 1;
        if (steps_ >= until || budget.spent()) return Answer::stopped;
    }
    at_open_ = {limit_, least_blocked_, added_.size(), precedence_};
    return Answer::open;
}

}  // namespace memstow::order
