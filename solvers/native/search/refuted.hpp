// Search states that are known to have no layout: a table of bounded size from a 128-bit hash of the state to
// the greatest height it was refuted at. Two of k states share a hash with a chance below k * k / 2^128.
#pragma once

#include <cstdint>
#include <vector>

#include "../instance.hpp"

namespace memstow {

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
    // Grows to at most this many entries (a power of two at least).
    explicit RefutedStates(std::size_t most) : most_(most) { resize(kFirst); }

    bool known(const StateHash& state, Bytes height) const {
        for (std::size_t k = 0; k < 2; ++k) {
            const Entry& entry = table_[(state.low & mask_) ^ k];
            if (entry.state == state) return height <= entry.height;
        }
        return false;
    }

    void add(const StateHash& state, Bytes height, std::int64_t cost) {
        if (used_ * 2 > table_.size() && table_.size() * 2 <= most_) grow();
        Entry* victim = nullptr;
        for (std::size_t k = 0; k < 2; ++k) {
            Entry& entry = table_[(state.low & mask_) ^ k];
            if (entry.state == state) {
                if (height > entry.height) entry.height = height;
                return;
            }
            if (victim == nullptr || entry.cost < victim->cost) victim = &entry;
        }
        used_ += victim->height < 0;
        victim->cost /= 2;  // what is not asked for makes room in time
        if (victim->cost <= cost) *victim = {state, height, cost};
    }

    static constexpr std::size_t kEntryBytes = 32;

  private:
    struct Entry {
        StateHash state;
        Bytes height = -1;
        std::int64_t cost = 0;  // nodes that went into it
    };
    static_assert(sizeof(Entry) == kEntryBytes);
    static constexpr std::size_t kFirst = 1 << 12;

    void resize(std::size_t size) {
        table_.assign(size, Entry{});
        mask_ = size - 1;
        used_ = 0;
    }
    void grow() {
        std::vector<Entry> before;
        before.swap(table_);
        resize(before.size() * 2);
        for (const Entry& entry : before) {
            if (entry.height >= 0) add(entry.state, entry.height, entry.cost);
        }
    }

    std::vector<Entry> table_;
    std::size_t most_, mask_ = 0, used_ = 0;
};

}  // namespace memstow
