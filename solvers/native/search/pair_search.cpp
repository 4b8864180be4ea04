#include "search/pair_search.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/random.hpp"

namespace memstow::search {
namespace {

// The conflicts of a plain packing are the pairs of its rows; those of others are listed.
std::vector<PartPair> pairs_of_rows(const Packing& packing) {
    std::vector<PartPair> pairs;
    if (!packing.plain) return pairs;
    for (Index i = 0; i < packing.count(); ++i) {
        for (Index j : packing.near[i]) {
            if (j > i) pairs.push_back({i, j, 0, packing.items[i].size, 0, packing.items[j].size, false});
        }
    }
    return pairs;
}

}  // namespace

PairSearch::PairSearch(const Packing& packing)
    : packing_(packing), of_rows_(pairs_of_rows(packing)), pairs_(packing.plain ? of_rows_ : packing.pairs) {
    std::vector<Index>& start = pairs_of_.start;
    start.assign(packing.items.size() + 1, 0);
    shift_.reserve(pairs_.size());
    for (const PartPair& pair : pairs_) {
        ++start[pair.first + 1];
        ++start[pair.second + 1];
        shift_.push_back({pair.first_delta + pair.first_size - pair.second_delta,
                          pair.second_delta + pair.second_size - pair.first_delta,
                          pair.first_delta - pair.second_delta});
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<Index> next = start;
    pairs_of_.values.resize(2 * pairs_.size());
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
        pairs_of_.values[next[pairs_[k].first]++] = k;
        pairs_of_.values[next[pairs_[k].second]++] = k;
    }
    weight_.assign(pairs_.size(), 1);
    queued_.assign(packing.items.size(), 0);
}

void PairSearch::queue(Index item) {
    if (queued_[item]) return;
    queued_[item] = 1;
    queue_.push_back(item);
}

bool PairSearch::raise(Index item, Bytes low) {
    if (low <= low_[item]) return true;
    low = packing_.next(item, low);
    if (low > high_[item]) return false;
    trail_.push_back({What::low, item, low_[item]});
    low_[item] = low;
    queue(item);
    return true;
}

bool PairSearch::lower(Index item, Bytes high) {
    if (high >= high_[item]) return true;
    high = packing_.previous(item, high);
    if (high < low_[item]) return false;
    trail_.push_back({What::high, item, high_[item]});
    high_[item] = high;
    queue(item);
    return true;
}

char PairSearch::possible(std::size_t k) const {
    const PartPair& pair = pairs_[k];
    const Shift& shift = shift_[k];
    const Bytes low1 = low_[pair.first], high1 = high_[pair.first];
    const Bytes low2 = low_[pair.second], high2 = high_[pair.second];
    int orders = 0;
    if (low1 + shift.up <= high2) orders |= kFirstBelow;
    if (low2 + shift.down <= high1) orders |= kSecondBelow;
    if (pair.tieable && std::max(low1 + shift.level, low2) <= std::min(high1 + shift.level, high2)) {
        orders |= kTied;
    }
    return orders;
}

bool PairSearch::enforce(Index pair) {
    const PartPair& p = pairs_[pair];
    const Shift& shift = shift_[pair];
    switch (open_[pair]) {
        case kFirstBelow:
            return raise(p.second, low_[p.first] + shift.up) && lower(p.first, high_[p.second] - shift.up);
        case kSecondBelow:
            return raise(p.first, low_[p.second] + shift.down) &&
                   lower(p.second, high_[p.first] - shift.down);
        case kTied:
            return raise(p.second, low_[p.first] + shift.level) &&
                   raise(p.first, low_[p.second] - shift.level) &&
                   lower(p.second, high_[p.first] + shift.level) &&
                   lower(p.first, high_[p.second] - shift.level);
        default:
            return true;
    }
}

bool PairSearch::visit(Index item) {
    for (Index pair : pairs_of_[item]) {
        ++steps_;
        const char before = open_[pair];
        const auto after = before & possible(pair);
        if (after != before) {
            trail_.push_back({What::open, pair, before});
            open_[pair] = after;
        }
        if (after == 0 || !enforce(pair)) {
            weight_[pair] += 1;
            return false;
        }
    }
    return true;
}

bool PairSearch::rows_stack() {
    for (Index row = 0; row < packing_.rows.size(); ++row) {
        for (const bool upwards : {true, false}) {
            jobs_.clear();
            Bytes limit = -kLimit;
            for (const Entry& entry : packing_.rows[row]) {
                const Bytes begin = low_[entry.item] + entry.delta;
                const Bytes end = high_[entry.item] + entry.delta + entry.size;
                jobs_.push_back({upwards ? begin : -end, entry.size});
                limit = std::max(limit, upwards ? end : -begin);
            }
            std::sort(jobs_.begin(), jobs_.end());
            Bytes top = -kLimit;
            for (const auto& [begin, size] : jobs_) top = std::max(top, begin) + size;
            steps_ += count_of(jobs_);
            if (lookout_.stops_after(count_of(jobs_))) stopped_ = true;
            if (stopped_ || top > limit) return false;
        }
    }
    return true;
}

bool PairSearch::propagate() {
    bool alive = true;
    for (std::size_t k = 0; k < queue_.size(); ++k) {
        const Index item = queue_[k];
        queued_[item] = 0;
        alive = alive && visit(item);
        // Ties and alignments can push each other up in small steps, so the budget is watched here too.
        if (alive && steps_ >= kStepsBetweenStops) {
            const std::int64_t steps = steps_;
            steps_ = 0;
            stopped_ = stopped_ || (*stop_)(steps);
        }
        if (stopped_) alive = false;
    }
    queue_.clear();
    return alive && rows_stack();
}

// The open pair that overlaps where its items would be, with the least room to be set apart; -1 when the
// least offsets are a layout.
Index PairSearch::pick() const {
    Index best = -1;
    double best_score = 0;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
        if (std::has_single_bit(static_cast<unsigned>(open_[k]))) continue;
        const PartPair& pair = pairs_[k];
        const Shift& shift = shift_[k];
        const Bytes first = low_[pair.first], second = low_[pair.second];
        if (first + shift.up <= second || second + shift.down <= first) continue;
        if (pair.tieable && first + shift.level == second) continue;
        const auto room = static_cast<double>(std::max<Bytes>(0, high_[pair.second] - first - shift.up) +
                                              std::max<Bytes>(0, high_[pair.first] - second - shift.down));
        const double score = (1 + room) * noise_[k] / weight_[k];
        if (best < 0 || score < best_score) {
            best = k;
            best_score = score;
        }
    }
    return best;
}

void PairSearch::undo(std::size_t mark) {
    while (trail_.size() > mark) {
        const Change& change = trail_.back();
        switch (change.what) {
            case What::low:
                low_[change.at] = change.before;
                break;
            case What::high:
                high_[change.at] = change.before;
                break;
            case What::open:
                open_[change.at] = change.before;
                break;
        }
        trail_.pop_back();
    }
}

Answer PairSearch::solve() {
    const Level level(depth_);
    if (nodes_ >= node_limit_ || level.below(kDeepestPair)) stopped_ = true;
    if (steps_ >= kStepsBetweenStops) {
        const std::int64_t steps = steps_;
        steps_ = 0;
        stopped_ = stopped_ || (*stop_)(steps);
    }
    if (stopped_) return Answer::stopped;
    ++nodes_;
    steps_ += count_of(pairs_) / 4;
    const Index pair = pick();
    if (pair < 0) return Answer::found;

    const PartPair& p = pairs_[pair];
    const Shift& shift = shift_[pair];
    const char open = open_[pair];
    const Bytes lift_second = low_[p.first] + shift.up - low_[p.second];
    const Bytes lift_first = low_[p.second] + shift.down - low_[p.first];
    const bool first_below = lift_second <= lift_first;
    const char orders[] = {kTied, first_below ? kFirstBelow : kSecondBelow,
                           first_below ? kSecondBelow : kFirstBelow};
    const std::size_t mark = trail_.size();
    for (const char order : orders) {
        if ((open & order) == 0) continue;
        trail_.push_back({What::open, pair, open});
        open_[pair] = order;
        queue(p.first);
        queue(p.second);
        if (propagate()) {
            const Answer answer = solve();
            if (answer != Answer::refuted) return answer;
        }
        if (stopped_) return Answer::stopped;
        undo(mark);
    }
    return Answer::refuted;
}

Answer PairSearch::run(Bytes height, const Strategy& strategy, std::uint64_t seed, std::int64_t node_limit,
                       const Stop& stop) {
    nodes_ = 0;
    node_limit_ = node_limit;
    stop_ = &stop;
    lookout_.start(stop);
    stopped_ = false;
    trail_.clear();
    for (Index item : queue_) queued_[item] = 0;
    queue_.clear();
    low_.assign(packing_.items.size(), 0);
    high_.assign(packing_.items.size(), 0);
    Random random(seed);
    noise_.clear();
    for (std::size_t k = 0; k < pairs_.size(); ++k) noise_.push_back(1 + strategy.noise * random.unit());
    open_.clear();
    for (const PartPair& pair : pairs_) {
        open_.push_back(kFirstBelow | kSecondBelow | (pair.tieable ? kTied : 0));
    }
    for (Index i = 0; i < packing_.count(); ++i) {
        low_[i] = packing_.next(i, 0);
        high_[i] = packing_.previous(i, packing_.highest(i, height));
        if (low_[i] == kLimit || high_[i] < low_[i]) return Answer::refuted;
        queue(i);
    }
    if (!propagate()) return stopped_ ? Answer::stopped : Answer::refuted;
    return solve();
}

}  // namespace memstow::search
