// The interface of MiniMalloc's solver over libmemstow: a program that includes minimalloc.h and solver.h
// includes this instead, and links libmemstow and Abseil's status and time. What steers MiniMalloc's own
// search is taken and has no effect.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "memstow.h"

namespace minimalloc {

// From the lower until before the upper.
template <typename T>
struct Interval {
    T lower_ = 0;
    T upper_ = 0;

    T lower() const { return lower_; }
    T upper() const { return upper_; }
    bool operator==(const Interval& other) const { return lower_ == other.lower_ && upper_ == other.upper_; }
    bool operator<(const Interval& other) const {
        return std::pair(lower_, upper_) < std::pair(other.lower_, other.upper_);
    }
    friend std::ostream& operator<<(std::ostream& os, const Interval& interval) {
        return os << '[' << interval.lower() << ", " << interval.upper() << ')';
    }
};

using BufferIdx = std::int64_t;
using Capacity = std::int64_t;
using Offset = std::int64_t;
using TimeValue = std::int64_t;
using Area = std::int64_t;
using Lifespan = Interval<TimeValue>;
using Window = Interval<Offset>;

// A time in which a buffer needs no bytes, or those of the window alone.
struct Gap {
    Lifespan lifespan;
    std::optional<Window> window;

    bool operator==(const Gap& other) const { return lifespan == other.lifespan && window == other.window; }
};

struct Buffer {
    std::string id;
    Lifespan lifespan = {0, 0};
    std::int64_t size = 0;
    std::int64_t alignment = 1;
    std::vector<Gap> gaps;
    std::optional<Offset> offset;  // where it must be
    std::optional<Offset> hint;    // where it was; counts where all buffers have one

    Area area() const { return size * (lifespan.upper() - lifespan.lower()); }

    // What this takes beneath the other one, if that is the next above it; nothing where they are never live
    // at the same time.
    std::optional<std::int64_t> effective_size(const Buffer& other) const {
        std::optional<std::int64_t> result;
        for (const Gap& mine : parts()) {
            for (const Gap& theirs : other.parts()) {
                if (mine.lifespan.upper() <= theirs.lifespan.lower()) continue;
                if (theirs.lifespan.upper() <= mine.lifespan.lower()) continue;
                const std::int64_t taken = mine.window->upper() - theirs.window->lower();
                result = std::max(result.value_or(taken), taken);
            }
        }
        return result;
    }

    bool operator==(const Buffer& other) const {
        return id == other.id && lifespan == other.lifespan && size == other.size &&
               alignment == other.alignment && gaps == other.gaps && offset == other.offset;
    }

    // The times in which it has bytes, and which: those of all of it first.
    std::vector<Gap> parts() const {
        std::vector<Gap> sorted = gaps;
        std::sort(sorted.begin(), sorted.end(),
                  [](const Gap& one, const Gap& other) { return one.lifespan < other.lifespan; });
        std::vector<Gap> whole, parts;
        TimeValue begin = lifespan.lower();
        for (const Gap& gap : sorted) {
            const TimeValue from = std::max(gap.lifespan.lower(), lifespan.lower());
            const TimeValue until = std::min(gap.lifespan.upper(), lifespan.upper());
            if (from >= until) continue;
            if (begin < from) whole.push_back({{begin, from}, Window{0, size}});
            if (gap.window) parts.push_back({{from, until}, gap.window});
            begin = std::max(begin, until);
        }
        if (begin < lifespan.upper()) whole.push_back({{begin, lifespan.upper()}, Window{0, size}});
        whole.insert(whole.end(), parts.begin(), parts.end());
        return whole;
    }
};

struct Solution {
    std::vector<Offset> offsets;  // by buffer
    Offset height = 0;

    bool operator==(const Solution& other) const { return offsets == other.offsets; }
};

struct Problem {
    std::vector<Buffer> buffers;
    Capacity capacity = 0;

    // The offsets of the buffers as a solution; the buffers have none afterwards.
    absl::StatusOr<Solution> strip_solution() {
        Solution solution;
        for (Buffer& buffer : buffers) {
            if (!buffer.offset) return absl::NotFoundError("a buffer has no offset");
            solution.offsets.push_back(*buffer.offset);
            buffer.offset.reset();
        }
        return solution;
    }

    bool operator==(const Problem& other) const {
        return buffers == other.buffers && capacity == other.capacity;
    }
};

using CanonicalOnlyParam = bool;
using SectionInferenceParam = bool;
using DynamicOrderingParam = bool;
using CheckDominanceParam = bool;
using UnallocatedFloorParam = bool;
using StaticPreorderingParam = bool;
using DynamicDecompositionParam = bool;
using MonotonicFloorParam = bool;
using HatlessPruningParam = bool;
using MinimizeCapacity = bool;
using PreorderingHeuristic = std::string;

struct SolverParams {
    absl::Duration timeout = absl::InfiniteDuration();
    // Of MiniMalloc's search.
    CanonicalOnlyParam canonical_only = true;
    SectionInferenceParam section_inference = true;
    DynamicOrderingParam dynamic_ordering = true;
    CheckDominanceParam check_dominance = true;
    UnallocatedFloorParam unallocated_floor = true;
    StaticPreorderingParam static_preordering = true;
    DynamicDecompositionParam dynamic_decomposition = true;
    MonotonicFloorParam monotonic_floor = true;
    HatlessPruningParam hatless_pruning = true;
    MinimizeCapacity minimize_capacity = false;  // the least height, instead of any within the capacity
    std::vector<PreorderingHeuristic> preordering_heuristics = {"WAT", "TAW", "TWA"};
};

class Solver {
  public:
    Solver() = default;
    explicit Solver(const SolverParams& params) : params_(params) {}
    virtual ~Solver() = default;
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    // kNotFound: no plan fits, which is proven; kDeadlineExceeded and kAborted: none was found so far;
    // kInvalidArgument: says what is wrong.
    absl::StatusOr<Solution> Solve(const Problem& problem) {
        const Run run(*this);
        return solve(problem, absl::Now());
    }

    // Steps of the search of the last call.
    std::int64_t get_backtracks() const { return steps_; }

    // Ends a call in another thread.
    void Cancel() {
        const std::lock_guard lock(mutex_);
        if (stop_ != nullptr) memstow_stop_pull(stop_);
        cancelled_ = true;
    }

    // Buffers that do not fit, while any of them can be left out and the others fit.
    absl::StatusOr<std::vector<BufferIdx>> ComputeIrreducibleInfeasibleSubset(const Problem& problem) {
        const Run run(*this);
        const absl::Time start = absl::Now();
        std::vector<BufferIdx> subset(problem.buffers.size());
        for (std::size_t i = 0; i < subset.size(); ++i) subset[i] = static_cast<BufferIdx>(i);
        const auto fits = [&](const std::vector<BufferIdx>& kept) {
            Problem part;
            part.capacity = problem.capacity;
            for (const BufferIdx i : kept)
                part.buffers.push_back(problem.buffers[static_cast<std::size_t>(i)]);
            return solve(part, start).status();
        };
        const absl::Status all = fits(subset);
        if (all.ok()) return absl::FailedPreconditionError("all buffers fit");
        if (!absl::IsNotFound(all)) return all;
        for (std::size_t i = 0; i < subset.size();) {
            std::vector<BufferIdx> fewer = subset;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
            const absl::Status status = fits(fewer);
            if (absl::IsNotFound(status)) {
                subset = std::move(fewer);
            } else if (status.ok()) {
                ++i;
            } else {
                return status;
            }
        }
        return subset;
    }

  private:
    // A call that can be cancelled.
    class Run {
      public:
        explicit Run(Solver& solver) : solver_(solver) {
            const std::lock_guard lock(solver_.mutex_);
            solver_.steps_ = 0;
            solver_.cancelled_ = false;
            if (memstow_stop_create(&solver_.stop_) != MEMSTOW_OK) solver_.stop_ = nullptr;
        }
        ~Run() {
            const std::lock_guard lock(solver_.mutex_);
            memstow_stop_destroy(std::exchange(solver_.stop_, nullptr));
        }
        Run(const Run&) = delete;
        Run& operator=(const Run&) = delete;

      private:
        Solver& solver_;
    };

    // What libmemstow holds for a call.
    struct Held {
        memstow_problem* problem = nullptr;
        memstow_plan* plan = nullptr;

        Held() = default;
        ~Held() {
            memstow_plan_destroy(plan);
            memstow_problem_destroy(problem);
        }
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;
    };

    static absl::Status failed(memstow_code code, const std::string& message) {
        if (code == MEMSTOW_OUT_OF_MEMORY) return absl::ResourceExhaustedError("out of memory");
        if (code == MEMSTOW_INTERNAL) return absl::InternalError(message);
        return absl::InvalidArgumentError(message);
    }

    // Adds the parts of a buffer: a buffer of its whole size, and one tied to it for each window.
    static memstow_code add(memstow_problem* to, const Buffer& buffer, TimeValue own,
                            std::vector<Offset>& hints) {
        const std::size_t base = memstow_buffer_count(to);
        const std::vector<Gap> parts = buffer.parts();
        const auto is_whole = [&](const Gap& part) { return part.window == Window{0, buffer.size}; };
        // A buffer that never needs all its bytes still has a place for them; nobody else is live then.
        Lifespan first = {own, own + 1};
        if (!parts.empty() && is_whole(parts.front())) first = parts.front().lifespan;
        memstow_code code =
            memstow_add_buffers(to, 1, &buffer.size, &first.lower_, &first.upper_, &buffer.alignment);
        hints.push_back(buffer.hint.value_or(0));
        if (code == MEMSTOW_OK && buffer.offset) code = memstow_pin(to, base, *buffer.offset);
        for (const Gap& part : parts) {
            if (code != MEMSTOW_OK) break;
            if (is_whole(part)) {
                if (!(part.lifespan == first))
                    code = memstow_add_lifetime(to, base, part.lifespan.lower(), part.lifespan.upper());
                continue;
            }
            const std::int64_t size = part.window->upper() - part.window->lower();
            const std::size_t tied = memstow_buffer_count(to);
            code = memstow_add_buffers(to, 1, &size, &part.lifespan.lower_, &part.lifespan.upper_, nullptr);
            if (code == MEMSTOW_OK) code = memstow_tie(to, tied, base, part.window->lower());
            hints.push_back(buffer.hint.value_or(0) + part.window->lower());
        }
        return code;
    }

    absl::StatusOr<Solution> solve(const Problem& problem, absl::Time start) {
        Held held;
        memstow_code code = memstow_problem_create(&held.problem);
        if (code != MEMSTOW_OK) return failed(code, "");
        TimeValue last = 0;
        bool all_hinted = !problem.buffers.empty();
        for (const Buffer& buffer : problem.buffers) {
            last = std::max(last, buffer.lifespan.upper());
            all_hinted = all_hinted && buffer.hint.has_value();
        }
        // The most that memstow adds up to: more is no limit either.
        code = memstow_set_capacity(held.problem, std::min(problem.capacity, Capacity{1} << 62));
        last = std::min(
            last, std::numeric_limits<TimeValue>::max() - static_cast<TimeValue>(problem.buffers.size()) - 1);
        std::vector<std::size_t> numbers;
        std::vector<Offset> hints;
        for (const Buffer& buffer : problem.buffers) {
            if (code != MEMSTOW_OK) break;
            numbers.push_back(memstow_buffer_count(held.problem));
            code = add(held.problem, buffer, last++, hints);
        }
        if (code != MEMSTOW_OK) return failed(code, memstow_problem_error(held.problem));

        char message[256] = "";
        memstow_options options;
        memstow_options_init(&options);
        // Longer than anybody waits, and no more than clocks can count.
        constexpr double kForever = 1e9;
        const double rest = absl::ToDoubleSeconds(params_.timeout - (absl::Now() - start));
        options.time_limit = std::clamp(rest, 0.0, kForever);
        options.flags = params_.minimize_capacity ? 0u : MEMSTOW_FIT_ONLY;
        options.start = all_hinted ? hints.data() : nullptr;
        options.stop = stop_;
        options.message = message;
        options.message_size = sizeof message;
        code = memstow_solve(held.problem, &options, &held.plan);
        if (code != MEMSTOW_OK) return failed(code, message);
        steps_ += std::max<std::int64_t>(memstow_plan_work(held.plan), 1);
        const std::int64_t* offsets = memstow_plan_offsets(held.plan);
        if (offsets == nullptr) {
            if (memstow_plan_status(held.plan) == MEMSTOW_INFEASIBLE)
                return absl::NotFoundError("no plan fits");
            const std::lock_guard lock(mutex_);
            if (cancelled_) return absl::AbortedError("cancelled");
            return absl::DeadlineExceededError("no plan was found in time");
        }
        Solution solution;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            solution.offsets.push_back(offsets[numbers[i]]);
            solution.height = std::max(solution.height, offsets[numbers[i]] + problem.buffers[i].size);
        }
        return solution;
    }

    const SolverParams params_;
    std::int64_t steps_ = 0;
    std::mutex mutex_;
    memstow_stop* stop_ = nullptr;
    bool cancelled_ = false;
};

}  // namespace minimalloc
