#include "improve/ejection.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/arithmetic.hpp"

namespace memstow::improve {

namespace {

constexpr std::int64_t kFixed = -1;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostWeight = std::int64_t{1} << 36;
// Added to what was placed a moment ago.
constexpr std::int64_t kTabu = std::int64_t{1} << 40;
constexpr double kMeanWeight = 1 << 16;
// Moves for which an item that others made room for stays, at most.
constexpr std::size_t kTenure = 11;
// How often an item goes to the top of its gap, not to the bottom.
constexpr std::size_t kTopOfTen = 3;
// Moves without progress until it gives up.
constexpr std::int64_t kPatience = 500;
constexpr std::int64_t kPatienceByItem = 30;

std::vector<char> in_pool(const Layout& layout, Index pool) {
    std::vector<char> result(layout.size());
    for (std::size_t i = 0; i < layout.size(); ++i)
        result[i] = layout[i].pool == pool && layout[i].offset >= 0;
    return result;
}

}  // namespace

Ejection::Ejection(const Instance& instance, Index pool, const Layout& layout, std::uint64_t seed)
    : Ejection(instance, pool, layout, in_pool(layout, pool), seed) {}

Ejection::Ejection(const Instance& instance, Index pool, const Layout& layout, std::vector<char> takes_part,
                   std::uint64_t seed)
    : instance_(instance),
      pool_(pool),
      takes_part_(std::move(takes_part)),
      conflicts_(instance, takes_part_),
      choices_(layout.size()),
      items_(layout.size()),
      first_weight_(layout.size()),
      random_(seed) {
    for (Index item = 0; item < instance.item_count(); ++item) {
        if (!takes_part_[item]) continue;
        for (const Choice& choice : instance.choices[item]) {
            if (choice.pool == pool) choices_[item] = &choice;
        }
        Item& state = items_[item];
        for (const Part& part : instance.parts_of(item)) {
            state.extent = std::max(state.extent, part.delta + part.size);
        }
        if (choice(item).low == choice(item).high) state.tabu_until = kNever;
    }
    set_weights();
    load(layout);
}

void Ejection::set_weights() {
    double sum = 0;
    std::size_t count = 0;
    std::vector<double> raw(items_.size());
    for (Index item = 0; item < instance_.item_count(); ++item) {
        if (!takes_part_[item]) continue;
        double rows = 0;
        for (Index part = instance_.item_parts[item]; part < instance_.item_parts[item + 1]; ++part) {
            for (const RowRange& range : instance_.rows[part]) rows += range.end - range.begin;
        }
        raw[item] = items_[item].extent * std::sqrt(rows + 1);
        sum += raw[item];
        ++count;
    }
    const double scale = count == 0 ? 1 : kMeanWeight * count / sum;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const double weight = std::min(static_cast<double>(kMostWeight) / 16, raw[i] * scale);
        first_weight_[i] = 1 + static_cast<std::int64_t>(weight);
    }
}

void Ejection::load(const Layout& layout) {
    unplaced_.clear();
    out_weight_ = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        items_[i].offset = takes_part_[i] ? layout[i].offset : kUnplaced;
        items_[i].weight = first_weight_[i];
    }
}

void Ejection::save(Layout& layout) const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
        if (takes_part_[i]) layout[i] = {pool_, items_[i].offset};
    }
}

Bytes Ejection::height() const {
    Bytes height = 0;
    for (const Item& item : items_) {
        if (item.offset >= 0) height = std::max(height, item.offset + item.extent);
    }
    return height;
}

// By place. Spread over as many buckets as there are edges, which are then sorted: mostly linear.
void Ejection::sort_edges(std::vector<Edge>& edges) {
    const auto earlier = [](const Edge& a, const Edge& b) { return a.at < b.at; };
    if (edges.size() < 48) {
        std::sort(edges.begin(), edges.end(), earlier);
        return;
    }
    const auto [least, greatest] = std::minmax_element(edges.begin(), edges.end(), earlier);
    const Bytes base = least->at;
    const auto range = static_cast<std::uint64_t>(greatest->at - base);
    const int shift =
        std::max(0, static_cast<int>(std::bit_width(range)) - static_cast<int>(std::bit_width(edges.size())));
    buckets_.assign((range >> shift) + 2, 0);
    const auto bucket = [&](const Edge& edge) { return ((edge.at - base) >> shift); };
    for (const Edge& edge : edges) ++buckets_[bucket(edge) + 1];
    for (std::size_t b = 1; b < buckets_.size(); ++b) buckets_[b] += buckets_[b - 1];
    sorted_.resize(edges.size());
    for (const Edge& edge : edges) sorted_[buckets_[bucket(edge)]++] = edge;
    std::uint32_t begin = 0;
    for (std::size_t b = 0; b + 1 < buckets_.size(); ++b) {
        if (buckets_[b] - begin > 1)
            std::sort(sorted_.begin() + begin, sorted_.begin() + buckets_[b], earlier);
        begin = buckets_[b];
    }
    edges.swap(sorted_);
}

// Gathers the obstacles that forbid offsets from low to high.
void Ejection::gather(Index item, Bytes low, Bytes high) {
    obstacles_.clear();
    ++steps_;
    conflicts_.visit(item, [&](Index other, Bytes below, Bytes above, Bytes hole) {
        const Item& state = items_[other];
        ++steps_;
        if (state.offset < 0) return;
        const Bytes from = state.offset + below;
        const Bytes to = state.offset + above;
        if (to <= low || from >= high) return;
        const std::int64_t weight = state.tabu_until <= moves    ? state.weight
                                    : state.tabu_until == kNever ? kFixed
                                                                 : state.weight + kTabu;
        obstacles_.push_back({from, to, weight, other, hole == kNoHole ? kNoHole : state.offset + hole});
    });
    for (const Part& part : instance_.parts_of(item)) {
        for (const Range& range : instance_.pools[pool_].reserved) {
            const Bytes from = range.begin - part.delta - part.size;
            const Bytes to = range.end - part.delta;
            if (to > low && from < high) obstacles_.push_back({from, to, kFixed, -1, kNoHole});
        }
    }
    begins_.clear();
    ends_.clear();
    for (const Obstacle& obstacle : obstacles_) {
        begins_.push_back({obstacle.low, obstacle.weight});
        ends_.push_back({obstacle.high, obstacle.weight});
    }
    sort_edges(begins_);
    sort_edges(ends_);
    steps_ += count_of(obstacles_);
}

bool Ejection::may_be_in_hole(const Obstacle& hole, std::int64_t& cost) const {
    cost = 0;
    for (const Obstacle& obstacle : obstacles_) {
        if (obstacle.low >= hole.hole || obstacle.high <= hole.hole || obstacle.hole == hole.hole) continue;
        if (obstacle.weight < 0) return false;
        cost += obstacle.weight;
    }
    return true;
}

// Passes over the places an item may have, upwards: keeps the tightest free gap, else where what must be
// taken out is lightest.
class Ejection::Scan {
  public:
    Scan(Ejection& of, Index item, Bytes high) : of_(of), item_(item), high_(high) {}

    void consider(Bytes offset) {
        pass(offset);
        if (fixed_ > 0) return;
        if (begun_ == ended_) {
            consider_gap(offset);
        } else if (!free_) {
            consider_ejecting(offset);
        }
    }
    // The hole of an obstacle is a place where its edges do not count.
    void consider_hole(const Obstacle& obstacle) {
        std::int64_t cost = 0;
        if (!of_.may_be_in_hole(obstacle, cost)) return;
        if (best_.offset == kUnplaced || cost < best_.cost) best_ = {obstacle.hole, cost};
    }
    bool free() const { return free_; }
    const Spot& best() const { return best_; }

  private:
    // Obstacles that begin below the offset and end above it are in the way.
    void pass(Bytes offset) {
        const std::size_t n = of_.begins_.size();
        for (; begun_ < n && of_.begins_[begun_].at < offset; ++begun_) count(of_.begins_[begun_].weight, 1);
        for (; ended_ < n && of_.ends_[ended_].at <= offset; ++ended_) count(of_.ends_[ended_].weight, -1);
    }
    void count(std::int64_t weight, int sign) {
        if (weight < 0) {
            fixed_ += sign;
        } else {
            cost_ += sign * weight;
        }
    }
    void consider_gap(Bytes offset) {
        const bool bounded = begun_ < of_.begins_.size();
        const Bytes end =
            bounded ? std::min(high_, lowered(of_.choice(item_), of_.begins_[begun_].at)) : high_;
        const Bytes room = end - offset;
        if (room < 0 || (free_ && room >= least_room_)) return;
        free_ = true;
        least_room_ = room;
        const bool top = room > 0 && of_.random_.below(10) < kTopOfTen;
        best_ = {top ? end : offset, 0};
    }
    // Of several that cost the same, each is as likely.
    void consider_ejecting(Bytes offset) {
        const bool first = best_.offset == kUnplaced;
        if (!first && cost_ > best_.cost) return;
        const bool tie = !first && cost_ == best_.cost;
        if (tie && of_.random_.below(++ties_) != 0) return;
        if (!tie) ties_ = 1;
        best_ = {offset, cost_};
    }

    Ejection& of_;
    const Index item_;
    const Bytes high_;
    Spot best_;
    std::size_t begun_ = 0;
    std::size_t ended_ = 0;
    std::int64_t cost_ = 0;   // of what is in the way
    std::int64_t fixed_ = 0;  // what is in the way and cannot be taken out
    Bytes least_room_ = kLimit;
    std::size_t ties_ = 0;
    bool free_ = false;
};

// The tightest free gap; else where what must be taken out is lightest. Worth a look are the item's lowest
// and highest place, and those right above or below something.
Ejection::Spot Ejection::best_spot(Index item) {
    const Choice& c = choice(item);
    const Bytes low = raised(choice(item), c.low);
    const Bytes high = lowered(choice(item), std::min(c.high, height_ - items_[item].extent));
    if (low > high) return {};
    gather(item, low, high);

    Scan scan(*this, item, high);
    scan.consider(low);
    const std::size_t n = obstacles_.size();
    std::size_t up = 0;
    std::size_t down = 0;
    Bytes last = low;
    while (up < n || down < n) {
        const Bytes on_top = up < n ? raised(choice(item), ends_[up].at) : kLimit;
        const Bytes under = down < n ? lowered(choice(item), begins_[down].at) : kLimit;
        const Bytes next = std::min(on_top, under);
        if (on_top <= next) ++up;
        if (under <= next) ++down;
        if (next <= last) continue;
        if (next >= high) break;
        last = next;
        scan.consider(next);
    }
    if (high > last) scan.consider(high);
    for (const Obstacle& obstacle : obstacles_) {
        if (scan.free()) break;
        if (obstacle.hole == kNoHole || obstacle.hole < low || obstacle.hole > high) continue;
        if (raised(choice(item), obstacle.hole) == obstacle.hole) scan.consider_hole(obstacle);
    }
    return scan.best();
}

void Ejection::take_out(Index item) {
    items_[item].offset = kUnplaced;
    unplaced_.push_back(item);
    out_weight_ += first_weight_[item];
}

void Ejection::take_out_in_the_way(Bytes offset) {
    for (const Obstacle& obstacle : obstacles_) {
        if (obstacle.low >= offset || obstacle.high <= offset) continue;
        if (obstacle.hole == offset || obstacle.item < 0) continue;
        if (items_[obstacle.item].offset >= 0) take_out(obstacle.item);
    }
}

// The heavier of two.
Index Ejection::pick() {
    const std::size_t a = random_.below(unplaced_.size());
    const std::size_t b = random_.below(unplaced_.size());
    const std::size_t chosen = items_[unplaced_[a]].weight >= items_[unplaced_[b]].weight ? a : b;
    const Index item = unplaced_[chosen];
    unplaced_[chosen] = unplaced_.back();
    unplaced_.pop_back();
    out_weight_ -= first_weight_[item];
    return item;
}

bool Ejection::reach(Bytes height, const Stop& stop) {
    steps_ += count_of(items_) / 8;
    height_ = height;
    for (std::size_t i = 0; i < items_.size(); ++i) items_[i].weight = first_weight_[i];
    for (Index item = 0; item < instance_.item_count(); ++item) {
        const Item& state = items_[item];
        if (state.offset >= 0 && state.offset + state.extent > height) take_out(item);
    }
    return settle(stop, kPatience);
}

bool Ejection::settle(const Stop& stop, std::int64_t patience) {
    std::int64_t least_out = out_weight_;
    std::int64_t least_at = moves;
    Index least_count = count_of(unplaced_);
    while (!unplaced_.empty()) {
        if (stop(steps_)) return false;
        steps_ = 0;
        if (moves - least_at > patience + kPatienceByItem * least_count) return false;
        ++moves;
        const Index item = pick();
        const Spot spot = best_spot(item);
        if (spot.offset == kUnplaced) {
            take_out(item);
            continue;
        }
        if (spot.cost > 0) {
            Item& state = items_[item];
            state.weight = std::min(kMostWeight, state.weight + first_weight_[item]);
            state.tabu_until = moves + 1 + random_.below(kTenure);
            take_out_in_the_way(spot.offset);
        }
        place(item, spot.offset);
        if (out_weight_ < least_out) {
            least_out = out_weight_;
            least_at = moves;
            least_count = count_of(unplaced_);
        }
    }
    return true;
}

bool Ejection::complete(Bytes height, const Stop& stop) {
    std::sort(unplaced_.begin(), unplaced_.end(), [&](Index a, Index b) {
        return first_weight_[a] != first_weight_[b] ? first_weight_[a] < first_weight_[b] : a < b;
    });
    while (!unplaced_.empty()) {
        if (stop(steps_)) return false;
        steps_ = 0;
        const Index item = unplaced_.back();
        const Spot spot = lowest_free(item, height);
        if (spot.offset == kUnplaced) return false;
        unplaced_.pop_back();
        out_weight_ -= first_weight_[item];
        place(item, spot.offset);
    }
    return true;
}

Ejection::Spot Ejection::lowest_free(Index item, Bytes height) {
    const Choice& c = choice(item);
    const Bytes high = std::min(c.high, height - items_[item].extent);
    Bytes offset = raised(choice(item), c.low);
    gather(item, offset, high);
    std::sort(obstacles_.begin(), obstacles_.end(),
              [](const Obstacle& a, const Obstacle& b) { return a.low < b.low; });
    for (const Obstacle& obstacle : obstacles_) {
        if (obstacle.low >= offset) break;
        if (obstacle.high > offset) offset = raised(choice(item), obstacle.high);
    }
    return offset <= high ? Spot{offset, 0} : Spot{};
}

}  // namespace memstow::improve
