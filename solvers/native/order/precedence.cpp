#include "order/precedence.hpp"

#include <algorithm>

namespace memstow::order {

Precedence::Precedence(const Graph& graph)
    : size_(graph.size()),
      words_((graph.extra.size() + 63) / 64),
      before_(graph.extra.size() * words_, 0),
      after_(before_) {
    const std::vector<Index> order = topological(graph);
    for (const Index v : order) {
        for (const Index u : graph.before[v]) join(before_, v, u);
    }
    for (auto v = order.rbegin(); v != order.rend(); ++v) {
        for (const Index w : graph.after[*v]) join(after_, *v, w);
    }
}

// The operator and all of its row.
void Precedence::join(std::vector<Word>& rows, Index to, Index from) {
    const std::span<Word> target = row(rows, to);
    const std::span<const Word> more = row(rows, from);
    for (std::size_t k = 0; k < words_; ++k) target[k] |= more[k];
    put(target, from);
}

void Precedence::add(Index u, Index v) {
    for (Index w = 0; w < size_; ++w) {
        if (w == v || has(all_before(w), v)) join(before_, w, u);
        if (w == u || has(all_after(w), u)) join(after_, w, v);
    }
}

std::vector<std::vector<Index>> Precedence::direct() const {
    std::vector<std::vector<Index>> result(size_);
    std::vector<Word> further(words_);
    for (Index v = 0; v < size_; ++v) {
        const std::span<const Word> before = all_before(v);
        std::fill(further.begin(), further.end(), 0);
        for (Index u = 0; u < size_; ++u) {
            if (!has(before, u)) continue;
            for (std::size_t k = 0; k < words_; ++k) further[k] |= all_before(u)[k];
        }
        for (Index u = 0; u < size_; ++u) {
            if (has(before, u) && !has(further, u)) result[v].push_back(u);
        }
    }
    return result;
}

}  // namespace memstow::order
