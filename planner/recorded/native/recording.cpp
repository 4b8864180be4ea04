#include "recording.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "refused.hpp"

namespace memstow::recorded {
namespace {

constexpr std::int64_t kLeastBlock = 512;
constexpr int kFirstClass = 20;  // sizes from 1 MiB on, by powers of two
// No problem has more bytes, and no size or address is larger.
constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
constexpr std::uint64_t kProcessorAlignment = 64, kGraphicsAlignment = 512;
// Comparisons of areas while these are placed: so that a recording which is all different addresses takes no
// time.
constexpr std::int64_t kMostComparisons = 200'000'000;

// Addresses that are one piece of memory, and when.
struct Range {
    std::uint32_t pool;
    std::uint64_t begin, end;  // addresses
    std::int64_t from, until;  // times
};

std::uint64_t sum_of(std::uint64_t address, std::int64_t size) {
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    const auto bytes = static_cast<std::uint64_t>(size);
    return address > most - bytes ? most : address + bytes;
}

// Lowest places for areas that come one after the other by time, each where it meets none that is there.
class FirstFit {
  public:
    std::uint64_t place(std::uint64_t size, std::int64_t from, std::int64_t until) {
        std::erase_if(active_, [&](const Placed& placed) { return placed.until <= from; });
        std::uint64_t offset = 0;
        auto before = active_.begin();
        if (comparisons_ < kMostComparisons) {
            for (; before != active_.end() && before->offset < offset + size; ++before) offset = before->end;
        } else {
            before = active_.end();
            offset = top_;
        }
        comparisons_ += static_cast<std::int64_t>(active_.size());
        active_.insert(before, {offset, offset + size, until});
        top_ = std::max(top_, offset + size);
        return offset;
    }

  private:
    struct Placed {
        std::uint64_t offset, end;
        std::int64_t until;
    };
    std::vector<Placed> active_;  // by offset
    std::uint64_t top_ = 0;
    std::int64_t comparisons_ = 0;
};

class Builder {
  public:
    Builder(const Recordings& recordings, const Device& device) : recordings_(recordings), device_(device) {}

    Lives build() {
        made_.end = static_cast<std::int64_t>(device_.events.size()) + 1;
        add_those_at_start();
        follow_events();
        find_peaks();
        find_reserved();
        find_places();
        return std::move(made_);
    }

  private:
    // A segment of a pool of its own that is there at the end, and since when.
    struct Owned {
        std::uint64_t begin, end;
        std::int64_t since;
        std::pair<std::int64_t, std::int64_t> pool;
    };

    std::int64_t block(std::int64_t size) const {
        return recordings_.rounds ? rounded(size, recordings_.divisions) : size;
    }

    // Allocations whose begin is not in the recording: they were freed in it, or are there at its end. By
    // address.
    void add_those_at_start() {
        struct Early {
            std::uint64_t address;
            std::int64_t size, stream, end;
            Label label;
        };
        std::vector<Early> early;
        // An address that is first freed was in use before.
        std::unordered_set<std::uint64_t> seen;
        for (std::size_t i = 0; i < device_.events.size(); ++i) {
            const Event& event = device_.events[i];
            if (event.action != Action::kAlloc && event.action != Action::kFree) continue;
            if (seen.insert(event.address).second && event.action == Action::kFree) {
                early.push_back({event.address, event.size, event.stream, time(i), event.label});
            }
        }
        for (const Segment& segment : device_.segments) {
            for (const Block& used : segment.blocks) {
                if (!seen.insert(used.address).second) continue;
                early.push_back({used.address, used.size, segment.stream, made_.end, used.label});
            }
        }
        std::ranges::stable_sort(early, {}, &Early::address);
        find_owned();
        made_.at_start = static_cast<std::int64_t>(early.size());
        for (const Early& one : early) {
            const std::uint32_t pool = pool_of(one.stream, one.address, 0);
            add(one.address, one.size, one.label, pool, 0, one.end);
        }
    }

    static std::int64_t time(std::size_t event) { return static_cast<std::int64_t>(event) + 1; }

    // Snapshots say which pool a segment belongs to where it is there at the end.
    void find_owned() {
        for (const Segment& segment : device_.segments) {
            if (segment.pool != std::pair<std::int64_t, std::int64_t>{0, 0}) {
                owned_.push_back({segment.address, sum_of(segment.address, segment.size), 0, segment.pool});
            }
        }
        std::ranges::sort(owned_, {}, &Owned::begin);
        if (owned_.empty()) return;
        for (std::size_t i = 0; i < device_.events.size(); ++i) {
            const Event& event = device_.events[i];
            if (event.action != Action::kSegmentAlloc) continue;
            const auto place = std::ranges::lower_bound(owned_, event.address, {}, &Owned::begin);
            if (place != owned_.end() && place->begin == event.address) place->since = time(i);
        }
    }

    std::uint32_t pool_of(std::int64_t stream, std::uint64_t address, std::int64_t at) {
        StreamPool pool{stream, {0, 0}};
        const auto after = std::ranges::upper_bound(owned_, address, {}, &Owned::begin);
        if (after != owned_.begin()) {
            const Owned& owned = *std::prev(after);
            if (address < owned.end && at >= owned.since) pool.pool = owned.pool;
        }
        return number_of(pool);
    }

    std::uint32_t number_of(const StreamPool& pool) {
        const auto number = static_cast<std::uint32_t>(made_.stream_pools.size());
        const auto [place, is_new] =
            pool_numbers_.try_emplace(std::tuple(pool.stream, pool.pool.first, pool.pool.second), number);
        if (is_new) made_.stream_pools.push_back(pool);
        return place->second;
    }

    void add(std::uint64_t address, std::int64_t size, Label label, std::uint32_t pool, std::int64_t begin,
             std::int64_t end) {
        if (static_cast<std::uint64_t>(size) > kLimit - kLeastBlock) throw too_large();
        const std::int64_t whole = block(size);
        total_ += static_cast<std::uint64_t>(whole);
        if (total_ > kLimit) throw too_large();
        made_.begins.push_back(begin);
        made_.ends.push_back(end);
        made_.sizes.push_back(whole);
        made_.requested.push_back(size);
        made_.addresses.push_back(address);
        made_.labels.push_back(label);
        made_.pools.push_back(pool);
    }

    static Refused too_large() {
        return {"too_large",
                "the sizes of all allocations add up to more than 2^62 bytes: the recording is damaged"};
    }

    void follow_events() {
        // The allocation at each address, while it lives.
        std::unordered_map<std::uint64_t, std::size_t> open;
        for (std::size_t i = 0; i < made_.begins.size(); ++i) open[made_.addresses[i]] = i;
        for (std::size_t i = 0; i < device_.events.size(); ++i) {
            const Event& event = device_.events[i];
            if (event.action == Action::kAlloc) {
                const auto [place, is_new] = open.try_emplace(event.address, made_.begins.size());
                if (!is_new) {
                    made_.ends[place->second] = time(i);
                    ++made_.unpaired;
                    place->second = made_.begins.size();
                }
                const std::uint32_t pool = event.is_dynamic ? number_of({event.stream, kDynamicLayers})
                                                            : pool_of(event.stream, event.address, time(i));
                add(event.address, event.size, event.label, pool, time(i), made_.end);
            } else if (event.action == Action::kFree) {
                const auto place = open.find(event.address);
                if (place != open.end()) {
                    made_.ends[place->second] = time(i);
                    open.erase(place);
                } else {
                    ++made_.unpaired;
                }
            }
        }
    }

    void find_peaks() {
        const auto moments = static_cast<std::size_t>(made_.end) + 1;
        std::vector<std::int64_t> steps(moments), wanted(moments);
        for (std::size_t i = 0; i < made_.begins.size(); ++i) {
            const auto begin = static_cast<std::size_t>(made_.begins[i]);
            const auto end = static_cast<std::size_t>(made_.ends[i]);
            steps[begin] += made_.sizes[i];
            steps[end] -= made_.sizes[i];
            wanted[begin] += made_.requested[i];
            wanted[end] -= made_.requested[i];
        }
        std::int64_t live = 0, live_wanted = 0;
        for (std::size_t t = 0; t < moments; ++t) {
            live += steps[t];
            live_wanted += wanted[t];
            if (live > made_.allocated) {
                made_.allocated = live;
                made_.allocated_at = static_cast<std::int64_t>(t);
            }
            made_.requested_most = std::max(made_.requested_most, live_wanted);
            // Time t begins with event t, behind which the allocator has counted.
            if (t >= 1 && t <= device_.totals.size()) {
                const std::int64_t others = device_.totals[t - 1] - live;
                made_.unseen = t == 1 ? others : std::min(made_.unseen, others);
            }
        }
        made_.unseen = std::max<std::int64_t>(made_.unseen, 0);
        const std::vector<std::int64_t> moments_of_pools = find_least();
        std::unordered_map<Label, User> users;
        for (std::size_t i = 0; i < made_.begins.size(); ++i) {
            const std::int64_t moment = moments_of_pools[made_.pools[i]];
            if (made_.begins[i] <= moment && moment < made_.ends[i]) {
                User& user = users[made_.labels[i]];
                user.label = made_.labels[i];
                user.bytes += made_.sizes[i];
                ++user.count;
            }
        }
        for (const auto& [label, user] : users) made_.users.push_back(user);
        std::ranges::sort(made_.users, [](const User& a, const User& b) {
            return a.bytes != b.bytes ? a.bytes > b.bytes : a.label < b.label;
        });
    }

    // Returns when each pool has the most live.
    std::vector<std::int64_t> find_least() {
        const std::size_t count = made_.stream_pools.size();
        std::vector<std::int64_t> moments(count, made_.allocated_at);
        if (count == 1) {
            made_.least = made_.allocated;
            return moments;
        }
        // Events by time, and of one time ends first: an address that changes hands is not live twice.
        std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t>> steps;
        steps.reserve(2 * made_.begins.size());
        for (std::size_t i = 0; i < made_.begins.size(); ++i) {
            steps.emplace_back(made_.begins[i], made_.sizes[i], made_.pools[i]);
            steps.emplace_back(made_.ends[i], -made_.sizes[i], made_.pools[i]);
        }
        std::ranges::sort(steps);
        std::vector<std::int64_t> live(count), most(count);
        for (const auto& [time, change, pool] : steps) {
            live[pool] += change;
            if (live[pool] > most[pool]) {
                most[pool] = live[pool];
                moments[pool] = time;
            }
        }
        made_.least = std::accumulate(most.begin(), most.end(), std::int64_t{0});
        return moments;
    }

    // Segments as they are at the end, and what was reserved and given back before.
    void find_reserved() {
        made_.reserved = device_.most_reserved;
        bool is_known = !device_.segments.empty();
        std::uint64_t now = 0;  // adds up modulo 2^64, and so does what is taken away
        for (const Segment& segment : device_.segments) now += static_cast<std::uint64_t>(segment.size);
        const auto change = [&](const Event& event) {
            const auto size = static_cast<std::uint64_t>(event.size);
            const bool more = event.action == Action::kSegmentAlloc || event.action == Action::kSegmentMap;
            const bool less = event.action == Action::kSegmentFree || event.action == Action::kSegmentUnmap;
            is_known |= more || less;
            return more ? size : less ? -size : 0;
        };
        for (const Event& event : device_.events) now -= change(event);
        if (!is_known) return;
        auto most = static_cast<std::int64_t>(now);
        for (const Event& event : device_.events) {
            now += change(event);
            most = std::max(most, static_cast<std::int64_t>(now));
        }
        // Less than what lived then is not what was reserved: some of that is not in the recording.
        if (most >= made_.allocated) made_.reserved = most;
    }

    // The allocator's own plan. Its addresses are far apart, so areas that it has used in one piece are moved
    // together, each while it was there, and keep what is inside of them in place.
    void find_places() {
        std::vector<Range> ranges = ranges_of_segments();
        for (std::size_t i = 0; i < made_.begins.size(); ++i) {
            const std::uint64_t end = sum_of(made_.addresses[i], made_.sizes[i]);
            ranges.push_back({made_.pools[i], made_.addresses[i], end, made_.begins[i], made_.ends[i]});
        }
        std::uint64_t bits = device_.type == kProcessor ? kProcessorAlignment : kGraphicsAlignment;
        for (const Range& range : ranges) bits |= range.begin;
        made_.alignment = static_cast<std::int64_t>(bits & -bits);
        const std::vector<Range> areas = areas_of(ranges);
        std::vector<std::size_t> order(areas.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order,
                                 [&](std::size_t a, std::size_t b) { return areas[a].from < areas[b].from; });
        std::vector<FirstFit> pools(made_.stream_pools.size());
        std::vector<std::uint64_t> places(areas.size());
        for (const std::size_t i : order) {
            const Range& area = areas[i];
            const std::uint64_t size = area.end - area.begin;
            if (size > kLimit) throw too_large();
            places[i] = pools[area.pool].place(size, area.from, area.until);
            if (places[i] > kLimit) throw too_large();
        }
        made_.offsets.reserve(made_.begins.size());
        for (std::size_t i = 0; i < made_.begins.size(); ++i) {
            const auto key = std::pair(made_.pools[i], made_.addresses[i]);
            const auto after = std::ranges::upper_bound(
                areas, key, {}, [](const Range& area) { return std::pair(area.pool, area.begin); });
            const auto area = static_cast<std::size_t>(after - areas.begin()) - 1;
            const std::uint64_t offset = places[area] + (made_.addresses[i] - areas[area].begin);
            if (offset > kLimit) throw too_large();
            made_.offsets.push_back(static_cast<std::int64_t>(offset));
        }
    }

    std::vector<Range> ranges_of_segments() {
        std::vector<Range> ranges;
        const std::size_t named = made_.stream_pools.size();
        std::unordered_map<std::uint64_t, std::size_t> open;
        const auto range = [&](std::uint64_t address, std::int64_t size, std::int64_t stream,
                               std::int64_t from) {
            const std::uint32_t pool = pool_of(stream, address, from);
            ranges.push_back({pool, address, sum_of(address, size), from, made_.end});
        };
        for (std::size_t i = 0; i < device_.events.size(); ++i) {
            const Event& event = device_.events[i];
            if (event.action == Action::kSegmentAlloc) {
                open[event.address] = ranges.size();
                range(event.address, event.size, event.stream, time(i));
            } else if (event.action == Action::kSegmentFree) {
                const auto place = open.find(event.address);
                if (place == open.end()) {
                    range(event.address, event.size, event.stream, 0);
                    ranges.back().until = time(i);
                } else {
                    ranges[place->second].until = time(i);
                    open.erase(place);
                }
            } else if (event.action == Action::kSegmentMap || event.action == Action::kSegmentUnmap) {
                // The part of a growing segment: it may come and go, and its addresses stay those of the
                // segment.
                range(event.address, event.size, event.stream,
                      event.action == Action::kSegmentMap ? time(i) : 0);
            }
        }
        for (const Segment& segment : device_.segments) {
            if (!open.contains(segment.address)) range(segment.address, segment.size, segment.stream, 0);
        }
        // Nothing is planned in a pool that no allocation is in.
        std::erase_if(ranges, [&](const Range& one) { return one.pool >= named; });
        made_.stream_pools.resize(named);
        return ranges;
    }

    // Ranges that share addresses as one, aligned, by pool and address.
    std::vector<Range> areas_of(std::vector<Range>& ranges) const {
        const auto alignment = static_cast<std::uint64_t>(made_.alignment);
        std::ranges::sort(ranges, {}, [](const Range& range) { return std::pair(range.pool, range.begin); });
        std::vector<Range> areas;
        for (const Range& range : ranges) {
            if (!areas.empty() && areas.back().pool == range.pool && range.begin < areas.back().end) {
                Range& area = areas.back();
                area.end = std::max(area.end, range.end);
                area.from = std::min(area.from, range.from);
                area.until = std::max(area.until, range.until);
            } else {
                areas.push_back(range);
            }
        }
        for (Range& area : areas) {
            area.begin -= area.begin % alignment;
            area.end = std::max(area.end, area.begin + 1);
            const std::uint64_t size = area.end - area.begin;
            area.end = area.begin + size + (alignment - size % alignment) % alignment;
        }
        return areas;
    }

    const Recordings& recordings_;
    const Device& device_;
    Lives made_;
    std::uint64_t total_ = 0;
    std::vector<Owned> owned_;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::uint32_t> pool_numbers_;
};

}  // namespace

Label Labels::of(std::string_view text) {
    const auto [place, is_new] = numbers_.try_emplace(std::string(text), static_cast<Label>(texts_.size()));
    if (is_new) texts_.emplace_back(text);
    return place->second;
}

std::int64_t rounded(std::int64_t size, const std::array<std::uint32_t, kSizeClasses>& divisions) {
    const auto up = [](std::int64_t value, std::int64_t unit) {
        return value + (unit - value % unit) % unit;
    };
    if (size < kLeastBlock) return kLeastBlock;
    const int power = std::bit_width(static_cast<std::uint64_t>(size)) - 1;
    const int size_class = std::clamp(power - kFirstClass, 0, static_cast<int>(kSizeClasses) - 1);
    const std::int64_t parts = divisions[static_cast<std::size_t>(size_class)];
    if (parts <= 1 || size <= kLeastBlock * parts) return up(size, kLeastBlock);
    const std::int64_t floor = std::int64_t{1} << power;
    if (size == floor) return size;
    // As the allocator counts: the power of two below in so many parts, each a power of two itself.
    const std::int64_t part = floor >> (std::bit_width(static_cast<std::uint64_t>(parts)) - 1);
    return part == 0 ? 2 * floor : up(size, part);
}

Lives lives(const Recordings& recordings, const Device& device) {
    return Builder(recordings, device).build();
}

}  // namespace memstow::recorded
