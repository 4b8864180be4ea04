// What libmemstow tells: of itself, and of its plans.
#include "memstow.h"
#include "objects.hpp"

using memstow::library::PoolUse;
using memstow::library::Reason;
using memstow::library::TermUse;

namespace {

// The pool's part of a plan, where there is such a pool.
const PoolUse* use_of(const memstow_plan* plan, size_t pool) {
    return plan != nullptr && pool < plan->pools.size() ? &plan->pools[pool] : nullptr;
}

template <class T>
void tell(T* to, const T& value) {
    if (to != nullptr) *to = value;
}

// An array of the plan, or nothing where there is no plan.
template <class T>
size_t tell_list(const memstow::library::List<T>* list, const T** to) {
    if (to != nullptr) *to = list == nullptr ? nullptr : list->data();
    return list == nullptr ? 0 : list->size();
}

int tell_time(const std::optional<int64_t>& time, int64_t* to) {
    if (time) tell(to, *time);
    return time ? 1 : 0;
}

bool has_places(const memstow_plan* plan) {
    return plan != nullptr && (plan->status == MEMSTOW_OPTIMAL || plan->status == MEMSTOW_FEASIBLE);
}

}  // namespace

const char* memstow_version(void) { return MEMSTOW_VERSION; }

int memstow_abi_version(void) { return MEMSTOW_ABI_VERSION; }

const char* memstow_code_text(int code) {
    switch (code) {
        case MEMSTOW_OK:
            return "ok";
        case MEMSTOW_INVALID:
            return "an argument is not valid";
        case MEMSTOW_OUT_OF_MEMORY:
            return "out of memory";
        case MEMSTOW_TOO_LARGE:
            return "sizes add up to too much";
        case MEMSTOW_INTERNAL:
            return "the plan was refused by the judge; please report it";
        default:
            return "unknown code";
    }
}

const char* memstow_status_text(int status) {
    switch (status) {
        case MEMSTOW_OPTIMAL:
            return "optimal";
        case MEMSTOW_FEASIBLE:
            return "feasible";
        case MEMSTOW_INFEASIBLE:
            return "infeasible";
        case MEMSTOW_UNKNOWN:
            return "unknown";
        default:
            return "unknown status";
    }
}

void memstow_plan_destroy(memstow_plan* plan) { memstow::library::destroy(plan); }

memstow_status memstow_plan_status(const memstow_plan* plan) {
    if (plan == nullptr) return MEMSTOW_UNKNOWN;
    return plan->status;
}

const int64_t* memstow_plan_offsets(const memstow_plan* plan) {
    // Of a problem without buffers the array is empty, but there.
    static const int64_t kNone = 0;
    if (!has_places(plan)) return nullptr;
    return plan->offsets.empty() ? &kNone : plan->offsets.data();
}

const size_t* memstow_plan_pools(const memstow_plan* plan) {
    static const size_t kNone = 0;
    if (!has_places(plan)) return nullptr;
    return plan->pool_of.empty() ? &kNone : plan->pool_of.data();
}

int64_t memstow_plan_peak(const memstow_plan* plan) {
    if (plan == nullptr) return 0;
    return plan->peak;
}

size_t memstow_plan_moves(const memstow_plan* plan) {
    if (plan == nullptr) return 0;
    return plan->moves;
}

int64_t memstow_plan_bound(const memstow_plan* plan) {
    if (plan == nullptr) return 0;
    return plan->bound;
}

int memstow_plan_pool(const memstow_plan* plan, size_t pool, int64_t* peak, int64_t* bound) {
    const PoolUse* use = use_of(plan, pool);
    if (use == nullptr) return 0;
    tell(peak, use->peak);
    tell(bound, use->bound);
    return 1;
}

size_t memstow_plan_pool_proof(const memstow_plan* plan, size_t pool, const size_t** buffers) {
    const PoolUse* use = use_of(plan, pool);
    return tell_list(use == nullptr ? nullptr : &use->reason.buffers, buffers);
}

int memstow_plan_pool_proof_time(const memstow_plan* plan, size_t pool, int64_t* time) {
    const PoolUse* use = use_of(plan, pool);
    return use == nullptr ? 0 : tell_time(use->reason.time, time);
}

size_t memstow_plan_terms(const memstow_plan* plan) {
    if (plan == nullptr) return 0;
    return plan->terms.size();
}

int memstow_plan_term(const memstow_plan* plan, size_t index, memstow_term* term, size_t* pool,
                      int64_t* value, int64_t* bound, memstow_proof* proof, int64_t* searches) {
    if (plan == nullptr || index >= plan->terms.size()) return 0;
    const TermUse& use = plan->terms[index];
    tell(term, use.objective.term);
    tell(pool, use.objective.pool);
    tell(value, use.value);
    tell(bound, use.bound);
    tell(proof, use.proof);
    tell(searches, use.searches);
    return 1;
}

size_t memstow_plan_crowds(const memstow_plan* plan) {
    if (plan == nullptr) return 0;
    return plan->crowds.size();
}

size_t memstow_plan_crowd(const memstow_plan* plan, size_t index, const size_t** buffers, int64_t* cost) {
    const bool is_there = plan != nullptr && index < plan->crowds.size();
    if (is_there) tell(cost, plan->crowds[index].cost);
    return tell_list(is_there ? &plan->crowds[index].buffers : nullptr, buffers);
}

memstow_proof memstow_plan_proof(const memstow_plan* plan) {
    if (plan == nullptr) return MEMSTOW_PROOF_LIVE;
    return plan->proof;
}

size_t memstow_plan_proof_buffers(const memstow_plan* plan, const size_t** buffers) {
    return tell_list(plan == nullptr ? nullptr : &plan->reason.buffers, buffers);
}

size_t memstow_plan_proof_pools(const memstow_plan* plan, const size_t** pools) {
    return tell_list(plan == nullptr ? nullptr : &plan->reason.pools, pools);
}

int memstow_plan_proof_time(const memstow_plan* plan, int64_t* time) {
    return plan == nullptr ? 0 : tell_time(plan->reason.time, time);
}

int memstow_plan_proof_window(const memstow_plan* plan, int64_t* begin, int64_t* end) {
    if (plan == nullptr || !plan->window) return 0;
    tell(begin, plan->window->first);
    tell(end, plan->window->second);
    return 1;
}

size_t memstow_plan_searches(const memstow_plan* plan, const int64_t** peaks, const int64_t** nodes) {
    tell_list(plan == nullptr ? nullptr : &plan->searched_nodes, nodes);
    return tell_list(plan == nullptr ? nullptr : &plan->searched_peaks, peaks);
}

const char* memstow_plan_solver(const memstow_plan* plan) {
    if (plan == nullptr) return "";
    return plan->solver.c_str();
}

int64_t memstow_plan_work(const memstow_plan* plan) {
    if (plan == nullptr) return 0;
    return plan->work;
}

memstow_code memstow_stop_create(memstow_stop** stop) {
    if (stop == nullptr) return MEMSTOW_INVALID;
    *stop = new (std::nothrow) memstow_stop;
    return *stop == nullptr ? MEMSTOW_OUT_OF_MEMORY : MEMSTOW_OK;
}

void memstow_stop_pull(memstow_stop* stop) {
    if (stop != nullptr) stop->pulled.store(true, std::memory_order_relaxed);
}

void memstow_stop_destroy(memstow_stop* stop) { delete stop; }
