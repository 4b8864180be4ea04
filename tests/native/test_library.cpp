// libmemstow as somebody calls it who means it no good: any arguments, in any order, and too little memory.
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "check.hpp"
#include "core/random.hpp"
#include "memstow.hpp"

using namespace memstow;

namespace {

// Numbers that begin where others end, and some that mean something.
std::int64_t any(Random& random) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::array kSome{
        std::int64_t{0}, std::int64_t{1},       std::int64_t{-1},     kMost,
        -kMost - 1,      MEMSTOW_LIMIT,         MEMSTOW_LIMIT - 1,    MEMSTOW_LIMIT + 1,
        -MEMSTOW_LIMIT,  std::int64_t{1} << 31, std::int64_t{1} << 61};
    if (random.below(8) == 0) return kSome[random.below(kSome.size())];
    return static_cast<std::int64_t>(random.below(40));
}

std::size_t number(Random& random, std::size_t count) {
    if (random.below(12) == 0) return random.below(2) == 0 ? std::numeric_limits<std::size_t>::max() : count;
    return random.below(count + 1);
}

// One call of those that change the problem.
memstow_code change(memstow_problem* problem, Random& random) {
    const std::size_t buffers = memstow_buffer_count(problem), pools = memstow_pool_count(problem);
    const std::size_t one = number(random, buffers), other = number(random, buffers);
    const std::size_t pool = number(random, pools);
    std::array<std::int64_t, 3> a{}, b{}, c{}, d{};
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = any(random);
        b[i] = any(random);
        c[i] = random.below(8) == 0       ? any(random)
               : b[i] < MEMSTOW_LIMIT - 9 ? b[i] + 1 + static_cast<std::int64_t>(random.below(8))
                                          : b[i];
        d[i] = random.below(4) == 0 ? any(random) : 1;
    }
    switch (random.below(24)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
            return memstow_add_buffers(problem, random.below(4), a.data(), b.data(), c.data(),
                                       random.below(2) == 0 ? d.data() : nullptr);
        case 5:
            return memstow_add_pools(problem, random.below(3), a.data(),
                                     random.below(2) == 0 ? d.data() : nullptr);
        case 6:
            return memstow_set_capacity(problem, a[0]);
        case 7:
            return memstow_set_cost(problem, pool, a[0]);
        case 8:
            return memstow_set_addresses(problem, pool, a[0], d[0]);
        case 9:
            return memstow_reserve_in(problem, pool, a[0], a[1]);
        case 10: {
            const std::array<std::size_t, 3> some{pool, number(random, pools), number(random, pools)};
            return memstow_allow_pools(problem, one, random.below(4), some.data());
        }
        case 11:
            return memstow_set_accesses(problem, one, a[0]);
        case 12:
            return memstow_add_lifetime(problem, one, b[0], c[0]);
        case 13:
            return memstow_pin(problem, one, a[0]);
        case 14:
            return memstow_tie(problem, one, other, random.below(3) == 0 ? a[0] / -2 : a[0]);
        case 15:
            return memstow_keep_apart(problem, one, other);
        case 16:
            return memstow_never_together(problem, one, other);
        case 17:
            return memstow_allow_in_place(problem, one, other);
        case 18:
            return memstow_add_reuse_cost(problem, one, other, a[0]);
        case 19:
            return memstow_add_banks(problem, pool, a[0], a[1], number(random, 6));
        case 20:
            return memstow_keep_within_bank(problem, one);
        case 21: {
            const std::array<std::size_t, 3> some{number(random, 3), number(random, 3), number(random, 3)};
            return memstow_allow_banks(problem, one, random.below(4), some.data());
        }
        case 22: {
            const std::array<std::size_t, 3> some{one, other, number(random, buffers)};
            return memstow_add_bank_conflict(problem, random.below(4), some.data(),
                                             random.below(3) == 0 ? a[0] : a[0] % 4 - 1);
        }
        default:
            return memstow_add_term(problem, static_cast<int>(random.below(10)) - 1, pool);
    }
}

bool has_text(const char* text) { return text != nullptr && *text != '\0'; }

// Runs the problem, and looks at all that its plan tells.
void solve(const memstow_problem* problem, Random& random) {
    const std::size_t buffers = memstow_buffer_count(problem), pools = memstow_pool_count(problem);
    std::vector<std::int64_t> start;
    std::vector<std::size_t> start_pools;
    for (std::size_t i = 0; i < buffers; ++i) {
        start.push_back(any(random));
        start_pools.push_back(number(random, pools));
    }
    std::array<char, 80> message{};
    memstow_options options;
    memstow_options_init(&options);
    options.flags =
        static_cast<unsigned>(random.below(random.below(9) == 0 ? 16 : 8)) | MEMSTOW_DETERMINISTIC;
    options.work_limit = static_cast<std::int64_t>(random.below(3000));
    options.gap = random.below(4) == 0 ? 0.2 : 0.0;
    if (random.below(2) == 0) options.start = start.data();
    if (random.below(2) == 0) options.start_pools = start_pools.data();
    options.message = message.data();
    options.message_size = random.below(message.size());
    memstow_plan* plan = nullptr;
    const memstow_code code = memstow_solve(problem, &options, &plan);
    CHECK(code != MEMSTOW_INTERNAL);
    CHECK((code == MEMSTOW_OK) == (plan != nullptr));
    CHECK(code != MEMSTOW_INVALID || options.message_size < 2 || has_text(message.data()));
    if (plan == nullptr) return;
    const std::int64_t* offsets = memstow_plan_offsets(plan);
    const std::size_t* in = memstow_plan_pools(plan);
    CHECK((offsets == nullptr) == (in == nullptr));
    std::int64_t peak = -1;
    if (offsets != nullptr) {
        CHECK(memstow_judge_in(problem, in, offsets, &peak, nullptr, 0) == MEMSTOW_OK);
        CHECK(peak == memstow_plan_peak(plan));
        CHECK(memstow_plan_bound(plan) <= peak);
    }
    const std::size_t* named = nullptr;
    const std::size_t count = memstow_plan_proof_buffers(plan, &named);
    for (std::size_t i = 0; i < count; ++i) CHECK(named[i] < buffers);
    for (std::size_t pool = 0; pool <= pools; ++pool) {
        std::int64_t least = 0;
        const bool is_there = memstow_plan_pool(plan, pool, &peak, &least) != 0;
        CHECK(!is_there || offsets == nullptr || least <= peak);
        CHECK(is_there || memstow_plan_pool_proof(plan, pool, &named) == 0);
    }
    for (std::size_t i = 0; i <= memstow_plan_terms(plan); ++i) {
        std::int64_t value = 0, bound = 0;
        const int is_there = memstow_plan_term(plan, i, nullptr, nullptr, &value, &bound, nullptr, nullptr);
        CHECK(offsets == nullptr || bound <= value);
        CHECK(is_there == (i < memstow_plan_terms(plan) ? 1 : 0));
    }
    for (std::size_t i = 0; i <= memstow_plan_crowds(plan); ++i) {
        std::int64_t cost = 0;
        const std::size_t members = memstow_plan_crowd(plan, i, &named, &cost);
        CHECK((members > 0) == (i < memstow_plan_crowds(plan)) && (members == 0 || cost > 0));
        for (std::size_t k = 0; k < members; ++k) CHECK(named[k] < buffers);
    }
    memstow_plan_destroy(plan);
}

// Gives so many blocks, and counts those that are not back.
struct Memory {
    std::int64_t left;
    std::int64_t out = 0;

    memstow_allocator allocator() {
        const auto take = [](void* context, std::size_t size) -> void* {
            auto* self = static_cast<Memory*>(context);
            if (self->left-- <= 0) return nullptr;
            ++self->out;
            return ::operator new(size);
        };
        const auto release = [](void* context, void* memory, std::size_t) {
            --static_cast<Memory*>(context)->out;
            ::operator delete(memory);
        };
        return {take, release, this};
    }
};

}  // namespace

TEST(the_library_stands_any_calls_in_any_order) {
    Random random(17);
    int refused = 0;
    for (int i = 0; i < 3000; ++i) {
        memstow_problem* problem = nullptr;
        CHECK(memstow_problem_create(&problem) == MEMSTOW_OK);
        for (std::size_t calls = random.below(40); calls > 0; --calls) {
            const memstow_code code = change(problem, random);
            CHECK(code == MEMSTOW_OK || code == MEMSTOW_INVALID);
            CHECK((code == MEMSTOW_OK) == !has_text(memstow_problem_error(problem)));
            refused += code != MEMSTOW_OK;
            if (random.below(10) == 0) solve(problem, random);
        }
        solve(problem, random);
        memstow_problem_destroy(problem);
    }
    CHECK(refused > 1000);
}

TEST(the_library_stands_places_that_mean_nothing) {
    Random random(23);
    for (int i = 0; i < 500; ++i) {
        memstow_problem* problem = nullptr;
        CHECK(memstow_problem_create(&problem) == MEMSTOW_OK);
        for (int calls = 0; calls < 20; ++calls) change(problem, random);
        std::vector<std::int64_t> offsets;
        std::vector<std::size_t> pools;
        for (std::size_t b = 0; b < memstow_buffer_count(problem); ++b) {
            offsets.push_back(any(random));
            pools.push_back(number(random, memstow_pool_count(problem)));
        }
        std::array<char, 30> message{};
        const memstow_code code = memstow_judge_in(problem, random.below(2) == 0 ? pools.data() : nullptr,
                                                   offsets.data(), nullptr, message.data(), message.size());
        CHECK(code == MEMSTOW_OK ||
              (code == MEMSTOW_INVALID && (offsets.empty() || has_text(message.data()))));
        memstow_problem_destroy(problem);
    }
}

TEST(the_library_gives_back_what_it_took_when_memory_ends) {
    int ended = 0;
    for (std::int64_t most = 0; most < 200; ++most) {
        Memory memory{most};
        const memstow_allocator allocator = memory.allocator();
        memstow_problem* problem = nullptr;
        if (memstow_problem_create_in(&allocator, &problem) == MEMSTOW_OK) {
            Random random(static_cast<std::uint64_t>(most % 7));
            for (int calls = 0; calls < 30; ++calls) {
                const std::size_t before = memstow_buffer_count(problem);
                const memstow_code code = change(problem, random);
                CHECK(code == MEMSTOW_OK || memstow_buffer_count(problem) == before);
            }
            solve(problem, random);
        }
        memstow_problem_destroy(problem);
        CHECK(memory.out == 0);
        ended += memory.left < 0;
    }
    CHECK(ended > 20);
}

TEST(pools_and_costs_are_there_for_cpp) {
    libmemstow::Problem problem;
    problem.set_capacity(8);
    problem.set_cost(0, 1);
    const std::size_t slow = problem.add_pool(MEMSTOW_LIMIT, 4);
    problem.set_addresses(slow, 4, 16);
    problem.reserve_in(slow, 0, 16);
    const std::size_t image = problem.add(8, 0, 2), scores = problem.add(8, 1, 3);
    problem.set_accesses(scores, 100);
    libmemstow::Options options;
    options.deterministic = true;
    const libmemstow::Plan plan = problem.solve(options);
    CHECK(plan.pools()[image] == slow && plan.pools()[scores] == 0);
    CHECK(plan.offsets()[image] == 28 && plan.peak(slow) == 36 && plan.peak() == 44);
    CHECK(problem.judge(plan.offsets(), plan.pools()) == plan.peak());
    const std::vector<libmemstow::Term> terms = plan.terms();
    CHECK(terms.size() == 2 && terms[0].term == MEMSTOW_PLACEMENT_COST && terms[0].value == 132);
    const std::vector<std::size_t> only{slow};
    problem.allow_pools(scores, only);
    problem.add_reuse_cost(image, scores, 3);
    problem.add_term(MEMSTOW_REUSE_COST);
    CHECK(problem.solve(options).pools()[scores] == slow);
}
