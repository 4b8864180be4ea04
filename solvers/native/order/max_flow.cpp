#include "order/max_flow.hpp"

#include <algorithm>

namespace memstow::order {

void MaxFlow::reset(Index nodes) {
    arcs_.clear();
    first_.assign(nodes + 2, -1);
}

Index MaxFlow::add_node() {
    first_.push_back(-1);
    return count_of(first_) - 1;
}

void MaxFlow::add_arc(Index from, Index to, Bytes capacity) {
    arcs_.push_back({to, first_[from], capacity});
    first_[from] = count_of(arcs_) - 1;
    arcs_.push_back({from, first_[to], 0});
    first_[to] = count_of(arcs_) - 1;
}

bool MaxFlow::find_levels(Index from, Index to) {
    level_.assign(first_.size(), -1);
    queue_.assign(1, from);
    level_[from] = 0;
    for (std::size_t k = 0; k < queue_.size(); ++k) {
        const Index node = queue_[k];
        for (Index a = first_[node]; a >= 0; a = arcs_[a].next) {
            ++steps_;
            const Index next = arcs_[a].to;
            if (arcs_[a].room == 0 || level_[next] >= 0) continue;
            level_[next] = level_[node] + 1;
            queue_.push_back(next);
        }
    }
    return level_[to] >= 0;
}

// One path that climbs a level with each arc; 0 where there is none left.
Bytes MaxFlow::advance(Index from, Index to) {
    trail_.clear();
    Index node = from;
    while (node != to) {
        Index& a = current_[node];
        while (a >= 0 && (arcs_[a].room == 0 || level_[arcs_[a].to] != level_[node] + 1)) {
            ++steps_;
            a = arcs_[a].next;
        }
        if (a >= 0) {
            trail_.push_back(a);
            node = arcs_[a].to;
            continue;
        }
        if (trail_.empty()) return 0;
        level_[node] = -1;
        const Index back = trail_.back();
        trail_.pop_back();
        node = arcs_[back ^ 1].to;
    }
    Bytes most = kEndless;
    for (const Index a : trail_) most = std::min(most, arcs_[a].room);
    for (const Index a : trail_) {
        arcs_[a].room -= most;
        arcs_[a ^ 1].room += most;
    }
    return most;
}

Bytes MaxFlow::push(Index from, Index to, Bytes enough, const Budget* budget) {
    constexpr std::int64_t kStride = 10'000;  // between looks at the clock
    std::int64_t next_look = steps_;
    const auto late = [&] {
        if (budget == nullptr || steps_ < next_look) return false;
        next_look = steps_ + kStride;
        return budget->out_of_time();
    };
    Bytes total = 0;
    while (total <= enough && !late() && find_levels(from, to)) {
        current_ = first_;
        while (const Bytes more = advance(from, to)) {
            total += std::min(more, kEndless - total);
            if (late()) return total;
        }
    }
    return total;
}

std::vector<bool> MaxFlow::reached(std::vector<Index> queue, bool forwards) const {
    std::vector<bool> seen(first_.size(), false);
    for (const Index start : queue) seen[start] = true;
    for (std::size_t k = 0; k < queue.size(); ++k) {
        for (Index a = first_[queue[k]]; a >= 0; a = arcs_[a].next) {
            const Index other = arcs_[a].to;
            if (arcs_[forwards ? a : a ^ 1].room == 0 || seen[other]) continue;
            seen[other] = true;
            queue.push_back(other);
        }
    }
    return seen;
}

namespace {

// Takes paths out of a flow, one after the other; what flows in a circle is taken out on the way.
class Unravelling {
  public:
    Unravelling(const std::vector<MaxFlow::Arc>& arcs, std::vector<Index> first)
        : arcs_(arcs), current_(std::move(first)), flow_(arcs.size(), 0), met_(current_.size(), -1) {
        for (std::size_t a = 0; a < arcs.size(); a += 2) flow_[a] = arcs[a + 1].room;
    }

    MaxFlow::Path next() {
        trail_.clear();
        Index node = MaxFlow::kSource;
        while (node != MaxFlow::kSink) {
            met_[node] = count_of(trail_);
            Index& a = current_[node];
            while (a >= 0 && flow_[a] == 0) a = arcs_[a].next;
            if (a < 0) return {0, {}};
            trail_.push_back(a);
            node = arcs_[a].to;
            if (met_[node] >= 0) {
                take(met_[node]);
                forget(met_[node]);
            }
        }
        MaxFlow::Path path{take(0), trail_};
        forget(0);
        return path;
    }

  private:
    Bytes take(std::size_t from) {
        Bytes least = flow_[trail_[from]];
        for (std::size_t k = from; k < trail_.size(); ++k) least = std::min(least, flow_[trail_[k]]);
        for (std::size_t k = from; k < trail_.size(); ++k) flow_[trail_[k]] -= least;
        return least;
    }
    void forget(std::size_t from) {
        for (std::size_t k = from; k < trail_.size(); ++k) met_[arcs_[trail_[k] ^ 1].to] = -1;
        trail_.resize(from);
    }

    const std::vector<MaxFlow::Arc>& arcs_;
    std::vector<Index> current_;
    std::vector<Bytes> flow_;
    std::vector<Index> met_, trail_;
};

}  // namespace

std::vector<MaxFlow::Path> MaxFlow::paths() const {
    std::vector<Path> result;
    Unravelling rest(arcs_, first_);
    for (;;) {
        Path path = rest.next();
        if (path.bytes == 0) return result;
        result.push_back(std::move(path));
    }
}

}  // namespace memstow::order
