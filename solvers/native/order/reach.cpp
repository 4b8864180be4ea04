#include "order/reach.hpp"

#include <algorithm>

namespace memstow::order {

void Reach::mark(Index v, const std::vector<std::vector<Index>>& next, Side side) {
    stack_.assign(1, v);
    sides_[v] = side;
    while (!stack_.empty()) {
        const Index at = stack_.back();
        stack_.pop_back();
        for (const Index w : next[at]) {
            if (sides_[w] == side) continue;
            sides_[w] = side;
            stack_.push_back(w);
        }
    }
}

void Reach::look_at(Index v) {
    std::fill(sides_.begin(), sides_.end(), Side::open);
    mark(v, graph_.before, Side::inside);
    mark(v, graph_.after, Side::outside);
    open_.clear();
    for (Index u = 0; u < graph_.size(); ++u) {
        if (sides_[u] == Side::open) open_.push_back(u);
    }
}

}  // namespace memstow::order
