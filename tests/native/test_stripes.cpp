#include <chrono>
#include <optional>
#include <thread>

#include "check.hpp"
#include "stripe_programs.hpp"
#include "stripe_referee.hpp"
#include "stripes/segment.hpp"

using namespace stripe_programs;

namespace {

constexpr Limits kAny{Cost{1} << 60, 1000};
constexpr int kPrograms = 1500;

Program random_program(std::uint64_t seed, Index most = 6) {
    return Maker(seed).make(static_cast<Index>(1 + seed % static_cast<std::uint64_t>(most)));
}

std::vector<Value> values(const Front& front) {
    std::vector<Value> result;
    for (const Point& point : front.points) result.emplace_back(point.bytes, point.cost);
    return result;
}

// Whether the choices follow each other through all of the program and come to what the point says.
bool is_a_way(const Program& program, const Point& point) {
    Value total{program.start, 0};
    Index at = 0;
    for (const Choice& choice : point.choices) {
        const auto value = value_of(program, choice);
        if (choice.begin != at || !value) return false;
        total = {std::max(total.first, value->first), total.second + value->second};
        at = choice.end;
    }
    return at == program.count() && total == Value{point.bytes, point.cost};
}

// A chain of windows that each make as many rows and columns as they read.
Program chain(Index count, Place rows, Place columns) {
    Program program;
    for (Index at = 0; at < count; ++at) {
        Operator one;
        one.can = true;
        one.rows = rows;
        one.columns = columns;
        one.pixel = 3;
        one.levels = {{.alone = 6 * rows * columns}};
        one.cost = rows * columns;
        one.uses.push_back({at - 1, {rows, 1, 1, 1, 2}, {columns, 1, 1, 1, 2}});
        program.operators.push_back(one);
        const Index end = at + 1 < count ? at + 1 : count;
        program.wholes.push_back({at, end, 3 * rows * columns, at});
        if (at > 0) {
            Operator& source = program.operators[static_cast<std::size_t>(at) - 1];
            source.readers.push_back({at, 0});
            source.last_reader = at;
        }
    }
    program.operators.back().kept = true;
    return program;
}

}  // namespace

TEST(the_front_of_stripes_is_that_of_all_ways) {
    std::size_t points = 0, striped = 0;
    for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
        const Program program = random_program(seed);
        Budget budget;
        const Front result = front(program, kAny, budget);
        CHECK(result.complete);
        CHECK(values(result) == AllWays(program, kAny).best());
        for (const Point& point : result.points) CHECK(is_a_way(program, point));
        points += result.points.size();
        for (const Point& point : result.points) {
            striped += std::any_of(point.choices.begin(), point.choices.end(),
                                   [](const Choice& it) { return it.columns > 0; });
        }
    }
    CHECK(points > kPrograms * 6 / 5 && striped > kPrograms / 2);
}

TEST(where_only_some_must_run_others_before_and_after_need_not) {
    std::size_t fewer = 0;
    for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
        Program program = random_program(seed);
        const Index last = static_cast<Index>(seed) % program.count();
        program.must_run = {static_cast<Index>(seed / 7) % (last + 1), last};
        Budget budget;
        const Front result = front(program, kAny, budget);
        CHECK(values(result) == AllWays(program, kAny).best());
        for (const Point& point : result.points) {
            const Index begin = point.choices.front().begin, end = point.choices.back().end;
            CHECK(begin <= program.must_run->first && end > last);
            fewer += begin > 0 && end < program.count();
        }
    }
    CHECK(fewer > 0);
}

TEST(limits_of_cost_and_length_of_stripes_are_kept) {
    for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
        const Program program = random_program(seed);
        const Limits limits{static_cast<Cost>(seed * 7 % 200), static_cast<Index>(1 + seed % 4)};
        Budget budget;
        CHECK(values(front(program, limits, budget)) == AllWays(program, limits).best());
    }
}

TEST(limits_of_bytes_leave_the_stripes_between_them) {
    std::size_t between = 0;
    for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
        const Program program = random_program(seed);
        const std::vector<Value> best = AllWays(program, kAny).best();
        if (best.empty()) continue;
        const Bytes lowest = best.front().first, highest = best.back().first;
        const Bytes middle = (lowest + highest) / 2;
        const Bytes least = lowest - 1 + static_cast<Bytes>(seed * 7) % (middle - lowest + 2);
        const Bytes most = middle + static_cast<Bytes>(seed * 11) % (highest - middle + 2);
        const Limits limits{kAny.cost, kAny.longest, least, most};
        std::vector<Value> wanted;
        for (const auto& [bytes, cost] : best) {
            // Those that need less than the least are of one size.
            if (!wanted.empty() && bytes <= limits.least) wanted.clear();
            if (bytes <= limits.most) wanted.emplace_back(std::max(bytes, limits.least), cost);
        }
        Budget budget;
        CHECK(values(front(program, limits, budget)) == wanted);
        between += wanted.size() > 1;
    }
    CHECK(between > kPrograms / 30);
}

TEST(with_little_work_the_front_of_stripes_is_one_of_some_ways) {
    int stopped = 0;
    for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
        const Program program = random_program(seed);
        Budget budget(-1, static_cast<std::int64_t>(seed % 60));
        const Front result = front(program, kAny, budget);
        CHECK(!result.points.empty());
        for (const Point& point : result.points) CHECK(is_a_way(program, point));
        if (result.complete) CHECK(values(result) == AllWays(program, kAny).best());
        stopped += !result.complete;
        Budget again(-1, static_cast<std::int64_t>(seed % 60));
        CHECK(values(front(program, kAny, again)) == values(result));
    }
    CHECK(stopped > 20);
}

TEST(without_time_each_operator_runs_by_itself) {
    const Program program = chain(12, 40, 40);
    for (const bool cancelled : {false, true}) {
        Budget budget(cancelled ? -1 : 0, -1);
        if (cancelled) budget.cancel();
        const Front result = front(program, kAny, budget);
        CHECK(!result.complete);
        CHECK(result.points.size() == 1 && result.points[0].choices.size() == 12);
    }
}

TEST(a_front_of_stripes_stops_when_it_is_told) {
    const Program program = chain(300, 300, 500);
    Budget budget;
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        budget.cancel();
    });
    const Front result = front(program, {Cost{1} << 60, 300}, budget);
    other.join();
    CHECK(!result.complete);
    CHECK(!result.points.empty());
}

TEST(what_is_on_top_needs_no_more_than_its_own_bytes) {
    Load load;
    load.add(5, 4);
    load.add(8, 4);
    CHECK(load.bytes == 16 && load.rest == 3 && load.height() == 13);
    Load other;
    other.add(1, 4);
    load.add(other);
    CHECK(load.height() == 17);
    load.add(0, 4);
    CHECK(load.height() == 17);
}

TEST(large_images_and_costs_of_stripes_are_counted_to_the_last) {
    // As many rows, columns and costs as a graph may have: no sum or product is too large.
    constexpr Cost kCost = (Cost{1} << 40) - 1;
    for (const auto& [rows, columns] :
         {std::pair<Place, Place>{1, 1 << 19}, {1 << 12, 1 << 12}, {1 << 17, 1 << 7}}) {
        Program program = chain(2, rows, columns);
        for (Operator& it : program.operators) it.cost = kCost / 2;
        program.operators[0].pixel = Bytes{1} << 15;
        program.unit = 16;
        program.base.add((Bytes{1} << 59) - 1, program.unit);
        std::optional<Segment> segment = Segment::of(program, 0, 2);
        CHECK(segment.has_value());
        segment->make_rows();
        const Load whole = program.base;
        const Need need = segment->need(program.operators[1].columns, columns, whole);
        CHECK(need.cost == kCost / 2 * 2);
        const Place kept = std::min<Place>(rows, 3);
        CHECK(need.bytes == whole.height() + kept * columns * (Bytes{1} << 15));
        if (rows > 1) continue;
        // In strips of one column each is made three times, but for those at both ends.
        const Need narrow = segment->need(program.operators[1].columns, 1, whole);
        const Place made = 3 * columns - 2;
        CHECK(narrow.cost == kCost / 2 + (kCost / 2) / columns * made +
                                 ((kCost / 2) % columns * made + columns - 1) / columns);
    }
}
