#include "proof/cost_proof.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace memstow::proof {
namespace {

constexpr std::int64_t kFirstEffort = 200'000;  // of one search; later ones may take more
constexpr std::int64_t kShrinkEffort = 50'000;
constexpr std::size_t kMostKept = std::size_t{256} << 20;  // bytes of steps
constexpr std::int64_t kMostTreeSteps = 500'000'000, kHurriedTreeSteps = 20'000'000;
constexpr int kTries = 4;          // of less than what is wanted
constexpr int kDeepestTree = 900;  // checkers read no tree that is much deeper
constexpr std::uint64_t kReuseTerm = 2, kApart = 0, kShared = 1;

// That to pay for a pair of each core takes so much: weights of the cores where that is enough, and branches
// on all pairs of one of them where it is not.
class CostTree {
  public:
    CostTree(const std::vector<const reuse::ElementSet*>& cores, const std::vector<Bytes>& costs,
             Bytes wanted, std::int64_t most_steps)
        : cores_(cores),
          costs_(costs),
          wanted_(wanted),
          most_steps_(most_steps),
          cores_of_(costs.size()),
          marks_(costs.size()) {
        for (Index k = 0; k < count_of(cores); ++k) {
            for (const Index pair : *cores[k]) cores_of_[pair].push_back(k);
            open_.push_back(count_of(*cores[k]));
        }
        hits_.resize(cores.size());
        is_used_.resize(cores.size());
    }

    // Whether there is one that is not too large.
    bool build() { return node(0, 1); }

    // What weights alone show.
    Bytes root() {
        weigh();
        return weight_;
    }

    bool uses(Index core) const { return is_used_[core] != 0; }

    // As the page has it, by the numbers of the cores in use and the names of pairs.
    std::vector<std::uint64_t> numbers(const std::vector<std::uint64_t>& number_of,
                                       const std::vector<OpenPair>& pairs) const {
        std::vector<std::uint64_t> all;
        for (const Node& one : nodes_) {
            if (one.branch >= 0) {
                all.insert(all.end(), {kBranch, pairs[one.branch].name, kShared});
                continue;
            }
            std::vector<std::pair<std::uint64_t, Bytes>> weights;
            for (const auto& [core, weight] : one.weights) weights.emplace_back(number_of[core], weight);
            std::sort(weights.begin(), weights.end());
            if (weights.empty()) {
                all.push_back(kCheapest);
            } else {
                all.insert(all.end(), {kWeighed, 1, weights.size()});
            }
            std::uint64_t next = 0;
            for (const auto& [number, weight] : weights) {
                all.insert(all.end(), {number - next, static_cast<std::uint64_t>(weight)});
                next = number + 1;
            }
        }
        return all;
    }

  private:
    enum Kind : std::uint64_t { kCheapest = 0, kBranch = 1, kWeighed = 2 };
    enum class Mark : char { open, paid, excluded };
    using Weights = std::vector<std::pair<Index, Bytes>>;
    struct Node {  // a branch on a pair, or weights
        Index branch = -1;
        Weights weights{};
    };

    void set(Index pair, Mark mark) {
        for (const Index core : cores_of_[pair]) {
            open_[core] += (mark == Mark::open ? 1 : 0) - (marks_[pair] == Mark::open ? 1 : 0);
            hits_[core] += (mark == Mark::paid ? 1 : 0) - (marks_[pair] == Mark::paid ? 1 : 0);
        }
        steps_ += count_of(cores_of_[pair]);
        marks_[pair] = mark;
    }

    // Each core of which nothing is paid takes what all of its open pairs have left, those with the fewest
    // first.
    void weigh() {
        left_ = costs_;
        order_.clear();
        weights_.clear();
        weight_ = 0;
        for (Index k = 0; k < count_of(cores_); ++k) {
            if (hits_[k] == 0) order_.push_back(k);
        }
        std::stable_sort(order_.begin(), order_.end(), [&](Index a, Index b) { return open_[a] < open_[b]; });
        steps_ += count_of(left_) + count_of(order_);
        for (const Index core : order_) {
            if (open_[core] == 0) return;  // it is the first
            Bytes least = std::numeric_limits<Bytes>::max();
            for (const Index pair : *cores_[core]) {
                if (marks_[pair] == Mark::open) least = std::min(least, left_[pair]);
            }
            steps_ += 2 * count_of(*cores_[core]);
            if (least == 0) continue;
            for (const Index pair : *cores_[core]) left_[pair] -= least;
            weights_.emplace_back(core, least);
            weight_ += least;
        }
    }

    // The core with the fewest pairs that would have to be looked into.
    Index choose(Bytes paid) const {
        Index best = -1, fewest = 0;
        for (const Index core : order_) {
            Index open = 0;
            for (const Index pair : *cores_[core]) {
                open += marks_[pair] == Mark::open && paid + weight_ + left_[pair] < wanted_ ? 1 : 0;
            }
            if (best >= 0 && open >= fewest) continue;
            best = core;
            fewest = open;
        }
        return best;
    }

    bool node(Bytes paid, int depth) {
        if (depth > kDeepestTree || steps_ > most_steps_) return false;
        if (paid >= wanted_) return nodes_.emplace_back(), true;
        weigh();
        if (order_.empty()) return false;
        if (open_[order_[0]] > 0 && paid + weight_ >= wanted_) {
            keep_weights(paid);
            return true;
        }
        const Index core = choose(paid);
        is_used_[core] = 1;
        std::vector<std::pair<Bytes, Index>> ways;  // first those with which the weights may be enough
        for (const Index pair : *cores_[core]) {
            if (marks_[pair] == Mark::open) ways.emplace_back(-left_[pair], pair);
        }
        std::sort(ways.begin(), ways.end());
        bool shown = true;
        for (auto way = ways.begin(); shown && way != ways.end(); ++way) {
            nodes_.push_back({.branch = way->second});
            set(way->second, Mark::paid);
            shown = node(paid + costs_[way->second], ++depth);
            set(way->second, Mark::excluded);
        }
        nodes_.push_back({.weights = {{core, 0}}});  // that none is paid
        for (const auto& [left, pair] : ways) set(pair, Mark::open);
        return shown;
    }

    // As few as are enough, better those that are in use already.
    void keep_weights(Bytes paid) {
        Weights kept = weights_;
        const auto used_first = [&](const auto& a, const auto& b) {
            return is_used_[a.first] > is_used_[b.first];
        };
        std::stable_sort(kept.begin(), kept.end(), used_first);
        for (std::size_t k = kept.size(); k-- > 0;) {
            if (paid + weight_ - kept[k].second < wanted_) continue;
            weight_ -= kept[k].second;
            kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(k));
        }
        for (const auto& [core, weight] : kept) is_used_[core] = 1;
        nodes_.push_back({.weights = std::move(kept)});
    }

    using Pairs = reuse::ElementSet;
    const std::vector<const Pairs*>& cores_;
    const std::vector<Bytes>& costs_;
    Bytes wanted_;
    std::int64_t most_steps_;
    std::vector<std::vector<Index>> cores_of_;  // by pair
    std::vector<Mark> marks_;
    std::vector<Index> open_, hits_;  // by core: how many of its pairs are so
    std::vector<char> is_used_;
    std::vector<Node> nodes_;   // each before those below it
    std::vector<Index> order_;  // cores of which nothing is paid
    Weights weights_;
    Bytes weight_ = 0;         // of all
    std::vector<Bytes> left_;  // by pair, of its cost, without what the weights ask
    std::int64_t steps_ = 0;
};

reuse::ElementSet without(const reuse::ElementSet& all, const reuse::ElementSet& some) {
    reuse::ElementSet rest;
    std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
    return rest;
}

}  // namespace

CostProof::CostProof(std::vector<OpenPair> pairs, Bytes fixed, bool lays)
    : pairs_(std::move(pairs)), fixed_(fixed), lays_(lays), effort_(kFirstEffort) {
    for (const OpenPair& pair : pairs_) weights_.push_back(pair.cost);
}

CostProof::Attempt CostProof::attempt(const Place& place, const Pairs& apart, std::int64_t most_work,
                                      Budget& budget) const {
    std::vector<Question::Pair> pairs;
    for (const Index k : apart) pairs.emplace_back(pairs_[k].first, pairs_[k].second);
    Bytes room = place.end;
    for (const Range& range : place.question.reserved)
        room -= std::max(std::min(range.end, place.end) - range.begin, Bytes{0});
    const Question question = place.question.kept_apart(pairs, lays_ ? 0 : std::max(room, Bytes{1}));
    budget.count(std::int64_t{question.count()} * question.count() + count_of(pairs));
    Attempt tried;
    Budget part(-1, most_work, &budget);
    ProofSearch search(question, tried.steps, part);
    const Outcome outcome = search.refute(place.end, place.height);
    budget.count(part.work());
    tried.work = part.work();
    tried.proven = outcome == Outcome::proven;
    tried.layout = outcome == Outcome::layout;
    if (!tried.proven) tried.steps = ProofFile();
    for (const Index k : search.used()) tried.used.push_back(apart[k]);
    for (const Index k : search.written()) tried.written.push_back(apart[k]);
    return tried;
}

// The same with fewer pairs, as far as that is found soon. Without those that only lemmas of no use rest on:
// a core has all that its steps rest on.
CostProof::Attempt CostProof::smaller(const Place& place, Attempt best, Budget& budget) const {
    const std::int64_t until = budget.work() + 2 * best.work + std::min(kFirstEffort, 16 * best.work);
    for (bool fewer = true; fewer && !budget.spent();) {
        Attempt again = attempt(place, best.used, 2 * best.work + kShrinkEffort, budget);
        fewer = again.proven && again.written.size() < best.written.size();
        if (fewer) best = std::move(again);
    }
    for (std::size_t chunk = (best.used.size() + 1) / 2; chunk > 0;
         chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
        for (std::size_t from = 0; from < best.used.size() && budget.work() < until && !budget.spent();) {
            const std::size_t to = std::min(best.used.size(), from + chunk);
            Pairs rest(best.used.begin(), best.used.begin() + static_cast<std::ptrdiff_t>(from));
            rest.insert(rest.end(), best.used.begin() + static_cast<std::ptrdiff_t>(to), best.used.end());
            Attempt again = attempt(place, rest, best.work + kShrinkEffort, budget);
            if (again.proven) {
                best = std::move(again);
            } else {
                from = to;
            }
        }
    }
    if (best.used.size() < best.written.size()) {
        Attempt again = attempt(place, best.used, 2 * best.work + kShrinkEffort, budget);
        if (again.proven) best = std::move(again);
    }
    return best;
}

// Some of these pairs are paid: which, and which of the rest, and so on. Whether there are any.
CostProof::Answer CostProof::find_cores(const Place& place, Pairs apart, Budget& budget) {
    for (bool any = false; !budget.spent(); any = true) {
        Attempt tried = attempt(place, apart, any ? kFirstEffort : effort_, budget);
        if (!tried.proven) return any ? Answer::cores : tried.layout ? Answer::layout : Answer::none;
        tried = smaller(place, std::move(tried), budget);
        std::size_t kept = tried.steps.kept_bytes();
        for (const Core& core : cores_) kept += core.steps.kept_bytes();
        if (kept > kMostKept) return Answer::layout;
        apart = without(apart, tried.written);
        Core core{std::move(tried.written), place.height, std::move(tried.steps), std::nullopt};
        if (core.pairs.empty()) return nothing_.emplace(std::move(core)), Answer::cores;
        cores_.push_back(std::move(core));
    }
    return Answer::none;
}

// Pairs that are pinned to common bytes, at any height.
void CostProof::add_pins(const Place& place) {
    for (Index k = 0; k < count_of(pairs_); ++k) {
        const Item &a = place.question.items[pairs_[k].first], &b = place.question.items[pairs_[k].second];
        if (a.pin == kUnplaced || b.pin == kUnplaced) continue;
        if (a.pin >= b.pin + b.size || b.pin >= a.pin + a.size) continue;
        Core core{{k}, place.height, {}, std::nullopt};
        Derivation derivation;
        derivation.moves.push_back({a.name, false});
        core.steps.conclude(place.height, derivation);
        cores_.push_back(std::move(core));
    }
}

std::vector<const reuse::ElementSet*> CostProof::cores_for(Bytes height) const {
    std::vector<const Pairs*> some;
    for (const Core& core : cores_) {
        if (core.height >= height) some.push_back(&core.pairs);
    }
    return some;
}

Bytes CostProof::raise(const Question& question, Bytes end, Bytes height, Bytes wanted, Budget& budget) {
    const Place place{question, end, height};
    Pairs all(pairs_.size());
    std::iota(all.begin(), all.end(), 0);
    std::erase_if(all, [&](Index k) { return question.conflict(pairs_[k].first, pairs_[k].second); });
    add_pins(place);
    for (Bytes bound = fixed_; !fits_nothing(height);) {
        std::vector<Pairs> sets;
        for (const Pairs* core : cores_for(height)) sets.push_back(*core);
        const reuse::HittingSet paid =
            reuse::cheapest_hitting_set(sets, weights_, bound - fixed_, effort_, budget);
        budget.count(paid.steps);
        bound = std::max(bound, paid.bound + fixed_);
        is_late_ = budget.spent();
        if (bound >= wanted || is_late_) return bound;
        const Answer answer = find_cores(place, without(all, paid.chosen), budget);
        if (answer == Answer::layout && paid.bound == paid.cost) return bound;
        if (answer != Answer::cores) effort_ = times_more(effort_, 2);
    }
    return wanted;
}

Bytes CostProof::write(Bytes height, Bytes cost, ProofFile& file) {
    if (fits_nothing(height)) {
        file.lay(nothing_->height);
        file.append(nothing_->steps);
        return cost;
    }
    const std::vector<const Pairs*> cores = cores_for(height);
    std::optional<CostTree> tree;
    const auto shows = [&](Bytes wanted, std::int64_t most_steps) {
        CostTree other(cores, weights_, wanted, most_steps);
        if (!other.build()) return false;
        cost = wanted + fixed_;
        tree.emplace(std::move(other));
        return true;
    };
    if (cost > fixed_ && !shows(cost - fixed_, is_late_ ? kHurriedTreeSteps : kMostTreeSteps)) {
        // What weights alone show, or more.
        Bytes low = CostTree(cores, weights_, 0, kHurriedTreeSteps).root(), high = cost - fixed_ - 1;
        if (low > 0) shows(low, kHurriedTreeSteps);
        for (int tries = 0; tries < kTries && low < high; ++tries) {
            const Bytes middle = low + (high - low + 1) / 2;
            if (shows(middle, kHurriedTreeSteps)) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
    }
    if (!tree) return fixed_;
    std::vector<std::uint64_t> numbers;
    for (Core& core : cores_) {
        if (core.height < height) continue;
        if (tree->uses(count_of(numbers)) && !core.number) {
            std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> apart;
            for (const Index k : core.pairs) apart.push_back({pairs_[k].name, {kApart}});
            core.number = file.limits();
            file.keep_within(core.height, apart, std::exchange(core.steps, ProofFile()));
        }
        numbers.push_back(core.number.value_or(0));
    }
    file.cost(kReuseTerm, height, tree->numbers(numbers, pairs_));
    return cost;
}

}  // namespace memstow::proof
