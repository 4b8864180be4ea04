#include "greedy/sweep.hpp"

#include <algorithm>
#include <map>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/node_pool.hpp"
#include "greedy/placer.hpp"
#include "greedy/shelves.hpp"

namespace memstow::greedy {

namespace {

// Free bytes of one pool, up to kLimit.
class Gaps {
  public:
    explicit Gaps(const Pool& pool) {
        Bytes begin = 0;
        for (const Range& reserved : pool.reserved) {
            if (reserved.begin > begin) add({begin, reserved.begin});
            begin = reserved.end;
        }
        if (begin < kLimit) add({begin, kLimit});
    }

    std::optional<Bytes> take(const Choice& choice, Bytes size) {
        // A gap may be large enough but for its alignment. After some of those, look where any gap will do.
        constexpr int kTries = 32;
        int tries = 0;
        for (auto gap = by_size_.lower_bound({size, 0}); gap != by_size_.end(); ++gap) {
            if (++tries == kTries && choice.modulus <= kLimit - size) {
                gap = by_size_.lower_bound({std::max(gap->first, size + choice.modulus), 0});
                if (gap == by_size_.end()) break;
            }
            const Range range{gap->second, gap->second + gap->first};
            const std::optional<Bytes> offset = align_up(choice, range.begin);
            if (!offset || range.end - *offset < size) continue;
            remove(range);
            if (*offset > range.begin) add({range.begin, *offset});
            if (range.end - *offset > size) add({*offset + size, range.end});
            return offset;
        }
        return std::nullopt;
    }

    void give_back(Range range) {
        const auto after = by_begin_.lower_bound(range.begin);
        if (after != by_begin_.begin()) {
            const auto before = std::prev(after);
            if (before->second == range.begin) range.begin = before->first;
        }
        if (after != by_begin_.end() && after->first == range.end) range.end = after->second;
        if (const auto first = by_begin_.find(range.begin); first != by_begin_.end()) {
            remove({first->first, first->second});
        }
        if (const auto last = by_begin_.lower_bound(range.begin);
            last != by_begin_.end() && last->first < range.end) {
            remove({last->first, last->second});
        }
        add(range);
    }

  private:
    void add(Range range) {
        by_begin_.emplace(range.begin, range.end);
        by_size_.emplace(range.end - range.begin, range.begin);
    }
    void remove(Range range) {
        by_begin_.erase(range.begin);
        by_size_.erase({range.end - range.begin, range.begin});
    }

    NodePool nodes_;
    std::pmr::map<Bytes, Bytes> by_begin_{&nodes_};            // begin, end
    std::pmr::set<std::pair<Bytes, Bytes>> by_size_{&nodes_};  // size, begin
};

// As the sweep meets them: counted from the last row when it goes backwards.
RowRange rows_of(const Instance& instance, Index item, bool backwards) {
    const std::span<const RowRange> ranges = instance.rows[item];
    const RowRange rows = ranges.empty() ? RowRange{0, 0} : ranges[0];
    if (!backwards) return rows;
    return {instance.row_count - rows.end, instance.row_count - rows.begin};
}

// By the row after which an item is gone: a counting sort, rows are few.
Lists<Index> by_last_row(const Instance& instance, std::span<const Index> order, bool backwards) {
    Lists<Index> gone;
    gone.start.assign(instance.row_count + 2, 0);
    for (const Index item : order) ++gone.start[rows_of(instance, item, backwards).end + 1];
    for (std::size_t row = 1; row < gone.start.size(); ++row) gone.start[row] += gone.start[row - 1];
    gone.values.resize(order.size());
    std::vector<Index> next(gone.start.begin(), gone.start.end() - 1);
    for (const Index item : order) gone.values[next[rows_of(instance, item, backwards).end]++] = item;
    return gone;
}

}  // namespace

bool can_sweep(const Instance& instance) {
    if (instance.pools.size() != 1 || instance.row_count != instance.time_rows ||
        count_of(instance.parts) != instance.item_count()) {
        return false;
    }
    if (std::ranges::any_of(instance.choices.all(), &Choice::is_bounded)) return false;
    for (Index part = 0; part < count_of(instance.parts); ++part) {
        if (instance.rows[part].size() > 1 || instance.parts[part].delta != 0) return false;
    }
    return true;
}

std::vector<Index> sweep_order(const Instance& instance, Order order) {
    const bool backwards = order == Order::end || order == Order::end_size;
    const bool by_size = order == Order::start_size || order == Order::end_size;
    const auto rows_from = [&](Index item) { return rows_of(instance, item, backwards); };
    const auto met_first = [&](Index item) {
        const bool is_met = !instance.rows[item].empty();
        return is_met ? rows_from(item).begin : instance.row_count;
    };
    // As traits are: of what a double does not tell apart, the first comes first.
    const auto largest = [&](Index item) {
        const RowRange rows = instance.rows[item].empty() ? RowRange{0, 0} : rows_from(item);
        return by_size ? static_cast<double>(instance.parts[item].size) : rows.end - rows.begin;
    };
    std::vector<Index> items(instance.item_count());
    std::iota(items.begin(), items.end(), 0);
    // In place: of a million items, sorting keys takes more memory than all else here.
    std::sort(items.begin(), items.end(), [&](Index a, Index b) {
        const Index one = met_first(a);
        const Index other = met_first(b);
        if (one != other) return one < other;
        const double more = largest(a);
        const double less = largest(b);
        return more != less ? more > less : a < b;
    });
    return items;
}

Layout sweep(const Instance& instance, std::span<const Index> order, bool backwards, Budget& budget,
             std::size_t whole) {
    Layout layout(instance.item_count());
    const Lists<Index> gone = by_last_row(instance, order, backwards);
    Gaps gaps(instance.pools[0]);
    std::optional<Shelves> shelves;
    Bytes peak = instance.pools[0].reserved.empty() ? 0 : instance.pools[0].reserved.back().end;
    Index released = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Index item = order[i];
        const Choice& choice = instance.choices[item][0];
        const Bytes size = instance.parts[item].size;
        Place& place = layout[item];
        if (instance.rows[item].empty()) {  // conflicts with nothing
            Gaps empty(instance.pools[0]);
            if (const std::optional<Bytes> offset = empty.take(choice, size)) place = {choice.pool, *offset};
            continue;
        }
        if (!shelves && i >= whole && i % kWhole == 0 && budget.spent()) shelves.emplace(peak);
        for (const Index now = rows_of(instance, item, backwards).begin; released <= now; ++released) {
            for (const Index dead : gone[released]) {
                const Place& was = layout[dead];
                if (was.offset == kUnplaced || instance.rows[dead].empty()) continue;
                const Bytes bytes = instance.parts[dead].size;
                if (!shelves) {
                    gaps.give_back({was.offset, was.offset + bytes});
                } else if (was.offset >= shelves->begin()) {
                    shelves->give_back(was.offset, bytes);
                }
            }
        }
        if (const auto offset = shelves ? shelves->take(choice, size) : gaps.take(choice, size)) {
            place = {choice.pool, *offset};
            peak = std::max(peak, *offset + size);
        }
    }
    budget.count(count_of(order));
    return layout;
}

}  // namespace memstow::greedy
