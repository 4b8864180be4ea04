// What the handles of memstow.h stand for. All that they hold is in memory of the caller's allocator.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/instance.hpp"
#include "core/reduction.hpp"
#include "memstow.h"
#include "places.hpp"

namespace memstow::library {

using std::int64_t;

// The allocator of a container.
template <class T>
class Memory {
  public:
    using value_type = T;

    Memory(const memstow_allocator& from) : from_(from) {}
    template <class Other>
    Memory(const Memory<Other>& other) : from_(other.from()) {}

    T* allocate(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
        void* memory = from_.allocate(from_.context, count * sizeof(T));
        if (memory == nullptr) throw std::bad_alloc();
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) { from_.release(from_.context, memory, count * sizeof(T)); }

    const memstow_allocator& from() const { return from_; }
    bool operator==(const Memory& other) const {
        return from_.allocate == other.from_.allocate && from_.release == other.from_.release &&
               from_.context == other.from_.context;
    }

  private:
    memstow_allocator from_;
};

template <class T>
using List = std::vector<T, Memory<T>>;
using Text = std::basic_string<char, std::char_traits<char>, Memory<char>>;

// An object in memory of this allocator.
template <class T, class... Arguments>
T* make(const memstow_allocator& from, Arguments&&... arguments) {
    Memory<T> memory(from);
    T* made = memory.allocate(1);
    try {
        return new (made) T(std::forward<Arguments>(arguments)...);
    } catch (...) {
        memory.deallocate(made, 1);
        throw;
    }
}

template <class T>
void destroy(T* made) {
    if (made == nullptr) return;
    Memory<T> memory(made->from);
    made->~T();
    memory.deallocate(made, 1);
}

// An argument that cannot be used, for people.
struct Invalid {
    std::string text;
};

// Runs `work`, and says by a code how it ended.
template <class Work, class Explain>
memstow_code guarded(Explain explain, Work work) noexcept {
    try {
        try {
            return work();
        } catch (const Invalid& invalid) {
            explain(invalid.text);
            return MEMSTOW_INVALID;
        }
    } catch (const std::bad_alloc&) {
        return MEMSTOW_OUT_OF_MEMORY;
    } catch (const std::exception&) {
        return MEMSTOW_INTERNAL;
    }
}

struct Objective {
    memstow_term term;
    std::size_t pool;
    bool operator==(const Objective&) const = default;
};

// Why something is a bound: buffers, of these pools, at this time.
struct Reason {
    explicit Reason(const memstow_allocator& from) : buffers(from), pools(from) {}

    List<std::size_t> buffers;
    List<std::size_t> pools;
    std::optional<int64_t> time;
};

struct PoolUse {
    explicit PoolUse(const memstow_allocator& from) : reason(from) {}

    int64_t peak = 0;
    int64_t bound = 0;
    Reason reason;
};

struct TermUse {
    Objective objective;
    int64_t value;
    int64_t bound;
    memstow_proof proof;
    int64_t searches;
};

struct CrowdUse {
    explicit CrowdUse(const memstow_allocator& from) : buffers(from) {}

    List<std::size_t> buffers;
    int64_t cost = 0;
};

// The places of a plan, judged: what is wrong with them is thrown.
judge::Worth judged_worth(const memstow_problem& problem, const judge::Places& places,
                          const judge::Places& start);

}  // namespace memstow::library

struct memstow_stop {
    std::atomic<bool> pulled{false};
};

struct memstow_problem {
    explicit memstow_problem(const memstow_allocator& allocator)
        : from(allocator),
          sizes(from),
          begins(from),
          ends(from),
          alignments(from),
          accesses(from),
          pins(from),
          list_of(from),
          list_start(1, 0, from),
          list_pools(from),
          pools(1, {memstow::kLimit}, from),
          reserved(from),
          lives(from),
          conflicts(from),
          exclusive(from),
          in_place(from),
          ties(from),
          distances(memstow::library::List<memstow::TiedStep>(from)),
          reuse(from),
          banks(from),
          within_bank(from),
          bank_list_of(from),
          bank_list_start(1, 0, from),
          bank_list(from),
          bank_conflicts(from),
          bank_members(from),
          terms(from),
          error(from) {}

    template <class T>
    using List = memstow::library::List<T>;
    using Rules = memstow::judge::Rules;

    memstow_allocator from;
    List<std::int64_t> sizes, begins, ends, alignments;
    // By buffer as far as they go, as the judge's rules have them.
    List<std::int64_t> accesses, pins, list_of;
    List<std::size_t> list_start, list_pools;
    List<memstow::judge::Pool> pools;
    List<Rules::Reserved> reserved;
    List<Rules::Life> lives;
    List<Rules::Pair> conflicts, exclusive, in_place;
    List<Rules::Tie> ties;
    memstow::DistancesIn<List<memstow::TiedStep>> distances;  // of what is tied
    List<memstow::judge::Costs::Reuse> reuse;
    // As the judge's rules of banks have them.
    List<memstow::judge::Banks::Run> banks;
    List<std::int64_t> within_bank, bank_list_of;
    List<std::size_t> bank_list_start, bank_list;
    List<memstow::judge::Banks::Conflict> bank_conflicts;
    List<std::size_t> bank_members;
    std::size_t bank_pairs = 0;         // of the conflicts
    memstow::WideBytes bank_costs = 0;  // of all of these pairs
    List<memstow::library::Objective> terms;
    memstow::library::Text error;

    memstow::judge::Columns columns() const { return {sizes, begins, ends, alignments}; }
    Rules rules() const {
        return {pools,
                reserved,
                pins,
                list_of,
                list_start,
                list_pools,
                lives,
                conflicts,
                exclusive,
                in_place,
                ties,
                {banks, within_bank, bank_list_of, bank_list_start, bank_list, bank_conflicts, bank_members}};
    }
    // Whether there is no more than sizes, lifetimes, alignments and a capacity.
    bool is_plain() const {
        const memstow::judge::Pool& first = pools.front();
        return pools.size() == 1 && first.alignment == 1 && first.base == 0 && reserved.empty() &&
               pins.empty() && list_of.empty() && lives.empty() && conflicts.empty() && exclusive.empty() &&
               in_place.empty() && ties.empty() && reuse.empty() && bank_conflicts.empty() &&
               within_bank.empty() && bank_list_of.empty();
    }
};

struct memstow_plan {
    explicit memstow_plan(const memstow_allocator& allocator)
        : from(allocator),
          offsets(from),
          pool_of(from),
          pools(from),
          terms(from),
          crowds(from),
          reason(from),
          searched_peaks(from),
          searched_nodes(from),
          solver(from) {}

    template <class T>
    using List = memstow::library::List<T>;

    memstow_allocator from;
    memstow_status status = MEMSTOW_UNKNOWN;
    List<std::int64_t> offsets;
    List<std::size_t> pool_of;
    std::int64_t peak = 0;
    std::size_t moves = 0;
    std::int64_t bound = 0;
    List<memstow::library::PoolUse> pools;
    List<memstow::library::TermUse> terms;
    List<memstow::library::CrowdUse> crowds;
    memstow_proof proof = MEMSTOW_PROOF_LIVE;
    memstow::library::Reason reason;
    std::optional<std::pair<std::int64_t, std::int64_t>> window;
    List<std::int64_t> searched_peaks;
    List<std::int64_t> searched_nodes;
    memstow::library::Text solver;
    std::int64_t work = 0;
};
