// libmemstow for C++: the calls of memstow.h with objects that own what they hold, and exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "memstow.h"

namespace libmemstow {

// What a call that failed says of why.
class Error : public std::runtime_error {
  public:
    Error(memstow_code code, const std::string& text) : std::runtime_error(text), code_(code) {}
    memstow_code code() const { return code_; }

  private:
    memstow_code code_;
};

struct Options {
    double time_limit = 10.0;
    std::int64_t work_limit = -1;
    double gap = 0.0;
    std::uint64_t seed = 0;
    std::uint32_t workers = 1;
    bool deterministic = false;
    bool fit_only = false;
    bool few_moves = false;                // from the start, in which a buffer that is new is at -1
    std::vector<std::int64_t> start;       // by buffer; empty: none
    std::vector<std::size_t> start_pools;  // by buffer; empty: all of them 0
    const memstow_stop* stop = nullptr;
    // Returns whether the run goes on. Nothing may be thrown.
    std::function<bool(std::int64_t peak, std::span<const std::int64_t> offsets)> on_better;
    std::function<bool(std::int64_t peak, std::span<const std::size_t> pools,
                       std::span<const std::int64_t> offsets)>
        on_better_in;
    std::function<bool(std::int64_t bound)> on_bound;
};

// What a plan says of a term of the objective.
struct Term {
    memstow_term term = MEMSTOW_PEAK;
    std::size_t pool = 0;
    std::int64_t value = 0;
    std::int64_t bound = 0;
    memstow_proof proof = MEMSTOW_PROOF_LEAST;
    std::int64_t searches = 0;
};

class Plan {
  public:
    memstow_status status() const { return memstow_plan_status(plan_.get()); }
    bool has_offsets() const { return memstow_plan_offsets(plan_.get()) != nullptr; }
    // By buffer; empty where no plan is known that fits.
    std::span<const std::int64_t> offsets() const {
        const std::int64_t* first = memstow_plan_offsets(plan_.get());
        return first == nullptr ? std::span<const std::int64_t>() : std::span(first, buffers_);
    }
    std::span<const std::size_t> pools() const {
        const std::size_t* first = memstow_plan_pools(plan_.get());
        return first == nullptr ? std::span<const std::size_t>() : std::span(first, buffers_);
    }
    std::vector<Term> terms() const {
        std::vector<Term> terms(memstow_plan_terms(plan_.get()));
        for (std::size_t i = 0; i < terms.size(); ++i) {
            Term& term = terms[i];
            memstow_plan_term(plan_.get(), i, &term.term, &term.pool, &term.value, &term.bound, &term.proof,
                              &term.searches);
        }
        return terms;
    }
    std::int64_t peak() const { return memstow_plan_peak(plan_.get()); }
    std::int64_t peak(std::size_t pool) const {
        std::int64_t peak = 0;
        memstow_plan_pool(plan_.get(), pool, &peak, nullptr);
        return peak;
    }
    std::int64_t bound() const { return memstow_plan_bound(plan_.get()); }
    std::size_t moves() const { return memstow_plan_moves(plan_.get()); }
    std::string solver() const { return memstow_plan_solver(plan_.get()); }
    // For the calls of memstow.h.
    const memstow_plan* get() const { return plan_.get(); }

  private:
    friend class Problem;
    struct Destroy {
        void operator()(memstow_plan* plan) const { memstow_plan_destroy(plan); }
    };
    Plan(memstow_plan* plan, std::size_t buffers) : plan_(plan), buffers_(buffers) {}

    std::unique_ptr<memstow_plan, Destroy> plan_;
    std::size_t buffers_;
};

class Problem {
  public:
    Problem() : Problem(nullptr) {}
    // In memory of the allocator, which its plans are in as well.
    explicit Problem(const memstow_allocator& allocator) : Problem(&allocator) {}

    std::size_t size() const { return memstow_buffer_count(problem_.get()); }

    // The number of the buffer, which is live from `begin` until before `end`.
    std::size_t add(std::int64_t size, std::int64_t begin, std::int64_t end, std::int64_t alignment = 1) {
        check(memstow_add_buffers(problem_.get(), 1, &size, &begin, &end, &alignment));
        return this->size() - 1;
    }

    // Many at once; one alignment stands for all.
    void add_all(std::span<const std::int64_t> sizes, std::span<const std::int64_t> begins,
                 std::span<const std::int64_t> ends, std::span<const std::int64_t> alignments) {
        const std::size_t count = sizes.size();
        const bool one = alignments.size() == 1 && count > 1;
        if (begins.size() != count || ends.size() != count || (alignments.size() != count && !one)) {
            throw Error(MEMSTOW_INVALID, "columns of different lengths");
        }
        const std::vector<std::int64_t> same(one ? count : 0, one ? alignments[0] : 1);
        check(memstow_add_buffers(problem_.get(), count, sizes.data(), begins.data(), ends.data(),
                                  one ? same.data() : alignments.data()));
    }

    // The number of the pool, of which 0 is there from the begin.
    std::size_t add_pool(std::int64_t capacity = MEMSTOW_LIMIT, std::int64_t cost = 0) {
        check(memstow_add_pools(problem_.get(), 1, &capacity, &cost));
        return memstow_pool_count(problem_.get()) - 1;
    }
    void set_cost(std::size_t pool, std::int64_t cost) {
        check(memstow_set_cost(problem_.get(), pool, cost));
    }
    void set_addresses(std::size_t pool, std::int64_t base, std::int64_t alignment) {
        check(memstow_set_addresses(problem_.get(), pool, base, alignment));
    }
    void reserve_in(std::size_t pool, std::int64_t offset, std::int64_t size) {
        check(memstow_reserve_in(problem_.get(), pool, offset, size));
    }
    // Preferred first.
    void allow_pools(std::size_t buffer, std::span<const std::size_t> pools) {
        check(memstow_allow_pools(problem_.get(), buffer, pools.size(), pools.data()));
    }
    void set_accesses(std::size_t buffer, std::int64_t accesses) {
        check(memstow_set_accesses(problem_.get(), buffer, accesses));
    }
    void add_reuse_cost(std::size_t one, std::size_t other, std::int64_t cost) {
        check(memstow_add_reuse_cost(problem_.get(), one, other, cost));
    }
    // So many of this size, one after the other.
    void add_banks(std::size_t pool, std::int64_t size, std::size_t count = 1, std::int64_t offset = 0) {
        check(memstow_add_banks(problem_.get(), pool, offset, size, count));
    }
    void keep_within_bank(std::size_t buffer) { check(memstow_keep_within_bank(problem_.get(), buffer)); }
    void allow_banks(std::size_t buffer, std::span<const std::size_t> banks) {
        check(memstow_allow_banks(problem_.get(), buffer, banks.size(), banks.data()));
    }
    // No two of the buffers may touch one bank, or it costs this much for each two that do.
    void add_bank_conflict(std::span<const std::size_t> buffers, std::int64_t cost = MEMSTOW_NEVER) {
        check(memstow_add_bank_conflict(problem_.get(), buffers.size(), buffers.data(), cost));
    }
    void add_term(memstow_term term, std::size_t pool = 0) {
        check(memstow_add_term(problem_.get(), term, pool));
    }

    void set_capacity(std::int64_t capacity) { check(memstow_set_capacity(problem_.get(), capacity)); }
    void reserve(std::int64_t offset, std::int64_t size) {
        check(memstow_reserve(problem_.get(), offset, size));
    }
    void add_lifetime(std::size_t buffer, std::int64_t begin, std::int64_t end) {
        check(memstow_add_lifetime(problem_.get(), buffer, begin, end));
    }
    void pin(std::size_t buffer, std::int64_t offset) { check(memstow_pin(problem_.get(), buffer, offset)); }
    void tie(std::size_t buffer, std::size_t base, std::int64_t distance) {
        check(memstow_tie(problem_.get(), buffer, base, distance));
    }
    void keep_apart(std::size_t one, std::size_t other) {
        check(memstow_keep_apart(problem_.get(), one, other));
    }
    void never_together(std::size_t one, std::size_t other) {
        check(memstow_never_together(problem_.get(), one, other));
    }
    void allow_in_place(std::size_t input, std::size_t output) {
        check(memstow_allow_in_place(problem_.get(), input, output));
    }

    Plan solve(const Options& options = {}) const {
        struct Calls {
            const Options& options;
            std::size_t buffers;
        } calls{options, size()};
        char message[256] = "";
        memstow_options raw;
        memstow_options_init(&raw);
        raw.time_limit = options.time_limit;
        raw.work_limit = options.work_limit;
        raw.gap = options.gap;
        raw.seed = options.seed;
        raw.workers = options.workers;
        raw.flags = (options.deterministic ? MEMSTOW_DETERMINISTIC : 0u) |
                    (options.fit_only ? MEMSTOW_FIT_ONLY : 0u) | (options.few_moves ? MEMSTOW_FEW_MOVES : 0u);
        if (!options.start.empty() && options.start.size() != calls.buffers) {
            throw Error(MEMSTOW_INVALID, "the start has another number of buffers");
        }
        if (!options.start_pools.empty() && options.start_pools.size() != calls.buffers) {
            throw Error(MEMSTOW_INVALID, "the pools of the start are of another number of buffers");
        }
        raw.start = options.start.empty() ? nullptr : options.start.data();
        raw.start_pools = options.start_pools.empty() ? nullptr : options.start_pools.data();
        raw.stop = options.stop;
        raw.context = &calls;
        if (options.on_better) {
            raw.on_better = [](void* context, std::int64_t peak, const std::int64_t* offsets) -> int {
                const auto* to = static_cast<const Calls*>(context);
                return to->options.on_better(peak, {offsets, to->buffers}) ? 0 : 1;
            };
        }
        if (options.on_better_in) {
            raw.on_better_in = [](void* context, std::int64_t peak, const std::size_t* pools,
                                  const std::int64_t* offsets) -> int {
                const auto* to = static_cast<const Calls*>(context);
                return to->options.on_better_in(peak, {pools, to->buffers}, {offsets, to->buffers}) ? 0 : 1;
            };
        }
        if (options.on_bound) {
            raw.on_bound = [](void* context, std::int64_t bound) -> int {
                return static_cast<const Calls*>(context)->options.on_bound(bound) ? 0 : 1;
            };
        }
        raw.message = message;
        raw.message_size = sizeof message;
        memstow_plan* plan = nullptr;
        const memstow_code code = memstow_solve(problem_.get(), &raw, &plan);
        if (code != MEMSTOW_OK) fail(code, message);
        return Plan(plan, calls.buffers);
    }

    // The peak of these offsets; an Error says what is wrong with them.
    std::int64_t judge(std::span<const std::int64_t> offsets, std::span<const std::size_t> pools = {}) const {
        if (offsets.size() != size() || (!pools.empty() && pools.size() != size())) {
            throw Error(MEMSTOW_INVALID, "another number of buffers");
        }
        char message[256] = "";
        std::int64_t peak = 0;
        const memstow_code code = memstow_judge_in(problem_.get(), pools.empty() ? nullptr : pools.data(),
                                                   offsets.data(), &peak, message, sizeof message);
        if (code != MEMSTOW_OK) fail(code, message);
        return peak;
    }

  private:
    struct Destroy {
        void operator()(memstow_problem* problem) const { memstow_problem_destroy(problem); }
    };

    explicit Problem(const memstow_allocator* allocator) {
        memstow_problem* problem = nullptr;
        const memstow_code code = memstow_problem_create_in(allocator, &problem);
        if (code != MEMSTOW_OK) fail(code, "");
        problem_.reset(problem);
    }

    [[noreturn]] static void fail(memstow_code code, const char* message) {
        if (code == MEMSTOW_OUT_OF_MEMORY) throw std::bad_alloc();
        throw Error(code, *message != '\0' ? message : memstow_code_text(code));
    }

    void check(memstow_code code) {
        if (code != MEMSTOW_OK) fail(code, memstow_problem_error(problem_.get()));
    }

    std::unique_ptr<memstow_problem, Destroy> problem_;
};

}  // namespace libmemstow
