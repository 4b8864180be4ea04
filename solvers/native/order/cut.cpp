#include "order/cut.hpp"

#include <algorithm>

namespace memstow::order {

Cut::Cut(const Graph& graph)
    : graph_(graph), node_(graph.extra.size(), -1), question_of_(graph.storages.size(), 0) {}

// The node that is on the source's side where the storage has begun; -1 where it has in no set.
Index Cut::entry(const Between& between, Index s) {
    const Storage& storage = graph_.storages[s];
    if (storage.from_start) return MaxFlow::kSource;
    Index only = -1, count = 0;
    for (const Index v : storage.begins) {
        if (v == between.running || between.sides[v] == Side::inside) return MaxFlow::kSource;
        if (between.sides[v] == Side::open) {
            only = node_[v];
            ++count;
        }
    }
    if (count < 2) return only;
    const Index node = flow_.add_node();
    for (const Index v : storage.begins) {
        if (between.sides[v] == Side::open) flow_.add_arc(node_[v], node, MaxFlow::kEndless);
    }
    return node;
}

// The node that is on the source's side where all of these are done; -1 where they are in all sets.
Index Cut::exit(const Between& between, std::span<const Index> ends) {
    Index only = -1, count = 0;
    for (const Index v : ends) {
        if (between.sides[v] == Side::outside) return MaxFlow::kSink;
        if (between.sides[v] == Side::open) {
            only = node_[v];
            ++count;
        }
    }
    if (count < 2) return only;
    const Index node = flow_.add_node();
    for (const Index v : ends) {
        if (between.sides[v] == Side::open) flow_.add_arc(node, node_[v], MaxFlow::kEndless);
    }
    return node;
}

void Cut::add_storage(const Between& between, Index s) {
    if (question_of_[s] == questions_) return;
    question_of_[s] = questions_;
    const Storage& storage = graph_.storages[s];
    const Index from = entry(between, s);
    if (from < 0) return;
    const Index to = storage.to_end ? MaxFlow::kSink : exit(between, storage.ends);
    if (to < 0 || from == to) return;
    if (from == MaxFlow::kSource && to == MaxFlow::kSink) {
        fixed_ += storage.size;
        return;
    }
    weighted_.push_back({count_of(flow_.arcs()), s, -1});
    flow_.add_arc(from, to, storage.size);
}

// The saving is had where all operators that end the source, but for the running one, are done.
void Cut::add_credit(const Between& between, Index number) {
    const Credit& credit = between.credits[number];
    fixed_ -= credit.bytes;
    if (credit.certain) return;
    std::vector<Index> others;
    for (const Index v : graph_.storages[credit.pair.source].ends) {
        if (v != between.running) others.push_back(v);
    }
    const Index to = exit(between, others);
    if (to < 0) return;
    weighted_.push_back({count_of(flow_.arcs()), -1, number});
    flow_.add_arc(MaxFlow::kSource, to, credit.bytes);
}

Bytes Cut::least(const Between& between, Bytes enough, const Budget* budget) {
    ++questions_;
    fixed_ = 0;
    weighted_.clear();
    open_.assign(between.open.begin(), between.open.end());
    flow_.reset(count_of(open_));
    for (std::size_t k = 0; k < open_.size(); ++k) node_[open_[k]] = k + 2;
    for (const Index v : open_) {
        for (const Index u : graph_.before[v]) {
            if (between.sides[u] == Side::open) flow_.add_arc(node_[v], node_[u], MaxFlow::kEndless);
        }
        for (const Index s : graph_.begins_at[v]) add_storage(between, s);
        for (const Index s : graph_.ends_at[v]) add_storage(between, s);
    }
    for (std::size_t k = 0; k < between.credits.size(); ++k) add_credit(between, k);
    const Bytes rest = enough >= kLimit ? MaxFlow::kEndless : enough - fixed_;
    return fixed_ + flow_.push(rest, budget);
}

Bytes Cut::elsewhere(const Between& between) const {
    const auto inside = [&](Index v) { return between.sides[v] == Side::inside; };
    const auto begins = [&](Index v) { return inside(v) || v == between.running; };
    Bytes total = graph_.base;
    for (std::size_t s = 0; s < graph_.storages.size(); ++s) {
        if (question_of_[s] == questions_) continue;
        const Storage& storage = graph_.storages[s];
        const bool begun =
            storage.from_start || std::any_of(storage.begins.begin(), storage.begins.end(), begins);
        const bool ended = !storage.to_end && std::all_of(storage.ends.begin(), storage.ends.end(), inside);
        if (begun && !ended) total += storage.size;
    }
    return total;
}

std::vector<Index> Cut::smallest() const {
    std::vector<Index> result;
    for (const Index v : open_) {
        if (flow_.near_source(node_[v])) result.push_back(v);
    }
    return result;
}

std::vector<Index> Cut::largest() const { return open_where(flow_.near_sink(), false); }

std::vector<Index> Cut::open_where(const std::vector<bool>& of_node, bool wanted) const {
    std::vector<Index> result;
    for (const Index v : open_) {
        if (of_node[node_[v]] == wanted) result.push_back(v);
    }
    return result;
}

Cut::Rise Cut::rise(Must must, Index v, Bytes enough) {
    const Index node = node_[v];
    Rise rise{};
    if (must == Must::have) {
        rise.bytes = flow_.push_from(node, enough);
        if (rise.bytes <= enough) rise.best = open_where(flow_.behind(node), true);
    } else {
        rise.bytes = flow_.push_to(node, enough);
        if (rise.bytes <= enough) rise.best = open_where(flow_.before(node), false);
    }
    if (rise.bytes > 0) flow_.restore();
    return rise;
}

Bytes Cut::require(Must must, Index v, Bytes enough) {
    if (must == Must::have) {
        flow_.add_arc(MaxFlow::kSource, node_[v], MaxFlow::kEndless);
    } else {
        flow_.add_arc(node_[v], MaxFlow::kSink, MaxFlow::kEndless);
    }
    const Bytes more = flow_.push(enough);
    flow_.keep();
    return more;
}

std::vector<Chain> Cut::chains() const {
    std::vector<Chain> result;
    for (const MaxFlow::Path& path : flow_.paths()) {
        Chain chain{path.bytes, -1, {}};
        for (const Index arc : path.arcs) {
            const auto place = std::lower_bound(weighted_.begin(), weighted_.end(), arc,
                                                [](const Weighted& w, Index a) { return w.arc < a; });
            if (place == weighted_.end() || place->arc != arc) continue;
            if (place->credit >= 0) {
                chain.credit = place->credit;
            } else {
                chain.storages.push_back(place->storage);
            }
        }
        result.push_back(std::move(chain));
    }
    return result;
}

}  // namespace memstow::order
