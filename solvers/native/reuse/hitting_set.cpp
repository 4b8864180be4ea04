#include "reuse/hitting_set.hpp"

#include <algorithm>
#include <limits>

namespace memstow::reuse {
namespace {

constexpr std::int64_t kStepsBetweenLooks = 1 << 14;

class Search {
  public:
    Search(const std::vector<ElementSet>& sets, const std::vector<Bytes>& weights, Bytes known,
           std::int64_t most_steps, const Budget& budget)
        : sets_(sets), weights_(weights), known_(known), most_steps_(most_steps), budget_(budget) {
        sets_of_.resize(weights.size());
        for (std::size_t k = 0; k < sets.size(); ++k) {
            for (const Index element : sets[k]) sets_of_[element].push_back(k);
        }
        state_.assign(weights.size(), State::open);
        hits_.assign(sets.size(), 0);
        open_.reserve(sets.size());
        for (const ElementSet& set : sets) open_.push_back(count_of(set));
        left_ = weights;
    }

    HittingSet run() {
        greedy();
        known_ = std::max(known_, bound());
        if (known_ < result_.cost) branch();
        result_.bound = stopped_ ? std::min(known_, result_.cost) : result_.cost;
        result_.steps = steps_;
        return std::move(result_);
    }

  private:
    enum class State : char { open, taken, barred };

    void greedy();
    void keep();
    Bytes bound();
    void branch();
    void take(Index element);
    void untake(Index element);
    void bar(Index element);
    void unbar(Index element);
    bool stop();

    const std::vector<ElementSet>& sets_;
    const std::vector<Bytes>& weights_;
    Bytes known_;  // a bound
    std::int64_t most_steps_;
    const Budget& budget_;
    std::vector<std::vector<Index>> sets_of_;
    std::vector<State> state_;
    std::vector<Index> hits_, open_;  // by set: elements taken, elements open
    std::vector<Bytes> left_;         // by element: what is left of its weight when sets have taken theirs
    std::vector<Index> order_;
    Bytes cost_ = 0;
    HittingSet result_;
    std::int64_t steps_ = 0, looked_ = 0;
    bool stopped_ = false;
};

void Search::take(Index element) {
    state_[element] = State::taken;
    cost_ += weights_[element];
    for (const Index set : sets_of_[element]) ++hits_[set], --open_[set];
}

void Search::untake(Index element) {
    state_[element] = State::open;
    cost_ -= weights_[element];
    for (const Index set : sets_of_[element]) --hits_[set], ++open_[set];
}

void Search::bar(Index element) {
    state_[element] = State::barred;
    for (const Index set : sets_of_[element]) --open_[set];
}

void Search::unbar(Index element) {
    state_[element] = State::open;
    for (const Index set : sets_of_[element]) ++open_[set];
}

void Search::keep() {
    result_.cost = cost_;
    result_.chosen.clear();
    for (std::size_t e = 0; e < state_.size(); ++e) {
        if (state_[e] == State::taken) result_.chosen.push_back(e);
    }
}

// The element that hits most for its weight, again and again; then without those that were not needed.
void Search::greedy() {
    std::vector<Index> taken;
    for (std::size_t missing = sets_.size(); missing > 0;) {
        Index best = -1;
        double best_worth = 0;
        std::size_t best_hit = 0;
        for (std::size_t e = 0; e < weights_.size(); ++e) {
            if (state_[e] != State::open) continue;
            std::size_t hit = 0;
            for (const Index set : sets_of_[e]) hit += hits_[set] == 0;
            const double worth = static_cast<double>(hit) / weights_[e];
            if (hit > 0 && worth > best_worth) {
                best = e;
                best_worth = worth;
                best_hit = hit;
            }
        }
        take(best);
        taken.push_back(best);
        missing -= best_hit;
    }
    std::sort(taken.begin(), taken.end(), [&](Index a, Index b) { return weights_[a] > weights_[b]; });
    std::vector<Index> kept;
    for (const Index element : taken) {
        const auto& sets = sets_of_[element];
        if (std::all_of(sets.begin(), sets.end(), [&](Index set) { return hits_[set] > 1; })) {
            untake(element);
        } else {
            kept.push_back(element);
        }
    }
    keep();
    for (const Index element : kept) untake(element);
}

// Each set that is not hit takes what all of its open elements have left; what is taken adds up to a bound.
// Leaves in `left_` what taking an element would add to it.
Bytes Search::bound() {
    left_ = weights_;
    order_.clear();
    for (std::size_t k = 0; k < sets_.size(); ++k) {
        if (hits_[k] == 0) order_.push_back(k);
    }
    std::stable_sort(order_.begin(), order_.end(), [&](Index a, Index b) { return open_[a] < open_[b]; });
    Bytes total = 0;
    for (const Index k : order_) {
        Bytes least = std::numeric_limits<Bytes>::max();
        for (const Index e : sets_[k]) {
            if (state_[e] == State::open) least = std::min(least, left_[e]);
        }
        steps_ += count_of(sets_[k]);
        if (least == std::numeric_limits<Bytes>::max()) return least;  // nothing can hit it any more
        if (least == 0) continue;
        total += least;
        for (const Index e : sets_[k]) {
            if (state_[e] == State::open) left_[e] -= least;
        }
    }
    return total;
}

bool Search::stop() {
    if (steps_ >= most_steps_) stopped_ = true;
    if (steps_ - looked_ >= kStepsBetweenLooks) {
        looked_ = steps_;
        stopped_ = stopped_ || budget_.spent();
    }
    return stopped_ || result_.cost <= known_;
}

void Search::branch() {
    if (stop()) return;
    const Bytes more = bound();
    if (more >= result_.cost - cost_) return;
    if (order_.empty()) {
        keep();
        return;
    }
    // Elements that would cost too much are barred for all branches that follow.
    std::vector<Index> barred;
    for (const Index k : order_) {
        for (const Index e : sets_[k]) {
            if (state_[e] == State::open && left_[e] >= result_.cost - cost_ - more) {
                bar(e);
                barred.push_back(e);
            }
        }
    }
    Index pick = order_[0];
    for (const Index k : order_) {
        if (open_[k] < open_[pick]) pick = k;
    }
    std::vector<std::pair<Index, Index>> ways;  // (sets hit, element)
    for (const Index e : sets_[pick]) {
        if (state_[e] != State::open) continue;
        Index hit = 0;
        for (const Index set : sets_of_[e]) hit += hits_[set] == 0;
        steps_ += count_of(sets_of_[e]);
        ways.emplace_back(-hit, e);
    }
    std::sort(ways.begin(), ways.end());
    for (const auto& [hit, element] : ways) {
        take(element);
        branch();
        untake(element);
        if (stop()) break;
        bar(element);
        barred.push_back(element);
    }
    for (const Index element : barred) unbar(element);
}

}  // namespace

HittingSet cheapest_hitting_set(const std::vector<ElementSet>& sets, const std::vector<Bytes>& weights,
                                Bytes known, std::int64_t most_steps, const Budget& budget) {
    return Search(sets, weights, known, most_steps, budget).run();
}

}  // namespace memstow::reuse
