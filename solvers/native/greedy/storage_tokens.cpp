#include "greedy/storage_tokens.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "greedy/placer.hpp"

namespace memstow::greedy {

namespace {

constexpr Bytes kMatchRange = 16;

struct Storage {
    Index pool;
    Bytes size;
    Bytes modulus;
    Bytes start = 0;
};

class Allocator {
  public:
    explicit Allocator(const Instance& instance)
        : instance_(instance), free_(instance.pools.size()), storage_of_(instance.item_count(), -1) {}

    Layout plan() {
        struct Event {
            std::int64_t time;
            bool birth;  // after the deaths of its moment
            Index item;
        };
        std::vector<Event> events;
        for (Index item = 0; item < instance_.item_count(); ++item) {
            const std::span<const Lifetime> lives = instance_.lives[item];
            if (lives.empty()) continue;
            std::int64_t begin = lives.front().begin;
            std::int64_t end = lives.front().end;
            for (const Lifetime& life : lives) {
                begin = std::min(begin, life.begin);
                end = std::max(end, life.end);
            }
            events.push_back({begin, true, item});
            events.push_back({end, false, item});
        }
        std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
            return a.time != b.time ? a.time < b.time : a.birth < b.birth;
        });
        for (const Event& event : events) event.birth ? request(event.item) : release(event.item);
        return lay_out();
    }

  private:
    using FreeList = std::multimap<Bytes, Index>;  // size, storage

    void request(Index item) {
        const Choice& choice = instance_.choices[item].front();
        const Bytes size = instance_.parts_of(item).front().size;
        FreeList& free = free_[choice.pool];
        const auto begin = free.lower_bound(size / kMatchRange);
        const auto mid = free.lower_bound(size);
        const auto end = free.upper_bound(size > kLimit / kMatchRange ? kLimit : size * kMatchRange);
        auto chosen = free.end();
        if (mid != end) {
            chosen = mid;
        } else if (mid != begin) {
            chosen = std::prev(mid);
        }
        if (chosen == free.end()) {
            storages_.push_back({choice.pool, 0, 1});
            storage_of_[item] = count_of(storages_) - 1;
        } else {
            storage_of_[item] = chosen->second;
            free.erase(chosen);
        }
        Storage& storage = storages_[storage_of_[item]];
        storage.size = std::max(storage.size, size);
        storage.modulus = std::lcm(storage.modulus, choice.modulus);
    }

    void release(Index item) {
        const Index storage = storage_of_[item];
        const Storage& freed = storages_[storage];
        free_[freed.pool].emplace(freed.size, storage);
    }

    Layout lay_out() {
        std::vector<Bytes> tops(instance_.pools.size(), 0);
        for (Storage& storage : storages_) {
            Bytes& top = tops[storage.pool];
            const std::optional<Bytes> start =
                top == kUnplaced
                    ? std::nullopt
                    : align_up({storage.pool, storage.modulus, 0, 0, kLimit - storage.size, 0}, top);
            storage.start = start.value_or(kUnplaced);
            top = start ? *start + storage.size : kUnplaced;  // beyond the limit: no more storages
        }
        Layout layout(instance_.item_count());
        for (Index item = 0; item < instance_.item_count(); ++item) {
            const Index storage = storage_of_[item];
            layout[item] = storage < 0 ? Place{instance_.choices[item].front().pool, 0}
                                       : Place{storages_[storage].pool, storages_[storage].start};
            if (layout[item].offset == kUnplaced) layout[item] = {};
        }
        return layout;
    }

    const Instance& instance_;
    std::vector<FreeList> free_;     // by pool
    std::vector<Storage> storages_;  // in the order they were made
    std::vector<Index> storage_of_;  // by item
};

}  // namespace

std::optional<std::string> storage_tokens_decline(const Instance& instance) {
    if (instance.row_count > instance.time_rows) return "conflicts other than by lifetime";
    const bool shifted = std::any_of(instance.parts.begin(), instance.parts.end(),
                                     [](const Part& part) { return part.delta != 0; });
    if (shifted || count_of(instance.parts) != instance.item_count()) return "rigid groups";
    for (const Pool& pool : instance.pools) {
        if (!pool.reserved.empty()) return "reserved ranges";
    }
    Bytes modulus = 1;
    for (Index item = 0; item < instance.item_count(); ++item) {
        const std::span<const Choice> choices = instance.choices[item];
        if (choices.size() > 1) return "a choice of pools";
        if (choices[0].is_bounded() || choices[0].residue != 0) {
            return "pinned or bounded offsets";
        }
        // A storage starts at a multiple of all its buffers' alignments.
        const Bytes factor = choices[0].modulus / std::gcd(modulus, choices[0].modulus);
        if (factor > kLimit / modulus) return "alignments without a common multiple in range";
        modulus *= factor;
    }
    return std::nullopt;
}

Layout storage_tokens(const Instance& instance) { return Allocator(instance).plan(); }

}  // namespace memstow::greedy
