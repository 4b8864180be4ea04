#include "search/preferences.hpp"

#include <algorithm>

#include "core/random.hpp"

namespace memstow::search {

void Preferences::use(const Strategy& strategy) {
    strategy_ = strategy;
    std::size_t kind =
        static_cast<std::size_t>(strategy.order) * 3 + static_cast<std::size_t>(strategy.sides);
    kind = kind * 4 + (strategy.lowest ? 1 : 0) + (strategy.at_bound ? 2 : 0);
    weight_ = &weights_[kind];
}

// From its first row to its last.
double Preferences::life(Index item) const {
    const auto rows = packing_.rows_of[item];
    return rows.empty() ? 0 : rows.back() + 1 - rows.front();
}

double Preferences::base(Index item, double longest, double widest, double largest) const {
    const double size = packing_.items[item].size / largest;
    const double rows = packing_.rows_of[item].size() / widest;
    switch (strategy_.order) {
        case Strategy::Order::life:
            return life(item) / longest;
        case Strategy::Order::size:
            return size;
        case Strategy::Order::rows:
            return rows;
        case Strategy::Order::area:
            return size * rows;
    }
    return 0;
}

void Preferences::draw(std::uint64_t seed) {
    Random random(seed);
    double longest = 1, largest = 1, widest = 1;
    for (Index i = 0; i < packing_.count(); ++i) {
        longest = std::max(longest, life(i));
        widest = std::max<double>(widest, packing_.rows_of[i].size());
        largest = std::max<double>(largest, packing_.items[i].size);
    }
    for (Index i = 0; i < packing_.count(); ++i) {
        preference_[i] = base(i, longest, widest, largest) * (1 + strategy_.noise * random.unit());
    }
}

void Preferences::sort(std::vector<Index>::iterator first, std::vector<Index>::iterator last) const {
    const std::vector<double>& weight = *weight_;
    std::stable_sort(first, last, [&](Index a, Index b) {
        return preference_[a] + strategy_.learning * weight[a] >
               preference_[b] + strategy_.learning * weight[b];
    });
}

}  // namespace memstow::search
