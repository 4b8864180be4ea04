#include "assign/cheap_ways.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "core/random.hpp"

namespace memstow::assign {
namespace {

constexpr Index kOut = -1;  // the way of an item that has none for the moment

class Annealing {
  public:
    Annealing(const Ways& ways, std::uint64_t seed) : ways_(ways), random_(seed), load_(ways.room.size()) {
        const Index items = ways.costs.size();
        way_.assign(items, kOut);
        std::vector<std::vector<Member>> members(ways.room.size());
        for (Index item = 0; item < items; ++item) {
            const auto costs = ways.costs[item];
            if (costs.size() > 1) movable_.push_back(item);
            std::vector<Index> order(costs.size());
            std::iota(order.begin(), order.end(), 0);
            std::ranges::stable_sort(order, {}, [&](Index way) { return costs[way]; });
            by_cost_.values.insert(by_cost_.values.end(), order.begin(), order.end());
            by_cost_.close();
            const std::int64_t dearest = costs[order.back()], spread = dearest - costs[order.front()];
            for (Index way = 0; way < count_of(costs); ++way) {
                const auto next =
                    std::ranges::find_if(order, [&](Index other) { return costs[other] > costs[way]; });
                // Of the dearest, too, some have to give way.
                const std::int64_t step = next == order.end() ? spread + 1 : costs[*next] - costs[way];
                step_.push_back(static_cast<double>(step));
                for (const Load& load : ways.loads[first_way(item) + way])
                    members[load.row].push_back({item, way, load.amount});
            }
            spread_.push_back(spread);
        }
        for (const std::vector<Member>& row : members) {
            members_.values.insert(members_.values.end(), row.begin(), row.end());
            members_.close();
        }
    }

    std::optional<std::vector<Index>> run(const std::vector<Index>& start, Budget& budget) {
        for (Index item = 0; item < count_of(start); ++item) enter(item, start[item]);
        for (Index row = 0; row < count_of(load_); ++row) {
            if (!make_room(row, kOut)) return std::nullopt;
        }
        if (!go_elsewhere(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
        std::vector<Index> best = way_;
        std::int64_t least = 0;
        cost_ = 0;
        const double heat = mean_step() * kHottest;
        const std::int64_t moves = kMoves * count_of(movable_);
        const double seconds = budget.seconds_left();
        const std::int64_t work = work_left(budget);
        for (std::int64_t move = 0; heat > 0 && move < moves; ++move) {
            if (move % kBetween == 0) {
                budget.count(std::exchange(steps_, 0) / kStepsOfWork);
                if (budget.spent()) break;
                double left = std::min(share(moves - move, moves), share(work_left(budget), work));
                if (seconds > 0) left = std::min(left, budget.seconds_left() / seconds);
                temperature_ = heat * std::pow(kCooling, 1 - left);
            }
            change();
            if (cost_ < least) {
                least = cost_;
                best = way_;
            }
        }
        return best;
    }

  private:
    static constexpr std::int64_t kMoves = 10'000;  // for each item
    static constexpr std::int64_t kBetween = 256;   // moves between two looks at the clock
    static constexpr std::int64_t kStepsOfWork = 8;
    // Of what it costs to go from the cheapest way to the next one, on average.
    static constexpr double kHottest = 0.5;
    static constexpr double kCooling = 1.0 / 16;   // by the end
    static constexpr double kMostDearer = 0x1p61;  // as all costs together, so that a sum fits

    struct Member {
        Index item;
        Index way;
        Bytes amount;
    };

    Index first_way(Index item) const { return ways_.costs.start[item]; }
    std::span<const Load> loads(Index item, Index way) const { return ways_.loads[first_way(item) + way]; }

    static std::int64_t work_left(const Budget& budget) { return budget.work_limit() - budget.work(); }
    static double share(std::int64_t part, std::int64_t all) {
        return static_cast<double>(part) / static_cast<double>(all);
    }

    double mean_step() const {
        double sum = 0;
        for (const Index item : movable_) sum += step_[first_way(item) + by_cost_[item].front()];
        return movable_.empty() ? 0 : sum / count_of(movable_);
    }

    void enter(Index item, Index way) {
        way_[item] = way;
        cost_ += ways_.costs[item][way];
        const auto added = loads(item, way);
        for (const Load& load : added) load_[load.row] += load.amount;
        steps_ += count_of(added) + 1;
    }

    void leave(Index item) {
        const Index way = std::exchange(way_[item], kOut);
        cost_ -= ways_.costs[item][way];
        for (const Load& load : loads(item, way)) load_[load.row] -= load.amount;
    }

    bool has_room(Index item, Index way) {
        steps_ += count_of(loads(item, way));
        return std::ranges::all_of(loads(item, way), [&](const Load& load) {
            return load_[load.row] + load.amount <= ways_.room[load.row];
        });
    }

    // Takes others out until the row has no more than it may; rather those for whom the next way is not dear.
    bool make_room(Index row, Index but) {
        while (load_[row] > ways_.room[row]) {
            const Bytes excess = load_[row] - ways_.room[row];
            Index chosen = kOut;
            double least = std::numeric_limits<double>::infinity();
            for (const Member& member : members_[row]) {
                if (way_[member.item] != member.way || member.item == but) continue;
                const double step = step_[first_way(member.item) + member.way] * (0.5 + random_.unit());
                const double weight = step / static_cast<double>(std::min(excess, member.amount));
                if (chosen == kOut || weight < least) {
                    least = weight;
                    chosen = member.item;
                }
            }
            steps_ += members_.start[row + 1] - members_.start[row];
            if (chosen == kOut) return false;
            changes_.emplace_back(chosen, way_[chosen]);
            leave(chosen);
            out_.push_back(chosen);
        }
        return true;
    }

    // Each that was taken out goes to the cheapest way that has room; false where one has none, or all costs
    // more than this.
    bool go_elsewhere(std::int64_t most) {
        std::ranges::stable_sort(out_, std::greater{}, [&](Index item) { return spread_[item]; });
        for (const Index item : out_) {
            const auto there =
                std::ranges::find_if(by_cost_[item], [&](Index way) { return has_room(item, way); });
            if (there == by_cost_[item].end()) return false;
            enter(item, *there);
            if (cost_ > most) return false;
        }
        out_.clear();
        return true;
    }

    void change() {
        const Index item = movable_[random_.below(movable_.size())];
        const auto choice = static_cast<Index>(random_.below(ways_.costs[item].size()));
        if (choice == way_[item]) return;
        const std::int64_t before = cost_;
        const double dearer = std::min(-temperature_ * std::log(1 - random_.unit()), kMostDearer);
        const std::int64_t most = before + static_cast<std::int64_t>(dearer);
        changes_.assign(1, {item, way_[item]});
        out_.clear();
        leave(item);
        enter(item, choice);
        const bool fits = std::ranges::all_of(loads(item, choice), [&](const Load& load) {
            return load_[load.row] <= ways_.room[load.row] || make_room(load.row, item);
        });
        if (fits && go_elsewhere(most) && cost_ <= most) return;
        while (!changes_.empty()) {
            const auto [changed, way] = changes_.back();
            changes_.pop_back();
            if (way_[changed] != kOut) leave(changed);
            enter(changed, way);
        }
        cost_ = before;
    }

    const Ways& ways_;
    Random random_;
    std::vector<Index> movable_;        // items with several ways
    Lists<Index> by_cost_;              // by item, its ways
    std::vector<double> step_;          // by way, item after item: what the next one costs more
    std::vector<std::int64_t> spread_;  // by item, between its cheapest and its dearest way
    Lists<Member> members_;             // by row
    std::vector<Index> way_;            // by item
    std::vector<Bytes> load_;           // by row
    std::int64_t cost_ = 0;
    double temperature_ = 0;
    std::int64_t steps_ = 0;
    std::vector<std::pair<Index, Index>> changes_;  // items, and the ways that they had
    std::vector<Index> out_;
};

}  // namespace

std::optional<std::vector<Index>> cheap_ways(const Ways& ways, const std::vector<Index>& start,
                                             std::uint64_t seed, Budget& budget) {
    return Annealing(ways, seed).run(start, budget);
}

}  // namespace memstow::assign
