#include "assign/cheap_ways.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "assign/prices.hpp"
#include "core/random.hpp"

namespace memstow::assign {
namespace {

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
                // Without a branch on the way, which nothing could predict.
                for (const Member& member : members) {
                    const Index way = member.item == item ? child.way : ways[slot_[member.item]];
                    left -= member.amount & -static_cast<Bytes>(way == member.way);
                }
                child.worth += prices_.of(row) * static_cast<double>(left);
                return left < 0;
            });
        }
    }

    // Of the children the best ones, of those that are alike for all that follows one.
    void keep(Index at) {
        const auto is_before = [](const Child& a, const Child& b) {
            if (a.worth != b.worth) return a.worth < b.worth;
            return a.from != b.from ? a.from < b.from : a.way < b.way;
        };
        const std::size_t slots = slots_;
        std::size_t ordered = 0;
        next_states_.clear();
        next_held_.clear();
        seen_.clear();
        for (std::size_t next = 0; next < children_.size(); ++next) {
            if (count_of(next_states_) == options_.width) break;
            if (next == ordered) {
                // Most are never looked at.
                ordered = std::min(ordered + options_.width, children_.size());
                const auto begin = children_.begin() + next, end = children_.begin() + ordered;
                std::nth_element(begin, end - 1, children_.end(), is_before);
                std::sort(begin, end, is_before);
            }
            const Child& child = children_[next];
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
