// libmemstow: the C interface over the solvers of one memory and the judge. Nothing is thrown across it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/assemble.hpp"
#include "core/bounds.hpp"
#include "core/budget.hpp"
#include "core/columns.hpp"
#include "core/reduction.hpp"
#include "core/score.hpp"
#include "memstow.h"
#include "places.hpp"
#include "run/by_terms.hpp"
#include "run/one_pool.hpp"
#include "run/stages.hpp"

namespace {

using namespace memstow;
using std::int64_t;

constexpr double kDefaultSeconds = 10.0;
// With more buffers than this, items are numbered by the begin of their lives.
constexpr std::size_t kMostAsGiven = std::size_t{1} << 18;
// Judging takes about so long for each buffer, and so many times as long as making the arrays took; but the
// search has at least this share of the limit.
constexpr double kSecondsToJudge = 1.2e-6;
constexpr double kJudgingToArrays = 4.0;
constexpr double kLeastShare = 0.5;

// An argument that cannot be used, for people.
struct Invalid {
    std::string text;
};

std::string in_text(int64_t value) { return std::to_string(value); }

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

void write_message(char* message, std::size_t size, const std::string& text) {
    if (message == nullptr || size == 0) return;
    const std::size_t length = std::min(text.size(), size - 1);
    std::memcpy(message, text.data(), length);
    message[length] = '\0';
}

}  // namespace

struct memstow_stop {
    std::atomic<bool> pulled{false};
};

struct memstow_problem {
    std::vector<int64_t> sizes, begins, ends, alignments;
    int64_t capacity = kLimit;
    judge::Rules rules;
    Distances distances;  // of what is tied
    std::string error;

    bool has_rules() const {
        return !rules.reserved.empty() || !rules.pins.empty() || !rules.lives.empty() ||
               !rules.conflicts.empty() || !rules.exclusive.empty() || !rules.in_place.empty() ||
               !rules.ties.empty();
    }
};

struct memstow_plan {
    memstow_status status = MEMSTOW_UNKNOWN;
    std::vector<int64_t> offsets;
    int64_t peak = 0;
    std::size_t moves = 0;
    int64_t bound = 0;
    memstow_proof proof = MEMSTOW_PROOF_LIVE;
    std::vector<std::size_t> members;
    std::optional<int64_t> time;
    std::optional<judge::Rules::Range> window;
    std::vector<int64_t> searched_peaks;
    std::vector<int64_t> searched_nodes;
    std::string solver;
    int64_t work = 0;
};

namespace {

void require_buffer(const memstow_problem& problem, std::size_t buffer) {
    if (buffer >= problem.sizes.size()) {
        throw Invalid{"there is no buffer " + std::to_string(buffer) + ": the problem has " +
                      std::to_string(problem.sizes.size())};
    }
}

void require_life(int64_t begin, int64_t end) {
    if (begin < -kLimit || end > kLimit || begin >= end) {
        throw Invalid{"a lifetime from " + in_text(begin) + " until " + in_text(end) +
                      ": it must end after its begin, and be within 2^62"};
    }
}

void require_pair(const memstow_problem& problem, std::size_t one, std::size_t other) {
    require_buffer(problem, one);
    require_buffer(problem, other);
    if (one == other) throw Invalid{"buffer " + std::to_string(one) + " twice in one pair"};
}

judge::Rules::Pair pair_of(std::size_t one, std::size_t other) {
    return {static_cast<int64_t>(one), static_cast<int64_t>(other)};
}

// Changes the problem, or says what is wrong and leaves it as it is.
template <class Change>
memstow_code change(memstow_problem* problem, Change apply) {
    if (problem == nullptr) return MEMSTOW_INVALID;
    problem->error.clear();
    return guarded([&](const std::string& text) { problem->error = text; },
                   [&] {
                       apply(*problem);
                       return MEMSTOW_OK;
                   });
}

Description::Pairs as_indices(const std::vector<judge::Rules::Pair>& pairs) {
    Description::Pairs indices;
    indices.reserve(pairs.size());
    for (const auto& [one, other] : pairs) {
        indices.emplace_back(static_cast<Index>(one), static_cast<Index>(other));
    }
    return indices;
}

// The union of ranges, in order, without ranges that touch.
void add_lives(std::vector<judge::Rules::Range> lives, Lists<Lifetime>& to) {
    std::ranges::sort(lives);
    const std::size_t first = to.values.size();
    for (const auto& [begin, end] : lives) {
        if (to.values.size() > first && begin <= to.values.back().end) {
            to.values.back().end = std::max(to.values.back().end, end);
        } else {
            to.values.push_back({begin, end});
        }
    }
    to.close();
}

Description description_of(const memstow_problem& problem) {
    const judge::Rules& rules = problem.rules;
    Description description;
    description.sizes = problem.sizes;
    PoolDescription& pool = description.pools.emplace_back();
    pool.capacity = problem.capacity;
    for (const auto& [begin, end] : rules.reserved) pool.reserved.push_back({begin, end});
    std::map<int64_t, Index> kinds;
    for (std::size_t buffer = 0; buffer < problem.sizes.size(); ++buffer) {
        const int64_t alignment = problem.alignments[buffer];
        const auto [kind, is_new] = kinds.try_emplace(alignment, count_of(kinds));
        if (is_new) description.kinds.push_back({alignment, {0}});
        description.kind_of.push_back(kind->second);
        if (rules.lives.empty()) {
            description.lives.values.push_back({problem.begins[buffer], problem.ends[buffer]});
            description.lives.close();
        } else {
            add_lives(rules.lives[buffer], description.lives);
        }
    }
    for (const int64_t pin : rules.pins) description.pins.push_back(pin < 0 ? kUnplaced : pin);
    for (const judge::Rules::Tie& tie : rules.ties) {
        description.ties.push_back(
            {static_cast<Index>(tie.buffer), static_cast<Index>(tie.base), tie.distance});
    }
    description.conflicts = as_indices(rules.conflicts);
    description.exclusive = as_indices(rules.exclusive);
    description.in_place = as_indices(rules.in_place);
    return description;
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
            plan.members.assign(homeless.begin(), homeless.end());
            plan.bound = extent(homeless);
            return MEMSTOW_OK;
        }
        const Instance& instance = converted_.instance;
        const bool by_terms = has(MEMSTOW_FEW_MOVES);
        if (!by_terms && !run::can_add(instance, converted_.stacked)) return MEMSTOW_TOO_LARGE;
        const Need need = need_of(instance, {true});
        if (need.height > instance.pools[0].capacity) {
            plan.status = MEMSTOW_INFEASIBLE;
            plan.bound = in_bytes(need.height);
            name_live(plan, need);
            return MEMSTOW_OK;
        }
        const std::atomic<bool>* stop = options_.stop == nullptr ? nullptr : &options_.stop->pulled;
        Budget budget(seconds_left(), work_limit(), nullptr, stop);
        const memstow_code code = by_terms ? moved_little(need, budget, plan) : searched(need, budget, plan);
        plan.work = budget.work();
        return code;
    }

  private:
    bool has(unsigned flag) const { return (options_.flags & flag) != 0; }

    void require() const {
        if (options_.struct_size != sizeof(memstow_options)) {
            throw Invalid{"options of another version; begin with memstow_options_init"};
        }
        if (!(options_.time_limit >= 0)) throw Invalid{"time_limit must be 0 or more"};
        if (!(options_.gap >= 0)) throw Invalid{"gap must be 0 or more"};
        if ((options_.flags & ~(MEMSTOW_DETERMINISTIC | MEMSTOW_FIT_ONLY | MEMSTOW_FEW_MOVES)) != 0)
            throw Invalid{"an unknown flag"};
        if (has(MEMSTOW_FEW_MOVES)) require_start();
        for (const auto& [begin, end] : problem_.rules.reserved) {
            if (begin < end && end > problem_.capacity) {
                throw Invalid{"a reserved range ends at " + in_text(end) + ", beyond the capacity of " +
                              in_text(problem_.capacity)};
            }
        }
        if (!problem_.rules.ties.empty()) require_room_between_tied();
    }

    void require_start() const {
        if (options_.start == nullptr && !problem_.sizes.empty()) throw Invalid{"few moves from no start"};
        for (std::size_t buffer = 0; buffer < problem_.sizes.size(); ++buffer) {
            if (options_.start[buffer] > kLimit) {
                throw Invalid{"a start of " + in_text(options_.start[buffer]) + " of buffer " +
                              std::to_string(buffer)};
            }
        }
    }

    // What may share no byte is not tied so that it does.
    void require_room_between_tied() const {
        const judge::Rules& rules = problem_.rules;
        Distances distances = problem_.distances;
        for (const auto& [one, other] : rules.conflicts) {
            const auto [group, at] = distances.find(static_cast<Index>(one));
            const auto [other_group, other_at] = distances.find(static_cast<Index>(other));
            if (group != other_group) continue;
            const WideBytes apart = other_at - at;
            const bool overlap = apart < problem_.sizes[static_cast<std::size_t>(one)] &&
                                 -apart < problem_.sizes[static_cast<std::size_t>(other)];
            const auto is_pair = [&](const judge::Rules::Pair& pair) {
                return std::minmax(pair.first, pair.second) == std::minmax(one, other);
            };
            if (overlap && (apart != 0 || std::ranges::none_of(rules.in_place, is_pair))) {
                throw Invalid{"buffer " + in_text(one) + " and buffer " + in_text(other) +
                              " may share no byte, but are tied so that they do"};
            }
        }
    }

    // Makes the arrays; or returns a buffer or a group that has no place even alone.
    std::vector<Index> convert() {
        if (problem_.has_rules() || has(MEMSTOW_FEW_MOVES)) {
            Description description = description_of(problem_);
            if (has(MEMSTOW_FEW_MOVES)) {
                for (std::size_t buffer = 0; buffer < problem_.sizes.size(); ++buffer) {
                    if (has_start(buffer)) description.usable.push_back(options_.start[buffer]);
                }
            }
            Reduction reduction = reduced(description);
            if (!reduction.homeless.empty()) return std::move(reduction.homeless);
            alone_ = std::move(reduction.alone);
            converted_.instance = std::move(reduction.instance);
            converted_.times = assemble_rows(converted_.instance, reduction.conflicts);
            converted_.buffers = std::move(reduction.buffers);
            converted_.unit = reduction.unit;
            converted_.stacked = stacked(converted_.instance);
            return {};
        }
        for (std::size_t buffer = 0; buffer < problem_.sizes.size(); ++buffer) {
            if (problem_.sizes[buffer] > problem_.capacity) return {static_cast<Index>(buffer)};
        }
        const Columns columns{problem_.sizes, problem_.begins, problem_.ends, problem_.alignments};
        const bool by_begin = problem_.sizes.size() > kMostAsGiven;
        converted_ =
            instance_of(columns, problem_.capacity, by_begin ? ItemOrder::by_begin : ItemOrder::as_given);
        converted_.instance.pools[0].capacity = problem_.capacity / converted_.unit;
        if (by_begin) converted_.instance.lives = {};
        return {};
    }

    // The bytes from the lowest of these buffers, which are tied where there are several, to the highest.
    int64_t extent(const std::vector<Index>& buffers) const {
        Distances distances = problem_.distances;
        WideBytes low = kLimit, high = -low;
        for (const Index buffer : buffers) {
            const WideBytes at = distances.find(buffer).second;
            low = std::min(low, at);
            high = std::max(high, at + problem_.sizes[buffer]);
        }
        return static_cast<int64_t>(std::min<WideBytes>(high - low, kLimit));
    }

    int64_t in_bytes(WideBytes units) const {
        const WideBytes bytes = units * converted_.unit;
        return bytes > kLimit ? kLimit : static_cast<int64_t>(bytes);
    }

    void name_live(memstow_plan& plan, const Need& need) const {
        name(plan, need.parts);
        std::ranges::sort(plan.members);
        if (need.row >= 0) plan.time = converted_.times[need.row];
    }

    void name(memstow_plan& plan, const std::vector<Index>& parts) const {
        plan.members.clear();
        for (const Index part : parts) {
            plan.members.push_back(static_cast<std::size_t>(converted_.buffers[part]));
        }
    }

    // Whether it counts as a move that the buffer is elsewhere than at its start.
    bool has_start(std::size_t buffer) const {
        return problem_.sizes[buffer] > 0 && options_.start[buffer] >= 0;
    }

    memstow_code moved_little(const Need& need, Budget& budget, memstow_plan& plan) {
        run::TermsOptions options;
        options.gap = options_.gap;
        options.seed = options_.seed;
        options.terms = {{TermKind::moves}};
        options.lower_bounds = {0};
        if (!has(MEMSTOW_FIT_ONLY)) {
            options.terms.push_back({TermKind::peak});
            options.lower_bounds.push_back(need.height);
        }
        std::vector<Place> places;
        for (const Index buffer : converted_.buffers) {
            const bool known = has_start(static_cast<std::size_t>(buffer));
            places.push_back(known ? Place{0, options_.start[buffer]} : Place{});
        }
        options.hint = hint_of(converted_.instance, converted_.unit, places);
        run::OnTerms better;
        if (options_.on_better != nullptr) {
            better = [&](const Layout& layout, const std::vector<Value>&) { offer(layout, budget); };
        }
        const run::TermsResult result = run::plan_by_terms(converted_.instance, options, budget, better);
        plan.bound = in_bytes(need.height);
        name_live(plan, need);
        if (!result.score.fits()) return MEMSTOW_OK;
        plan.solver = result.solver;
        plan.offsets = offsets_of(result.layout);
        plan.peak = pool_peaks(converted_.instance, result.layout)[0] * converted_.unit;
        for (std::size_t buffer = 0; buffer < problem_.sizes.size(); ++buffer) {
            plan.moves += has_start(buffer) && plan.offsets[buffer] != options_.start[buffer];
        }
        const bool is_low = has(MEMSTOW_FIT_ONLY) || plan.peak == plan.bound;
        plan.status = plan.moves == 0 && is_low ? MEMSTOW_OPTIMAL : MEMSTOW_FEASIBLE;
        return judged(plan);
    }

    void offer(const Layout& layout, Budget& budget) const {
        const std::vector<int64_t> offsets = offsets_of(layout);
        const int64_t peak = pool_peaks(converted_.instance, layout)[0] * converted_.unit;
        if (options_.on_better(options_.context, peak, offsets.data()) != 0) budget.cancel();
    }

    memstow_code searched(const Need& need, Budget& budget, memstow_plan& plan) {
        run::OnePoolOptions options;
        options.fit_only = has(MEMSTOW_FIT_ONLY);
        options.gap = options_.gap;
        options.seed = options_.seed;
        options.deterministic = has(MEMSTOW_DETERMINISTIC);
        options.workers = options.deterministic ? 1 : std::max<int>(static_cast<int>(options_.workers), 1);
        options.start = start();
        run::OnePoolEvents events;
        if (options_.on_better != nullptr) {
            events.better = [&](const Layout& layout, Bytes) { offer(layout, budget); };
        }
        if (options_.on_bound != nullptr) {
            events.bound = [&](Bytes bound) {
                if (options_.on_bound(options_.context, bound * converted_.unit) != 0) budget.cancel();
            };
        }
        const run::OnePoolResult result =
            run::plan_one_pool(converted_.instance, need, options, budget, events);
        plan.bound = result.status == run::Status::infeasible ? 0 : in_bytes(result.bound);
        describe_proof(need, result, plan);
        switch (result.status) {
            case run::Status::optimal:
            case run::Status::feasible:
                plan.status = result.status == run::Status::optimal ? MEMSTOW_OPTIMAL : MEMSTOW_FEASIBLE;
                plan.solver = result.solver;
                plan.offsets = offsets_of(result.layout);
                plan.peak = result.height * converted_.unit;
                return judged(plan);
            case run::Status::infeasible:
                plan.status = MEMSTOW_INFEASIBLE;
                return MEMSTOW_OK;
            case run::Status::unknown:
                return MEMSTOW_OK;
        }
        return MEMSTOW_INTERNAL;
    }

    void describe_proof(const Need& need, const run::OnePoolResult& result, memstow_plan& plan) const {
        if (result.prover == run::Prover::live) return name_live(plan, need);
        plan.proof = result.prover == run::Prover::window ? MEMSTOW_PROOF_WINDOW : MEMSTOW_PROOF_SEARCH;
        name(plan, result.parts);
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
        if (has(MEMSTOW_DETERMINISTIC)) return -1.0;
        const double passed = seconds();
        const double rest =
            std::max(kSecondsToJudge * static_cast<double>(problem_.sizes.size()), kJudgingToArrays * passed);
        const double limit = options_.time_limit;
        return std::max(limit - passed - std::min(rest, limit * (1.0 - kLeastShare)), 0.0);
    }

    double seconds() const { return std::chrono::duration<double>(Budget::Clock::now() - began_).count(); }

    int64_t work_limit() const {
        if (options_.work_limit >= 0) return options_.work_limit;
        return has(MEMSTOW_DETERMINISTIC) ? run::kDefaultWork : -1;
    }

    // The layout of the offsets to start from; empty where they are no plan but for the capacity.
    Layout start() const {
        if (options_.start == nullptr) return {};
        const std::span<const int64_t> offsets(options_.start, problem_.sizes.size());
        if (judge::judge_by_rules(columns(), problem_.rules, offsets, kLimit).defect != judge::Defect::none) {
            return {};
        }
        Layout layout;
        const Instance& instance = converted_.instance;
        for (Index item = 0; item < instance.item_count(); ++item) {
            const Index first = instance.item_parts[item];
            const int64_t offset = offsets[converted_.buffers[first]];
            // Where it is no multiple of the unit, solvers have no such place.
            if (offset % converted_.unit != 0) return {};
            layout.push_back({0, offset / converted_.unit - instance.parts[first].delta});
        }
        return layout;
    }

    judge::Columns columns() const {
        return {problem_.sizes, problem_.begins, problem_.ends, problem_.alignments};
    }

    std::vector<int64_t> offsets_of(const Layout& layout) const {
        std::vector<int64_t> offsets(problem_.sizes.size());
        for (const Reduction::Alone& alone : alone_) offsets[alone.buffer] = alone.place.offset;
        for (Index part = 0; part < count_of(converted_.buffers); ++part) {
            const Part& own = converted_.instance.parts[part];
            offsets[converted_.buffers[part]] = (layout[own.item].offset + own.delta) * converted_.unit;
        }
        return offsets;
    }

    memstow_code judged(memstow_plan& plan) const {
        int64_t peak = 0;
        if (memstow_judge(&problem_, plan.offsets.data(), &peak, options_.message, options_.message_size) !=
                MEMSTOW_OK ||
            peak != plan.peak || plan.bound > peak) {
            return MEMSTOW_INTERNAL;
        }
        if (plan.proof != MEMSTOW_PROOF_LIVE || !plan.time || problem_.has_rules()) return MEMSTOW_OK;
        const std::vector<int64_t> members(plan.members.begin(), plan.members.end());
        const std::optional<int64_t> proven = judge::proven(columns(), members, *plan.time);
        return proven && *proven >= plan.bound ? MEMSTOW_OK : MEMSTOW_INTERNAL;
    }

    const memstow_problem& problem_;
    const memstow_options& options_;
    FromColumns converted_;
    std::vector<Reduction::Alone> alone_;
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
    }
    return "";
}

std::string text_of(const judge::Finding& finding) {
    std::string text = text_of(finding.defect);
    if (finding.first >= 0) text += ": buffer " + in_text(finding.first);
    if (finding.second >= 0) text += " and buffer " + in_text(finding.second);
    return text;
}

}  // namespace

const char* memstow_version(void) { return MEMSTOW_VERSION; }

int memstow_abi_version(void) { return MEMSTOW_ABI_VERSION; }

const char* memstow_code_text(memstow_code code) {
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
    }
    return "unknown code";
}

const char* memstow_status_text(memstow_status status) {
    switch (status) {
        case MEMSTOW_OPTIMAL:
            return "optimal";
        case MEMSTOW_FEASIBLE:
            return "feasible";
        case MEMSTOW_INFEASIBLE:
            return "infeasible";
        case MEMSTOW_UNKNOWN:
            return "unknown";
    }
    return "unknown status";
}

memstow_code memstow_problem_create(memstow_problem** problem) {
    if (problem == nullptr) return MEMSTOW_INVALID;
    *problem = new (std::nothrow) memstow_problem;
    return *problem == nullptr ? MEMSTOW_OUT_OF_MEMORY : MEMSTOW_OK;
}

void memstow_problem_destroy(memstow_problem* problem) { delete problem; }

const char* memstow_problem_error(const memstow_problem* problem) {
    return problem == nullptr ? "" : problem->error.c_str();
}

size_t memstow_buffer_count(const memstow_problem* problem) {
    return problem == nullptr ? 0 : problem->sizes.size();
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
                              in_text(sizes[i])};
            }
            require_life(begins[i], ends[i]);
            if (alignments != nullptr && (alignments[i] < 1 || alignments[i] > kLimit)) {
                throw Invalid{"buffer " + std::to_string(i) + " of the call has an alignment of " +
                              in_text(alignments[i])};
            }
        }
        // All of the memory first, so that nothing is added where it is not there.
        const size_t total = self.sizes.size() + count;
        for (auto* column : {&self.sizes, &self.begins, &self.ends, &self.alignments}) column->reserve(total);
        if (!self.rules.pins.empty()) self.rules.pins.reserve(total);
        if (!self.rules.lives.empty()) {
            self.rules.lives.reserve(total);
            std::vector<std::vector<judge::Rules::Range>> lives(count);
            for (size_t i = 0; i < count; ++i) lives[i] = {{begins[i], ends[i]}};
            std::ranges::move(lives, std::back_inserter(self.rules.lives));
        }
        if (!self.rules.pins.empty()) self.rules.pins.resize(total, -1);
        self.sizes.insert(self.sizes.end(), sizes, sizes + count);
        self.begins.insert(self.begins.end(), begins, begins + count);
        self.ends.insert(self.ends.end(), ends, ends + count);
        if (alignments == nullptr) {
            self.alignments.resize(total, 1);
        } else {
            self.alignments.insert(self.alignments.end(), alignments, alignments + count);
        }
    });
}

memstow_code memstow_set_capacity(memstow_problem* problem, int64_t capacity) {
    return change(problem, [&](memstow_problem& self) {
        if (capacity < 0 || capacity > kLimit) throw Invalid{"a capacity of " + in_text(capacity)};
        self.capacity = capacity;
    });
}

memstow_code memstow_reserve(memstow_problem* problem, int64_t offset, int64_t size) {
    return change(problem, [&](memstow_problem& self) {
        if (offset < 0 || size < 0 || size > kLimit || offset > kLimit - size) {
            throw Invalid{in_text(size) + " bytes that are reserved at " + in_text(offset)};
        }
        self.rules.reserved.emplace_back(offset, offset + size);
    });
}

memstow_code memstow_add_lifetime(memstow_problem* problem, size_t buffer, int64_t begin, int64_t end) {
    return change(problem, [&](memstow_problem& self) {
        require_buffer(self, buffer);
        require_life(begin, end);
        if (self.rules.lives.empty()) {
            std::vector<std::vector<judge::Rules::Range>> lives(self.sizes.size());
            for (size_t i = 0; i < lives.size(); ++i) lives[i] = {{self.begins[i], self.ends[i]}};
            self.rules.lives = std::move(lives);
        }
        self.rules.lives[buffer].emplace_back(begin, end);
    });
}

memstow_code memstow_pin(memstow_problem* problem, size_t buffer, int64_t offset) {
    return change(problem, [&](memstow_problem& self) {
        require_buffer(self, buffer);
        if (offset < 0 || offset > kLimit) throw Invalid{"an offset of " + in_text(offset)};
        if (self.rules.pins.empty()) self.rules.pins.resize(self.sizes.size(), -1);
        self.rules.pins[buffer] = offset;
    });
}

memstow_code memstow_tie(memstow_problem* problem, size_t buffer, size_t base, int64_t distance) {
    return change(problem, [&](memstow_problem& self) {
        require_pair(self, buffer, base);
        if (distance < -kLimit || distance > kLimit) throw Invalid{"a distance of " + in_text(distance)};
        auto& ties = self.rules.ties;
        ties.reserve(ties.size() + 1);
        const std::optional<WideBytes> known =
            self.distances.tie({static_cast<Index>(buffer), static_cast<Index>(base), distance});
        if (known && *known != distance) {
            throw Invalid{"buffer " + std::to_string(buffer) + " is tied to buffer " + std::to_string(base) +
                          " at another distance already"};
        }
        if (!known) ties.push_back({static_cast<int64_t>(buffer), static_cast<int64_t>(base), distance});
    });
}

memstow_code memstow_keep_apart(memstow_problem* problem, size_t one, size_t other) {
    return change(problem, [&](memstow_problem& self) {
        require_pair(self, one, other);
        self.rules.conflicts.push_back(pair_of(one, other));
    });
}

memstow_code memstow_never_together(memstow_problem* problem, size_t one, size_t other) {
    return change(problem, [&](memstow_problem& self) {
        require_pair(self, one, other);
        self.rules.exclusive.push_back(pair_of(one, other));
    });
}

memstow_code memstow_allow_in_place(memstow_problem* problem, size_t input, size_t output) {
    return change(problem, [&](memstow_problem& self) {
        require_pair(self, input, output);
        self.rules.in_place.push_back(pair_of(input, output));
    });
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
    auto* made = new (std::nothrow) memstow_plan;
    if (made == nullptr) return MEMSTOW_OUT_OF_MEMORY;
    const memstow_code code = guarded(
        [&](const std::string& text) {
            if (whole) write_message(options->message, options->message_size, text);
        },
        [&] { return Call(*problem, *options).run(*made); });
    if (code != MEMSTOW_OK) {
        delete made;
        return code;
    }
    *plan = made;
    return MEMSTOW_OK;
}

void memstow_plan_destroy(memstow_plan* plan) { delete plan; }

memstow_status memstow_plan_status(const memstow_plan* plan) { return plan->status; }

const int64_t* memstow_plan_offsets(const memstow_plan* plan) {
    const bool is_plan = plan->status == MEMSTOW_OPTIMAL || plan->status == MEMSTOW_FEASIBLE;
    // Of a problem without buffers the array is empty, but there.
    static const int64_t kNone = 0;
    if (!is_plan) return nullptr;
    return plan->offsets.empty() ? &kNone : plan->offsets.data();
}

int64_t memstow_plan_peak(const memstow_plan* plan) { return plan->peak; }

size_t memstow_plan_moves(const memstow_plan* plan) { return plan->moves; }

int64_t memstow_plan_bound(const memstow_plan* plan) { return plan->bound; }

memstow_proof memstow_plan_proof(const memstow_plan* plan) { return plan->proof; }

size_t memstow_plan_proof_buffers(const memstow_plan* plan, const size_t** buffers) {
    if (buffers != nullptr) *buffers = plan->members.data();
    return plan->members.size();
}

int memstow_plan_proof_time(const memstow_plan* plan, int64_t* time) {
    if (plan->time && time != nullptr) *time = *plan->time;
    return plan->time ? 1 : 0;
}

int memstow_plan_proof_window(const memstow_plan* plan, int64_t* begin, int64_t* end) {
    if (!plan->window) return 0;
    if (begin != nullptr) *begin = plan->window->first;
    if (end != nullptr) *end = plan->window->second;
    return 1;
}

size_t memstow_plan_searches(const memstow_plan* plan, const int64_t** peaks, const int64_t** nodes) {
    if (peaks != nullptr) *peaks = plan->searched_peaks.data();
    if (nodes != nullptr) *nodes = plan->searched_nodes.data();
    return plan->searched_peaks.size();
}

const char* memstow_plan_solver(const memstow_plan* plan) { return plan->solver.c_str(); }

int64_t memstow_plan_work(const memstow_plan* plan) { return plan->work; }

memstow_code memstow_stop_create(memstow_stop** stop) {
    if (stop == nullptr) return MEMSTOW_INVALID;
    *stop = new (std::nothrow) memstow_stop;
    return *stop == nullptr ? MEMSTOW_OUT_OF_MEMORY : MEMSTOW_OK;
}

void memstow_stop_pull(memstow_stop* stop) {
    if (stop != nullptr) stop->pulled.store(true, std::memory_order_relaxed);
}

void memstow_stop_destroy(memstow_stop* stop) { delete stop; }

memstow_code memstow_judge(const memstow_problem* problem, const int64_t* offsets, int64_t* peak,
                           char* message, size_t message_size) {
    if (problem == nullptr || (offsets == nullptr && !problem->sizes.empty())) return MEMSTOW_INVALID;
    return guarded([&](const std::string& text) { write_message(message, message_size, text); },
                   [&] {
                       const judge::Columns columns{problem->sizes, problem->begins, problem->ends,
                                                    problem->alignments};
                       const std::span<const int64_t> places(offsets, problem->sizes.size());
                       const judge::Finding finding =
                           problem->has_rules()
                               ? judge::judge_by_rules(columns, problem->rules, places, problem->capacity)
                               : judge::judge(columns, places, problem->capacity).finding;
                       if (finding.defect != judge::Defect::none) throw Invalid{text_of(finding)};
                       if (peak != nullptr) {
                           *peak = 0;
                           for (size_t i = 0; i < problem->sizes.size(); ++i) {
                               if (problem->sizes[i] > 0)
                                   *peak = std::max(*peak, offsets[i] + problem->sizes[i]);
                           }
                       }
                       return MEMSTOW_OK;
                   });
}
