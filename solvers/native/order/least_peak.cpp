#include "order/least_peak.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "order/beam.hpp"
#include "order/bounds.hpp"
#include "order/classics.hpp"
#include "order/descent.hpp"
#include "order/late.hpp"
#include "order/narrowing.hpp"
#include "order/state.hpp"

namespace memstow::order {
namespace {

// Steps of the first turn of a search, and the most of a later one: in between, others may have proven more.
constexpr std::int64_t kFirstTurn = 4'000;
constexpr std::int64_t kLongestTurn = 1'000'000;
constexpr std::size_t kFirstWidth = 4;
// Orders that a beam holds at once, and their operators; each of these takes some fifty bytes.
constexpr std::size_t kWidest = 4096;
constexpr std::size_t kMostInBeam = 1'000'000;

enum class Kind { beam, lowest, middle, highest, narrowing };

// Shares of the work, and in 32nds of the memory for sets. What ends a run is most often the search just
// below the best peak, and it meets the most sets.
constexpr std::int64_t work_share(Kind kind) { return kind == Kind::beam || kind == Kind::highest ? 2 : 1; }
constexpr std::size_t memory_share(Kind kind) { return kind == Kind::highest ? 8 : 2; }
// Forwards and backwards one of these often ends in a second and the other never.
constexpr std::int64_t kMoreForAhead = 4;

// What must come before what is looked for where the searches have not ended at once: they prove with sets
// that can be handed out.
constexpr std::int64_t kBeforeNarrowing = 3'000'000;
// Where the search just below the best peak has not come far by then, it will hardly end: what must come
// before what gets as much work as the searches.
constexpr std::int64_t kNarrowingAlongside = 4, kNarrowingFirst = 12;
// Limits are tried in the middle of what is left, until that is so small a part of the gap.
constexpr Bytes kLeastPart = 32;

// One way to go on: a beam, the search at one limit, forwards or backwards, or what must come before what.
struct Way {
    Kind kind;
    bool backwards;
    bool busy = false;
    std::int64_t spent = 0, turn = kFirstTurn;
    std::size_t width = kFirstWidth;
    Bytes limit = -1;
    double explored = 0;
    std::unique_ptr<Descent> search = {};
    std::unique_ptr<Narrowing> narrowing = {};
};

class Engine {
  public:
    Engine(const Graph& whole, const LeastPeakOptions& options, Budget& budget, const LeastPeakEvents& events)
        : whole_(whole), options_(options), budget_(budget), events_(events) {
        for (const Kind kind : {Kind::beam, Kind::lowest, Kind::highest, Kind::middle}) {
            for (const bool backwards : {false, true}) ways_.push_back({kind, backwards});
        }
        ways_.push_back({Kind::narrowing, false});
    }

    LeastPeak run(const std::vector<Index>& listed);

  private:
    const Graph& graph_of(const Way& way) const { return way.backwards ? mirror_ : core_.graph; }
    bool closed() const { return result_.bound >= result_.peak || result_.peak <= options_.enough; }
    void begin(const std::vector<Index>& listed);
    void take_order(std::vector<Index> order);
    void take_core(std::vector<Index> order, bool backwards);
    void raise(Bytes bound);
    Bytes limit_of(Kind kind) const;
    bool helps(const Way& way) const;
    std::int64_t share_of(const Way& way) const;
    Way* next();
    void work_guarded();
    void work();
    void turn(Way& way, std::unique_lock<std::mutex>& lock);
    void grow_beam(Way& way, std::unique_lock<std::mutex>& lock);
    bool may_narrow(const Way& way) const;
    Bytes limit_to_narrow(const Way& way) const;
    void narrow(Way& way, std::unique_lock<std::mutex>& lock);
    void take(Way& way, Answer answer);

    const Graph& whole_;
    const LeastPeakOptions& options_;
    Budget& budget_;
    const LeastPeakEvents& events_;
    // What the ways search; made when the first of them has its turn.
    WithoutLate core_;
    Graph mirror_;

    std::mutex mutex_;  // guards all below
    std::vector<Way> ways_;
    LeastPeak result_;
    std::exception_ptr failure_;
};

void Engine::take_order(std::vector<Index> order) {
    const Bytes peak = peak_of(whole_, order);
    if (!result_.order.empty() && peak >= result_.peak) return;
    result_.peak = peak;
    result_.order = std::move(order);
    if (events_.order) events_.order(peak, result_.order);
}

void Engine::take_core(std::vector<Index> order, bool backwards) {
    if (order.empty()) return;
    if (backwards) std::reverse(order.begin(), order.end());
    for (Index& v : order) v = core_.kept[v];
    take_order(with_late(whole_, order));
}

void Engine::raise(Bytes bound) {
    if (bound <= result_.bound) return;
    result_.bound = bound;
    if (events_.bound) events_.bound(bound);
}

// The classics, and the cuts. Both are needed by all that follows.
void Engine::begin(const std::vector<Index>& listed) {
    std::vector<Bytes> needs(whole_.extra.size(), kLimit);
    const auto try_order = [&](const std::vector<Index>& order) {
        State state(whole_);
        for (const Index v : order) {
            needs[v] = std::min(needs[v], state.step(v).needs);
            state.run(v);
        }
        take_order(order);
    };
    try_order(listed);
    try_order(least_peak_first(whole_, &budget_));
    try_order(depth_first(whole_));
    const Largest largest = largest_step(whole_);
    result_.cut = largest.op;
    result_.cut_bytes = largest.bytes;
    raise(largest.bytes);
    if (closed()) return;
    std::vector<Index> back = least_peak_first(mirrored(whole_), &budget_);
    std::reverse(back.begin(), back.end());
    try_order(back);
    Budget share = third_of(budget_);
    const Bound cut = cut_bound(whole_, needs, share, [&](Bytes bytes) { raise(bytes); });
    budget_.count(share.work());
    result_.cut = cut.op;
    result_.cut_bytes = cut.bytes;
}

Bytes Engine::limit_of(Kind kind) const {
    const Bytes low = result_.bound, high = result_.peak - 1;
    // A little above the bound, or it would rise by one step's bytes at a time.
    if (kind == Kind::lowest) return low + (high - low) / 64;
    return kind == Kind::highest ? high : low + (high - low) / 2;
}

// Whether the way is worth its time: a beam that is not too wide, or a limit that no other has.
bool Engine::helps(const Way& way) const {
    const Bytes low = limit_of(Kind::lowest), high = limit_of(Kind::highest), middle = limit_of(Kind::middle);
    switch (way.kind) {
        case Kind::beam:
            return way.width <= kWidest && way.width * whole_.extra.size() <= kMostInBeam;
        case Kind::lowest:
            return true;
        case Kind::middle:
            return middle != low && middle != high;
        case Kind::highest:
            return high != low;
        case Kind::narrowing:
            return may_narrow(way);
    }
    return false;
}

bool Engine::may_narrow(const Way& way) const {
    if (core_.kept.size() > kMostToNarrow) return false;
    std::int64_t spent = 0;
    for (const Way& other : ways_) spent += other.spent;
    return spent >= kBeforeNarrowing && limit_to_narrow(way) >= result_.bound;
}

// Below the least that was left open: what is shown there holds here as well. -1 where nothing is left.
Bytes Engine::limit_to_narrow(const Way& way) const {
    const Bytes open = way.narrowing == nullptr ? kLimit : way.narrowing->open_limit();
    const Bytes high = std::min(open, result_.peak), middle = result_.bound + (high - result_.bound) / 2;
    return (high - result_.bound) * kLeastPart < result_.peak - result_.bound ? -1 : middle;
}

std::int64_t Engine::share_of(const Way& way) const {
    if (way.kind == Kind::narrowing) {
        const bool ends = std::any_of(ways_.begin(), ways_.end(), [](const Way& other) {
            return other.kind == Kind::highest && other.explored > kFarExplored;
        });
        return ends ? kNarrowingAlongside : kNarrowingFirst;
    }
    if (way.kind != Kind::highest) return work_share(way.kind);
    const Way& other_direction = ways_[static_cast<std::size_t>(&way - ways_.data()) ^ 1];
    return work_share(way.kind) * (way.explored > other_direction.explored ? kMoreForAhead : 1);
}

// The way that has had the least of its share; null where the others are all at work.
Way* Engine::next() {
    Way* best = nullptr;
    for (Way& way : ways_) {
        if (way.busy || !helps(way)) continue;
        if (best == nullptr || way.spent / share_of(way) < best->spent / share_of(*best)) best = &way;
    }
    return best;
}

void Engine::grow_beam(Way& way, std::unique_lock<std::mutex>& lock) {
    const Bytes bound = result_.bound, peak = result_.peak;
    lock.unlock();
    Budget share(-1, -1, &budget_);
    std::vector<Index> order = beam(graph_of(way), bound, peak, way.width, share);
    budget_.count(share.work());
    lock.lock();
    way.spent += share.work();
    way.width *= 4;
    take_core(std::move(order), way.backwards);
}

void Engine::narrow(Way& way, std::unique_lock<std::mutex>& lock) {
    if (way.narrowing == nullptr) way.narrowing = std::make_unique<Narrowing>(core_.graph);
    Narrowing& narrowing = *way.narrowing;
    const bool is_done =
        way.limit < result_.bound || way.limit >= result_.peak || way.limit >= narrowing.open_limit();
    if (is_done) way.limit = limit_to_narrow(way);
    const Bytes limit = way.limit;
    const std::int64_t steps = way.turn;
    lock.unlock();
    const Narrowing::Answer answer = narrowing.search(limit, steps, budget_);
    lock.lock();
    way.spent += steps;
    way.turn = std::min(2 * way.turn, kLongestTurn);
    if (answer != Narrowing::Answer::none) return;
    const Bytes bound = std::min(narrowing.least_blocked(), result_.peak);
    if (bound <= result_.bound) return;
    result_.blocked = Blocked{bound - 1, narrowing.shown(), narrowing.needy()};
    raise(bound);
}

// All dead sets and where they must lead to; none where there are too many.
std::vector<DeadSet> kept_of(const Descent& search) {
    std::vector<DeadSet> sets;
    for (std::size_t k = 0; search.all_kept() && k < search.dead().count(); ++k) {
        const auto words = search.dead()[k], commit = search.commit_of(k);
        sets.push_back({{words.begin(), words.end()}, {commit.begin(), commit.end()}});
    }
    return sets;
}

void Engine::take(Way& way, Answer answer) {
    if (answer == Answer::found) {
        take_core(way.search->order(), way.backwards);
    } else if (answer == Answer::none && way.search->least_blocked() > result_.bound) {
        const Bytes bound = std::min(way.search->least_blocked(), result_.peak);
        result_.refuted = Refuted{bound - 1, way.backwards, way.search->dead_count(), kept_of(*way.search)};
        raise(bound);
    }
}

void Engine::turn(Way& way, std::unique_lock<std::mutex>& lock) {
    if (way.kind == Kind::beam) return grow_beam(way, lock);
    if (way.kind == Kind::narrowing) return narrow(way, lock);
    if (way.limit < result_.bound || way.limit >= result_.peak || way.kind == Kind::highest) {
        way.limit = limit_of(way.kind);
    }
    const Bytes limit = way.limit;
    const std::int64_t steps = way.turn;
    if (way.search == nullptr) {
        const std::size_t part = options_.memory / 32, each = 2 * (graph_of(way).extra.size() / 8 + 64);
        // One part of each search for sets that may be handed out, which come with their commits.
        const std::size_t kept = std::min(options_.most_kept, part / each);
        const Descent::Options options{memory_share(way.kind) * part, kept};
        way.search = std::make_unique<Descent>(graph_of(way), options);
    }
    lock.unlock();
    const Answer answer = way.search->search(limit, steps, budget_);
    lock.lock();
    way.spent += steps;
    way.turn = std::min(2 * way.turn, kLongestTurn);
    way.explored = way.search->explored();
    take(way, answer);
}

void Engine::work() {
    std::unique_lock lock(mutex_);
    while (!closed() && !budget_.spent() && !failure_) {
        Way* way = next();
        if (way == nullptr) return;
        way->busy = true;
        turn(*way, lock);
        way->busy = false;
    }
}

void Engine::work_guarded() {
    try {
        work();
    } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
    }
}

LeastPeak Engine::run(const std::vector<Index>& listed) {
    raise(options_.bound);
    begin(listed);
    if (closed() || budget_.spent()) return std::move(result_);
    core_ = without_late(whole_);
    mirror_ = mirrored(core_.graph);
    std::vector<std::thread> others;
    for (int k = 1; k < options_.workers && !closed(); ++k) others.emplace_back([this] { work_guarded(); });
    work_guarded();
    for (std::thread& other : others) other.join();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(result_);
}

}  // namespace

LeastPeak least_peak(const Graph& graph, const std::vector<Index>& listed, const LeastPeakOptions& options,
                     Budget& budget, const LeastPeakEvents& events) {
    if (graph.size() == 0) {
        const Bytes live = State(graph).live();
        return {{}, live, live, -1, live, {}, {}};
    }
    return Engine(graph, options, budget, events).run(listed);
}

std::vector<Bytes> proven_numbers(const LeastPeak& from) {
    std::vector<Bytes> numbers{-1, 0, -1, 0};
    if (from.refuted) numbers = {from.refuted->limit, from.refuted->backwards ? 1 : 0, -1, 0};
    if (!from.blocked) return numbers;
    numbers[2] = from.blocked->limit;
    numbers[3] = from.blocked->needy;
    for (const auto& [first, then, needy] : from.blocked->shown) {
        numbers.insert(numbers.end(), {first, then, needy});
    }
    return numbers;
}

LeastPeak proven_from(std::span<const Bytes> numbers) {
    if (numbers.size() < 4 || numbers.size() % 3 != 1) throw std::invalid_argument("too few numbers");
    const auto index = [&](std::size_t k) {
        if (numbers[k] < 0 || numbers[k] > std::numeric_limits<Index>::max())
            throw std::invalid_argument("a number is no operator");
        return static_cast<Index>(numbers[k]);
    };
    LeastPeak result;
    if (numbers[0] >= 0) result.refuted = Refuted{numbers[0], numbers[1] != 0, 0, {}};
    if (numbers[2] < 0) return result;
    result.blocked = Blocked{numbers[2], {}, index(3)};
    for (std::size_t k = 4; k < numbers.size(); k += 3) {
        result.blocked->shown.push_back({index(k), index(k + 1), index(k + 2)});
    }
    return result;
}

std::vector<Index> order_within(const Graph& graph, Bytes limit, std::uint64_t seed, Budget& budget) {
    const WithoutLate core = without_late(graph);
    constexpr std::size_t kMemory = std::size_t{1} << 26;
    Descent search(core.graph, {kMemory, 0, seed});
    if (search.search(limit, std::numeric_limits<std::int64_t>::max(), budget) != Answer::found) return {};
    std::vector<Index> order = search.order();
    for (Index& v : order) v = core.kept[v];
    return with_late(graph, order);
}

}  // namespace memstow::order
