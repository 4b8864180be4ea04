#include "order/descent.hpp"

#include <algorithm>
#include <bit>

#include "core/random.hpp"

namespace memstow::order {
namespace {

// A commit from further back saves more and costs a larger cut. Those of more operators take up to half of
// the work: without them, what comes down after a long way is tried again and again.
constexpr std::size_t kShortCommit = 256;
// Between looks at the clock.
constexpr std::int64_t kStepsAtOnce = 20'000;

}  // namespace

Descent::Descent(const Graph& graph, const Options& options)
    : options_(options),
      state_(graph),
      cut_(graph),
      dead_(graph.size(), options.memory),
      bits_((graph.extra.size() + 63) / 64, 0),
      sides_(graph.extra.size(), Side::outside) {
    Random random(options.seed);
    for (Index v = 0; v < graph.size(); ++v) keys_.push_back(random.next());
}

void Descent::run(Index v) {
    state_.run(v);
    bits_[static_cast<std::size_t>(v) / 64] ^= Word{1} << (v % 64);
    hash_ ^= keys_[v];
    sides_[v] = Side::inside;
}

void Descent::undo_to(std::size_t steps) {
    while (state_.path().size() > steps) {
        const Index v = state_.path().back();
        bits_[static_cast<std::size_t>(v) / 64] ^= Word{1} << (v % 64);
        hash_ ^= keys_[v];
        sides_[v] = Side::outside;
        state_.undo();
    }
}

// Runs what frees at least what it takes: only two sets lie in between, and the second has no more live
// bytes.
void Descent::run_free() {
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t k = 0; k < state_.ready().size(); ++k) {
            const Index v = state_.ready()[k];
            const Step step = state_.step(v);
            ++steps_;
            if (late()) return;
            if (step.leaves > state_.live() || step.needs > limit_) continue;
            run(v);
            changed = true;
            --k;
        }
    }
}

// Where the path has come down to the live bytes of an earlier set, that one needs no other way than to the
// set in between with the fewest live bytes. True where the path was changed.
bool Descent::commit() {
    std::size_t j = frames_.size();
    while (j > 0 && frames_[j - 1].live >= state_.live()) --j;
    // A set with no choice left has none to save.
    while (j < frames_.size() && frames_[j].choice == frames_[j].choices) ++j;
    if (j == frames_.size()) return false;
    const auto is_long = [&] { return state_.path().size() - frames_[j].steps > kShortCommit; };
    while (j + 1 < frames_.size() && is_long() && long_steps_ > steps_ / 2) ++j;
    const std::size_t from = frames_[j].steps;
    const std::vector<Index> run_since(state_.path().begin() + from, state_.path().end());
    for (const Index v : run_since) sides_[v] = Side::open;
    const std::int64_t before = cut_.steps();
    cut_.least({run_since, sides_}, kLimit, budget_);
    const std::int64_t steps = (cut_.steps() - before) / kCutSteps;
    steps_ += steps;
    if (is_long()) long_steps_ += steps;
    for (const Index v : run_since) sides_[v] = Side::inside;
    if (late_ = budget_->out_of_time(); late_) return false;
    std::vector<Index> best = cut_.largest();
    choices_.resize(frames_[j].choices);
    frames_[j].choice = frames_[j].choices;
    frames_.resize(j + 1);
    const bool changed = best.size() < run_since.size();
    if (changed) {
        undo_to(from);
        std::sort(best.begin(), best.end());
        for (const Index v : run_since) {
            if (std::binary_search(best.begin(), best.end(), v)) run(v);
        }
    }
    if (all_kept_) frames_[j].commit = bits_;
    return changed;
}

// What is done at once may be long: it ends early when there is no time left.
bool Descent::late() {
    if (late_ || steps_ < next_look_) return late_;
    next_look_ = steps_ + kStepsAtOnce;
    late_ = budget_->out_of_time();
    return late_;
}

// Goes on from the set at the end of the path, where it is not dead.
void Descent::enter() {
    do {
        run_free();
    } while (!late_ && commit());
    if (late_ || state_.complete() || dead_.has(bits_, hash_)) return;
    push();
}

void Descent::push() {
    frames_.push_back({state_.path().size(), state_.live(), choices_.size(), choices_.size(), 0, {}});
    for (const Index v : state_.ready()) {
        const Step step = state_.step(v);
        ++steps_;
        if (step.needs > limit_) {
            least_blocked_ = std::min(least_blocked_, step.needs);
        } else {
            const std::uint64_t chance = options_.seed == 0 ? 0 : keys_[v];
            choices_.push_back({chance == 0 ? step.leaves : 0, chance == 0 ? step.needs : 0, chance, v});
        }
    }
    // What is blocked at once is as soon seen again: room is for the others, unless all are kept.
    if (choices_.size() == frames_.back().choices && !all_kept_ && dead_.half_full()) {
        ++forgotten_;
        frames_.pop_back();
        return;
    }
    const auto first = choices_.begin() + frames_.back().choices;
    std::sort(first, choices_.end(), std::greater<>());
    frames_.back().choice = choices_.size();
    frames_.back().count = choices_.size() - frames_.back().choices;
}

// In powers of two, whose products are exact: the same on every machine.
double Descent::explored() const {
    double tried = 0, part = 1;
    for (const Frame& frame : frames_) {
        const std::size_t left = frame.choice - frame.choices;
        if (left == 0) continue;
        part /= static_cast<double>(std::bit_ceil(frame.count));
        tried += part * static_cast<double>(frame.count - left - 1);
    }
    return tried;
}

// Takes the next choice of the last set that has one. False where there is none.
bool Descent::back() {
    while (!frames_.empty()) {
        Frame& frame = frames_.back();
        undo_to(frame.steps);
        if (frame.choice > frame.choices) {
            run(choices_[--frame.choice].op);
            choices_.resize(frame.choice);
            return true;
        }
        bury(frame);
        choices_.resize(frame.choices);
        frames_.pop_back();
    }
    return false;
}

void Descent::bury(const Frame& frame) {
    if (!dead_.add(bits_, hash_)) ++forgotten_;
    all_kept_ = all_kept_ && forgotten_ == 0 && dead_.count() <= options_.kept;
    if (!all_kept_) {
        commit_at_ = {};
        commits_ = {};
        return;
    }
    commits_.insert(commits_.end(), frame.commit.begin(), frame.commit.end());
    commit_at_.push_back(frame.commit.empty() ? 0 : commits_.size() / bits_.size());
}

std::span<const Word> Descent::commit_of(std::size_t k) const {
    if (commit_at_[k] == 0) return {};
    return std::span(commits_).subspan((commit_at_[k] - 1) * bits_.size(), bits_.size());
}

void Descent::start(Bytes limit) {
    undo_to(0);
    frames_.clear();
    choices_.clear();
    dead_.clear();
    least_blocked_ = kLimit;
    limit_ = limit;
    forgotten_ = 0;
    commit_at_.clear();
    commits_.clear();
    all_kept_ = options_.kept > 0;
}

Answer Descent::search(Bytes limit, std::int64_t steps, Budget& budget) {
    const std::int64_t until = steps_ + steps;
    budget_ = &budget;
    if (late_) return Answer::stopped;
    if (limit != limit_) {
        start(limit);
        enter();
    }
    std::int64_t counted = steps_;
    for (;;) {
        if (state_.complete()) return Answer::found;
        if (late_) return Answer::stopped;
        if (!back()) return Answer::none;
        enter();
        if (steps_ - counted < kStepsAtOnce && steps_ < until) continue;
        budget.count(steps_ - counted);
        counted = steps_;
        if (steps_ >= until || budget.spent()) return Answer::stopped;
    }
}

}  // namespace memstow::order
