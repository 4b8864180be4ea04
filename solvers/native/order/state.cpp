#include "order/state.hpp"

#include <algorithm>

#include "order/savings.hpp"

namespace memstow::order {

State::State(const Graph& graph)
    : graph_(&graph),
      begun_(graph.storages.size()),
      left_(graph.storages.size()),
      waits_(graph.extra.size()),
      place_(graph.extra.size(), -1),
      done_(graph.extra.size(), false),
      live_(graph.base),
      effects_(graph.extra.size()),
      stale_(graph.extra.size(), 1) {
    for (std::size_t s = 0; s < graph.storages.size(); ++s) {
        const Storage& storage = graph.storages[s];
        begun_[s] = storage.from_start ? 1 : 0;
        left_[s] = count_of(storage.ends) + (storage.to_end ? 1 : 0);
        if (storage.from_start && left_[s] > 0) live_ += storage.size;
    }
    for (Index v = 0; v < graph.size(); ++v) {
        waits_[v] = count_of(graph.before[v]);
        if (waits_[v] == 0) make_ready(v);
    }
}

void State::make_ready(Index v) {
    place_[v] = count_of(ready_);
    ready_.push_back(v);
    if (changed_ != nullptr) changed_->push_back(v);
}

void State::unready(Index v) {
    const Index last = ready_.back();
    ready_[place_[v]] = last;
    place_[last] = place_[v];
    place_[v] = -1;
    ready_.pop_back();
}

Bytes State::saved(Index v) const {
    const auto& pairs = graph_->in_place[v];
    const auto counts = [&](const InPlace& pair) {
        return left_[pair.source] == 1 && begun_[pair.target] == 0;
    };
    if (pairs.size() == 1) return counts(pairs[0]) ? pairs[0].bytes : 0;
    std::vector<InPlace> possible;
    std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(possible), counts);
    return most_saved(possible);
}

void State::renew(Index v) const {
    Bytes begins = 0, ends = 0;
    for (const Index s : graph_->begins_at[v]) {
        if (begun_[s] == 0) begins += graph_->storages[s].size;
    }
    for (const Index s : graph_->ends_at[v]) {
        if (left_[s] == 1) ends += graph_->storages[s].size;
    }
    Bytes needs = begins + graph_->extra[v];
    if (!graph_->in_place[v].empty()) needs -= saved(v);
    effects_[v] = {needs, begins - ends};
    stale_[v] = 0;
}

// Whether the storage has begun has changed.
void State::begin_or_not(Index storage) const {
    for (const Index v : graph_->storages[storage].begins) change(v);
}

// Whether one operator alone is left to end the storage has changed.
void State::end_with_last(Index storage) const {
    for (const Index v : graph_->storages[storage].ends) {
        if (!done_[v]) change(v);
    }
}

void State::change(Index v) const {
    stale_[v] = 1;
    if (changed_ != nullptr && is_ready(v)) changed_->push_back(v);
}

void State::run(Index v) {
    done_[v] = true;
    for (const Index s : graph_->begins_at[v]) {
        if (begun_[s]++ > 0) continue;
        live_ += graph_->storages[s].size;
        begin_or_not(s);
    }
    for (const Index s : graph_->ends_at[v]) {
        if (--left_[s] == 0) live_ -= graph_->storages[s].size;
        if (left_[s] == 1) end_with_last(s);
    }
    unready(v);
    path_.push_back(v);
    for (const Index w : graph_->after[v]) {
        if (--waits_[w] == 0) make_ready(w);
    }
}

void State::undo() {
    const Index v = path_.back();
    path_.pop_back();
    for (const Index w : graph_->after[v]) {
        if (waits_[w]++ == 0) unready(w);
    }
    make_ready(v);
    for (const Index s : graph_->ends_at[v]) {
        if (left_[s] == 1) end_with_last(s);
        if (left_[s]++ == 0) live_ += graph_->storages[s].size;
    }
    for (const Index s : graph_->begins_at[v]) {
        if (--begun_[s] > 0) continue;
        live_ -= graph_->storages[s].size;
        begin_or_not(s);
    }
    done_[v] = false;
    stale_[v] = 1;
}

Bytes peak_of(const Graph& graph, std::span<const Index> order) {
    State state(graph);
    Bytes peak = order.empty() ? state.live() : 0;
    for (const Index v : order) {
        peak = std::max(peak, state.step(v).needs);
        state.run(v);
    }
    return peak;
}

}  // namespace memstow::order
