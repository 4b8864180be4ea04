#include "search/exact.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "search/components.hpp"
#include "search/ladder.hpp"
#include "search/level_search.hpp"
#include "search/pair_search.hpp"
#include "search/tiling.hpp"

namespace memstow::search {
namespace {

// Where more components are to be searched than may be open, each has its turn until it has had so many
// nodes, and the next time more.
constexpr std::int64_t kFirstTurn = 4000;
constexpr std::int64_t kLongerTurns = 4;

bool small_enough(const Components& components, Index c) {
    return components.items(c).size() <= kMostItems && components.parts(c) <= kMostParts;
}

// A packing that searches read without a lock, for as long as any of them does.
struct Opened {
    Packing packing;
    std::atomic<bool> closed{false};
};

// A component: what is known of it, and what it takes to search it, while it is open.
struct Piece {
    Bytes top = kLimit;
    Bytes bound = 0;
    std::vector<std::unique_ptr<Ladder>> ladders;  // from the first opening on
    std::vector<std::shared_ptr<Opened>> opened;   // by ladder; empty while it is closed
};

class Engine {
  public:
    Engine(const Instance& instance, const ExactOptions& options, Budget& budget, const ExactEvents& events);
    ExactResult run();

  private:
    struct Task {
        std::size_t piece, ladder;
        std::shared_ptr<Opened> opened;
        std::size_t slots;  // searches that share the memory for tables, by worker
        Attempt attempt;
    };
    struct Held {
        std::shared_ptr<Opened> opened;
        std::unique_ptr<Decision> search;
    };
    using Searches = std::map<const Opened*, Held>;

    Bytes goal() const { return options_.fit_only ? limit_ : bound_; }
    bool settled(const Piece& piece) const { return piece.top <= goal(); }
    bool over() const { return over_ || bound_ > limit_ || best() <= goal(); }
    Bytes best() const { return tops_.empty() ? 0 : *tops_.rbegin(); }
    bool next(Task& task);
    void refill();
    bool has_had_its_turn(const Piece& piece) const;
    bool open(std::size_t at);
    void try_tilings();
    void lay(std::size_t at, const std::vector<Bytes>& offsets);
    void close(std::size_t at);
    void work();
    void take(const Task& task, Answer answer, const Decision& search);
    void raise_bound(std::size_t at, Bytes bound, Refutation how);
    Decision& search_of(Searches& searches, const Task& task) const;

    const Instance& in_;
    const ExactOptions& options_;
    Budget& budget_;
    const ExactEvents& events_;
    const Components components_;
    Bytes limit_;

    std::mutex mutex_;  // guards all below, and the ladders
    std::vector<Piece> pieces_;
    std::multiset<Bytes> tops_;        // of the pieces
    std::deque<std::size_t> waiting_;  // for their turn
    std::vector<std::size_t> open_, later_;
    std::int64_t turn_ = kFirstTurn;
    Layout layout_;
    Bytes bound_ = 0;
    std::vector<Refutation> refuted_;
    std::vector<Index> dead_;
    std::int64_t nodes_ = 0;
    std::exception_ptr failure_;
    std::atomic<bool> over_{false};
};

Engine::Engine(const Instance& instance, const ExactOptions& options, Budget& budget,
               const ExactEvents& events)
    : in_(instance), options_(options), budget_(budget), events_(events), components_(instance) {
    limit_ = std::min(options.limit, kLimit - 1);
    if (!instance.pools.empty() && instance.choices.size() > 0) {
        limit_ = std::min(limit_, instance.pools[instance.choices[0][0].pool].capacity);
    }
    bound_ = options.bound;
    const Index items = in_.item_count();
    layout_ = count_of(options.start) == items ? options.start : Layout(items);
    pieces_.resize(components_.count());
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
        const auto c = k;
        pieces_[k].top = components_.height(c, options.start);
        pieces_[k].bound = components_.bound(c);
        tops_.insert(pieces_[k].top);
        if (pieces_[k].bound > bound_) raise_bound(k, pieces_[k].bound, {pieces_[k].bound - 1, 1});
        if (small_enough(components_, c)) waiting_.push_back(k);
    }
    // The highest decide, and of these the ones that need most show how low the others have to come.
    std::stable_sort(waiting_.begin(), waiting_.end(), [this](std::size_t a, std::size_t b) {
        return std::pair(pieces_[a].top, pieces_[a].bound) > std::pair(pieces_[b].top, pieces_[b].bound);
    });
}

void Engine::raise_bound(std::size_t at, Bytes bound, Refutation how) {
    bound_ = bound;
    refuted_.push_back(how);
    if (bound > limit_) {
        const auto items = components_.items(at);
        dead_.assign(items.begin(), items.end());
    } else if (events_.bound) {
        events_.bound(bound, how.nodes);
    }
}

// False when the budget is spent before it is open.
bool Engine::open(std::size_t at) {
    Piece& piece = pieces_[at];
    std::vector<Packing> made = packings(components_.instance_of(at), &budget_);
    if (made.empty()) return false;
    const auto items = components_.items(at);
    const bool first = piece.ladders.empty();
    for (Packing& packing : made) {
        for (PackingItem& item : packing.items) {
            item.original = items[item.original];
        }
        piece.opened.push_back(std::make_shared<Opened>());
        if (first) {
            piece.ladders.push_back(std::make_unique<Ladder>(packing));
            std::vector<Bytes> offsets;
            Bytes top = 0;
            for (const PackingItem& item : packing.items) {
                const Bytes offset = layout_[item.original].offset;
                offsets.push_back(offset);
                top = offset < 0 ? kLimit : std::max(top, offset + item.top);
            }
            Ladder& ladder = *piece.ladders.back();
            ladder.improve(top, std::move(offsets), 0);
            if (ladder.bound() > bound_) raise_bound(at, ladder.bound(), {ladder.bound() - 1, 1});
        }
        piece.opened.back()->packing = std::move(packing);
    }
    return true;
}

// What is full in every row needs a layout without a gap: sweeps find it where a search would not.
void Engine::try_tilings() {
    const std::int64_t work_left = budget_.work_limit() - budget_.work();
    const double seconds_left = options_.deterministic ? -1 : budget_.seconds_left();
    Budget share(seconds_left < 0 ? -1 : seconds_left / 2, work_left / 2, &budget_);
    for (std::size_t k = 0; k < pieces_.size() && !over() && !share.spent(); ++k) {
        const auto c = k;
        if (!components_.level(c) || settled(pieces_[k])) continue;
        const std::optional<FullRows> full = full_rows(components_.instance_of(c));
        if (!full || full->base + full->height > limit_) continue;
        const auto offsets = tile(*full, options_.memory, [&](std::int64_t steps) {
            budget_.count(steps);
            share.count(steps);
            return share.spent();
        });
        if (offsets) lay(k, *offsets);
    }
}

void Engine::lay(std::size_t at, const std::vector<Bytes>& offsets) {
    Piece& piece = pieces_[at];
    const auto items = components_.items(at);
    Layout lower = layout_;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        lower[items[i]] = {in_.choices[items[i]][0].pool, offsets[i]};
    }
    const Bytes height = components_.height(at, lower), before = best();
    if (height >= piece.top) return;
    layout_.swap(lower);
    tops_.erase(tops_.find(piece.top));
    piece.top = height;
    tops_.insert(height);
    if (best() < before && events_.incumbent) events_.incumbent(layout_, best());
}

void Engine::close(std::size_t at) {
    for (const auto& opened : pieces_[at].opened) opened->closed.store(true, std::memory_order_relaxed);
    pieces_[at].opened.clear();
}

bool Engine::has_had_its_turn(const Piece& piece) const {
    return std::all_of(piece.ladders.begin(), piece.ladders.end(), [this](const auto& ladder) {
        return ladder->top() <= goal() || !ladder->searchable() || ladder->nodes >= turn_;
    });
}

// Closes what is settled, and what has had its turn while others wait; opens what is next.
void Engine::refill() {
    for (;;) {
        const bool others = !waiting_.empty() || !later_.empty();
        std::vector<std::size_t> kept;
        for (const std::size_t at : open_) {
            const bool done = settled(pieces_[at]);
            const bool turn_over = !done && others && has_had_its_turn(pieces_[at]);
            if (turn_over) later_.push_back(at);
            if (done || turn_over) {
                close(at);
            } else {
                kept.push_back(at);
            }
        }
        open_.swap(kept);
        std::int64_t entries = 0;
        for (const std::size_t at : open_) entries += components_.entries(at);
        while (!waiting_.empty() && open_.size() < kMostOpen && !over() && !budget_.spent()) {
            const std::size_t at = waiting_.front();
            if (!settled(pieces_[at])) {
                entries += components_.entries(at);
                if (!open_.empty() && entries > kMostEntries) break;
                if (!open(at)) return;
                open_.push_back(at);
            }
            waiting_.pop_front();
        }
        if (!open_.empty() || !waiting_.empty() || later_.empty()) return;
        waiting_.assign(later_.begin(), later_.end());
        later_.clear();
        turn_ = times_more(turn_, kLongerTurns);
    }
}

// The part that has had the least so far among those that still matter: every one of them has to come down to
// the goal.
bool Engine::next(Task& task) {
    const std::lock_guard lock(mutex_);
    if (over()) return false;
    refill();
    if (over() || budget_.spent()) return false;
    Ladder* pick = nullptr;
    for (const std::size_t at : open_) {
        for (std::size_t k = 0; k < pieces_[at].ladders.size(); ++k) {
            Ladder& ladder = *pieces_[at].ladders[k];
            if (ladder.top() <= goal() || !ladder.searchable()) continue;
            if (pick != nullptr && ladder.nodes >= pick->nodes) continue;
            pick = &ladder;
            task.piece = at;
            task.ladder = k;
        }
    }
    if (pick == nullptr) return false;
    task.opened = pieces_[task.piece].opened[task.ladder];
    task.attempt = pick->next(task.opened->packing, bound_, limit_, options_.fit_only, options_.seed << 32);
    pick->nodes += 1;  // the other workers look elsewhere first
    std::size_t ladders = waiting_.size() + later_.size();
    for (const std::size_t at : open_) ladders += pieces_[at].ladders.size();
    task.slots = std::min(ladders, kMostOpen);
    return true;
}

// The worker's own search of this packing. What it has of packings that were closed since is given up.
Decision& Engine::search_of(Searches& searches, const Task& task) const {
    const auto known = searches.find(task.opened.get());
    if (known != searches.end()) return *known->second.search;
    std::erase_if(searches,
                  [](const auto& one) { return one.second.opened->closed.load(std::memory_order_relaxed); });
    const Packing& packing = task.opened->packing;
    std::unique_ptr<Decision> search;
    if (packing.plain) {
        const Index workers = std::max(1, options_.workers);
        search = std::make_unique<LevelSearch>(packing, options_.memory / (workers * task.slots));
    } else {
        search = std::make_unique<PairSearch>(packing);
    }
    return *searches.emplace(task.opened.get(), Held{task.opened, std::move(search)}).first->second.search;
}

void Engine::work() {
    Searches searches;
    Task task{};
    while (!budget_.spent() && next(task)) {
        const Ladder& ladder = *pieces_[task.piece].ladders[task.ladder];
        Decision& search = search_of(searches, task);
        const Decision::Stop stop = [&](std::int64_t steps) {
            budget_.count(steps);
            return budget_.spent() || over_.load(std::memory_order_relaxed) ||
                   ladder.settled(task.attempt.height);
        };
        const Answer answer = search.run(task.attempt.height, task.attempt.strategy, task.attempt.seed,
                                         task.attempt.node_limit, stop);
        take(task, answer, search);
    }
}

void Engine::take(const Task& task, Answer answer, const Decision& search) {
    const std::lock_guard lock(mutex_);
    Piece& piece = pieces_[task.piece];
    Ladder& ladder = *piece.ladders[task.ladder];
    const Packing& packing = task.opened->packing;
    nodes_ += search.nodes();
    ladder.nodes += search.nodes();
    budget_.count(1);
    if (answer == Answer::found) {
        if (!packing.holds(search.offsets())) throw std::logic_error("the search made a wrong layout");
        std::vector<Bytes> offsets = search.offsets();
        const Bytes height = packing.height(offsets);
        if (height >= ladder.top()) return;
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            offsets[i] *= packing.unit;
            const Index item = packing.items[i].original;
            layout_[item] = {in_.choices[item][0].pool, offsets[i]};
        }
        ladder.improve(height, std::move(offsets), task.attempt.turn);
        const Bytes before = best();
        tops_.erase(tops_.find(piece.top));
        piece.top = 0;
        for (const auto& one : piece.ladders) piece.top = std::max(piece.top, one->top());
        tops_.insert(piece.top);
        if (best() < before && events_.incumbent) events_.incumbent(layout_, best());
    } else if (answer == Answer::refuted && ladder.refute(packing, task.attempt.height) &&
               ladder.bound() > bound_) {
        raise_bound(task.piece, ladder.bound(), {task.attempt.height, ladder.nodes});
    }
}

ExactResult Engine::run() {
    const auto guarded = [this] {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            over_ = true;
        }
    };
    std::vector<std::thread> others;
    const int workers = options_.deterministic ? 1 : options_.workers;
    const std::int64_t before = budget_.work();
    try_tilings();
    if (!over()) {
        for (int k = 1; k < workers; ++k) others.emplace_back(guarded);
    }
    guarded();
    over_ = true;
    for (std::thread& other : others) other.join();
    if (failure_) std::rethrow_exception(failure_);

    ExactResult result;
    result.bound = bound_;
    result.height = best();
    if (result.height < kLimit) result.layout = layout_;
    result.refuted = refuted_;
    result.nodes = nodes_;
    result.steps = budget_.work() - before;
    if (bound_ > limit_) {
        result.status = ExactStatus::infeasible;
        result.dead = dead_;
    } else if (result.height <= limit_) {
        result.status = result.height <= bound_ ? ExactStatus::optimal : ExactStatus::feasible;
    }
    return result;
}

}  // namespace

ExactResult solve_exact(const Instance& instance, const ExactOptions& options, Budget& budget,
                        const ExactEvents& events) {
    return Engine(instance, options, budget, events).run();
}

Reach reach_of(const Instance& instance, const Layout& start, Bytes bound) {
    const Components components(instance);
    Reach reach;
    Bytes most = 0;
    for (Index c = 0; c < components.count(); ++c) {
        reach.largest = std::max(reach.largest, count_of(components.items(c)));
        most = std::max(most, components.bound(c));
    }
    const bool started = count_of(start) == instance.item_count();
    for (Index c = 0; c < components.count(); ++c) {
        const bool decides =
            started ? components.height(c, start) > std::max(bound, most) : components.bound(c) == most;
        reach.level = reach.level || (decides && components.level(c));
        reach.searchable =
            reach.searchable || (decides && (components.level(c) || small_enough(components, c)));
    }
    return reach;
}

}  // namespace memstow::search
