#include "search/progress.hpp"

#include <algorithm>

namespace memstow::search {

Progress::Progress(const Instance& instance, const Components& components, const ExactOptions& options,
                   const ExactEvents& events)
    : in_(instance),
      components_(components),
      options_(options),
      events_(events),
      limit_(std::min(options.limit, kLimit - 1)),
      bound_(options.bound) {
    if (!instance.pools.empty() && instance.choices.items() > 0) {
        limit_ = std::min(limit_, instance.pools[instance.choices[0][0].pool].capacity);
    }
    const Index items = instance.item_count();
    layout_ = count_of(options.start) == items ? options.start : Layout(items);
    for (Index c = 0; c < components.count(); ++c) {
        tops_.push_back(components.height(c, options.start));
        by_top_.insert(tops_.back());
        raise_bound(c, components.bound(c), {components.bound(c) - 1, 1});
    }
}

void Progress::raise_bound(Index component, Bytes bound, const Refutation& how) {
    if (bound <= bound_) return;
    bound_ = bound;
    refuted_.push_back(how);
    if (bound > limit_) {
        const auto items = components_.items(component);
        dead_.assign(items.begin(), items.end());
    } else if (events_.bound) {
        events_.bound(bound, how.nodes);
    }
}

void Progress::lower(Index component, Bytes top, std::span<const Index> items,
                     std::span<const Bytes> offsets) {
    const Bytes before = best();
    for (std::size_t i = 0; i < items.size(); ++i) {
        layout_[items[i]] = {in_.choices[items[i]][0].pool, offsets[i]};
    }
    by_top_.erase(by_top_.find(tops_[component]));
    tops_[component] = top;
    by_top_.insert(top);
    if (best() < before && events_.incumbent) events_.incumbent(layout_, best());
}

ExactResult Progress::result() const {
    ExactResult result;
    result.bound = bound_;
    result.height = best();
    if (result.height < kLimit) result.layout = layout_;
    result.refuted = refuted_;
    if (bound_ > limit_) {
        result.status = ExactStatus::infeasible;
        result.dead = dead_;
    } else if (result.height <= limit_) {
        result.status = result.height <= bound_ ? ExactStatus::optimal : ExactStatus::feasible;
    }
    return result;
}

}  // namespace memstow::search
