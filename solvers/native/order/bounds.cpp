#include "order/bounds.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "order/savings.hpp"

namespace memstow::order {
namespace {

bool certain(const Graph& graph, Index v, Index source, const std::vector<Side>& sides) {
    const Storage& storage = graph.storages[source];
    return std::all_of(storage.ends.begin(), storage.ends.end(),
                       [&](Index u) { return u == v || sides[u] == Side::inside; });
}

// Whether the source ends at v in some order, and the target begins there.
bool possible(const Graph& graph, Index v, const InPlace& pair, const std::vector<Side>& sides) {
    const Storage& source = graph.storages[pair.source];
    const Storage& target = graph.storages[pair.target];
    return !source.to_end && !target.from_start &&
           std::none_of(source.ends.begin(), source.ends.end(),
                        [&](Index u) { return u != v && sides[u] == Side::outside; }) &&
           std::none_of(target.begins.begin(), target.begins.end(),
                        [&](Index u) { return sides[u] == Side::inside; });
}

// Sets of pairs that share no storage and that no pair can be added to.
class Ways {
  public:
    explicit Ways(const std::vector<Credit>& pairs) : pairs_(pairs) {}

    std::vector<Credits> all() {
        choose(0);
        return std::move(ways_);
    }

  private:
    static bool meets(const Credit& a, const Credit& b) {
        return a.pair.source == b.pair.source || a.pair.target == b.pair.target;
    }
    bool free(const Credit& credit) const {
        return std::none_of(chosen_.begin(), chosen_.end(),
                            [&](const Credit& c) { return meets(c, credit); });
    }
    void choose(std::size_t k) {
        if (k == pairs_.size()) {
            if (std::any_of(pairs_.begin(), pairs_.end(), [&](const Credit& c) { return free(c); })) return;
            ways_.push_back(chosen_);
            return;
        }
        if (free(pairs_[k])) {
            chosen_.push_back(pairs_[k]);
            choose(k + 1);
            chosen_.pop_back();
        }
        // Left out: only where a later pair can take its place.
        if (std::any_of(pairs_.begin() + k + 1, pairs_.end(),
                        [&](const Credit& c) { return meets(c, pairs_[k]); })) {
            choose(k + 1);
        } else if (!free(pairs_[k])) {
            choose(k + 1);
        }
    }

    const std::vector<Credit>& pairs_;
    Credits chosen_;
    std::vector<Credits> ways_;
};

// One way that grants the best pair of each output, though an input may then be in several.
Credits best_for_each_target(const std::vector<Credit>& pairs) {
    std::map<Index, Credit> best;
    for (const Credit& credit : pairs) {
        const auto place = best.try_emplace(credit.pair.target, credit).first;
        if (credit.bytes > place->second.bytes) place->second = credit;
        place->second.certain = true;
    }
    Credits all;
    for (const auto& [target, credit] : best) all.push_back(credit);
    return all;
}

// No less than any set of pairs saves.
Bytes most_granted(const std::vector<InPlace>& pairs) {
    if (pairs.size() <= kMostPairs) return most_saved(pairs);
    std::vector<Credit> credits;
    for (const InPlace& pair : pairs) credits.push_back({pair, true, pair.bytes});
    Bytes total = 0;
    for (const Credit& credit : best_for_each_target(credits)) total += credit.bytes;
    return total;
}

}  // namespace

Largest largest_step(const Graph& graph) {
    Bytes start = graph.base, end = graph.base;
    for (const Storage& storage : graph.storages) {
        if (storage.from_start && (storage.to_end || !storage.ends.empty())) start += storage.size;
        if (storage.to_end && (storage.from_start || !storage.begins.empty())) end += storage.size;
    }
    Largest best{std::max(start, end), -1};
    for (Index v = 0; v < graph.size(); ++v) {
        Bytes bytes = graph.base + graph.extra[v];
        std::vector<Index> touched(graph.begins_at[v]);
        touched.insert(touched.end(), graph.ends_at[v].begin(), graph.ends_at[v].end());
        std::sort(touched.begin(), touched.end());
        touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
        for (const Index s : touched) bytes += graph.storages[s].size;
        bytes -= most_granted(graph.in_place[v]);
        if (bytes > best.bytes) best = {bytes, v};
    }
    return best;
}

std::vector<Credits> ways_to_save(const Graph& graph, Index v, const std::vector<Side>& sides) {
    std::vector<Credit> pairs;
    for (const InPlace& pair : graph.in_place[v]) {
        if (!possible(graph, v, pair, sides)) continue;
        pairs.push_back({pair, certain(graph, v, pair.source, sides), pair.bytes});
    }
    if (pairs.size() <= kMostPairs) return Ways(pairs).all();
    return {best_for_each_target(pairs)};
}

Bytes CutBound::of(Index v, Bytes enough, const Budget* budget) {
    reach_.look_at(v);
    steps_ += graph_.size();
    for (const auto& set : sets_) {
        const Bytes bytes = after(set, v);
        if (bytes <= enough) return bytes;
    }
    Bytes best = kLimit;
    for (const Credits& credits : ways_to_save(graph_, v, reach_.sides())) {
        const Between between{reach_.open(), reach_.sides(), v, credits};
        const Bytes open = cut_.least(between, kLimit, budget);
        if (budget != nullptr && budget->out_of_time()) return 0;
        best = std::min(best, open + cut_.elsewhere(between) + graph_.extra[v]);
    }
    keep(v);
    return best;
}

// What v needs after the set, with all that comes before v and without what comes after it.
Bytes CutBound::after(const std::vector<bool>& set, Index v) {
    const std::vector<Side>& sides = reach_.sides();
    const auto done = [&](Index u) { return sides[u] == Side::inside || (sides[u] == Side::open && set[u]); };
    const auto begun = [&](Index u) { return u == v || done(u); };
    Bytes total = graph_.base + graph_.extra[v];
    for (const Storage& storage : graph_.storages) {
        if (!storage.to_end && std::all_of(storage.ends.begin(), storage.ends.end(), done)) continue;
        if (storage.from_start || std::any_of(storage.begins.begin(), storage.begins.end(), begun)) {
            total += storage.size;
        }
    }
    steps_ += graph_.size();
    return total;
}

void CutBound::keep(Index v) {
    std::vector<bool> set(graph_.extra.size(), false);
    for (Index u = 0; u < graph_.size(); ++u) set[u] = u == v || reach_.sides()[u] == Side::inside;
    for (const Index u : cut_.smallest()) set[u] = true;
    if (sets_.size() < kSets) {
        sets_.push_back(std::move(set));
    } else {
        sets_[oldest_++ % kSets] = std::move(set);
    }
}

std::vector<WayProof> prove_cut(const Graph& graph, Index v) {
    Reach reach(graph);
    reach.look_at(v);
    Cut cut(graph);
    std::vector<WayProof> result;
    for (Credits& credits : ways_to_save(graph, v, reach.sides())) {
        cut.least({reach.open(), reach.sides(), v, credits});
        result.push_back({std::move(credits), cut.chains()});
    }
    return result;
}

namespace {

class NeedProof {
  public:
    NeedProof(const Graph& graph, Index v)
        : graph_(graph), v_(v), pairs_(graph.in_place[v]), reach_(graph), cut_(graph) {
        reach_.look_at(v);
    }

    std::vector<NeedCase> cases(Budget& budget) {
        std::vector<std::size_t> open;
        for (std::size_t k = 0; k < pairs_.size(); ++k) {
            if (possible(graph_, v_, pairs_[k], reach_.sides())) open.push_back(k);
        }
        choose(open);
        budget.count(graph_.size() + cut_.steps() / kCutSteps);
        return std::move(cases_);
    }

  private:
    bool meet(std::size_t a, std::size_t b) const {
        return a != b && (pairs_[a].source == pairs_[b].source || pairs_[a].target == pairs_[b].target);
    }

    void choose(const std::vector<std::size_t>& open) {
        const auto shares = [&](std::size_t k) {
            return std::any_of(open.begin(), open.end(), [&](std::size_t other) { return meet(k, other); });
        };
        const auto chosen =
            open.size() > kMostPairs ? open.end() : std::find_if(open.begin(), open.end(), shares);
        if (chosen == open.end()) return add(open);
        cases_.push_back({true, {*chosen}, {}, 0});
        std::vector<std::size_t> without, with;
        for (const std::size_t k : open) {
            if (k != *chosen) without.push_back(k);
            if (!meet(k, *chosen)) with.push_back(k);
        }
        choose(without);
        choose(with);
    }

    // Where it saves with these alone, of each output with one of them.
    void add(const std::vector<std::size_t>& open) {
        NeedCase one;
        Credits credits;
        for (const std::size_t k : open) {
            const InPlace& pair = pairs_[k];
            const auto same = std::find_if(credits.begin(), credits.end(),
                                           [&](const Credit& c) { return c.pair.target == pair.target; });
            if (same == credits.end()) {
                credits.push_back({pair, certain(graph_, v_, pair.source, reach_.sides()), pair.bytes});
                one.pairs.push_back(k);
                continue;
            }
            // One of several: no chain may rest on which of them it is.
            same->certain = true;
            same->bytes = std::max(same->bytes, pair.bytes);
        }
        const Between between{reach_.open(), reach_.sides(), v_, credits};
        one.bytes = cut_.least(between);
        one.bytes += cut_.elsewhere(between) + graph_.extra[v_];
        one.chains = cut_.chains();
        cases_.push_back(std::move(one));
    }

    const Graph& graph_;
    const Index v_;
    const std::vector<InPlace>& pairs_;
    Reach reach_;
    Cut cut_;
    std::vector<NeedCase> cases_;
};

}  // namespace

std::vector<NeedCase> prove_need(const Graph& graph, Index v, Budget& budget) {
    return NeedProof(graph, v).cases(budget);
}

std::vector<Chain> prove_commit(const Graph& graph, Cut& cut, const std::vector<Index>& done,
                                const std::vector<Index>& more) {
    std::vector<Side> sides(graph.extra.size(), Side::outside);
    for (const Index v : done) sides[v] = Side::inside;
    for (const Index v : more) sides[v] = Side::open;
    cut.least({more, sides});
    return cut.chains();
}

Budget third_of(const Budget& budget) {
    const bool is_endless = budget.work_limit() == std::numeric_limits<std::int64_t>::max();
    const std::int64_t work = std::max<std::int64_t>(0, budget.work_limit() - budget.work()) / 3;
    return Budget(budget.seconds_left() < 0 ? -1 : budget.seconds_left() / 3, is_endless ? -1 : work,
                  &budget);
}

Bound cut_bound(const Graph& graph, const std::vector<Bytes>& needs, Budget& budget,
                const std::function<void(Bytes)>& on_bound) {
    const Largest largest = largest_step(graph);
    Bound best{largest.bytes, largest.op, true};
    on_bound(best.bytes);
    std::vector<Index> by_need(graph.extra.size());
    std::iota(by_need.begin(), by_need.end(), 0);
    std::stable_sort(by_need.begin(), by_need.end(), [&](Index a, Index b) { return needs[a] > needs[b]; });
    CutBound bound(graph);
    std::int64_t counted = 0;
    for (const Index v : by_need) {
        if (needs[v] <= best.bytes) break;
        if (budget.spent()) {
            best.complete = false;
            break;
        }
        const Bytes bytes = bound.of(v, best.bytes, &budget);
        budget.count(bound.steps() - counted + graph.size());
        counted = bound.steps();
        if (bytes <= best.bytes) continue;
        best = {bytes, v, true};
        on_bound(bytes);
    }
    return best;
}

}  // namespace memstow::order
