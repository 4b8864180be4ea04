// Search states that are known to have no layout: a table of bounded size from a 128-bit hash of the state to
// the greatest height it was refuted at. Two of k states share a hash with a chance below k * k / 2^128.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/instance.hpp"

namespace memstow::search {

struct StateHash {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const StateHash&) const = default;

    // Order does not matter: a state is a set of (item, least position from each side).
    void add(Index item, Bytes bottom, Bytes top) {
        const auto a = static_cast<std::uint64_t>(bottom) * 0x9E3779B97F4A7C15u +
                       static_cast<std::uint64_t>(item) * 0xD1B54A32D192ED03u +
                       static_cast<std::uint64_t>(top) * 0x8CB92BA72F3D8DD7u;
        low += mix(a);
        high += mix(a ^ 0x2545F4914F6CDD1Du) * 0xDA942042E4DD58B5u;
    }

    static std::uint64_t mix(std::uint64_t x) {
        x ^= x >> 30;
        x *= 0xBF58476D1CE4E5B9u;
        x ^= x >> 27;
        x *= 0x94D049BB133111EBu;
        return x ^ (x >> 31);
    }
};

class RefutedStates {
  public:
    // Each entry holds a set of `words` words: the items that are enough to have no layout. The table grows
    // to at most `most_bytes`, or to its first size if that is more.
    RefutedStates(std::size_t words, std::size_t most_bytes)
        : words_(words), most_(most_bytes / (sizeof(Entry) + words * sizeof(std::uint64_t))) {
        resize(kFirst);
    }

    // The set, or null when the state is not known to be dead at this height.
    const std::uint64_t* find(const StateHash& state, Bytes height) const {
        for (std::size_t k = 0; k < 2; ++k) {
            const std::size_t at = (state.low & mask_) ^ k;
            if (table_[at].state == state) return height <= table_[at].height ? &sets_[at * words_] : nullptr;
        }
        return nullptr;
    }

    void add(const StateHash& state, Bytes height, std::int64_t cost, const std::uint64_t* set) {
        if (used_ * 2 > table_.size() && table_.size() * 2 <= most_) grow();
        std::size_t victim = table_.size();
        for (std::size_t k = 0; k < 2; ++k) {
            const std::size_t at = (state.low & mask_) ^ k;
            if (table_[at].state == state) {
                if (height > table_[at].height) put(at, {state, height, cost}, set);
                return;
            }
            if (victim == table_.size() || table_[at].cost < table_[victim].cost) victim = at;
        }
        used_ += table_[victim].height < 0;
        table_[victim].cost /= 2;  // what is not asked for makes room in time
        if (table_[victim].cost <= cost) put(victim, {state, height, cost}, set);
    }

  private:
    struct Entry {
        StateHash state;
        Bytes height = -1;
        std::int64_t cost = 0;  // nodes that went into it
    };
    static constexpr std::size_t kFirst = 1 << 12;

    void put(std::size_t at, const Entry& entry, const std::uint64_t* set) {
        table_[at] = entry;
        std::copy(set, set + words_, sets_.begin() + (at * words_));
    }
    void resize(std::size_t size) {
        table_.assign(size, Entry{});
        sets_.assign(size * words_, 0);
        mask_ = size - 1;
        used_ = 0;
    }
    void grow() {
        std::vector<Entry> entries;
        std::vector<std::uint64_t> sets;
        entries.swap(table_);
        sets.swap(sets_);
        resize(entries.size() * 2);
        for (std::size_t at = 0; at < entries.size(); ++at) {
            if (entries[at].height < 0) continue;
            add(entries[at].state, entries[at].height, entries[at].cost, &sets[at * words_]);
        }
    }

    std::size_t words_, most_;
    std::vector<Entry> table_;
    std::vector<std::uint64_t> sets_;
    std::size_t mask_ = 0, used_ = 0;
};

}  // namespace memstow::search
