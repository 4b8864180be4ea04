#include "assign/cost_bound.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "assign/prices.hpp"
#include "core/random.hpp"

namespace memstow::assign {
namespace {

using Regret = std::int64_t;

constexpr Regret kNever = std::numeric_limits<Regret>::max() / 4;
// All sums of costs and prices are below this.
constexpr double kMostRegret = 0x1.0p60;
constexpr int kFinest = 10;           // bits behind the point of a price
constexpr int kCostBits = 59;         // of all costs together, with those
constexpr Index kMostStretches = 32;  // each has a tail
constexpr Index kLeastStretch = 2;
constexpr std::size_t kMostWays = 255;                   // of an item, since a way takes a byte
constexpr std::size_t kMostHeld = std::size_t{1} << 25;  // ways, each at a place that is an Index
constexpr std::int64_t kChildrenOfWork = 4;

}  // namespace

class CostBounds::Tails {
  public:
    Tails(Ways ways, std::vector<Index> order)
        : ways_(std::move(ways)), order_(std::move(order)), items_(ways_.costs.size()) {}

    std::optional<CostBound> widen(Index width, std::int64_t enough, Budget& budget) {
        budget_ = &budget;
        if (complete_.empty() && !prepare()) return std::nullopt;
        const std::int64_t unit = std::int64_t{1} << shift_;
        if (enough > kNever / unit) return std::nullopt;
        limit_ = enough * unit - base_;
        if (limit_ <= 0) return CostBound{enough, true};
        width_ = std::clamp<std::size_t>(kMostHeld / (slots_ + 1), 1, std::max<Index>(width, 1));
        for (Index tail = stretches_; --tail >= 0;) {
            if (!complete_[tail] && !budget.spent()) complete_[tail] = search(tail);
            rest_[tail] = std::max(rest_[tail], rest_[tail + 1]);
        }
        const Regret sum = base_ + rest_[0];
        const std::int64_t least = (sum >> shift_) + ((sum & (unit - 1)) != 0 ? 1 : 0);
        return CostBound{std::min(least, enough), complete_[0] || least >= enough};
    }

  private:
    // Positions are those of items in the order.
    struct Member {
        Index at;
        Index way;
        Bytes amount;
    };
    struct Part {
        Index stretch;
        Index first;  // of its regrets, by way
    };
    struct Child {
        Regret regret;
        Index from;
        Index way;
        std::uint64_t hash;
    };
    // A row that is complete with an item: what others in it use, by slot, and what the item does, by way.
    struct Ending {
        Index row;
        std::vector<Member> others;
        std::vector<Bytes> own;
    };

    // Whether numbers are small enough.
    bool prepare() {
        if (!set_prices()) return false;
        list_rows();
        divide_regrets();
        assign_slots();
        rest_.assign(stretches_ + 1, 0);
        complete_.assign(stretches_, false);
        return true;
    }

    bool set_prices() {
        price_.clear();
        double most = 0;
        for (Index item = 0; item < items_; ++item) {
            const auto costs = ways_.costs[item];
            if (costs.size() > kMostWays) return false;
            most += static_cast<double>(*std::ranges::max_element(costs));
        }
        shift_ = std::clamp(kCostBits - static_cast<int>(std::ceil(std::log2(most + 2))), 0, kFinest);
        Prices prices(ways_);
        prices.rise(*budget_);
        double all = 0;
        for (Index row = 0; row < count_of(ways_.room); ++row) {
            const double price = std::floor(std::ldexp(prices.of(row), shift_));
            all += price * static_cast<double>(ways_.room[row]);
            if (!(all < kMostRegret)) return false;
            price_.push_back(static_cast<Regret>(price));
        }
        all = 0;
        for (Index item = 0; item < items_; ++item) {
            double dearest = 0;
            for (Index way = 0; way < count_of(ways_.costs[item]); ++way) {
                double sum = std::ldexp(static_cast<double>(ways_.costs[item][way]), shift_);
                for (const Load& load : loads_of(item, way))
                    sum += static_cast<double>(price_[load.row]) * static_cast<double>(load.amount);
                dearest = std::max(dearest, sum);
            }
            all += dearest;
            if (!(all < kMostRegret)) return false;
        }
        return true;
    }

    void list_rows() {
        const Index rows = count_of(ways_.room);
        std::vector<std::vector<Member>> members(rows);
        for (Index at = 0; at < items_; ++at) {
            const Index item = order_[at];
            for (Index way = 0; way < count_of(ways_.costs[item]); ++way) {
                for (const Load& load : loads_of(item, way))
                    members[load.row].push_back({at, way, load.amount});
            }
        }
        std::vector<std::vector<Index>> ending(items_);
        Index filled = 0;
        for (Index row = 0; row < rows; ++row) {
            members_.values.insert(members_.values.end(), members[row].begin(), members[row].end());
            members_.close();
            base_ -= price_[row] * ways_.room[row];
            if (members[row].empty()) continue;
            ++filled;
            ending[members[row].back().at].push_back(row);
        }
        for (const auto& some : ending) {
            ending_.values.insert(ending_.values.end(), some.begin(), some.end());
            ending_.close();
        }
        // About as many items as a row has: what begins together has then ended in the next stretch but one.
        const Index mean = filled == 0 ? 1 : count_of(members_.values) / filled;
        stretch_ = std::max({mean, kLeastStretch, (items_ + kMostStretches - 1) / kMostStretches});
        stretches_ = std::max<Index>((items_ + stretch_ - 1) / stretch_, 1);
    }

    void divide_regrets() {
        last_.resize(items_);
        for (Index at = 0; at < items_; ++at) {
            const Index item = order_[at], ways = count_of(ways_.costs[item]);
            std::vector<Index> of_row;
            last_[at] = at;
            std::vector<Regret> whole;
            for (Index way = 0; way < ways; ++way) {
                Regret sum = ways_.costs[item][way] << shift_;
                for (const Load& load : loads_of(item, way)) {
                    sum += price_[load.row] * load.amount;
                    const Index end = members_[load.row].back().at;
                    of_row.push_back(end / stretch_);
                    last_[at] = std::max(last_[at], end);
                }
                whole.push_back(sum);
            }
            std::ranges::sort(of_row);
            std::vector<Regret> left = whole;
            for (std::size_t begin = 0, end = 0; begin < of_row.size(); begin = end) {
                while (end < of_row.size() && of_row[end] == of_row[begin]) ++end;
                parts_.values.push_back({of_row[begin], count_of(regrets_)});
                const auto share = static_cast<Regret>(end - begin), all = static_cast<Regret>(of_row.size());
                Regret least = kNever;
                for (Index way = 0; way < ways; ++way) {
                    const Regret mine = end == of_row.size() ? left[way] : whole[way] / all * share;
                    left[way] -= mine;
                    regrets_.push_back(mine);
                    least = std::min(least, mine);
                }
                for (Index way = 0; way < ways; ++way) regrets_[parts_.values.back().first + way] -= least;
                base_ += least;
            }
            if (of_row.empty()) base_ += *std::ranges::min_element(whole);
            parts_.close();
        }
    }

    void assign_slots() {
        std::vector<std::vector<Index>> leaving(items_);
        for (Index at = 0; at < items_; ++at) leaving[last_[at]].push_back(at);
        slot_.resize(items_);
        std::vector<Index> spare;
        for (Index at = 0; at < items_; ++at) {
            leaving_.values.insert(leaving_.values.end(), leaving[at].begin(), leaving[at].end());
            leaving_.close();
            if (spare.empty()) spare.push_back(slots_++);
            slot_[at] = spare.back();
            spare.pop_back();
            for (const Index one : leaving[at]) spare.push_back(slot_[one]);
        }
        Random random(1);
        for (std::size_t way = 0; way < ways_.costs.values.size(); ++way) keys_.push_back(random.next());
    }

    // Raises what the tail is known to regret; whether nothing was left out that could regret less.
    bool search(Index tail) {
        regret_.assign(1, 0);
        hash_.assign(1, 0);
        held_.assign(slots_, 0);
        left_out_ = kNever;
        Index stretch = tail;
        std::vector<Index> before;  // positions
        for (Index at = 0; at < items_; ++at) {
            const auto parts = parts_[at];
            if (parts.empty() || parts.back().stretch < tail) continue;
            if (budget_->spent()) return false;
            for (; stretch < at / stretch_; ++stretch) enter(stretch + 1, before);
            list_children(at, tail, stretch);
            if (!leaving_[at].empty()) drop_alike(at);
            select(stretch);
            hold(at);
            if (regret_.empty()) break;
            before.push_back(at);
        }
        Regret least = std::min(left_out_, limit_);
        for (const Regret regret : regret_) least = std::min(least, regret);
        rest_[tail] = std::max(rest_[tail], least);
        return least < left_out_ || least == limit_;
    }

    // What items from before regret in a stretch is counted when that begins.
    void enter(Index stretch, const std::vector<Index>& before) {
        for (const Index at : before) {
            if (last_[at] < stretch * stretch_) continue;
            for (const Part& part : parts_[at]) {
                if (part.stretch != stretch) continue;
                const Regret* mine = &regrets_[part.first];
                for (std::size_t state = 0; state < regret_.size(); ++state)
                    regret_[state] += mine[held_[state * slots_ + slot_[at]]];
            }
        }
    }

    void list_children(Index at, Index tail, Index stretch) {
        const Index item = order_[at], ways = count_of(ways_.costs[item]);
        std::vector<Regret> own(ways, 0);
        for (const Part& part : parts_[at]) {
            if (part.stretch != stretch) continue;
            for (Index way = 0; way < ways; ++way) own[way] = regrets_[part.first + way];
        }
        endings_.clear();
        std::int64_t looks = ways;
        for (const Index row : ending_[at]) {
            if (at / stretch_ < tail) break;
            Ending ending{row, {}, std::vector<Bytes>(ways, 0)};
            for (const Member& member : members_[row]) {
                if (member.at == at)
                    ending.own[member.way] += member.amount;
                else
                    ending.others.push_back({slot_[member.at], member.way, member.amount});
            }
            looks += count_of(ending.others);
            endings_.push_back(std::move(ending));
        }
        children_.clear();
        std::vector<Bytes> room(endings_.size());
        const Regret rest = rest_[stretch + 1];
        const std::uint64_t* keys = &keys_[ways_.costs.start[item]];
        for (std::size_t state = 0; state < regret_.size(); ++state) {
            const Regret most = std::min(left_out_, limit_) - rest;
            if (regret_[state] >= most) continue;
            const std::uint8_t* held = &held_[state * slots_];
            for (std::size_t row = 0; row < endings_.size(); ++row) {
                Bytes left = ways_.room[endings_[row].row];
                // Without a branch, which nothing could predict.
                for (const Member& member : endings_[row].others)
                    left -= member.amount & -static_cast<Bytes>(held[member.at] == member.way);
                room[row] = left;
            }
            for (Index way = 0; way < ways; ++way) {
                Regret regret = regret_[state] + own[way];
                bool fits = true;
                for (std::size_t row = 0; row < endings_.size() && fits; ++row) {
                    const Bytes left = room[row] - endings_[row].own[way];
                    fits = left >= 0;
                    if (fits) regret += price_[endings_[row].row] * left;
                }
                if (fits && regret < most)
                    children_.push_back({regret, static_cast<Index>(state), way, hash_[state] ^ keys[way]});
            }
        }
        budget_->count(1 + count_of(regret_) * looks / kChildrenOfWork);
    }

    // Of the children that are alike for all that follows, the one that regrets the least. A hash alone could
    // take two for one that are not.
    void drop_alike(Index at) {
        std::vector<std::pair<Index, Index>>
            gone;  // slots of items that share no row with later ones, and keys
        bool goes = false;
        for (const Index one : leaving_[at]) {
            goes |= one == at;
            if (one != at) gone.push_back({slot_[one], ways_.costs.start[order_[one]]});
        }
        std::vector<std::uint8_t> counts(slots_, 1);
        for (const auto& [slot, _] : gone) counts[slot] = 0;
        counts[slot_[at]] = 0;
        const std::uint64_t* keys = &keys_[ways_.costs.start[order_[at]]];
        table_.assign(std::bit_ceil(children_.size() * 2 + 2), -1);
        const std::size_t mask = table_.size() - 1;
        std::size_t kept = 0;
        for (Child child : children_) {
            const std::uint8_t* held = &held_[child.from * slots_];
            for (const auto& [slot, key] : gone) child.hash ^= keys_[key + held[slot]];
            if (goes) child.hash ^= keys[child.way];
            std::size_t place = child.hash & mask;
            for (; table_[place] >= 0; place = (place + 1) & mask) {
                const Child& other = children_[table_[place]];
                if (other.hash != child.hash || (!goes && other.way != child.way)) continue;
                const std::uint8_t* theirs = &held_[other.from * slots_];
                bool same = true;
                for (Index slot = 0; slot < slots_ && same; ++slot)
                    same = counts[slot] == 0 || held[slot] == theirs[slot];
                if (same) break;
            }
            if (table_[place] < 0) {
                table_[place] = static_cast<Index>(kept);
                children_[kept++] = child;
            } else if (child.regret < children_[table_[place]].regret) {
                children_[table_[place]] = child;
            }
        }
        children_.resize(kept);
        budget_->count(count_of(children_) / kChildrenOfWork);
    }

    // Keeps those that regret the least, and notes the least of the others.
    void select(Index stretch) {
        if (children_.size() <= width_) return;
        sorted_.clear();
        for (const Child& child : children_) sorted_.push_back(child.regret);
        std::ranges::nth_element(sorted_, sorted_.begin() + width_);
        const Regret first_out = sorted_[width_];
        left_out_ = std::min(left_out_, first_out + rest_[stretch + 1]);
        std::size_t equal = width_ - std::ranges::count_if(sorted_.begin(), sorted_.begin() + width_,
                                                           [&](Regret regret) { return regret < first_out; });
        std::erase_if(children_, [&](const Child& child) {
            if (child.regret != first_out) return child.regret > first_out;
            return equal == 0 || equal-- == 0;
        });
    }

    void hold(Index at) {
        const auto slots = static_cast<std::size_t>(slots_);
        next_held_.resize(children_.size() * slots);
        regret_.clear();
        hash_.clear();
        for (std::size_t state = 0; state < children_.size(); ++state) {
            const Child& child = children_[state];
            std::uint8_t* held = next_held_.data() + state * slots;
            std::copy_n(held_.data() + child.from * slots, slots, held);
            held[slot_[at]] = static_cast<std::uint8_t>(child.way);
            for (const Index one : leaving_[at]) held[slot_[one]] = 0;
            regret_.push_back(child.regret);
            hash_.push_back(child.hash);
        }
        std::swap(held_, next_held_);
    }

    std::span<const Load> loads_of(Index item, Index way) const {
        return ways_.loads[ways_.costs.start[item] + way];
    }

    const Ways ways_;
    const std::vector<Index> order_;
    const Index items_;
    Budget* budget_ = nullptr;  // of this turn
    int shift_ = 0;
    std::vector<Regret> price_;  // by row, times 2^shift, as all regrets are
    Regret base_ = 0;            // the bound of the prices
    Regret limit_ = 0;           // no greater regret is of use
    Index stretch_ = 1;          // the items of one
    Index stretches_ = 0;
    Lists<Member> members_;        // by row, ascending
    Lists<Index> ending_;          // by position, the rows of which it is the last
    Lists<Part> parts_;            // by position, ascending
    std::vector<Regret> regrets_;  // by part and way
    std::vector<Index> last_;      // by position, the last one that shares a row
    Lists<Index> leaving_;         // by position, those of which it is the last
    std::vector<Index> slot_;      // by position
    Index slots_ = 0;
    std::vector<std::uint64_t> keys_;  // by way
    std::vector<Regret> rest_;         // by stretch, what its tail regrets at least
    std::vector<bool> complete_;       // by stretch, whether that is all it must
    std::size_t width_ = 1;
    // Of a tail:
    Regret left_out_ = 0;  // the least that is left out could come to
    std::vector<Regret> regret_;
    std::vector<std::uint64_t> hash_;
    std::vector<std::uint8_t> held_, next_held_;  // by state and slot, a way
    std::vector<Child> children_;
    std::vector<Ending> endings_;
    std::vector<Regret> sorted_;
    std::vector<Index> table_;
};

CostBounds::CostBounds(Ways ways, std::vector<Index> order)
    : tails_(std::make_unique<Tails>(std::move(ways), std::move(order))) {}

CostBounds::~CostBounds() = default;

std::optional<CostBound> CostBounds::widen(Index width, std::int64_t enough, Budget& budget) {
    return tails_->widen(width, enough, budget);
}

}  // namespace memstow::assign
