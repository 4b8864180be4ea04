#include <chrono>
#include <optional>
#include <thread>

#include "check.hpp"
#include "stripe_programs.hpp"
#include "stripe_referee.hpp"
#include "stripes/branches.hpp"
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

// Whether two stripes need and cost as much in strips of any columns.
bool needs_the_same(const Program& program, const Segment& one, const Segment& other, Place reference) {
    for (Place columns = 1; columns <= reference; ++columns) {
        Sure sure, other_sure;
        const Need need = one.need(reference, columns, program.base, &sure);
        const Need other_need = other.need(reference, columns, program.base, &other_sure);
        CHECK(need.bytes == other_need.bytes && need.cost == other_need.cost);
        CHECK(sure.bytes == other_sure.bytes && sure.rings == other_sure.rings);
    }
    CHECK(one.rows_made() == other.rows_made());
    return true;
}

// A path from the last operator back, always to who makes what it reads first.
Surroundings surroundings_of(const Program& program) {
    Surroundings around{program.operators, {program.count() - 1}, {}};
    for (const Operator* last = &program.operators.back(); !last->uses.empty();) {
        const Index source = last->uses.front().source;
        if (source == kNobody) break;
        around.path.insert(around.path.begin(), source);
        last = &program.operators[at(source)];
    }
    around.made_before.assign(program.operators.size(), memstow::count_of(around.path));
    return around;
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

TEST(rows_of_a_stripe_are_those_of_a_longer_one_to_the_same_end) {
    std::int64_t stripes = 0, with_branches = 0;
    for (int seed = 0; seed < check::rounds(kPrograms); ++seed) {
        const Program program = random_program(static_cast<std::uint64_t>(seed), 8);
        for (Index end = 2; end <= program.count(); ++end) {
            std::optional<Segment> longest;
            Index first = 0;
            for (Index begin = 0; begin < end; ++begin) {
                std::optional<Segment> own = Segment::of(program, begin, end);
                if (!own) continue;
                own->make_rows();
                if (!longest) {
                    longest = std::move(own);
                    first = begin;
                    continue;
                }
                std::vector<Index> places;
                for (Index place = begin - first; place < end - first; ++place) places.push_back(place);
                std::optional<Segment> taken = Segment::of(program, begin, end);
                taken->take_rows(*longest, places);
                stripes += needs_the_same(program, *own, *taken, program.operators[at(end) - 1].columns);
            }
        }
        const Surroundings around = surroundings_of(program);
        for (Index end = 2; end <= memstow::count_of(around.path); ++end) {
            const std::optional<Branches> longer = branches_of(around, 0, end);
            if (!longer) continue;
            std::optional<Segment> longest = Segment::of(longer->program, 0, longer->program.count());
            if (!longest) continue;
            longest->make_rows();
            for (Index begin = 1; begin < end; ++begin) {
                const std::optional<Branches> branches = branches_of(around, begin, end);
                if (!branches) continue;
                const Program& all = branches->program;
                std::optional<Segment> own = Segment::of(all, 0, all.count()), taken = own;
                if (!own) continue;
                const std::optional<std::vector<Index>> places = branches->places_in(*longer);
                if (!places) continue;
                own->make_rows();
                taken->take_rows(*longest, *places);
                with_branches += needs_the_same(all, *own, *taken, all.operators.back().columns);
            }
        }
    }
    CHECK(stripes > 0);
    CHECK(with_branches > 0);
}

TEST(rows_that_another_branch_reads_in_a_longer_stripe_are_not_taken_from_that) {
    // The path is all but the third, which reads the first two and is read by the last.
    Program program;
    const std::vector<std::vector<Index>> reads = {{}, {0}, {0, 1}, {1}, {3, 2}};
    for (Index at = 0; at < memstow::count_of(reads); ++at) {
        Operator one = chain(1, 4, 4).operators.front();
        one.kept = at == 4;
        one.uses.clear();
        for (const Index source : reads[static_cast<std::size_t>(at)]) {
            const Index number = memstow::count_of(one.uses);
            one.uses.push_back({source, {4, 1, 1, 1, 2}, {4, 1, 1, 1, 2}});
            program.operators[static_cast<std::size_t>(source)].readers.push_back({at, number});
        }
        program.operators.push_back(one);
    }
    const Surroundings around{program.operators, {0, 1, 3, 4}, std::vector<Index>(5, 4)};
    const std::optional<Branches> all = branches_of(around, 0, 4);
    CHECK(all && all->numbers == std::vector<Index>({0, 1, 2, 3, 4}));
    CHECK(all && all->places_in(*all) == all->numbers);
    // From the second on the branch is not in it, which nothing else goes around.
    CHECK(!branches_of(around, 1, 4));
    Branches without = *all;
    without.numbers.erase(without.numbers.begin() + 2);
    without.program.operators.erase(without.program.operators.begin() + 2);
    for (Operator& one : without.program.operators) {
        std::erase_if(one.readers, [](const Reader& reader) { return reader.at == 2; });
    }
    CHECK(!without.places_in(*all));
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
