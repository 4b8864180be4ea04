#include "order/beam.hpp"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "core/random.hpp"
#include "order/state.hpp"

namespace memstow::order {
namespace {

// Work is counted in looks at a step: a child is sorted as well, and numbers of a state are copied many at
// once.
constexpr std::int64_t kForChild = 4, kCopiedAtOnce = 16;

struct Member {
    State state;
    Bytes peak;
    std::uint64_t key;
};

struct Child {
    Bytes peak, leaves;
    std::size_t parent;
    Index op;
    auto operator<=>(const Child&) const = default;
};

class Beam {
  public:
    Beam(const Graph& graph, Bytes bound, Bytes limit, std::size_t width)
        : limit_(limit),
          width_(width),
          copying_(static_cast<std::int64_t>(graph.extra.size() + graph.storages.size()) / kCopiedAtOnce) {
        Random random(2);
        for (Index v = 0; v < graph.size(); ++v) keys_.push_back(random.next());
        members_.push_back({State(graph), bound, 0});
    }

    std::vector<Index> run(Budget& budget) {
        while (!members_.empty() && !members_.front().state.complete()) {
            children_.clear();
            for (std::size_t k = 0; k < members_.size(); ++k) look_at(k);
            budget.count(steps_);
            steps_ = 0;
            if (budget.spent()) return {};
            step();
        }
        return members_.empty() ? std::vector<Index>{} : members_.front().state.path();
    }

  private:
    // What frees at least what it takes needs no alternative.
    void look_at(std::size_t k) {
        const auto& [state, peak, key] = members_[k];
        const std::size_t first = children_.size();
        for (const Index v : state.ready()) {
            const Step step = state.step(v);
            steps_ += kForChild;
            if (step.needs > limit_) continue;
            const bool free = step.leaves <= state.live() && step.needs <= peak;
            if (free) children_.resize(first);
            children_.push_back({std::max(peak, step.needs), step.leaves, k, v});
            if (free) return;
        }
    }

    void step() {
        std::sort(children_.begin(), children_.end());
        std::vector<Member> next;
        std::unordered_set<std::uint64_t> seen;
        std::vector<std::size_t> left(members_.size(), 0);
        std::vector<Child> chosen;
        for (const Child& child : children_) {
            if (chosen.size() == width_) break;
            if (!seen.insert(members_[child.parent].key ^ keys_[child.op]).second) continue;
            chosen.push_back(child);
            ++left[child.parent];
        }
        next.reserve(chosen.size());
        for (const Child& child : chosen) {
            Member& parent = members_[child.parent];
            const std::uint64_t key = parent.key ^ keys_[child.op];
            // The last child takes the state of its parent over.
            if (--left[child.parent] == 0) {
                next.push_back({std::move(parent.state), child.peak, key});
            } else {
                next.push_back({parent.state, child.peak, key});
            }
            next.back().state.run(child.op);
            steps_ += copying_;
        }
        members_ = std::move(next);
    }

    Bytes limit_;
    std::size_t width_;
    std::int64_t copying_;  // steps that it takes to copy a state
    std::vector<std::uint64_t> keys_;
    std::vector<Member> members_;
    std::vector<Child> children_;
    std::int64_t steps_ = 0;
};

}  // namespace

std::vector<Index> beam(const Graph& graph, Bytes bound, Bytes peak, std::size_t width, Budget& budget) {
    return Beam(graph, bound, peak - 1, width).run(budget);
}

}  // namespace memstow::order
