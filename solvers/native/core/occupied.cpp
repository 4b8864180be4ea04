#include "core/occupied.hpp"

#include <algorithm>

namespace memstow {
namespace {

// How many of the bytes are covered by ranges that come and go: a segment tree over the borders of the
// ranges.
class Cover {
  public:
    explicit Cover(std::vector<Bytes> borders) : borders_(std::move(borders)) {
        std::sort(borders_.begin(), borders_.end());
        borders_.erase(std::unique(borders_.begin(), borders_.end()), borders_.end());
        while (leaves_ + 1 < borders_.size()) leaves_ *= 2;
        count_.resize(2 * leaves_, 0);
        covered_.resize(2 * leaves_, 0);
    }

    void add(Range range, int times) {
        add(1, 0, leaves_, place_of(range.begin), place_of(range.end), times);
    }
    Bytes covered() const { return covered_[1]; }

  private:
    std::size_t place_of(Bytes border) const {
        return (std::lower_bound(borders_.begin(), borders_.end(), border) - borders_.begin());
    }
    Bytes border(std::size_t place) const { return borders_[std::min(place, borders_.size() - 1)]; }

    void add(std::size_t node, std::size_t low, std::size_t high, std::size_t begin, std::size_t end,
             int times) {
        if (end <= low || high <= begin) return;
        if (begin <= low && high <= end) {
            count_[node] += times;
        } else {
            const std::size_t middle = (low + high) / 2;
            add(2 * node, low, middle, begin, end, times);
            add(2 * node + 1, middle, high, begin, end, times);
        }
        if (count_[node] > 0) {
            covered_[node] = border(high) - border(low);
        } else {
            covered_[node] = node < leaves_ ? covered_[2 * node] + covered_[2 * node + 1] : 0;
        }
    }

    std::vector<Bytes> borders_;
    std::size_t leaves_ = 1;
    std::vector<int> count_;
    std::vector<Bytes> covered_;
};

Occupied of_pool(const Instance& instance, const Layout& layout, Index pool, bool shared) {
    struct Event {
        std::int64_t time;
        bool enters;
        Range range;
    };
    std::vector<Event> events;
    std::vector<Bytes> borders;
    for (Index i = 0; i < count_of(instance.parts); ++i) {
        const Part& part = instance.parts[i];
        const Place& place = layout[part.item];
        if (place.pool != pool) continue;
        const Range range{place.offset + part.delta, place.offset + part.delta + part.size};
        for (const Lifetime& life : instance.lives[i]) {
            events.push_back({life.begin, true, range});
            events.push_back({life.end, false, range});
        }
        if (shared) borders.insert(borders.end(), {range.begin, range.end});
    }
    if (events.empty()) return {};
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    if (borders.empty()) borders = {0, 1};
    Cover cover(std::move(borders));
    Occupied most;
    Bytes sum = 0;
    for (std::size_t i = 0; i < events.size();) {
        const std::int64_t time = events[i].time;
        for (; i < events.size() && events[i].time == time; ++i) {
            const Event& event = events[i];
            if (shared) {
                cover.add(event.range, event.enters ? 1 : -1);
            } else {
                sum +=
                    event.enters ? event.range.end - event.range.begin : event.range.begin - event.range.end;
            }
        }
        const Bytes now = shared ? cover.covered() : sum;
        if (now > most.bytes) most = {now, time};
    }
    return most;
}

}  // namespace

std::vector<Occupied> most_occupied(const Instance& instance, const Layout& layout) {
    const bool shared = !instance.exempt.empty() || instance.item_count() < count_of(instance.parts);
    std::vector<Occupied> result;
    for (Index pool = 0; pool < count_of(instance.pools); ++pool) {
        result.push_back(of_pool(instance, layout, pool, shared));
    }
    return result;
}

}  // namespace memstow
