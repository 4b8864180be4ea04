#include "order.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace memstow::judge {
namespace {

using std::int64_t;

// Sets of so many buffers are looked at together: the sets of all levels stay in the cache.
constexpr std::size_t kWords = 16;
constexpr std::size_t kBlock = 64 * kWords;
using Set = std::array<std::uint64_t, kWords>;

// Looks at buffers that live at one time: some seconds.
constexpr std::size_t kMostLooks = std::size_t{1} << 28;

bool is_below(int64_t number, std::size_t count) {
    return number >= 0 && static_cast<std::size_t>(number) < count;
}

}  // namespace

Order::Order(const Frame& frame, std::span<const int64_t> largest)
    : frame_(&frame), largest_(largest.begin(), largest.end()) {}

std::optional<Order> Order::of(const Frame& frame, const Parts& parts, std::span<const int64_t> largest) {
    if (!frame.is_sound(largest)) return std::nullopt;
    Order order(frame, largest);
    const bool sound =
        order.set_above(parts) && order.set_units(parts) && order.set_starts() && order.set_sequence();
    return sound ? std::optional(std::move(order)) : std::nullopt;
}

// Reads what is above what, and the pools.
bool Order::set_above(const Parts& parts) {
    const std::size_t count = frame_->count();
    const auto& start = parts.start;
    if (parts.pools.size() != count || start.size() != count + 1 || start.front() != 0 ||
        start.back() != static_cast<int64_t>(parts.below.size()) || !std::ranges::is_sorted(start))
        return false;
    below_.start.assign(start.begin(), start.end());
    for (const int64_t other : parts.below) {
        if (!is_below(other, count)) return false;
        below_.values.push_back(static_cast<std::size_t>(other));
    }
    for (std::size_t i = 0; i < count; ++i) {
        const int64_t pool = parts.pools[i];
        if (!is_below(pool, frame_->pools()) || (frame_->parts().allowed[i] >> pool & 1) == 0) return false;
        pools_.push_back(static_cast<std::size_t>(pool));
    }
    return true;
}

// Buffers that the problem or the order ties.
bool Order::set_units(const Parts& parts) {
    const std::size_t count = frame_->count();
    std::vector<bool> loose;
    for (const int64_t i : parts.empty) {
        if (!is_below(i, count) || largest_[static_cast<std::size_t>(i)] > 0) return false;
        loose.resize(count);
        loose[static_cast<std::size_t>(i)] = true;
    }
    std::vector<Tie> ties = frame_->parts().ties;
    for (const auto& [one, other] : parts.shared) {
        const auto [low, high] = std::minmax(one, other);
        if (!std::ranges::binary_search(frame_->parts().in_place, BufferPair{low, high})) return false;
        ties.push_back({one, other, 0});
    }
    std::optional<Units> units = Units::of(count, ties, loose);
    if (!units) return false;
    units_ = std::move(*units);
    return true;
}

bool Order::set_starts() {
    const std::vector<int64_t>& pins = frame_->parts().pins;
    grids_.reserve(units_.members.count());
    pins_.reserve(units_.members.count());
    for (std::size_t u = 0; u < units_.members.count(); ++u) {
        const std::span<const std::size_t> members = units_.members[u];
        if (members.empty()) {  // its only member is a unit alone
            grids_.emplace_back();
            pins_.emplace_back();
            continue;
        }
        const std::optional<Grid> grid = units_.grid_of(members, frame_->parts().alignments);
        if (!grid) return false;
        std::optional<int64_t> pin;
        for (const std::size_t i : members) {
            if (pools_[i] != pools_[members[0]]) return false;
            if (pins.empty() || pins[i] < 0) continue;
            const int64_t begin = pins[i] - units_.at[i];
            if (pin.value_or(begin) != begin || begin < 0) return false;
            pin = begin;
        }
        if (pin && (*pin - grid->first) % grid->step != 0) return false;
        grids_.push_back(*grid);
        pins_.push_back(pin);
    }
    return true;
}

bool Order::set_sequence() {
    const std::size_t count = units_.members.count();
    std::vector<std::size_t> waits(count);
    std::vector<std::vector<std::size_t>> follow(count);
    for (std::size_t i = 0; i < frame_->count(); ++i) {
        const std::size_t upper = units_.unit[i];
        for (const std::size_t other : below_[i]) {
            if (units_.unit[other] == upper || pools_[other] != pools_[i]) return false;
            follow[units_.unit[other]].push_back(upper);
            ++waits[upper];
        }
    }
    sequence_.reserve(count);
    for (std::size_t u = 0; u < count; ++u) {
        if (waits[u] == 0) sequence_.push_back(u);
    }
    for (std::size_t next = 0; next < sequence_.size(); ++next) {
        for (const std::size_t upper : follow[sequence_[next]]) {
            if (--waits[upper] == 0) sequence_.push_back(upper);
        }
    }
    return sequence_.size() == count;
}

// Buffers of a unit that begin together are a level; levels are in a sequence in which every relation points
// upwards.
class Order::Levels {
  public:
    explicit Levels(const Order& order) : order_(order), level_(order.frame_->count()) {
        for (const std::size_t u : order.sequence_) {
            const std::span<const std::size_t> members = order.units_.members[u];
            for (std::size_t k = 0; k < members.size(); ++k) {
                if (k == 0 || order.units_.at[members[k]] != order.units_.at[members[k - 1]]) {
                    if (k != 0) members_.start.push_back(members_.values.size());
                    is_lowest_.push_back(k == 0);
                }
                level_[members[k]] = members_.count();
                members_.values.push_back(members[k]);
            }
            if (!members.empty()) members_.start.push_back(members_.values.size());
            if (members.size() > 1) note_ends(members);
        }
        std::ranges::sort(ended_);
    }

    // Those of one level follow each other.
    std::span<const std::size_t> in_sequence() const { return members_.values; }

    // Whether of each of these pairs the first ends at or below where the second begins, at every size.
    bool are_joined(std::vector<BufferPair> pairs) const {
        std::ranges::sort(pairs);
        std::vector<Set> under;  // by level, those of the block that end at or below it
        auto next = pairs.begin();
        const std::size_t count = level_.size();
        for (std::size_t first = 0; first < count && next != pairs.end(); first += kBlock) {
            const auto end =
                std::ranges::lower_bound(next, pairs.end(), first + kBlock, {}, &BufferPair::first);
            if (end == next) continue;
            fill(under, first);
            for (; next != end; ++next) {
                const std::size_t low = next->first - first;
                if ((under[level_[next->second]][low / 64] >> low % 64 & 1) == 0) return false;
            }
        }
        return true;
    }

  private:
    struct Ended {
        std::size_t level, buffer;
        auto operator<=>(const Ended&) const = default;
    };

    // At which level of its own unit each member has ended first.
    void note_ends(std::span<const std::size_t> members) {
        const std::vector<int64_t>& at = order_.units_.at;
        for (const std::size_t i : members) {
            const auto above = std::ranges::lower_bound(members, Wide{at[i]} + order_.largest_[i], {},
                                                        [&](std::size_t other) { return Wide{at[other]}; });
            if (above != members.end()) ended_.push_back({level_[*above], i});
        }
    }

    void fill(std::vector<Set>& under, std::size_t first) const {
        under.assign(members_.count(), Set{});
        auto ended = ended_.begin();
        for (std::size_t level = 0; level < members_.count(); ++level) {
            Set& own = under[level];
            const auto add = [&](std::size_t buffer) {
                if (buffer >= first && buffer - first < kBlock)
                    own[(buffer - first) / 64] |= std::uint64_t{1} << (buffer - first) % 64;
            };
            const auto add_all = [&](const Set& theirs) {
                for (std::size_t word = 0; word < kWords; ++word) own[word] |= theirs[word];
            };
            if (!is_lowest_[level]) add_all(under[level - 1]);
            for (; ended != ended_.end() && ended->level == level; ++ended) add(ended->buffer);
            for (const std::size_t i : members_[level]) {
                for (const std::size_t other : order_.below_[i]) {
                    add_all(under[level_[other]]);
                    add(other);
                }
            }
        }
    }

    const Order& order_;
    std::vector<std::size_t> level_;  // by buffer
    ListsOf<std::size_t> members_;    // by level
    std::vector<bool> is_lowest_;     // by level, of its unit
    std::vector<Ended> ended_;        // of units with several members, ascending
};

// Pairs that must be joined. Whatever lives at one moment and must be apart is joined where each is that
// begins to live then and the next below and above it that it conflicts with, and each that may share bytes
// with that next one: all others there are joined to the next one already, and by it to the one that begins.
class Order::Meetings {
  public:
    Meetings(const Order& order, std::span<const std::size_t> in_sequence)
        : order_(order), frame_(*order.frame_), place_(frame_.count()), is_live_(frame_.count()) {
        owner_.assign(in_sequence.begin(), in_sequence.end());
        for (std::size_t k = 0; k < owner_.size(); ++k) place_[owner_[k]] = k;
    }

    // The first of each pair comes first in the sequence. Nothing where that takes too long.
    std::optional<std::vector<BufferPair>> pairs() {
        std::vector<std::vector<std::size_t>> live(frame_.pools());  // by pool, places, ascending
        std::size_t ended = 0;
        for (const std::size_t i : frame_.beginning()) {
            if (order_.largest_[i] == 0) continue;
            for (; frame_.parts().ends[frame_.ending()[ended]] <= frame_.parts().begins[i]; ++ended) {
                const std::size_t gone = frame_.ending()[ended];
                if (order_.largest_[gone] == 0) continue;
                std::vector<std::size_t>& there = live[order_.pools_[gone]];
                there.erase(std::ranges::lower_bound(there, place_[gone]));
                is_live_[gone] = false;
            }
            std::vector<std::size_t>& here = live[order_.pools_[i]];
            const auto at = std::ranges::lower_bound(here, place_[i]);
            for (auto next = at; next != here.begin();) {
                if (join_to_next(owner_[*--next], i)) break;
            }
            for (auto next = at; next != here.end(); ++next) {
                if (join_to_next(owner_[*next], i)) break;
            }
            here.insert(at, place_[i]);
            is_live_[i] = true;
            if (looks_ > kMostLooks) return std::nullopt;
        }
        for (const auto& [one, other] : frame_.parts().conflicts) {
            if (order_.largest_[one] == 0 || order_.largest_[other] == 0) continue;
            const bool apart = order_.pools_[one] != order_.pools_[other];
            if (!apart && !(begin_together(one, other) && is_in_place(one, other))) add(one, other);
        }
        return std::move(pairs_);
    }

  private:
    // Whether the next one, which lives, conflicts with this one. Then all others on that side are joined to
    // this one where the next one is, but for those that may share bytes with the next one.
    bool join_to_next(std::size_t next, std::size_t i) {
        ++looks_;
        if (may_share(next, i)) return false;
        add(next, i);
        const auto look = [&](std::size_t other) {
            ++looks_;
            const bool is_beyond =
                place_[next] < place_[i] ? place_[other] < place_[next] : place_[next] < place_[other];
            const bool is_there = is_live_[other] && order_.pools_[other] == order_.pools_[i];
            if (is_there && is_beyond && may_share(next, other) && !may_share(other, i)) add(other, i);
        };
        for (const Partner& partner : frame_.partners()[next]) look(partner.other);
        for (const std::size_t other : frame_.group_of(next)) look(other);
        return true;
    }

    bool begin_together(std::size_t one, std::size_t other) const {
        const Units& units = order_.units_;
        return units.unit[one] == units.unit[other] && units.at[one] == units.at[other];
    }

    bool is_in_place(std::size_t one, std::size_t other) const {
        const auto [low, high] = std::minmax(one, other);
        return std::ranges::binary_search(frame_.parts().in_place, BufferPair{low, high});
    }

    // Whether two that live at one time, and have bytes, may share some.
    bool may_share(std::size_t one, std::size_t other) const {
        if (frame_.are_in_one_group(one, other)) return true;
        const std::span<const Partner> partners = frame_.partners()[one];
        const auto known = std::ranges::lower_bound(partners, other, {}, &Partner::other);
        if (known == partners.end() || known->other != other) return false;
        return !known->in_place || begin_together(one, other);
    }

    void add(std::size_t one, std::size_t other) {
        pairs_.push_back(place_[one] < place_[other] ? BufferPair{one, other} : BufferPair{other, one});
    }

    const Order& order_;
    const Frame& frame_;
    std::vector<std::size_t> place_;  // by buffer, in the sequence
    std::vector<std::size_t> owner_;  // by place
    std::vector<bool> is_live_;
    std::vector<BufferPair> pairs_;
    std::size_t looks_ = 0;
};

bool Order::keeps_apart() const {
    const Levels levels(*this);
    std::optional<std::vector<BufferPair>> pairs = Meetings(*this, levels.in_sequence()).pairs();
    return pairs && levels.are_joined(std::move(*pairs));
}

std::optional<std::vector<int64_t>> Order::peaks(std::span<const int64_t> sizes) const {
    if (!frame_->is_sound(sizes)) return std::nullopt;
    std::vector<Wide> ends(frame_->count());
    std::vector<int64_t> peaks(frame_->pools());
    for (const std::size_t u : sequence_) {
        const std::span<const std::size_t> members = units_.members[u];
        Wide begin = 0;
        for (const std::size_t i : members) {
            for (const std::size_t other : below_[i]) begin = std::max(begin, ends[other] - units_.at[i]);
        }
        const auto& [step, first] = grids_[u];
        if (pins_[u]) {
            if (*pins_[u] < begin) return std::nullopt;
            begin = *pins_[u];
        } else if (begin <= first) {
            begin = first;
        } else {
            begin += (step - (begin - first) % step) % step;
        }
        for (const std::size_t i : members) {
            ends[i] = begin + units_.at[i] + sizes[i];
            if (ends[i] > kMostBytes) return std::nullopt;
            const std::size_t pool = pools_[i];
            if (sizes[i] == 0) continue;
            if (ends[i] > frame_->parts().capacities[pool]) return std::nullopt;
            peaks[pool] = std::max(peaks[pool], static_cast<int64_t>(ends[i]));
        }
    }
    return peaks;
}

}  // namespace memstow::judge
