#include <chrono>
#include <thread>

#include "check.hpp"
#include "recompute/cheapest_path.hpp"
#include "recompute/moment.hpp"
#include "recompute_programs.hpp"
#include "recompute_referee.hpp"

using namespace recompute_programs;

namespace {

constexpr int kPrograms = 800;

Program random_program(std::uint64_t seed) { return Maker(seed).make(static_cast<Index>(1 + seed % 5), 6); }

std::vector<double> plain(const Program& program) { return std::vector<double>(program.items.size(), 1.0); }

// What an operator takes in its first run, whatever else is held.
Bytes own_bytes(const Program& program, Index at) {
    const Operator& op = program.operators[at];
    Bytes bytes = op.extra + op.fixed;
    for (const Index input : op.inputs) {
        Bytes saved = 0;
        for (const InPlace& pair : op.pairs) {
            if (pair.input == input) saved = std::max(saved, saves(program, pair));
        }
        bytes += program.items[input].size - saved;
    }
    for (const Index output : op.outputs) bytes += program.items[output].size;
    return bytes;
}

// The flags of the operators on one side of another, without some of them.
std::vector<bool> side(const Program& program, Index at, bool before, Random& random, bool all) {
    std::vector<bool> flags;
    for (Index op = 0; op < count_of(program.operators); ++op) {
        flags.push_back((before ? op < at : op > at) && (all || random.below(4) != 0));
    }
    return flags;
}

bool is_measured(const Program& program, const Rehearsed& result) {
    const auto measured = Replay(program, result).measured();
    return measured && measured->peak <= result.peak && measured->cost == result.cost;
}

// Each operator reads what the one before it makes and the first item, and all are kept.
Program long_program(Index count, Bytes size, std::int64_t cost) {
    Program program;
    for (Index op = 0; op < count; ++op) {
        program.items.push_back({size, op, op + 1 == count, false, {}});
        program.operators.push_back({0, 0, 0, cost, false, {}, {op}, {}});
        for (Index item = std::max(op - 1, 0); item >= 0 && op > 0; item = item > 0 ? item / 2 : -1) {
            program.operators[op].inputs.push_back(item);
            program.items[item].readers.push_back(op);
        }
    }
    return program;
}

// The program in one memory that holds all of its items, first runs as they are listed.
struct InOneMemory {
    explicit InOneMemory(const Program& of) {
        tiny.program = &of;
        Set holds = 0;
        for (Index item = 0; item < count_of(of.items); ++item) {
            holds |= Set{1} << item;
            if (of.items[item].spillable) tiny.waits |= Set{1} << item;
        }
        tiny.memories.push_back({&of, kLimit, holds, 0});
        for (Index op = 0; op < count_of(of.operators); ++op) {
            tiny.extras.push_back({{of.operators[op].extra}});
            turns.needs.push_back((Set{1} << op) - 1);
            turns.ends.push_back(0);
        }
    }

    Path path(Bytes limit, std::int64_t most, std::int64_t most_states, Budget& budget) const {
        return cheapest_path(tiny, turns, limit, most, most_states, budget);
    }

    TinyProgram tiny{};
    Turns turns{};
};

constexpr std::int64_t kManyStates = 1'000'000;

}  // namespace

TEST(a_cut_is_a_bound_of_every_schedule) {
    int tight = 0;
    for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
        const Program program = random_program(seed);
        Random random(seed);
        const std::vector<Measured> front = AllSchedules(program).front();
        CHECK(!front.empty() && front.front().cost == 0);
        for (Index op = 0; op < count_of(program.operators); ++op) {
            for (int k = 0; k < 6; ++k) {
                const Around around{side(program, op, true, random, k < 4),
                                    side(program, op, false, random, k < 4)};
                const Prices prices{static_cast<std::int64_t>(random.below(5)),
                                    static_cast<std::int64_t>(random.below(6))};
                const Budget budget;
                const Moment result = cheapest(program, op, around, prices, budget);
                const Bytes line = result.price + prices.byte * own_bytes(program, op);
                CHECK(result.price == prices.byte * result.held + prices.cost * result.cost);
                for (const Measured& one : front) {
                    CHECK(prices.byte * one.peak + prices.cost * one.cost >= line);
                    tight += prices.byte > 0 && prices.byte * one.peak + prices.cost * one.cost == line;
                }
                Budget over(0, -1);
                CHECK(cheapest(program, op, around, prices, over).price <= result.price);
            }
        }
    }
    CHECK(tight > 1000);
}

TEST(a_rehearsal_is_a_schedule_and_none_is_better_than_the_best) {
    int within = 0, best = 0;
    for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
        const Program program = random_program(seed);
        const AllSchedules all(program);
        const std::vector<Measured> front = all.front();
        Random random(seed);
        for (int k = 0; k < 6; ++k) {
            const Bytes limit = front[random.below(front.size())].peak + static_cast<Bytes>(random.below(4));
            std::vector<double> weights = plain(program);
            for (double& weight : weights) weight = k < 3 ? 1 : 0.1 + 5 * random.unit();
            const Taste taste{random.unit(), random.unit()};
            const Budget budget;
            Rehearsed result = rehearse(program, limit, weights, taste, budget);
            CHECK(is_measured(program, result));
            const Rehearsed before = result;
            polish(program, result, limit, budget);
            CHECK(is_measured(program, result));
            CHECK(result.cost <= before.cost && result.peak <= std::max(limit, before.peak));
            const auto least = all.cheapest(result.peak);
            CHECK(least && least->cost <= result.cost);
            within += result.peak <= limit && result.cost > 0;
            best += result.peak <= limit && result.cost > 0 && least->cost == result.cost;
        }
    }
    CHECK(within > 100 && best > within / 2);
}

TEST(with_room_for_all_nothing_runs_again) {
    for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
        const Program program = random_program(seed);
        const Budget budget;
        const Rehearsed result = rehearse(program, 1'000'000, plain(program), {}, budget);
        CHECK(result.cost == 0 && result.runs.size() == program.operators.size() && result.copies.empty());
    }
}

TEST(what_is_settled_is_what_is_left_of_any_schedule) {
    int left_out = 0;
    for (std::uint64_t seed = 0; seed < kPrograms * 3; ++seed) {
        const Program program = random_program(seed);
        Random random(seed);
        Rehearsed drawn;
        for (Index op = 0; op < count_of(program.operators); ++op) {
            drawn.runs.push_back(op);
            while (random.below(2) == 0) {
                const auto again = static_cast<Index>(random.below(static_cast<std::size_t>(op) + 1));
                if (!program.operators[again].once) drawn.runs.push_back(again);
            }
        }
        for (std::size_t k = random.below(3); k > 0 && drawn.runs.size() > 1; --k) {
            const auto item = static_cast<Index>(random.below(program.items.size()));
            const auto out = static_cast<Index>(random.below(drawn.runs.size() - 1));
            const auto most = drawn.runs.size() - static_cast<std::size_t>(out) - 1;
            const auto back = static_cast<Index>(out + 1 + static_cast<Index>(random.below(most)));
            drawn.copies.push_back({item, out, back});
            if (!Replay(program, drawn).measured()) drawn.copies.pop_back();
        }
        const auto before = Replay(program, drawn).measured();
        CHECK(before.has_value());
        Rehearsed settled = drawn;
        settle(program, settled);
        CHECK(is_measured(program, settled));
        CHECK(settled.cost <= before->cost);
        left_out += settled.runs.size() < drawn.runs.size();
        const bool one_pair = std::all_of(program.operators.begin(), program.operators.end(),
                                          [](const Operator& op) { return op.pairs.size() < 2; });
        if (one_pair) CHECK(settled.peak == Replay(program, settled).measured()->peak);
    }
    CHECK(left_out > 100);
}

TEST(without_time_nothing_is_rehearsed) {
    const Program program = long_program(200, 10, 5);
    for (const bool cancelled : {false, true}) {
        Budget budget(cancelled ? -1 : 0, -1);
        if (cancelled) budget.cancel();
        CHECK(rehearse(program, 30, plain(program), {}, budget).runs.empty());
        Rehearsed result = rehearse(program, 30, plain(program), {}, Budget());
        const Rehearsed before = result;
        polish(program, result, 30, budget);
        CHECK(result.runs == before.runs && result.cost == before.cost);
    }
}

TEST(polishing_stops_when_it_is_told) {
    const Program program = long_program(1500, 10, 5);
    Budget budget;
    Rehearsed result = rehearse(program, 60, plain(program), {}, budget);
    CHECK(result.cost > 0);
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        budget.cancel();
    });
    polish(program, result, 60, budget);
    other.join();
    CHECK(!result.runs.empty());
}

TEST(costs_that_are_paid_very_often_do_not_overflow) {
    // Every second operator leaves no room for the first item, and the others read it.
    constexpr Bytes kSize = Bytes{1} << 55;
    constexpr Index kCount = 40;
    Program program;
    for (Index op = 0; op < kCount; ++op) {
        program.items.push_back({kSize, op, true, false, {}});
        program.operators.push_back({0, 0, 0, op == 0 ? std::int64_t{1} << 60 : 1, false, {}, {op}, {}});
        if (op == 0) continue;
        program.items[op].kept = false;
        if (op % 2 == 0) program.operators[op].extra = 5 * kSize;
        if (op % 2 == 0) continue;
        program.operators[op].inputs.push_back(0);
        program.items[0].readers.push_back(op);
    }
    const Budget budget;
    Rehearsed result = rehearse(program, 6 * kSize, plain(program), {}, budget);
    CHECK(result.peak == 6 * kSize && result.runs.size() > kCount + 10);
    CHECK(result.cost == kLimit);
    polish(program, result, 6 * kSize, budget);
    CHECK(result.peak == 6 * kSize && result.cost == kLimit);
    std::vector<bool> before(kCount, false), after(kCount, false);
    for (Index op = 0; op < kCount; ++op) (op < 6 ? before : after)[op] = op != 6;
    CHECK(cheapest(program, 6, {before, after}, {1, 1}, budget).price == kSize);
}

TEST(the_cheapest_path_is_the_cheapest_of_all_schedules) {
    int paid = 0;
    for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
        const Program program = random_program(seed);
        const InOneMemory one(program);
        const AllSchedules all(program);
        for (const Measured& point : all.front()) {
            Budget budget;
            const Path path = one.path(point.peak, -1, kManyStates, budget);
            CHECK(path.end == Path::End::kFound && path.cost == point.cost && path.peak <= point.peak);
            paid += path.cost > 0;
            Rehearsed schedule{path.runs, {}, path.peak, path.cost, 0};
            for (const Waiting& copy : path.copies)
                schedule.copies.push_back({copy.item, copy.out, copy.back});
            CHECK(is_measured(program, schedule));
            CHECK(one.path(point.peak, point.cost, kManyStates, budget).end == Path::End::kFound);
            const auto below = all.cheapest(point.peak - 1);
            const Path lower = one.path(point.peak - 1, -1, kManyStates, budget);
            CHECK(lower.end == (below ? Path::End::kFound : Path::End::kNone));
            CHECK(!below || lower.cost == below->cost);
            if (point.cost == 0) continue;
            CHECK(one.path(point.peak, point.cost - 1, kManyStates, budget).end == Path::End::kNone);
        }
    }
    CHECK(paid > 200);
}

TEST(a_path_that_is_not_looked_for_to_the_end_proves_nothing) {
    const Program program = long_program(16, 10, 5);
    const InOneMemory one(program);
    Budget budget;
    const Path path = one.path(70, -1, kManyStates, budget);
    CHECK(path.end != Path::End::kStopped && path.states > 1 && budget.work() > 100'000);
    CHECK(one.path(70, -1, path.states, budget).end == path.end);
    CHECK(one.path(70, -1, path.states - 1, budget).end == Path::End::kStopped);
    for (const std::int64_t work : {std::int64_t{0}, budget.work() / 8}) {
        Budget less(-1, work);
        CHECK(one.path(70, -1, kManyStates, less).end == Path::End::kStopped);
        CHECK(less.work() <= work + 512 * 16);
    }
    Program wide = long_program(12, kLimit / 8, 5);
    CHECK(InOneMemory(wide).path(kLimit, -1, kManyStates, budget).end == Path::End::kStopped);
    CHECK(InOneMemory(long_program(63, 10, 5)).path(20, -1, kManyStates, budget).end == Path::End::kStopped);
}
