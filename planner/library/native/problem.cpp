// The calls of memstow.h that make a problem and change it: each changes all that it is to, or nothing.
#include <algorithm>
#include <string>
#include <vector>

#include "objects.hpp"

namespace {

using namespace memstow;
using namespace memstow::library;

constexpr std::size_t kMostBanks = 4096;
constexpr std::size_t kMostBankPairs = 1'000'000;

// In memory of the library's own, which is that of the program.
void* take(void*, std::size_t size) { return ::operator new(size, std::nothrow); }
void give_back(void*, void* memory, std::size_t) { ::operator delete(memory); }
constexpr memstow_allocator kOwn{take, give_back, nullptr};

void require_buffer(const memstow_problem& problem, std::size_t buffer) {
    if (buffer >= problem.sizes.size()) {
        throw Invalid{"there is no buffer " + std::to_string(buffer) + ": the problem has " +
                      std::to_string(problem.sizes.size())};
    }
}

void require_pool(const memstow_problem& problem, std::size_t pool) {
    if (pool >= problem.pools.size()) {
        throw Invalid{"there is no pool " + std::to_string(pool) + ": the problem has " +
                      std::to_string(problem.pools.size())};
    }
}

void require_life(int64_t begin, int64_t end) {
    if (begin < -kLimit || end > kLimit || begin >= end) {
        throw Invalid{"a lifetime from " + std::to_string(begin) + " until " + std::to_string(end) +
                      ": it must end after its begin, and be within 2^62"};
    }
}

void require_pair(const memstow_problem& problem, std::size_t one, std::size_t other) {
    require_buffer(problem, one);
    require_buffer(problem, other);
    if (one == other) throw Invalid{"buffer " + std::to_string(one) + " twice in one pair"};
}

void require_within(const char* what, int64_t value, int64_t least) {
    if (value < least || value > kLimit) throw Invalid{std::string(what) + " of " + std::to_string(value)};
}

judge::Rules::Pair pair_of(std::size_t one, std::size_t other) {
    return {static_cast<int64_t>(one), static_cast<int64_t>(other)};
}

// Changes the problem, or says what is wrong and leaves it as it is.
template <class Change>
memstow_code change(memstow_problem* problem, Change apply) {
    if (problem == nullptr) return MEMSTOW_INVALID;
    problem->error.clear();
    return guarded([&](const std::string& text) { problem->error.assign(text.data(), text.size()); },
                   [&] {
                       apply(*problem);
                       return MEMSTOW_OK;
                   });
}

// Room for so many more, and not for each alone.
template <class T>
void make_room(List<T>& list, std::size_t more) {
    const std::size_t total = list.size() + more;
    if (total > list.capacity()) list.reserve(std::max(total, list.capacity() * 2));
}

// Of a list by buffer that goes as far as some buffer needs.
void set(memstow_problem& problem, List<int64_t>& column, std::size_t buffer, int64_t value) {
    if (column.size() <= buffer) {
        make_room(column, buffer + 1 - column.size());
        column.resize(std::min(column.capacity(), problem.sizes.size()), -1);
    }
    column[buffer] = value;
}

}  // namespace

memstow_code memstow_problem_create_in(const memstow_allocator* allocator, memstow_problem** problem) {
    if (problem == nullptr) return MEMSTOW_INVALID;
    *problem = nullptr;
    if (allocator == nullptr) allocator = &kOwn;
    if (allocator->allocate == nullptr || allocator->release == nullptr) return MEMSTOW_INVALID;
    return guarded([](const std::string&) {},
                   [&] {
                       *problem = make<memstow_problem>(*allocator, *allocator);
                       return MEMSTOW_OK;
                   });
}

memstow_code memstow_problem_create(memstow_problem** problem) {
    return memstow_problem_create_in(nullptr, problem);
}

void memstow_problem_destroy(memstow_problem* problem) { destroy(problem); }

const char* memstow_problem_error(const memstow_problem* problem) {
    return problem == nullptr ? "" : problem->error.c_str();
}

size_t memstow_buffer_count(const memstow_problem* problem) {
    return problem == nullptr ? 0 : problem->sizes.size();
}

size_t memstow_pool_count(const memstow_problem* problem) {
    return problem == nullptr ? 0 : problem->pools.size();
}

memstow_code memstow_add_buffers(memstow_problem* problem, size_t count, const int64_t* sizes,
                                 const int64_t* begins, const int64_t* ends, const int64_t* alignments) {
    return change(problem, [&](memstow_problem& self) {
        if (count == 0) return;
        if (sizes == nullptr || begins == nullptr || ends == nullptr) throw Invalid{"an array is NULL"};
        if (count > static_cast<size_t>(INT32_MAX) - self.sizes.size()) throw Invalid{"2^31 buffers or more"};
        for (size_t i = 0; i < count; ++i) {
            if (sizes[i] < 0 || sizes[i] > kLimit) {
                throw Invalid{"buffer " + std::to_string(i) + " of the call has a size of " +
                              std::to_string(sizes[i])};
            }
            require_life(begins[i], ends[i]);
            if (alignments != nullptr && (alignments[i] < 1 || alignments[i] > kLimit)) {
                throw Invalid{"buffer " + std::to_string(i) + " of the call has an alignment of " +
                              std::to_string(alignments[i])};
            }
        }
        // All of the memory first, so that nothing is added where it is not there.
        for (auto* column : {&self.sizes, &self.begins, &self.ends, &self.alignments})
            make_room(*column, count);
        self.sizes.insert(self.sizes.end(), sizes, sizes + count);
        self.begins.insert(self.begins.end(), begins, begins + count);
        self.ends.insert(self.ends.end(), ends, ends + count);
        if (alignments == nullptr) {
            self.alignments.resize(self.sizes.size(), 1);
        } else {
            self.alignments.insert(self.alignments.end(), alignments, alignments + count);
        }
    });
}

memstow_code memstow_add_pools(memstow_problem* problem, size_t count, const int64_t* capacities,
                               const int64_t* costs) {
    return change(problem, [&](memstow_problem& self) {
        if (count == 0) return;
        if (capacities == nullptr) throw Invalid{"an array is NULL"};
        if (count > static_cast<size_t>(INT32_MAX) - self.pools.size()) throw Invalid{"2^31 pools or more"};
        for (size_t i = 0; i < count; ++i) {
            require_within("a capacity", capacities[i], 0);
            if (costs != nullptr) require_within("a cost", costs[i], 0);
        }
        make_room(self.pools, count);
        for (size_t i = 0; i < count; ++i) {
            self.pools.push_back({capacities[i], 1, 0, costs == nullptr ? 0 : costs[i]});
        }
    });
}

memstow_code memstow_set_capacity(memstow_problem* problem, int64_t capacity) {
    return change(problem, [&](memstow_problem& self) {
        require_within("a capacity", capacity, 0);
        self.pools.front().capacity = capacity;
    });
}

memstow_code memstow_set_cost(memstow_problem* problem, size_t pool, int64_t cost) {
    return change(problem, [&](memstow_problem& self) {
        require_pool(self, pool);
        require_within("a cost", cost, 0);
        self.pools[pool].cost = cost;
    });
}

memstow_code memstow_set_addresses(memstow_problem* problem, size_t pool, int64_t base, int64_t alignment) {
    return change(problem, [&](memstow_problem& self) {
        require_pool(self, pool);
        require_within("a base", base, 0);
        require_within("an alignment", alignment, 1);
        self.pools[pool].base = base;
        self.pools[pool].alignment = alignment;
    });
}

memstow_code memstow_reserve(memstow_problem* problem, int64_t offset, int64_t size) {
    return memstow_reserve_in(problem, 0, offset, size);
}

memstow_code memstow_reserve_in(memstow_problem* problem, size_t pool, int64_t offset, int64_t size) {
    return change(problem, [&](memstow_problem& self) {
        require_pool(self, pool);
        if (offset < 0 || size < 0 || size > kLimit || offset > kLimit - size) {
            throw Invalid{std::to_string(size) + " bytes that are reserved at " + std::to_string(offset)};
        }
        if (size > 0) self.reserved.push_back({static_cast<int64_t>(pool), offset, offset + size});
    });
}

memstow_code memstow_allow_pools(memstow_problem* problem, size_t buffer, size_t count, const size_t* pools) {
    return change(problem, [&](memstow_problem& self) {
        require_buffer(self, buffer);
        if (count == 0 || pools == nullptr) throw Invalid{"a buffer that may go to no pool"};
        for (size_t i = 0; i < count; ++i) {
            require_pool(self, pools[i]);
            if (std::find(pools, pools + i, pools[i]) != pools + i) {
                throw Invalid{"pool " + std::to_string(pools[i]) + " twice in one list"};
            }
        }
        // Many have the list of the one before.
        const size_t lists = self.list_start.size() - 1;
        const size_t last = lists == 0 ? 0 : self.list_start[lists - 1];
        if (lists > 0 && std::equal(self.list_pools.begin() + static_cast<std::ptrdiff_t>(last),
                                    self.list_pools.end(), pools, pools + count)) {
            return set(self, self.list_of, buffer, static_cast<int64_t>(lists - 1));
        }
        make_room(self.list_start, 1);
        make_room(self.list_pools, count);
        set(self, self.list_of, buffer, static_cast<int64_t>(lists));
        self.list_pools.insert(self.list_pools.end(), pools, pools + count);
        self.list_start.push_back(self.list_pools.size());
    });
}

memstow_code memstow_set_accesses(memstow_problem* problem, size_t buffer, int64_t accesses) {
    return change(problem, [&](memstow_problem& self) {
        require_buffer(self, buffer);
        require_within("accesses", accesses, 0);
        set(self, self.accesses, buffer, accesses);
    });
}

memstow_code memstow_add_lifetime(memstow_problem* problem, size_t buffer, int64_t begin, int64_t end) {
    return change(problem, [&](memstow_problem& self) {
        require_buffer(self, buffer);
        require_life(begin, end);
        self.lives.push_back({static_cast<int64_t>(buffer), begin, end});
    });
}

memstow_code memstow_pin(memstow_problem* problem, size_t buffer, int64_t offset) {
    return change(problem, [&](memstow_problem& self) {
        require_buffer(self, buffer);
        require_within("an offset", offset, 0);
        set(self, self.pins, buffer, offset);
    });
}

memstow_code memstow_tie(memstow_problem* problem, size_t buffer, size_t base, int64_t distance) {
    return change(problem, [&](memstow_problem& self) {
        require_pair(self, buffer, base);
        if (distance < -kLimit || distance > kLimit)
            throw Invalid{"a distance of " + std::to_string(distance)};
        make_room(self.ties, 1);
        const std::optional<WideBytes> known =
            self.distances.tie({static_cast<Index>(buffer), static_cast<Index>(base), distance});
        if (known && *known != distance) {
            throw Invalid{"buffer " + std::to_string(buffer) + " is tied to buffer " + std::to_string(base) +
                          " at another distance already"};
        }
        if (!known) self.ties.push_back({static_cast<int64_t>(buffer), static_cast<int64_t>(base), distance});
    });
}

memstow_code memstow_keep_apart(memstow_problem* problem, size_t one, size_t other) {
    return change(problem, [&](memstow_problem& self) {
        require_pair(self, one, other);
        self.conflicts.push_back(pair_of(one, other));
    });
}

memstow_code memstow_never_together(memstow_problem* problem, size_t one, size_t other) {
    return change(problem, [&](memstow_problem& self) {
        require_pair(self, one, other);
        self.exclusive.push_back(pair_of(one, other));
    });
}

memstow_code memstow_allow_in_place(memstow_problem* problem, size_t input, size_t output) {
    return change(problem, [&](memstow_problem& self) {
        require_pair(self, input, output);
        self.in_place.push_back(pair_of(input, output));
    });
}

memstow_code memstow_add_reuse_cost(memstow_problem* problem, size_t one, size_t other, int64_t cost) {
    return change(problem, [&](memstow_problem& self) {
        require_pair(self, one, other);
        require_within("a cost", cost, 0);
        self.reuse.push_back({static_cast<int64_t>(one), static_cast<int64_t>(other), cost});
    });
}

memstow_code memstow_add_banks(memstow_problem* problem, size_t pool, int64_t offset, int64_t size,
                               size_t count) {
    return change(problem, [&](memstow_problem& self) {
        require_pool(self, pool);
        require_within("a bank's size", size, 1);
        require_within("an offset", offset, 0);
        if (count == 0) return;
        std::size_t total = count;
        const auto of_pool = static_cast<int64_t>(pool);
        for (const judge::Banks::Run& run : self.banks) {
            if (run.pool == of_pool) total += static_cast<std::size_t>(run.count);
        }
        if (count > kMostBanks || total > kMostBanks) {
            throw Invalid{"pool " + std::to_string(pool) + " with more than 4096 banks"};
        }
        const auto banks = static_cast<int64_t>(count);
        if (size > (kLimit - offset) / banks) throw Invalid{"banks that end above 2^62"};
        const int64_t end = offset + size * banks;
        for (const judge::Banks::Run& run : self.banks) {
            if (run.pool == of_pool && offset < run.begin + run.size * run.count && run.begin < end) {
                throw Invalid{"banks from " + std::to_string(offset) + " to " + std::to_string(end) +
                              " overlap those from " + std::to_string(run.begin)};
            }
        }
        self.banks.push_back({of_pool, offset, size, banks});
    });
}

memstow_code memstow_keep_within_bank(memstow_problem* problem, size_t buffer) {
    return change(problem, [&](memstow_problem& self) {
        require_buffer(self, buffer);
        set(self, self.within_bank, buffer, 1);
    });
}

memstow_code memstow_allow_banks(memstow_problem* problem, size_t buffer, size_t count, const size_t* banks) {
    return change(problem, [&](memstow_problem& self) {
        require_buffer(self, buffer);
        if (count == 0 || banks == nullptr) throw Invalid{"a buffer that may be in no bank"};
        if (count > kMostBanks) throw Invalid{"more than 4096 banks"};
        for (size_t i = 0; i < count; ++i) {
            if (banks[i] >= kMostBanks) throw Invalid{"there is no bank " + std::to_string(banks[i])};
            if (std::find(banks, banks + i, banks[i]) != banks + i) {
                throw Invalid{"bank " + std::to_string(banks[i]) + " twice in one list"};
            }
        }
        make_room(self.bank_list_start, 1);
        make_room(self.bank_list, count);
        set(self, self.bank_list_of, buffer, static_cast<int64_t>(self.bank_list_start.size() - 1));
        self.bank_list.insert(self.bank_list.end(), banks, banks + count);
        self.bank_list_start.push_back(self.bank_list.size());
    });
}

memstow_code memstow_add_bank_conflict(memstow_problem* problem, size_t count, const size_t* buffers,
                                       int64_t cost) {
    return change(problem, [&](memstow_problem& self) {
        if (count < 2 || buffers == nullptr) throw Invalid{"a bank conflict of fewer than two buffers"};
        if (cost != MEMSTOW_NEVER) require_within("a cost", cost, 0);
        // One buffer has no more pairs than this with the others.
        if (count - 1 > kMostBankPairs || count * (count - 1) / 2 > kMostBankPairs - self.bank_pairs) {
            throw Invalid{"bank conflicts of more than 1,000,000 pairs"};
        }
        const std::size_t pairs = count * (count - 1) / 2;
        std::vector<std::size_t> sorted(buffers, buffers + count);
        std::ranges::sort(sorted);
        require_buffer(self, sorted.back());
        const auto twice = std::ranges::adjacent_find(sorted);
        if (twice != sorted.end()) {
            throw Invalid{"buffer " + std::to_string(*twice) + " twice in one bank conflict"};
        }
        const WideBytes costs = self.bank_costs + WideBytes{std::max<int64_t>(cost, 0)} * pairs;
        if (costs > kLimit) throw Invalid{"costs of banks that add up to more than 2^62"};
        const std::size_t first = self.bank_members.size();
        make_room(self.bank_conflicts, 1);
        make_room(self.bank_members, count);
        self.bank_members.insert(self.bank_members.end(), buffers, buffers + count);
        self.bank_conflicts.push_back({first, first + count, cost});
        self.bank_pairs += pairs;
        self.bank_costs = costs;
    });
}

memstow_code memstow_add_term(memstow_problem* problem, int term, size_t pool) {
    return change(problem, [&](memstow_problem& self) {
        if (term < MEMSTOW_PEAK || term > MEMSTOW_BANK_COST) {
            throw Invalid{"there is no term " + std::to_string(term)};
        }
        if (term == MEMSTOW_POOL_PEAK) require_pool(self, pool);
        const Objective objective{static_cast<memstow_term>(term), term == MEMSTOW_POOL_PEAK ? pool : 0};
        if (std::ranges::find(self.terms, objective) != self.terms.end()) {
            throw Invalid{"a term that is in the objective already"};
        }
        self.terms.push_back(objective);
    });
}
