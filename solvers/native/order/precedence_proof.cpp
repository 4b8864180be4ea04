#include "order/precedence_proof.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace memstow::order {
namespace {

constexpr std::size_t kMostInProof = std::size_t{1} << 28;  // bytes
constexpr Index kFar = std::numeric_limits<Index>::max();

}  // namespace

PrecedenceProof::PrecedenceProof(const Graph& graph, Bytes limit)
    : graph_(graph), limit_(limit), before_(graph.extra.size()), after_(graph.extra.size()) {
    for (Index v = 0; v < graph.size(); ++v) {
        for (const Index u : graph.before[v]) before_[v].push_back({u}), after_[u].push_back({v});
    }
}

void PrecedenceProof::link(Index u, Index v, Index shown) {
    graph_.before[v].push_back(u);
    graph_.after[u].push_back(v);
    before_[v].push_back({u, shown});
    after_[u].push_back({v, shown});
}

// The one that was made last.
void PrecedenceProof::unlink(Index u, Index v) {
    graph_.before[v].pop_back();
    graph_.after[u].pop_back();
    before_[v].pop_back();
    after_[u].pop_back();
}

bool PrecedenceProof::find(std::span<const Ordering> shown, Index needy, Budget& budget) {
    used_.assign(shown.size(), false);
    for (std::size_t k = 0; k < shown.size(); ++k) link(shown[k].first, shown[k].then, static_cast<Index>(k));
    last_ = prove(needy, budget);
    for (std::size_t k = shown.size(); k-- > 0;) {
        const auto& [first, then, needed] = shown[k];
        unlink(first, then);
        if (!used_[k]) continue;
        link(then, first, kNone);
        steps_.push_back({shown[k], prove(needed, budget)});
        unlink(then, first);
        if (budget.spent() || taken_ > kMostInProof) return false;
    }
    std::reverse(steps_.begin(), steps_.end());
    return true;
}

// Why the operator needs more than the limit; what that rests on is used from here on.
std::vector<NeedCase> PrecedenceProof::prove(Index v, Budget& budget) {
    std::vector<NeedCase> cases = prove_need(graph_, v, budget);
    for (auto [paths, links] : {std::pair{&earlier_, &before_}, std::pair{&later_, &after_}}) {
        paths->cost.assign(graph_.extra.size(), kFar);
        paths->back.assign(graph_.extra.size(), {});
        spread(*links, {v}, *paths);
    }
    use_where_pairs_are_kept(v);
    Bytes slack = kLimit;
    for (const NeedCase& one : cases) {
        if (!one.is_choice) slack = std::min(slack, one.bytes - limit_ - 1);
    }
    std::vector<Part> parts;
    for (const Storage& storage : graph_.storages) {
        if (Part part = always(storage); !part.links.empty()) parts.push_back(std::move(part));
    }
    const Bytes dropped = use_but(parts, slack);
    for (NeedCase& one : cases) {
        parts.clear();
        for (const Chain& chain : one.chains) parts.push_back(part_of(chain, one, v));
        use_but(parts, one.is_choice ? 0 : one.bytes - dropped - limit_ - 1);
        std::vector<Chain> kept;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            if (parts[k].bytes == 0) continue;
            taken_ += sizeof(Chain) + one.chains[k].storages.size() * sizeof(Index);
            kept.push_back(std::move(one.chains[k]));
        }
        one.chains = std::move(kept);
        taken_ += sizeof(NeedCase);
    }
    return cases;
}

void PrecedenceProof::spread(const Links& links, std::vector<Index> from, Paths& paths) const {
    std::deque<Index> queue;
    for (const Index v : from) {
        if (paths.cost[v] == 0) continue;
        paths.cost[v] = 0;
        paths.back[v] = {};
        queue.push_back(v);
    }
    while (!queue.empty()) {
        const Index at = queue.front();
        queue.pop_front();
        for (const auto& [next, shown] : links[at]) {
            const bool is_free = shown == kNone || used_[shown];
            const Index cost = paths.cost[at] + (is_free ? 0 : 1);
            if (cost >= paths.cost[next]) continue;
            paths.cost[next] = cost;
            paths.back[next] = {at, shown};
            if (is_free) {
                queue.push_front(next);
            } else {
                queue.push_back(next);
            }
        }
    }
}

// That of these which takes the fewest links; none where none is reached.
Index PrecedenceProof::nearest(const Paths& paths, const std::vector<Index>& some, Index but) {
    Index best = kNone;
    for (const Index v : some) {
        if (v == but || paths.cost[v] == kFar) continue;
        if (best == kNone || paths.cost[v] < paths.cost[best]) best = v;
    }
    return best;
}

void PrecedenceProof::collect(const Paths& paths, Index v, std::vector<Index>& links) const {
    for (; paths.back[v].op != kNone; v = paths.back[v].op) {
        const Index shown = paths.back[v].shown;
        if (shown != kNone && !used_[shown]) links.push_back(shown);
    }
}

// A storage that is live whatever has run, if some link shows it.
PrecedenceProof::Part PrecedenceProof::always(const Storage& storage) const {
    Part part{storage.size};
    const Index begin = nearest(earlier_, storage.begins), end = nearest(later_, storage.ends);
    if ((!storage.from_start && begin == kNone) || (!storage.to_end && end == kNone)) return part;
    if (!storage.from_start) collect(earlier_, begin, part.links);
    if (!storage.to_end) collect(later_, end, part.links);
    return part;
}

PrecedenceProof::Part PrecedenceProof::part_of(const Chain& chain, const NeedCase& way, Index v) {
    Part part{chain.bytes};
    known_.cost.assign(graph_.extra.size(), kFar);
    known_.back.assign(graph_.extra.size(), {});
    const auto learn = [&](const std::vector<Index>& ends, Index but) {
        std::vector<Index> others;
        std::copy_if(ends.begin(), ends.end(), std::back_inserter(others), [&](Index u) { return u != but; });
        spread(before_, std::move(others), known_);
    };
    if (chain.credit >= 0) {
        const InPlace& pair = graph_.in_place[v][way.pairs[chain.credit]];
        learn(graph_.storages[pair.source].ends, v);
    }
    for (const Index s : chain.storages) {
        const Storage& storage = graph_.storages[s];
        if (!storage.from_start) {
            const Index ran = nearest(earlier_, storage.begins), known = nearest(known_, storage.begins);
            const bool is_known = ran == kNone || (known != kNone && known_.cost[known] < earlier_.cost[ran]);
            collect(is_known ? known_ : earlier_, is_known ? known : ran, part.links);
        }
        if (s != chain.storages.back()) {
            learn(storage.ends, kNone);
        } else if (!storage.to_end) {
            collect(later_, nearest(later_, storage.ends), part.links);
        }
    }
    return part;
}

void PrecedenceProof::use(const std::vector<Index>& links) {
    for (const Index shown : links) used_[shown] = true;
}

// Pairs save nothing whose source is needed after the operator.
void PrecedenceProof::use_where_pairs_are_kept(Index v) {
    for (const InPlace& pair : graph_.in_place[v]) {
        const Storage& source = graph_.storages[pair.source];
        const Index end = nearest(later_, source.ends, v);
        if (source.to_end || end == kNone) continue;
        std::vector<Index> links;
        collect(later_, end, links);
        use(links);
    }
}

// All parts but some that have no more bytes than this, of which none are left; those that take the most
// links first.
Bytes PrecedenceProof::use_but(std::vector<Part>& parts, Bytes slack) {
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return parts[a].links.size() > parts[b].links.size();
    });
    Bytes dropped = 0;
    for (const std::size_t k : order) {
        if (parts[k].bytes > slack - dropped) {
            use(parts[k].links);
            continue;
        }
        dropped += std::exchange(parts[k].bytes, 0);
    }
    return dropped;
}

}  // namespace memstow::order
