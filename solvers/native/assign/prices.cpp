#include "assign/prices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace memstow::assign {
namespace {

constexpr Index kPriceRounds = 3000;
constexpr Index kPricePatience = 20;
constexpr double kOldStep = 0.7;     // the part of a step that is as the one before
constexpr double kFirstGain = 0.05;  // that a step aims at, of the bound
constexpr double kLastGain = 2e-4;   // of the first one
constexpr std::int64_t kLoadsOfWork = 8;

}  // namespace

double Prices::dear(Index item, Index way) const {
    double sum = static_cast<double>(ways_.costs[item][way]);
    for (const Load& load : ways_.loads[ways_.costs.start[item] + way])
        sum += price_[load.row] * static_cast<double>(load.amount);
    return sum;
}

void Prices::rise(Budget& budget) {
    std::vector<double> best = price_, step(price_.size(), 0.0);
    double most = bound(), here = most, gain = std::abs(most) * kFirstGain + 1;
    const double least_gain = gain * kLastGain;
    Index failures = 0;
    for (Index round = 0; round < kPriceRounds && gain > least_gain; ++round) {
        double length = 0;
        for (std::size_t row = 0; row < price_.size(); ++row) {
            const double excess = load_[row] - static_cast<double>(ways_.room[row]);
            step[row] = kOldStep * step[row] + (1 - kOldStep) * excess;
            if (price_[row] > 0 || step[row] > 0) length += step[row] * step[row];
        }
        budget.count(1 + count_of(ways_.loads.values) / kLoadsOfWork);
        if (length == 0 || budget.spent()) break;
        const double far = std::max(most + gain - here, gain / 8) / length;
        for (std::size_t row = 0; row < price_.size(); ++row)
            price_[row] = std::max(0.0, price_[row] + far * step[row]);
        here = bound();
        if (here > most) {
            if (here > most + gain / 20) failures = 0;
            most = here;
            best = price_;
        }
        if (++failures < kPricePatience) continue;
        failures = 0;
        gain *= 0.6;
        price_ = best;
        std::ranges::fill(step, 0.0);
        here = bound();
    }
    price_ = best;
}

double Prices::bound() {
    std::ranges::fill(load_, 0.0);
    double sum = 0;
    for (std::size_t row = 0; row < price_.size(); ++row)
        sum -= price_[row] * static_cast<double>(ways_.room[row]);
    for (Index item = 0; item < ways_.costs.size(); ++item) {
        Index best = 0;
        double least = std::numeric_limits<double>::infinity();
        for (Index way = 0; way < count_of(ways_.costs[item]); ++way) {
            const double cost = dear(item, way);
            if (cost < least) {
                least = cost;
                best = way;
            }
        }
        sum += least;
        for (const Load& load : ways_.loads[ways_.costs.start[item] + best])
            load_[load.row] += static_cast<double>(load.amount);
    }
    return sum;
}

}  // namespace memstow::assign
