#include <algorithm>
#include <vector>

#include "check.hpp"
#include "core/rows.hpp"
#include "sample.hpp"

using namespace memstow;

TEST(lives_that_meet_at_a_moment_do_not_share_a_row) {
    const std::vector<Lifetime> lives{{0, 2}, {2, 4}};
    const TimeRows rows = time_rows(lives);
    CHECK(rows.times.size() == 2);
    CHECK(rows.ranges[0] == RowRange{0, 1});
    CHECK(rows.ranges[1] == RowRange{1, 2});
}

TEST(a_set_that_is_part_of_another_has_no_row) {
    const std::vector<Lifetime> lives{{0, 10}, {1, 3}, {2, 5}, {6, 7}};
    const TimeRows rows = time_rows(lives);
    CHECK(rows.times == std::vector<std::int64_t>{2, 6});
    CHECK(rows.ranges[0] == RowRange{0, 2});
    CHECK(rows.ranges[1] == RowRange{0, 1});
    CHECK(rows.ranges[2] == RowRange{0, 1});
    CHECK(rows.ranges[3] == RowRange{1, 2});
}

TEST(no_lives_no_rows) { CHECK(time_rows({}).times.empty()); }

TEST(a_life_up_to_the_last_moment_is_no_range_with_the_first_listed_conflict) {
    const Instance instance = sample::build({{4, {{0, 1}}, {}}, {4, {{1, 2}}, {}}}, {{kLimit, {}}}, {{0, 1}});
    CHECK(instance.time_rows == 2);
    CHECK(instance.row_count == 3);
    CHECK(std::ranges::equal(instance.rows[0], std::vector<RowRange>{{0, 1}, {2, 3}}));
    CHECK(std::ranges::equal(instance.rows[1], std::vector<RowRange>{{1, 2}, {2, 3}}));
}
