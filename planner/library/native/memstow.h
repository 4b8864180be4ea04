/* libmemstow: offsets for buffers that share one memory or several, the least peak or cost, and a proof or an
 * honest gap.
 *
 *   memstow_problem *problem;
 *   memstow_plan *plan;
 *   memstow_problem_create(&problem);
 *   memstow_add_buffers(problem, 3, sizes, begins, ends, NULL);
 *   if (memstow_solve(problem, NULL, &plan) == MEMSTOW_OK) use(memstow_plan_offsets(plan));
 *   memstow_plan_destroy(plan);
 *   memstow_problem_destroy(problem);
 *
 * Sizes, offsets and capacities are bytes of at most 2^62, times are farther from 0 by no more than that. A
 * buffer is live from its begin until before its end; its number is how many were added before it. So it is
 * with pools, which are memories: pool 0 is there from the begin, and has no end until it is given one. No
 * function throws, prints, reads or writes files, or starts a thread unless `workers` asks for it, and
 * nothing is kept beyond the objects here: different threads may work with different objects, and any number
 * of them may solve one problem that nobody changes. docs/c-library.md describes each call.
 */
#ifndef MEMSTOW_H
#define MEMSTOW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(MEMSTOW_STATIC)
#define MEMSTOW_API __attribute__((visibility("default")))
#else
#define MEMSTOW_API
#endif

/* Changes where a program that was compiled with an older header would go wrong. */
#define MEMSTOW_ABI_VERSION 2
#define MEMSTOW_LIMIT (INT64_C(1) << 62)
#define MEMSTOW_NEVER INT64_C(-1) /* no cost allows it */

typedef enum memstow_code {
    MEMSTOW_OK = 0,
    MEMSTOW_INVALID = 1, /* an argument; memstow_problem_error or `message` says which, and why */
    MEMSTOW_OUT_OF_MEMORY = 2,
    MEMSTOW_TOO_LARGE = 3, /* sizes add up to 2^62 units or more, or there are 2^31 buffers */
    MEMSTOW_INTERNAL = 4   /* a plan was refused by the judge: please report it */
} memstow_code;

typedef enum memstow_status {
    MEMSTOW_OPTIMAL = 0,    /* proven: no plan has less of a term, with as much of those before it */
    MEMSTOW_FEASIBLE = 1,   /* a plan; the least value of a term is between its bound and that of the plan */
    MEMSTOW_INFEASIBLE = 2, /* proven: no plan fits into the capacities */
    MEMSTOW_UNKNOWN = 3     /* the limits ended the search before a plan that fits, or a proof */
} memstow_status;

typedef enum memstow_proof {
    MEMSTOW_PROOF_LIVE = 0,   /* the buffers of the proof are live at its time, or must be apart by pairs */
    MEMSTOW_PROOF_SEARCH = 1, /* a complete search of all heights below the bound */
    MEMSTOW_PROOF_WINDOW = 2, /* the same of the buffers of the proof alone, within a window of time */
    MEMSTOW_PROOF_SUM = 3,    /* the bounds of the pools, each by its own buffers, add up */
    MEMSTOW_PROOF_LEAST = 4,  /* nothing is less: 0, or all accesses in the cheapest pools */
    MEMSTOW_PROOF_ADDRESSES = 5, /* what lies at each address one after the other costs as much */
    MEMSTOW_PROOF_CROWDS = 6     /* more buffers than banks: some must share one */
} memstow_proof;

/* What is minimised. */
typedef enum memstow_term {
    MEMSTOW_PEAK = 0,           /* the ends of the last buffers of the pools, added up */
    MEMSTOW_POOL_PEAK = 1,      /* that of one pool */
    MEMSTOW_MAX_PEAK = 2,       /* the largest of them */
    MEMSTOW_PLACEMENT_COST = 3, /* accesses times the cost of their pool */
    MEMSTOW_REUSE_COST = 4,     /* the costs of pairs that share a byte */
    MEMSTOW_MOVES = 5,          /* buffers that are elsewhere than in `start`, which must be there */
    MEMSTOW_PREFERENCE = 6,     /* bytes times how many pools their buffer prefers to its own */
    MEMSTOW_BANK_COST = 7       /* the costs of pairs that touch a common bank */
} memstow_term;

/* Where memory is from: at least so many bytes, aligned as those of malloc, or NULL; and back to there. */
typedef struct memstow_allocator {
    void* (*allocate)(void* context, size_t size);
    void (*release)(void* context, void* memory, size_t size);
    void* context;
} memstow_allocator;

typedef struct memstow_problem memstow_problem;
typedef struct memstow_plan memstow_plan;
typedef struct memstow_stop memstow_stop;

/* Flags of memstow_options. */
#define MEMSTOW_DETERMINISTIC 1u /* work is limited and not time: the same input gives the same plan */
#define MEMSTOW_FIT_ONLY 2u      /* any plan within the capacities will do */
/* As few buffers as possible are elsewhere than in `start`, and then the other terms count, unless any plan
 * will do. A buffer that has no place there, since it is new, is at -1. */
#define MEMSTOW_FEW_MOVES 4u

typedef struct memstow_options {
    size_t struct_size; /* sizeof(memstow_options), so that later versions know what is there */
    double time_limit;  /* seconds of the whole call; not of deterministic runs */
    int64_t work_limit; /* steps of work; below 0: none, or of deterministic runs about ten seconds worth */
    double gap;         /* a plan is good enough that is at most this fraction of its peak above the bound */
    uint64_t seed;
    uint32_t workers; /* threads; 0 and 1: the caller's alone */
    uint32_t flags;
    const int64_t* start;     /* by buffer: offsets to start from, where they are a plan; or NULL */
    const memstow_stop* stop; /* ends the run from another thread; or NULL */
    /* Called from threads of the run, one call at a time, with each better plan and its peak, and with each
     * higher bound on the first term; or NULL. The offsets are the caller's during the call alone. Any value
     * but 0 ends the run. */
    int (*on_better)(void* context, int64_t peak, const int64_t* offsets);
    int (*on_bound)(void* context, int64_t bound);
    void* context;
    char* message; /* where a call that fails says why, in at most so many bytes with the 0; or NULL */
    size_t message_size;
    const size_t* start_pools; /* by buffer: the pools of `start`; NULL: all of them 0 */
    /* As on_better, with pools: on_better may be NULL then. */
    int (*on_better_in)(void* context, int64_t peak, const size_t* pools, const int64_t* offsets);
} memstow_options;

/* Of the library that is linked, such as 0.1.0, and its MEMSTOW_ABI_VERSION. */
MEMSTOW_API const char* memstow_version(void);
MEMSTOW_API int memstow_abi_version(void);
/* What a code or a status is called. */
MEMSTOW_API const char* memstow_code_text(int code);
MEMSTOW_API const char* memstow_status_text(int status);

/* A problem without buffers, in a memory without an end. */
MEMSTOW_API memstow_code memstow_problem_create(memstow_problem** problem);
/* The same in memory of the allocator: the problem, its plans, and all that they hold until they are
 * destroyed. What runs need in between is from operator new. A copy of the allocator is kept, and is called
 * by the threads that call here. NULL: operator new. */
MEMSTOW_API memstow_code memstow_problem_create_in(const memstow_allocator* allocator,
                                                   memstow_problem** problem);
MEMSTOW_API void memstow_problem_destroy(memstow_problem* problem); /* NULL: nothing */
/* What was wrong with the last call that was to change the problem; "" where nothing was. */
MEMSTOW_API const char* memstow_problem_error(const memstow_problem* problem);
MEMSTOW_API size_t memstow_buffer_count(const memstow_problem* problem);
MEMSTOW_API size_t memstow_pool_count(const memstow_problem* problem);

/* None is added where one is wrong. `alignments` may be NULL: each is 1. */
MEMSTOW_API memstow_code memstow_add_buffers(memstow_problem* problem, size_t count, const int64_t* sizes,
                                             const int64_t* begins, const int64_t* ends,
                                             const int64_t* alignments);
/* Further pools: MEMSTOW_LIMIT has no end. `costs`, of one access, may be NULL: each is 0. */
MEMSTOW_API memstow_code memstow_add_pools(memstow_problem* problem, size_t count, const int64_t* capacities,
                                           const int64_t* costs);
/* Of pool 0. */
MEMSTOW_API memstow_code memstow_set_capacity(memstow_problem* problem, int64_t capacity);
MEMSTOW_API memstow_code memstow_set_cost(memstow_problem* problem, size_t pool, int64_t cost);
/* Offset 0 has the address `base`, and each address is a multiple of the alignment, as of that of its buffer.
 */
MEMSTOW_API memstow_code memstow_set_addresses(memstow_problem* problem, size_t pool, int64_t base,
                                               int64_t alignment);
/* Bytes of pool 0, or of any, that no buffer may use. */
MEMSTOW_API memstow_code memstow_reserve(memstow_problem* problem, int64_t offset, int64_t size);
MEMSTOW_API memstow_code memstow_reserve_in(memstow_problem* problem, size_t pool, int64_t offset,
                                            int64_t size);
/* The pools that the buffer may go to, preferred first; without this call: all, in their order. */
MEMSTOW_API memstow_code memstow_allow_pools(memstow_problem* problem, size_t buffer, size_t count,
                                             const size_t* pools);
/* How many there are of the buffer; without this call: as many as it has bytes. None without bytes. */
MEMSTOW_API memstow_code memstow_set_accesses(memstow_problem* problem, size_t buffer, int64_t accesses);
/* A further time in which the buffer is live. */
MEMSTOW_API memstow_code memstow_add_lifetime(memstow_problem* problem, size_t buffer, int64_t begin,
                                              int64_t end);
/* The buffer must be at this offset, in whichever of its pools. */
MEMSTOW_API memstow_code memstow_pin(memstow_problem* problem, size_t buffer, int64_t offset);
/* The buffer is in one piece with the base, in its pool, this far above it, or below where it is less than 0:
 * a view, or one of a row. The two may share bytes. */
MEMSTOW_API memstow_code memstow_tie(memstow_problem* problem, size_t buffer, size_t base, int64_t distance);
/* The two may share no byte, whenever they are live. */
MEMSTOW_API memstow_code memstow_keep_apart(memstow_problem* problem, size_t one, size_t other);
/* The two are never live together, whatever their lifetimes: two branches of an `if`. */
MEMSTOW_API memstow_code memstow_never_together(memstow_problem* problem, size_t one, size_t other);
/* The two may share bytes, but only where both begin at the same offset: an operator that works in place. */
MEMSTOW_API memstow_code memstow_allow_in_place(memstow_problem* problem, size_t input, size_t output);
/* It costs this much where the two share a byte. Several costs of one pair add up. */
MEMSTOW_API memstow_code memstow_add_reuse_cost(memstow_problem* problem, size_t one, size_t other,
                                                int64_t cost);
/* Banks of a pool: so many of this size, one after the other from the offset on. Those of a pool are counted
 * from 0 by address, may not overlap, and are at most 4096. They change nothing by themselves. */
MEMSTOW_API memstow_code memstow_add_banks(memstow_problem* problem, size_t pool, int64_t offset,
                                           int64_t size, size_t count);
/* All of the buffer's bytes are in one bank of its pool. */
MEMSTOW_API memstow_code memstow_keep_within_bank(memstow_problem* problem, size_t buffer);
/* The numbers of the banks of its pool that the buffer's bytes may be in; without this call: anywhere. */
MEMSTOW_API memstow_code memstow_allow_banks(memstow_problem* problem, size_t buffer, size_t count,
                                             const size_t* banks);
/* It costs this much for each two of the buffers that touch a common bank, whenever they are live;
 * MEMSTOW_NEVER: no two may. Several costs of one pair add up. At most a million pairs in all. */
MEMSTOW_API memstow_code memstow_add_bank_conflict(memstow_problem* problem, size_t count,
                                                   const size_t* buffers, int64_t cost);
/* A further memstow_term, which counts among plans that are equal in the terms before it; the pool is that of
 * MEMSTOW_POOL_PEAK. Without this call: the peak; of several pools the placement cost, and then the peak. */
MEMSTOW_API memstow_code memstow_add_term(memstow_problem* problem, int term, size_t pool);

/* 10 s, no work limit, no gap, seed 0, one thread: what NULL stands for as well. */
MEMSTOW_API void memstow_options_init(memstow_options* options);

/* A plan, whatever its status; only where the code is MEMSTOW_OK. Every plan has passed a judge that shares
 * no code with the solvers. */
MEMSTOW_API memstow_code memstow_solve(const memstow_problem* problem, const memstow_options* options,
                                       memstow_plan** plan);
MEMSTOW_API void memstow_plan_destroy(memstow_plan* plan); /* NULL: nothing */

MEMSTOW_API memstow_status memstow_plan_status(const memstow_plan* plan);
/* By buffer; NULL where no plan is known that fits. */
MEMSTOW_API const int64_t* memstow_plan_offsets(const memstow_plan* plan);
MEMSTOW_API const size_t* memstow_plan_pools(const memstow_plan* plan);
/* Of all pools, added up; at most 2^63 - 1, as all values and bounds. */
MEMSTOW_API int64_t memstow_plan_peak(const memstow_plan* plan);
/* How many buffers that have bytes are elsewhere than in the start that moves were counted from; else 0. */
MEMSTOW_API size_t memstow_plan_moves(const memstow_plan* plan);
/* No plan has a lower peak. Where nothing fits: the bytes that are needed, as far as that is known. */
MEMSTOW_API int64_t memstow_plan_bound(const memstow_plan* plan);
/* Why that is so. */
MEMSTOW_API memstow_proof memstow_plan_proof(const memstow_plan* plan);
/* The buffers that prove the bound, or do not fit; 0 where the proof is a search of all of them. */
MEMSTOW_API size_t memstow_plan_proof_buffers(const memstow_plan* plan, const size_t** buffers);
/* The pools that these buffers must share. */
MEMSTOW_API size_t memstow_plan_proof_pools(const memstow_plan* plan, const size_t** pools);
/* Whether the proof has a moment, at which all of its buffers are live. */
MEMSTOW_API int memstow_plan_proof_time(const memstow_plan* plan, int64_t* time);
/* The window of time of a proof by one: it begins there, and ends before the end. Whether there is one. */
MEMSTOW_API int memstow_plan_proof_window(const memstow_plan* plan, int64_t* begin, int64_t* end);
/* The complete searches of a proof, lowest first: no plan has a peak of at most `peaks[i]`, after `nodes[i]`.
 */
MEMSTOW_API size_t memstow_plan_searches(const memstow_plan* plan, const int64_t** peaks,
                                         const int64_t** nodes);
/* The peak of a pool and a bound on it. Whether there is such a pool, where anything is known of pools. */
MEMSTOW_API int memstow_plan_pool(const memstow_plan* plan, size_t pool, int64_t* peak, int64_t* bound);
/* The buffers that show that bound before any search: they must be there, or fill the other pools, and
 * whether they have a moment at which all are live. */
MEMSTOW_API size_t memstow_plan_pool_proof(const memstow_plan* plan, size_t pool, const size_t** buffers);
MEMSTOW_API int memstow_plan_pool_proof_time(const memstow_plan* plan, size_t pool, int64_t* time);
/* How many terms counted; and of each its value, a bound on it for plans that are equal in the terms before,
 * what proves that, in how many complete searches. Whether there is such a term; each pointer may be NULL. */
MEMSTOW_API size_t memstow_plan_terms(const memstow_plan* plan);
MEMSTOW_API int memstow_plan_term(const memstow_plan* plan, size_t index, memstow_term* term, size_t* pool,
                                  int64_t* value, int64_t* bound, memstow_proof* proof, int64_t* searches);
/* Of bank costs with MEMSTOW_PROOF_CROWDS: how many crowds prove the bound; the buffers of each, which are
 * more than the banks that they must touch, and what each two of them pay at the least where they share one.
 */
MEMSTOW_API size_t memstow_plan_crowds(const memstow_plan* plan);
MEMSTOW_API size_t memstow_plan_crowd(const memstow_plan* plan, size_t index, const size_t** buffers,
                                      int64_t* cost);
/* Who found the plan, such as "exact", or that there is none; "" where nobody has. */
MEMSTOW_API const char* memstow_plan_solver(const memstow_plan* plan);
/* Steps of work of the run. */
MEMSTOW_API int64_t memstow_plan_work(const memstow_plan* plan);

/* Something to stop runs by, from any thread or a handler of signals. It outlives the runs that it is given
 * to, and stays pulled. */
MEMSTOW_API memstow_code memstow_stop_create(memstow_stop** stop);
MEMSTOW_API void memstow_stop_pull(memstow_stop* stop);
MEMSTOW_API void memstow_stop_destroy(memstow_stop* stop); /* NULL: nothing */

/* Judges offsets, one for each buffer, by code that shares nothing with the solvers: MEMSTOW_OK and the peak,
 * or MEMSTOW_INVALID and a message of what is wrong, where `message` is not NULL. */
MEMSTOW_API memstow_code memstow_judge(const memstow_problem* problem, const int64_t* offsets, int64_t* peak,
                                       char* message, size_t message_size);
/* The same in these pools, by buffer; NULL: all in pool 0. */
MEMSTOW_API memstow_code memstow_judge_in(const memstow_problem* problem, const size_t* pools,
                                          const int64_t* offsets, int64_t* peak, char* message,
                                          size_t message_size);

#ifdef __cplusplus
}
#endif

#endif
