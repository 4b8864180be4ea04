// memstow_solve and memstow_judge: from a problem to a judged plan.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "banks/bound.hpp"
#include "core/assemble.hpp"
#include "core/bounds.hpp"
#include "core/budget.hpp"
#include "core/columns.hpp"
#include "core/reduction.hpp"
#include "core/score.hpp"
#include "objects.hpp"
#include "run/by_terms.hpp"
#include "run/one_pool.hpp"
#include "run/pool_bounds.hpp"
#include "run/stages.hpp"

namespace {

using namespace memstow;
using namespace memstow::library;

constexpr double kDefaultSeconds = 10.0;
// With more buffers than this, items are numbered by the begin of their lives.
constexpr std::size_t kMostAsGiven = std::size_t{1} << 18;
// Judging takes about so long for each buffer, and so many times as long as making the arrays took; but the
// search has at least this share of the limit.
constexpr double kSecondsToJudge = 1.2e-6;
constexpr double kJudgingToArrays = 4.0;
constexpr double kLeastShare = 0.5;
// Moving buffers to pools they prefer, at the end, takes up to so long.
constexpr double kSecondsToPrefer = 0.05;

void write_message(char* message, std::size_t size, const std::string& text) {
    if (message == nullptr || size == 0) return;
    const std::size_t length = std::min(text.size(), size - 1);
    std::memcpy(message, text.data(), length);
    message[length] = '\0';
}

int64_t in_64_bits(Value value) {
    return static_cast<int64_t>(std::min<Value>(value, std::numeric_limits<int64_t>::max()));
}

// The union of ranges, in order, without ranges that touch.
void add_lives(std::vector<Lifetime> lives, Lists<Lifetime>& to) {
    std::ranges::sort(lives, {}, [](const Lifetime& life) { return std::pair(life.begin, life.end); });
    const std::size_t first = to.values.size();
    for (const Lifetime& life : lives) {
        if (to.values.size() > first && life.begin <= to.values.back().end) {
            to.values.back().end = std::max(to.values.back().end, life.end);
        } else {
            to.values.push_back(life);
        }
    }
    to.close();
}

// Whether the buffer has a value in a list by buffer, which may be shorter than there are buffers.
bool has(const List<int64_t>& column, std::size_t buffer) {
    return buffer < column.size() && column[buffer] >= 0;
}

// Whether anything depends on banks: they alone change no plan, nor do rules for buffers without bytes.
bool uses_banks(const memstow_problem& problem) {
    if (problem.banks.empty() || !problem.bank_conflicts.empty()) return !problem.banks.empty();
    for (std::size_t buffer = 0; buffer < problem.sizes.size(); ++buffer) {
        const bool is_bound = has(problem.within_bank, buffer) || has(problem.bank_list_of, buffer);
        if (is_bound && problem.sizes[buffer] > 0) return true;
    }
    return false;
}

// None of a buffer without bytes.
int64_t accesses_of(const memstow_problem& problem, std::size_t buffer) {
    const int64_t size = problem.sizes[buffer];
    return size > 0 && has(problem.accesses, buffer) ? problem.accesses[buffer] : size;
}

// The numbers of the banks that the buffer may be in, by address.
std::vector<std::size_t> banks_of(const memstow_problem& problem, std::size_t buffer) {
    const auto list = static_cast<std::size_t>(problem.bank_list_of[buffer]);
    std::vector<std::size_t> banks(
        problem.bank_list.begin() + static_cast<std::ptrdiff_t>(problem.bank_list_start[list]),
        problem.bank_list.begin() + static_cast<std::ptrdiff_t>(problem.bank_list_start[list + 1]));
    std::ranges::sort(banks);
    return banks;
}

Description::Pairs as_indices(const List<judge::Rules::Pair>& pairs) {
    Description::Pairs indices;
    indices.reserve(pairs.size());
    for (const auto& [one, other] : pairs) {
        indices.emplace_back(static_cast<Index>(one), static_cast<Index>(other));
    }
    return indices;
}

// A description, and what it refers to.
struct Described {
    std::vector<int64_t> accesses;
    Description description;
};

void describe_pools(const memstow_problem& problem, Description& to) {
    for (const judge::Pool& pool : problem.pools) {
        to.pools.push_back({pool.capacity, pool.alignment, pool.base, pool.cost, {}, {}});
    }
    for (const judge::Rules::Reserved& range : problem.reserved) {
        to.pools[static_cast<std::size_t>(range.pool)].reserved.push_back({range.begin, range.end});
    }
}

// Nothing of banks where no pool has one: nothing can be within a bank then, and nothing shares one.
void describe_banks(const memstow_problem& problem, Description& to) {
    for (const judge::Banks::Run& run : problem.banks) {
        std::vector<Range>& banks = to.pools[static_cast<std::size_t>(run.pool)].banks;
        for (int64_t k = 0; k < run.count; ++k) {
            banks.push_back({run.begin + k * run.size, run.begin + (k + 1) * run.size});
        }
    }
    for (PoolDescription& pool : to.pools) std::ranges::sort(pool.banks, {}, &Range::begin);
    for (std::size_t buffer = 0; buffer < problem.sizes.size(); ++buffer) {
        if (problem.sizes[buffer] == 0) continue;
        if (has(problem.within_bank, buffer)) to.within_bank.push_back(static_cast<Index>(buffer));
        if (!has(problem.bank_list_of, buffer)) continue;
        for (const std::size_t bank : banks_of(problem, buffer)) {
            to.in_banks.emplace_back(static_cast<Index>(buffer), static_cast<Index>(bank));
        }
    }
    for (const judge::Banks::Conflict& conflict : problem.bank_conflicts) {
        for (std::size_t a = conflict.first; a < conflict.last; ++a) {
            for (std::size_t b = a + 1; b < conflict.last; ++b) {
                const auto one = static_cast<Index>(problem.bank_members[a]);
                const auto other = static_cast<Index>(problem.bank_members[b]);
                if (conflict.cost == MEMSTOW_NEVER) {
                    to.apart.emplace_back(one, other);
                } else {
                    to.bank_costs.push_back({one, other, conflict.cost});
                }
            }
        }
    }
}

void describe_buffers(const memstow_problem& problem, Description& to) {
    std::vector<std::vector<Lifetime>> lives(problem.lives.empty() ? 0 : problem.sizes.size());
    for (const judge::Rules::Life& life : problem.lives) {
        lives[static_cast<std::size_t>(life.buffer)].push_back({life.begin, life.end});
    }
    std::map<std::pair<int64_t, int64_t>, Index> kinds;
    for (std::size_t buffer = 0; buffer < problem.sizes.size(); ++buffer) {
        const int64_t list = has(problem.list_of, buffer) ? problem.list_of[buffer] : -1;
        const auto [kind, is_new] = kinds.try_emplace({problem.alignments[buffer], list}, count_of(to.kinds));
        if (is_new) {
            BufferKind& made = to.kinds.emplace_back(BufferKind{problem.alignments[buffer], {}});
            const std::size_t first = list < 0 ? 0 : problem.list_start[static_cast<std::size_t>(list)];
            const std::size_t last =
                list < 0 ? problem.pools.size() : problem.list_start[static_cast<std::size_t>(list) + 1];
            for (std::size_t i = first; i < last; ++i) {
                made.pools.push_back(static_cast<Index>(list < 0 ? i : problem.list_pools[i]));
            }
        }
        to.kind_of.push_back(kind->second);
        const Lifetime life{problem.begins[buffer], problem.ends[buffer]};
        if (lives.empty()) {
            to.lives.values.push_back(life);
            to.lives.close();
        } else {
            lives[buffer].push_back(life);
            add_lives(std::move(lives[buffer]), to.lives);
        }
        if (!problem.pins.empty()) {
            to.pins.push_back(has(problem.pins, buffer) ? problem.pins[buffer] : kUnplaced);
        }
    }
}

Described described(const memstow_problem& problem) {
    Described made;
    Description& to = made.description;
    to.sizes = problem.sizes;
    describe_pools(problem, to);
    describe_buffers(problem, to);
    const auto costs = [](const judge::Pool& pool) { return pool.cost > 0; };
    if (std::ranges::any_of(problem.pools, costs)) {
        for (std::size_t buffer = 0; buffer < problem.sizes.size(); ++buffer) {
            made.accesses.push_back(accesses_of(problem, buffer));
        }
        to.accesses = made.accesses;
    }
    for (const judge::Rules::Tie& tie : problem.ties) {
        to.ties.push_back({static_cast<Index>(tie.buffer), static_cast<Index>(tie.base), tie.distance});
    }
    to.conflicts = as_indices(problem.conflicts);
    to.exclusive = as_indices(problem.exclusive);
    to.in_place = as_indices(problem.in_place);
    for (const judge::Costs::Reuse& pair : problem.reuse) {
        to.reuse.push_back({static_cast<Index>(pair.one), static_cast<Index>(pair.other), pair.cost});
    }
    if (uses_banks(problem)) describe_banks(problem, to);
    return made;
}

TermKind kind_of(memstow_term term) {
    constexpr TermKind kKinds[] = {TermKind::peak,           TermKind::pool_peak,  TermKind::max_peak,
                                   TermKind::placement_cost, TermKind::reuse_cost, TermKind::moves,
                                   TermKind::preference,     TermKind::bank_cost};
    return kKinds[term];
}

bool is_height(memstow_term term) {
    return term == MEMSTOW_PEAK || term == MEMSTOW_POOL_PEAK || term == MEMSTOW_MAX_PEAK;
}

// One run, from the arguments to a judged plan.
class Call {
  public:
    Call(const memstow_problem& problem, const memstow_options& options)
        : problem_(problem), options_(options) {}

    memstow_code run(memstow_plan& plan) {
        require();
        const std::vector<Index> homeless = convert();
        if (!homeless.empty()) {
            plan.status = MEMSTOW_INFEASIBLE;
            plan.reason.buffers.assign(homeless.begin(), homeless.end());
            plan.bound = extent(homeless);
            return MEMSTOW_OK;
        }
        const bool one_height = problem_.pools.size() == 1 && !instance().banks.matter() && only_heights();
        if (one_height && !run::can_add(instance(), converted_.stacked)) return MEMSTOW_TOO_LARGE;
        std::vector<Bytes> capacities;
        for (const judge::Pool& pool : problem_.pools) capacities.push_back(pool.capacity);
        const run::PoolBounds bounds(instance(), converted_.unit, capacities);
        if (const std::optional<Index> misfit = bounds.misfit()) {
            plan.status = MEMSTOW_INFEASIBLE;
            plan.bound = needed(bounds.needs()[*misfit]);
            tell_why(bounds.needs()[*misfit], plan.reason);
            return MEMSTOW_OK;
        }
        describe_bounds(bounds, plan);
        const std::atomic<bool>* stop = options_.stop == nullptr ? nullptr : &options_.stop->pulled;
        Budget budget(seconds_left(), work_limit(), nullptr, stop);
        if (one_height && !terms_.empty() && plan.bound > 0) offer_bound(plan.bound, budget);
        const memstow_code code = one_height ? searched(bounds.needs()[0].need, budget, plan)
                                             : planned_by_terms(bounds, budget, plan);
        plan.work = budget.work();
        return code;
    }

  private:
    bool has_flag(unsigned flag) const { return (options_.flags & flag) != 0; }
    bool counts(memstow_term term) const {
        return std::ranges::find(terms_, term, &Objective::term) != terms_.end();
    }
    bool only_heights() const {
        return std::ranges::all_of(terms_, [](const Objective& one) { return is_height(one.term); });
    }
    const Instance& instance() const { return converted_.instance; }

    void require() {
        if (options_.struct_size != sizeof(memstow_options)) {
            throw Invalid{"options of another version; begin with memstow_options_init"};
        }
        if (!(options_.time_limit >= 0)) throw Invalid{"time_limit must be 0 or more"};
        if (!(options_.gap >= 0)) throw Invalid{"gap must be 0 or more"};
        if ((options_.flags & ~(MEMSTOW_DETERMINISTIC | MEMSTOW_FIT_ONLY | MEMSTOW_FEW_MOVES)) != 0)
            throw Invalid{"an unknown flag"};
        set_terms();
        if (counts(MEMSTOW_MOVES)) require_start();
        for (const judge::Rules::Reserved& range : problem_.reserved) {
            const int64_t capacity = problem_.pools[static_cast<std::size_t>(range.pool)].capacity;
            if (range.end > capacity) {
                throw Invalid{"a reserved range ends at " + std::to_string(range.end) +
                              ", beyond the capacity of " + std::to_string(capacity)};
            }
        }
        if (!problem_.ties.empty()) require_room_between_tied();
        require_banks();
        require_sums();
    }

    void set_terms() {
        if (has_flag(MEMSTOW_FEW_MOVES)) terms_.push_back({MEMSTOW_MOVES, 0});
        if (has_flag(MEMSTOW_FIT_ONLY)) return;
        const auto add = [&](const Objective& term) {
            if (std::ranges::find(terms_, term) == terms_.end()) terms_.push_back(term);
        };
        for (const Objective& term : problem_.terms) add(term);
        if (!problem_.terms.empty()) return;
        if (problem_.pools.size() > 1) add({MEMSTOW_PLACEMENT_COST, 0});
        add({MEMSTOW_PEAK, 0});
    }

    void require_start() const {
        if (options_.start == nullptr && !problem_.sizes.empty()) throw Invalid{"few moves from no start"};
        for (std::size_t buffer = 0; buffer < problem_.sizes.size(); ++buffer) {
            if (options_.start[buffer] > kLimit) {
                throw Invalid{"a start of " + std::to_string(options_.start[buffer]) + " of buffer " +
                              std::to_string(buffer)};
            }
        }
    }

    // What may share no byte is not tied so that it does.
    void require_room_between_tied() const {
        auto distances = problem_.distances;
        for (const auto& [one, other] : problem_.conflicts) {
            const auto [group, at] = distances.find(static_cast<Index>(one));
            const auto [other_group, other_at] = distances.find(static_cast<Index>(other));
            if (group != other_group) continue;
            const WideBytes apart = other_at - at;
            const int64_t size = problem_.sizes[static_cast<std::size_t>(one)];
            const int64_t other_size = problem_.sizes[static_cast<std::size_t>(other)];
            // A buffer without bytes shares none, wherever it is.
            const bool overlap = size > 0 && other_size > 0 && apart < size && -apart < other_size;
            const auto is_pair = [&](const judge::Rules::Pair& pair) {
                return std::minmax(pair.first, pair.second) == std::minmax(one, other);
            };
            if (overlap && (apart != 0 || std::ranges::none_of(problem_.in_place, is_pair))) {
                throw Invalid{"buffer " + std::to_string(one) + " and buffer " + std::to_string(other) +
                              " may share no byte, but are tied so that they do"};
            }
        }
    }

    // Who must be in a bank may go to a pool that has it.
    void require_banks() const {
        if (problem_.within_bank.empty() && problem_.bank_list_of.empty()) return;
        std::vector<std::size_t> counts(problem_.pools.size(), 0);
        for (const judge::Banks::Run& run : problem_.banks) {
            counts[static_cast<std::size_t>(run.pool)] += static_cast<std::size_t>(run.count);
        }
        for (std::size_t buffer = 0; buffer < problem_.sizes.size(); ++buffer) {
            const bool has_list = has(problem_.bank_list_of, buffer);
            if (!has_list && !has(problem_.within_bank, buffer)) continue;
            std::size_t most = 0;
            for (const std::size_t pool : pools_for(buffer)) most = std::max(most, counts[pool]);
            const std::size_t last = has_list ? banks_of(problem_, buffer).back() : 0;
            if (last >= most) {
                throw Invalid{"buffer " + std::to_string(buffer) +
                              " must be in a bank, and no pool that it " + "may go to has bank " +
                              std::to_string(last)};
            }
        }
    }

    // Those that it may go to.
    std::vector<std::size_t> pools_for(std::size_t buffer) const {
        std::vector<std::size_t> pools;
        const bool has_list = has(problem_.list_of, buffer);
        const auto list = has_list ? static_cast<std::size_t>(problem_.list_of[buffer]) : 0;
        const std::size_t first = has_list ? problem_.list_start[list] : 0;
        const std::size_t last = has_list ? problem_.list_start[list + 1] : problem_.pools.size();
        for (std::size_t i = first; i < last; ++i) pools.push_back(has_list ? problem_.list_pools[i] : i);
        return pools;
    }

    // Solvers add up costs in 64 bits.
    void require_sums() const {
        Value reuse = 0, accesses = 0, preference = 0;
        for (const judge::Costs::Reuse& pair : problem_.reuse) reuse += pair.cost;
        int64_t dearest = 0;
        for (const judge::Pool& pool : problem_.pools) dearest = std::max(dearest, pool.cost);
        for (std::size_t buffer = 0; buffer < problem_.sizes.size(); ++buffer) {
            int64_t cost = dearest;
            std::size_t choices = problem_.pools.size();
            if (has(problem_.list_of, buffer)) {
                const std::vector<std::size_t> pools = pools_for(buffer);
                choices = pools.size();
                cost = 0;
                for (const std::size_t pool : pools) cost = std::max(cost, problem_.pools[pool].cost);
            }
            accesses += Value{accesses_of(problem_, buffer)} * cost;
            preference += Value{problem_.sizes[buffer]} * static_cast<int64_t>(choices - 1);
        }
        if (reuse > kLimit) throw Invalid{"reuse costs that add up to more than 2^62"};
        if (accesses > kLimit) throw Invalid{"costs of accesses that may add up to more than 2^62"};
        if (counts(MEMSTOW_PREFERENCE) && preference > kLimit) {
            throw Invalid{"preferences that may add up to more than 2^62"};
        }
    }

    // Makes the arrays; or returns a buffer or a group that has no place even alone.
    std::vector<Index> convert() {
        if (problem_.is_plain() && only_heights()) return convert_columns();
        Described made = described(problem_);
        made.description.ranks = counts(MEMSTOW_PREFERENCE);
        for (std::size_t buffer = 0; counts(MEMSTOW_MOVES) && buffer < problem_.sizes.size(); ++buffer) {
            if (has_start(buffer)) made.description.usable.push_back(options_.start[buffer]);
        }
        Reduction reduction = reduced(made.description);
        if (!reduction.homeless.empty()) return std::move(reduction.homeless);
        alone_ = std::move(reduction.alone);
        least_cost_ = reduction.least_cost;
        converted_.instance = std::move(reduction.instance);
        converted_.times = assemble_rows(converted_.instance, reduction.conflicts);
        converted_.buffers = std::move(reduction.buffers);
        converted_.unit = reduction.unit;
        converted_.stacked = stacked(converted_.instance);
        return {};
    }

    std::vector<Index> convert_columns() {
        const int64_t capacity = problem_.pools[0].capacity;
        for (std::size_t buffer = 0; buffer < problem_.sizes.size(); ++buffer) {
            if (problem_.sizes[buffer] > capacity) return {static_cast<Index>(buffer)};
        }
        const Columns columns{problem_.sizes, problem_.begins, problem_.ends, problem_.alignments};
        const bool by_begin = problem_.sizes.size() > kMostAsGiven;
        converted_ = instance_of(columns, capacity, by_begin ? ItemOrder::by_begin : ItemOrder::as_given);
        converted_.instance.pools[0].capacity = capacity / converted_.unit;
        if (by_begin) converted_.instance.lives = {};
        return {};
    }

    // The bytes from the lowest of these buffers, which are tied where there are several, to the highest.
    int64_t extent(const std::vector<Index>& buffers) const {
        auto distances = problem_.distances;
        WideBytes low = kLimit, high = -low;
        for (const Index buffer : buffers) {
            const WideBytes at = distances.find(buffer).second;
            low = std::min(low, at);
            high = std::max(high, at + problem_.sizes[static_cast<std::size_t>(buffer)]);
        }
        return static_cast<int64_t>(std::min<WideBytes>(high - low, kLimit));
    }

    // Bytes of the pools that are reserved, or that parts need.
    int64_t needed(const run::PoolNeed& of) const {
        WideBytes units = of.need.height;
        if (of.pools.size() > 1) {
            units = of.need.bytes;
            for (const Index pool : of.pools) {
                for (const Range& range : instance().pools[pool].reserved) units += range.end - range.begin;
            }
        }
        return in_64_bits(std::min<WideBytes>(units, kLimit) * converted_.unit);
    }

    void tell_why(const run::PoolNeed& of, Reason& reason) const {
        name(of.need.parts, reason);
        std::ranges::sort(reason.buffers);
        reason.pools.assign(of.pools.begin(), of.pools.end());
        if (of.need.row >= 0) reason.time = converted_.times[of.need.row];
    }

    void name(const std::vector<Index>& parts, Reason& reason) const {
        reason.buffers.clear();
        for (const Index part : parts) {
            reason.buffers.push_back(static_cast<std::size_t>(converted_.buffers[part]));
        }
    }

    // What is known before the search.
    void describe_bounds(const run::PoolBounds& bounds, memstow_plan& plan) const {
        for (Index pool = 0; pool < count_of(problem_.pools); ++pool) {
            const run::PoolBounds::Bound bound = bounds.of_pool(pool);
            PoolUse& use = plan.pools.emplace_back(plan.from);
            use.bound = in_64_bits(bound.bytes);
            if (!bound.needs.empty()) tell_why(bounds.needs()[bound.needs[0]], use.reason);
        }
        const run::PoolBounds::Bound sum = bounds.of_sum();
        plan.bound = in_64_bits(sum.bytes);
        if (sum.needs.size() > 1) plan.proof = MEMSTOW_PROOF_SUM;
        if (sum.needs.size() == 1) tell_why(bounds.needs()[sum.needs[0]], plan.reason);
    }

    // Whether it counts as a move that the buffer is elsewhere than at its start.
    bool has_start(std::size_t buffer) const {
        return options_.start != nullptr && problem_.sizes[buffer] > 0 && options_.start[buffer] >= 0;
    }

    // What was known of a term before the search.
    TermUse known_of(const Objective& objective, const run::PoolBounds& bounds) const {
        TermUse use{objective, 0, 0, MEMSTOW_PROOF_LEAST, 0};
        const auto take = [&](const run::PoolBounds::Bound& bound) {
            use.bound = in_64_bits(bound.bytes);
            if (!bound.needs.empty()) {
                use.proof = bound.needs.size() == 1 ? MEMSTOW_PROOF_LIVE : MEMSTOW_PROOF_SUM;
            }
        };
        if (objective.term == MEMSTOW_PEAK) take(bounds.of_sum());
        if (objective.term == MEMSTOW_MAX_PEAK) take(bounds.of_largest());
        if (objective.term == MEMSTOW_POOL_PEAK) take(bounds.of_pool(static_cast<Index>(objective.pool)));
        if (objective.term == MEMSTOW_PLACEMENT_COST) use.bound = in_64_bits(least_cost_);
        return use;
    }

    // The bound on bank costs, and the crowds that prove it.
    void bound_bank_cost(TermUse& use, memstow_plan& plan) const {
        const banks::CrowdBound bound = banks::bound_of_crowds(instance());
        if (bound.value == 0) return;
        use.bound = in_64_bits(bound.value);
        use.proof = MEMSTOW_PROOF_CROWDS;
        for (const banks::Crowd& crowd : bound.crowds) {
            CrowdUse& crowd_use = plan.crowds.emplace_back(plan.from);
            for (const Index part : crowd.parts) {
                crowd_use.buffers.push_back(static_cast<std::size_t>(converted_.buffers[part]));
            }
            crowd_use.cost = crowd.cost;
        }
    }

    memstow_code planned_by_terms(const run::PoolBounds& bounds, Budget& budget, memstow_plan& plan) {
        run::TermsOptions options;
        // With one pool, its peak in other words is no other term.
        const bool one_pool = problem_.pools.size() == 1;
        std::optional<std::size_t> peak;
        std::vector<std::size_t> solved_as;
        for (const Objective& objective : terms_) {
            TermUse& use = plan.terms.emplace_back(known_of(objective, bounds));
            const bool is_peak = one_pool && is_height(objective.term);
            solved_as.push_back(is_peak && peak ? *peak : options.terms.size());
            if (is_peak && peak) continue;
            if (is_peak) peak = options.terms.size();
            if (objective.term == MEMSTOW_BANK_COST) bound_bank_cost(use, plan);
            options.terms.push_back({kind_of(objective.term), static_cast<Index>(objective.pool)});
            options.lower_bounds.push_back(use.bound);
            options.scales.push_back(is_height(objective.term) ? converted_.unit : 1);
        }
        if (!plan.terms.empty() && plan.terms[0].bound > 0) offer_bound(plan.terms[0].bound, budget);
        options.gap = options_.gap;
        options.seed = options_.seed;
        options.deterministic = has_flag(MEMSTOW_DETERMINISTIC);
        options.workers = workers();
        if (options_.start != nullptr) options.hint = hint();
        run::TermsEvents events;
        events.better = [&](const Layout& layout) { offer(layout, budget); };
        events.bound = [&](Value bound) { offer_bound(in_64_bits(bound), budget); };
        const run::TermsResult result = run::plan_by_terms(instance(), options, budget, events);
        if (!result.misfit.empty()) {
            plan.status = MEMSTOW_INFEASIBLE;
            plan.solver.assign(result.solver.data(), result.solver.size());
            plan.bound = 0;
            plan.proof = MEMSTOW_PROOF_SEARCH;
            std::vector<Index> parts;
            for (const Index item : result.misfit) {
                for (Index part = instance().item_parts[item]; part < instance().item_parts[item + 1]; ++part)
                    parts.push_back(part);
            }
            plan.reason.time.reset();
            name(parts, plan.reason);
            return MEMSTOW_OK;
        }
        if (!result.score.fits()) return MEMSTOW_OK;
        plan.solver.assign(result.solver.data(), result.solver.size());
        set_places(result.layout, plan);
        bool is_optimal = true;
        for (std::size_t i = 0; i < terms_.size(); ++i) {
            TermUse& use = plan.terms[i];
            const std::size_t solved = solved_as[i];
            const run::TermBound& bound = result.bounds[solved];
            const Value value = result.score.values[solved] * options.scales[solved];
            use.value = in_64_bits(value);
            use.bound = in_64_bits(bound.bound);
            is_optimal = is_optimal && value == bound.bound;
            if (!bound.is_of_run) continue;
            use.proof = bound.searches > 0 ? MEMSTOW_PROOF_SEARCH : MEMSTOW_PROOF_ADDRESSES;
            use.searches = bound.searches;
        }
        plan.status = is_optimal ? MEMSTOW_OPTIMAL : MEMSTOW_FEASIBLE;
        if (!terms_.empty()) take_first(result.bounds[0], plan);
        return judged(plan);
    }

    // What was proven of the first term holds for every plan, and may be of a peak.
    void take_first(const run::TermBound& bound, memstow_plan& plan) const {
        const TermUse& first = plan.terms[0];
        if (!is_height(first.objective.term)) return;
        const bool is_only = problem_.pools.size() == 1;
        if (is_only || first.objective.term == MEMSTOW_POOL_PEAK) {
            plan.pools[first.objective.pool].bound = first.bound;
        }
        if (!bound.is_of_run || !(is_only || first.objective.term == MEMSTOW_PEAK)) return;
        plan.bound = first.bound;
        plan.proof = first.proof;
        plan.reason = Reason(plan.from);
        if (first.searches == 0) return;
        plan.searched_peaks.push_back(first.bound - 1);
        plan.searched_nodes.push_back(first.searches);
    }

    std::size_t start_pool(std::size_t buffer) const {
        return options_.start_pools == nullptr ? 0 : options_.start_pools[buffer];
    }

    Hint hint() const {
        std::vector<Place> places;
        for (const Index index : converted_.buffers) {
            const auto buffer = static_cast<std::size_t>(index);
            const bool is_there = start_pool(buffer) < problem_.pools.size();
            const Index pool = is_there ? static_cast<Index>(start_pool(buffer)) : -1;
            places.push_back(has_start(buffer) ? Place{pool, options_.start[buffer]} : Place{});
        }
        return hint_of(instance(), converted_.unit, places);
    }

    void offer(const Layout& layout, Budget& budget) const {
        if (options_.on_better == nullptr && options_.on_better_in == nullptr) return;
        const std::vector<int64_t> offsets = offsets_of(layout);
        Value peak = 0;
        for (const Bytes height : pool_peaks(instance(), layout)) peak += Value{height} * converted_.unit;
        bool is_over = false;
        if (options_.on_better != nullptr) {
            is_over = options_.on_better(options_.context, in_64_bits(peak), offsets.data()) != 0;
        }
        if (options_.on_better_in != nullptr) {
            const std::vector<std::size_t> pools = pools_of(layout);
            is_over = options_.on_better_in(options_.context, in_64_bits(peak), pools.data(),
                                            offsets.data()) != 0 ||
                      is_over;
        }
        if (is_over) budget.cancel();
    }

    void offer_bound(int64_t bound, Budget& budget) const {
        if (options_.on_bound != nullptr && options_.on_bound(options_.context, bound) != 0) budget.cancel();
    }

    int workers() const {
        if (has_flag(MEMSTOW_DETERMINISTIC)) return 1;
        return static_cast<int>(std::clamp<std::uint32_t>(options_.workers, 1, kMostWorkers));
    }

    memstow_code searched(const Need& need, Budget& budget, memstow_plan& plan) {
        run::OnePoolOptions options;
        options.fit_only = terms_.empty();
        options.gap = options_.gap;
        options.seed = options_.seed;
        options.deterministic = has_flag(MEMSTOW_DETERMINISTIC);
        options.workers = workers();
        options.start = start();
        run::OnePoolEvents events;
        events.better = [&](const Layout& layout, Bytes) { offer(layout, budget); };
        events.bound = [&](Bytes bound) { offer_bound(bound * converted_.unit, budget); };
        const run::OnePoolResult result = run::plan_one_pool(instance(), need, options, budget, events);
        const bool is_misfit = result.status == run::Status::infeasible;
        plan.bound = is_misfit
                         ? 0
                         : in_64_bits(std::min<WideBytes>(WideBytes{result.bound} * converted_.unit, kLimit));
        plan.pools[0].bound = plan.bound;
        describe_proof(result, plan);
        for (const Objective& objective : terms_) {
            plan.terms.push_back(
                {objective, 0, plan.bound, plan.bound > 0 ? plan.proof : MEMSTOW_PROOF_LEAST, 0});
            for (const int64_t nodes : plan.searched_nodes) plan.terms.back().searches += nodes;
        }
        if (is_misfit) plan.status = MEMSTOW_INFEASIBLE;
        if (is_misfit || result.status == run::Status::unknown) return MEMSTOW_OK;
        plan.status = result.status == run::Status::optimal ? MEMSTOW_OPTIMAL : MEMSTOW_FEASIBLE;
        plan.solver.assign(result.solver.data(), result.solver.size());
        set_places(result.layout, plan);
        for (TermUse& use : plan.terms) use.value = plan.peak;
        return judged(plan);
    }

    void describe_proof(const run::OnePoolResult& result, memstow_plan& plan) const {
        if (result.prover == run::Prover::live) return;
        plan.proof = result.prover == run::Prover::window ? MEMSTOW_PROOF_WINDOW : MEMSTOW_PROOF_SEARCH;
        plan.reason.time.reset();
        name(result.parts, plan.reason);
        if (result.status == run::Status::infeasible) return;
        if (result.window.begin < result.window.end) {
            const std::vector<int64_t>& times = converted_.times;
            plan.window = {times[result.window.begin], times[result.window.end - 1] + 1};
        }
        // A height that needed no search was refuted at the root, and no plan ends within a unit.
        std::map<int64_t, int64_t> nodes;
        for (const search::Refutation& refuted : result.refuted) {
            nodes[refuted.height * converted_.unit] = refuted.nodes;
        }
        const auto last = nodes.extract(plan.bound - converted_.unit);
        nodes.emplace(plan.bound - 1, last.empty() ? 1 : last.mapped());
        for (const auto& [height, count] : nodes) {
            if (height >= plan.bound) break;
            plan.searched_peaks.push_back(height);
            plan.searched_nodes.push_back(count);
        }
    }

    double seconds_left() const {
        if (has_flag(MEMSTOW_DETERMINISTIC)) return -1.0;
        const double passed = seconds();
        const double buffers = static_cast<double>(problem_.sizes.size());
        double rest = std::max(kSecondsToJudge * buffers, kJudgingToArrays * passed);
        if (problem_.pools.size() > 1) rest += kSecondsToPrefer;
        const double limit = options_.time_limit;
        return std::max(limit - passed - std::min(rest, limit * (1.0 - kLeastShare)), 0.0);
    }

    double seconds() const { return std::chrono::duration<double>(Budget::Clock::now() - began_).count(); }

    int64_t work_limit() const {
        if (options_.work_limit >= 0) return options_.work_limit;
        return has_flag(MEMSTOW_DETERMINISTIC) ? run::kDefaultWork : -1;
    }

    // The layout of the offsets to start from, in one pool; empty where they are no plan but for the
    // capacity.
    Layout start() const {
        if (options_.start == nullptr) return {};
        const judge::Places places{{options_.start, problem_.sizes.size()}, {}};
        judge::Pool endless = problem_.pools[0];
        endless.capacity = kLimit;
        judge::Rules rules = problem_.rules();
        rules.pools = {&endless, 1};
        if (judge::judge_by_rules(problem_.columns(), rules, places).defect != judge::Defect::none) return {};
        Layout layout;
        for (Index item = 0; item < instance().item_count(); ++item) {
            const Index first = instance().item_parts[item];
            const int64_t offset = places.offsets[static_cast<std::size_t>(converted_.buffers[first])];
            // Where it is no multiple of the unit, solvers have no such place.
            if (offset % converted_.unit != 0) return {};
            layout.push_back({0, offset / converted_.unit - instance().parts[first].delta});
        }
        return layout;
    }

    std::vector<int64_t> offsets_of(const Layout& layout) const {
        std::vector<int64_t> offsets(problem_.sizes.size());
        for (const Reduction::Alone& alone : alone_) offsets[alone.buffer] = alone.place.offset;
        for (Index part = 0; part < count_of(converted_.buffers); ++part) {
            const Part& own = instance().parts[part];
            offsets[converted_.buffers[part]] = (layout[own.item].offset + own.delta) * converted_.unit;
        }
        return offsets;
    }

    std::vector<std::size_t> pools_of(const Layout& layout) const {
        std::vector<std::size_t> pools(problem_.sizes.size(), 0);
        const auto set = [&](Index buffer, Index pool) { pools[buffer] = static_cast<std::size_t>(pool); };
        for (const Reduction::Alone& alone : alone_) set(alone.buffer, alone.place.pool);
        for (Index part = 0; part < count_of(converted_.buffers); ++part) {
            set(converted_.buffers[part], layout[instance().parts[part].item].pool);
        }
        return pools;
    }

    void set_places(const Layout& layout, memstow_plan& plan) const {
        const std::vector<int64_t> offsets = offsets_of(layout);
        plan.offsets.assign(offsets.begin(), offsets.end());
        const std::vector<std::size_t> pools = pools_of(layout);
        plan.pool_of.assign(pools.begin(), pools.end());
        const std::vector<Bytes> peaks = pool_peaks(instance(), layout);
        Value sum = 0;
        for (std::size_t pool = 0; pool < peaks.size(); ++pool) {
            plan.pools[pool].peak = peaks[pool] * converted_.unit;
            sum += plan.pools[pool].peak;
        }
        plan.peak = in_64_bits(sum);
        if (!counts(MEMSTOW_MOVES)) return;
        for (std::size_t buffer = 0; buffer < problem_.sizes.size(); ++buffer) {
            plan.moves += has_start(buffer) &&
                          (offsets[buffer] != options_.start[buffer] || pools[buffer] != start_pool(buffer));
        }
    }

    // Counts everything again by the judge's own code.
    memstow_code judged(const memstow_plan& plan) const {
        judge::Places start{};
        if (counts(MEMSTOW_MOVES)) start.offsets = {options_.start, problem_.sizes.size()};
        if (options_.start_pools != nullptr && !start.offsets.empty()) {
            start.pools = {options_.start_pools, problem_.sizes.size()};
        }
        try {
            const judge::Worth worth = judged_worth(problem_, {plan.offsets, plan.pool_of}, start);
            for (std::size_t pool = 0; pool < plan.pools.size(); ++pool) {
                const PoolUse& use = plan.pools[pool];
                if (use.peak != worth.peaks[pool] || use.bound > use.peak) return MEMSTOW_INTERNAL;
            }
            for (const TermUse& use : plan.terms) {
                if (use.value != value_of(use.objective, worth) || use.bound > use.value)
                    return MEMSTOW_INTERNAL;
            }
            if (plan.bound > plan.peak) return MEMSTOW_INTERNAL;
        } catch (const Invalid& refused) {
            write_message(options_.message, options_.message_size, refused.text);
            return MEMSTOW_INTERNAL;
        }
        if (plan.proof != MEMSTOW_PROOF_LIVE || !plan.reason.time || !problem_.is_plain()) return MEMSTOW_OK;
        const std::vector<int64_t> members(plan.reason.buffers.begin(), plan.reason.buffers.end());
        const std::optional<int64_t> proven = judge::proven(problem_.columns(), members, *plan.reason.time);
        return proven && *proven >= plan.bound ? MEMSTOW_OK : MEMSTOW_INTERNAL;
    }

    static int64_t value_of(const Objective& objective, const judge::Worth& worth) {
        Value sum = 0;
        switch (objective.term) {
            case MEMSTOW_PEAK:
                for (const int64_t peak : worth.peaks) sum += peak;
                return in_64_bits(sum);
            case MEMSTOW_POOL_PEAK:
                return worth.peaks[objective.pool];
            case MEMSTOW_MAX_PEAK:
                return *std::ranges::max_element(worth.peaks);
            case MEMSTOW_PLACEMENT_COST:
                return in_64_bits(worth.placement_cost);
            case MEMSTOW_REUSE_COST:
                return in_64_bits(worth.reuse_cost);
            case MEMSTOW_BANK_COST:
                return in_64_bits(worth.bank_cost);
            case MEMSTOW_MOVES:
                return worth.moves;
            case MEMSTOW_PREFERENCE:
                return in_64_bits(worth.preference);
        }
        return -1;
    }

    static constexpr std::uint32_t kMostWorkers = 64;

    const memstow_problem& problem_;
    const memstow_options& options_;
    std::vector<Objective> terms_;
    FromColumns converted_;
    std::vector<Reduction::Alone> alone_;  // buffers without bytes
    Value least_cost_ = 0;
    Budget::Clock::time_point began_ = Budget::Clock::now();
};

const char* text_of(judge::Defect defect) {
    switch (defect) {
        case judge::Defect::none:
            return "nothing";
        case judge::Defect::length:
            return "the number of offsets";
        case judge::Defect::size:
            return "a size";
        case judge::Defect::lifetime:
            return "a lifetime";
        case judge::Defect::alignment:
            return "an alignment";
        case judge::Defect::place:
            return "a place beyond the memory";
        case judge::Defect::unaligned:
            return "an offset that is not aligned";
        case judge::Defect::overlap:
            return "an overlap";
        case judge::Defect::reserved:
            return "a place in a reserved range";
        case judge::Defect::pin:
            return "an offset that is not the pinned one";
        case judge::Defect::tie:
            return "another distance than that of the tie";
        case judge::Defect::pool:
            return "a pool that it may not go to";
        case judge::Defect::across:
            return "a place across banks";
        case judge::Defect::bank:
            return "a bank that it may not be in";
        case judge::Defect::shared:
            return "a bank that two may not share";
    }
    return "";
}

std::string text_of(const judge::Finding& finding) {
    std::string text = text_of(finding.defect);
    if (finding.first >= 0) text += ": buffer " + std::to_string(finding.first);
    if (finding.second >= 0) text += " and buffer " + std::to_string(finding.second);
    return text;
}

}  // namespace

judge::Worth library::judged_worth(const memstow_problem& problem, const judge::Places& places,
                                   const judge::Places& start) {
    const judge::Columns columns = problem.columns();
    const judge::Rules rules = problem.rules();
    // Plain problems may be large, and their judge is the faster one.
    const bool is_plain =
        problem.is_plain() && std::ranges::all_of(places.pools, [](std::size_t pool) { return pool == 0; });
    const judge::Finding finding =
        is_plain ? judge::judge(columns, places.offsets, problem.pools[0].capacity).finding
                 : judge::judge_by_rules(columns, rules, places);
    if (finding.defect != judge::Defect::none) throw Invalid{text_of(finding)};
    return judge::worth_of(columns, rules, {problem.accesses, problem.reuse, start}, places);
}

void memstow_options_init(memstow_options* options) {
    if (options == nullptr) return;
    *options = {};
    options->struct_size = sizeof *options;
    options->time_limit = kDefaultSeconds;
    options->work_limit = -1;
    options->workers = 1;
}

memstow_code memstow_solve(const memstow_problem* problem, const memstow_options* options,
                           memstow_plan** plan) {
    if (plan == nullptr) return MEMSTOW_INVALID;
    *plan = nullptr;
    if (problem == nullptr) return MEMSTOW_INVALID;
    memstow_options defaults;
    memstow_options_init(&defaults);
    if (options == nullptr) options = &defaults;
    const bool whole = options->struct_size == sizeof(memstow_options);
    return guarded(
        [&](const std::string& text) {
            if (whole) write_message(options->message, options->message_size, text);
        },
        [&] {
            const auto discard = [](memstow_plan* made) { destroy(made); };
            std::unique_ptr<memstow_plan, decltype(discard)> made(
                make<memstow_plan>(problem->from, problem->from));
            const memstow_code code = Call(*problem, *options).run(*made);
            if (code == MEMSTOW_OK) *plan = made.release();
            return code;
        });
}

memstow_code memstow_judge(const memstow_problem* problem, const int64_t* offsets, int64_t* peak,
                           char* message, size_t message_size) {
    return memstow_judge_in(problem, nullptr, offsets, peak, message, message_size);
}

memstow_code memstow_judge_in(const memstow_problem* problem, const size_t* pools, const int64_t* offsets,
                              int64_t* peak, char* message, size_t message_size) {
    if (problem == nullptr || (offsets == nullptr && !problem->sizes.empty())) return MEMSTOW_INVALID;
    return guarded([&](const std::string& text) { write_message(message, message_size, text); },
                   [&] {
                       judge::Places places{{offsets, problem->sizes.size()}, {}};
                       if (pools != nullptr) places.pools = {pools, problem->sizes.size()};
                       const judge::Worth worth = judged_worth(*problem, places, {});
                       Value sum = 0;
                       for (const int64_t height : worth.peaks) sum += height;
                       if (peak != nullptr) *peak = in_64_bits(sum);
                       return MEMSTOW_OK;
                   });
}
