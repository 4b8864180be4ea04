#include "assign/cheap_ways.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>

#include "core/random.hpp"

namespace memstow::assign {
namespace {

// What all items cost with prices, each where that is the least, less what full rows pay, is a lower bound of
// all costs. Prices are where it is about the greatest.
class Prices {
  public:
    explicit Prices(const Ways& ways) : ways_(ways), price_(ways.room.size(), 0.0), load_(ways.room.size()) {}

    double of(Index row) const { return price_[row]; }
    // The cost of a way, and the price of its loads.
    double dear(Index item, Index way) const {
        double sum = static_cast<double>(ways_.costs[item][way]);
        for (const Load& load : ways_.loads[ways_.costs.start[item] + way])
            sum += price_[load.row] * static_cast<double>(load.amount);
        return sum;
    }

    // Goes along subgradients, each with a part of those before; not as far where that gains nothing.
    void rise(Budget& budget) {
        std::vector<double> best = price_, step(price_.size(), 0.0);
        double most = bound(), here = most, gain = std::abs(most) * kFirstGain + 1;
        const double least_gain = gain * kLastGain;
        Index failures = 0;
        for (Index round = 0; round < kRounds && gain > least_gain; ++round) {
            double length = 0;
            for (std::size_t row = 0; row < price_.size(); ++row) {
                const double excess = load_[row] - static_cast<double>(ways_.room[row]);
                step[row] = kOld * step[row] + (1 - kOld) * excess;
                if (price_[row] > 0 || step[row] > 0) length += step[row] * step[row];
            }
            budget.count(1 + count_of(ways_.loads.values) / kStepsOfWork);
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
            if (++failures < kPatience) continue;
            failures = 0;
            gain *= 0.6;
            price_ = best;
            std::ranges::fill(step, 0.0);
            here = bound();
        }
        price_ = best;
    }

  private:
    static constexpr Index kRounds = 3000;
    static constexpr Index kPatience = 20;
    static constexpr double kOld = 0.7;         // the part of a step that is as the one before
    static constexpr double kFirstGain = 0.05;  // that a step aims at, of the bound
    static constexpr double kLastGain = 2e-4;   // of the first one

    double bound() {
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

    static constexpr std::int64_t kStepsOfWork = 8;

    const Ways& ways_;
    std::vector<double> price_;  // by row
    std::vector<double> load_;   // by row, where each item has its cheapest way
};

class Beam {
  public:
    Beam(const Ways& ways, const BeamOptions& options)
        : ways_(ways), options_(options), prices_(ways), random_(options.seed) {
        const Index items = ways.costs.size();
        std::vector<Index> rank(items);
        for (Index at = 0; at < items; ++at) rank[options.order[at]] = at;
        std::vector<std::vector<Member>> members(ways.room.size());
        for (const Index item : options.order) {
            for (Index way = 0; way < count_of(ways.costs[item]); ++way) {
                for (const Load& load : ways.loads[ways.costs.start[item] + way])
                    members[load.row].push_back({item, way, load.amount});
            }
        }
        std::vector<std::vector<Index>> full(items), leaving(items);
        std::vector<Index> last = rank;
        for (Index row = 0; row < count_of(members); ++row) {
            members_.values.insert(members_.values.end(), members[row].begin(), members[row].end());
            members_.close();
            if (members[row].empty()) continue;
            const Index end = rank[members[row].back().item];
            full[end].push_back(row);
            for (const Member& member : members[row]) last[member.item] = std::max(last[member.item], end);
        }
        for (Index item = 0; item < items; ++item) leaving[last[item]].push_back(item);
        slot_.resize(items);
        std::vector<Index> spare;
        for (Index at = 0; at < items; ++at) {
            full_.values.insert(full_.values.end(), full[at].begin(), full[at].end());
            full_.close();
            leaving_.values.insert(leaving_.values.end(), leaving[at].begin(), leaving[at].end());
            leaving_.close();
            if (spare.empty()) spare.push_back(slots_++);
            slot_[options.order[at]] = spare.back();
            spare.pop_back();
            for (const Index item : leaving[at]) spare.push_back(slot_[item]);
        }
    }

    std::optional<std::vector<Index>> run(Budget& budget) {
        prices_.rise(budget);
        for (Index item = 0; item < ways_.costs.size(); ++item) {
            for (Index way = 0; way < count_of(ways_.costs[item]); ++way) {
                const auto cost = static_cast<double>(ways_.costs[item][way]);
                dear_.push_back(prices_.dear(item, way) + kNoise * cost * random_.unit());
                keys_.push_back(random_.next());
            }
        }
        states_.push_back({-1, 0.0, 0});
        held_.resize(slots_);
        for (Index at = 0; at < count_of(options_.order); ++at) {
            list_children(at);
            pay(at);
            budget.count(1 + std::exchange(steps_, 0) / kStepsOfWork);
            if (children_.empty() || budget.spent()) return std::nullopt;
            keep(at);
        }
        Index node = std::ranges::min_element(states_, {}, &State::worth)->node;
        std::vector<Index> chosen(options_.order.size());
        for (Index at = count_of(options_.order); --at >= 0; node = nodes_[node].parent)
            chosen[options_.order[at]] = nodes_[node].way;
        return chosen;
    }

  private:
    static constexpr double kNoise = 0.01;  // of a cost
    static constexpr std::int64_t kStepsOfWork = 16;

    struct Member {
        Index item;
        Index way;
        Bytes amount;
    };
    // A choice for all items so far.
    struct State {
        Index node;
        double worth;
        std::uint64_t hash;  // of the ways of items that share a row with later ones
    };
    struct Node {
        Index parent;
        Index way;
    };
    struct Child {
        Index from;
        Index way;
        double worth;
        std::uint64_t hash;
    };

    void list_children(Index at) {
        const Index item = options_.order[at], first = ways_.costs.start[item];
        children_.clear();
        for (Index from = 0; from < count_of(states_); ++from) {
            for (Index way = 0; way < count_of(ways_.costs[item]); ++way) {
                children_.push_back({from, way, states_[from].worth + dear_[first + way],
                                     states_[from].hash ^ keys_[first + way]});
            }
        }
        steps_ += count_of(children_);
    }

    // What is empty in rows that get no more items is paid for; a row that is too full is no choice.
    void pay(Index at) {
        const Index item = options_.order[at];
        for (const Index row : full_[at]) {
            const auto members = members_[row];
            steps_ += static_cast<std::int64_t>(children_.size()) * count_of(members);
            std::erase_if(children_, [&](Child& child) {
                const Index* ways = &held_[static_cast<std::size_t>(child.from) * slots_];
                Bytes left = ways_.room[row];
                for (const Member& member : members) {
                    const Index way = member.item == item ? child.way : ways[slot_[member.item]];
                    if (way == member.way) left -= member.amount;
                }
                child.worth += prices_.of(row) * static_cast<double>(left);
                return left < 0;
            });
        }
    }

    // Of the children the best ones, of those that are alike for all that follows one.
    void keep(Index at) {
        std::ranges::sort(children_, [](const Child& a, const Child& b) {
            if (a.worth != b.worth) return a.worth < b.worth;
            return a.from != b.from ? a.from < b.from : a.way < b.way;
        });
        const std::size_t slots = slots_;
        next_states_.clear();
        next_held_.clear();
        seen_.clear();
        for (const Child& child : children_) {
            if (count_of(next_states_) == options_.width) break;
            if (!seen_.insert(child.hash).second) continue;
            const auto begin = held_.begin() + static_cast<std::ptrdiff_t>(child.from * slots);
            next_held_.insert(next_held_.end(), begin, begin + slots_);
            Index* ways = &next_held_[next_held_.size() - slots];
            ways[slot_[options_.order[at]]] = child.way;
            std::uint64_t hash = child.hash;
            for (const Index item : leaving_[at]) {
                Index& way = ways[slot_[item]];
                hash ^= keys_[ways_.costs.start[item] + way];
                way = 0;
            }
            nodes_.push_back({states_[child.from].node, child.way});
            next_states_.push_back({count_of(nodes_) - 1, child.worth, hash});
        }
        steps_ += count_of(children_) * 4 + count_of(next_held_);
        std::swap(states_, next_states_);
        std::swap(held_, next_held_);
    }

    const Ways& ways_;
    const BeamOptions& options_;
    Prices prices_;
    Random random_;
    Lists<Member> members_;  // by row, in the order of the items
    Lists<Index> full_;      // by item of the order, the rows of which it is the last
    Lists<Index> leaving_;   // by item of the order, items that share no row with later ones
    std::vector<Index> slot_;
    Index slots_ = 0;
    std::vector<double> dear_;         // by way
    std::vector<std::uint64_t> keys_;  // by way
    std::vector<Node> nodes_;
    std::vector<State> states_, next_states_;
    std::vector<Index> held_, next_held_;  // by state and slot, a way
    std::vector<Child> children_;
    std::unordered_set<std::uint64_t> seen_;
    std::int64_t steps_ = 0;
};

}  // namespace

std::optional<std::vector<Index>> cheap_ways(const Ways& ways, const BeamOptions& options, Budget& budget) {
    return Beam(ways, options).run(budget);
}

}  // namespace memstow::assign
