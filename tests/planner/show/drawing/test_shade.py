"""How full the spots of a map are."""

import random
from collections.abc import Sequence

import pytest

from memstow.planner.model.problem import Buffer
from memstow.planner.show.drawing import LEVELS, Axis, Life, ShadeRun, columns_of, shade_runs, skyline


def _life(begin: int, end: int, offset: int, size: int) -> Life:
    return Life(Buffer(id=f"{begin}-{offset}", size=size), offset, offset + size, begin, end)


def _in_use(lives: Sequence[Life], time: int) -> int:
    return sum(life.buffer.size for life in lives if life.begin <= time < life.end)


def test_steps_that_are_wide_enough_have_columns_of_their_own() -> None:
    lives = [_life(0, 40, 0, 4), _life(30, 100, 4, 4)]
    columns = columns_of(lives, Axis(0, 100, "time"), 10)
    assert list(columns.edges) == [0, 30, 40, 100]
    assert list(columns.moments) == [0, 30, 40]


def test_narrow_steps_share_a_column_that_shows_the_busiest_of_them() -> None:
    lives = [_life(t, t + 1, 0, 9 if t == 57 else 2) for t in range(100)]
    columns = columns_of(lives, Axis(0, 100, "time"), 10)
    assert list(columns.edges) == list(range(0, 101, 10))
    assert columns.moments[5] == 57
    assert [_in_use(lives, moment) for moment in columns.moments] == [2] * 5 + [9] + [2] * 4


def test_a_short_burst_is_not_drawn_as_wide_as_the_quiet_after_it() -> None:
    lives = [_life(0, 1000, 0, 1), _life(500, 501, 1, 9)]
    columns = columns_of(lives, Axis(0, 1000, "time"), 10)
    assert list(columns.edges) == [0, 500, 501, 1000]
    assert list(columns.moments) == [0, 500, 501]


def test_time_before_and_after_everything_is_part_of_the_axis() -> None:
    columns = columns_of([_life(40, 60, 0, 1)], Axis(0, 100, "time"), 10)
    assert list(columns.edges) == [0, 40, 60, 100]
    assert skyline([_life(40, 60, 0, 1)], columns) == [0, 1, 0]


def test_the_skyline_is_above_all_that_is_in_use() -> None:
    lives = [_life(0, 30, 0, 4), _life(10, 20, 8, 4), _life(10, 40, 4, 2)]
    columns = columns_of(lives, Axis(0, 40, "time"), 100)
    assert skyline(lives, columns) == [4, 12, 6, 6]


def test_spots_are_as_full_as_what_is_in_them_and_of_the_grade_that_has_most() -> None:
    lives = [_life(0, 20, 0, 1), _life(10, 30, 1, 2), _life(10, 20, 4, 4)]
    columns = columns_of(lives, Axis(0, 30, "time"), 100)
    graded = list(zip(lives, (7, 3, 5), strict=True))
    assert list(shade_runs(graded, columns, 2, 8)) == [
        ShadeRun(row=0, first=0, last=1, grade=7, level=1),
        ShadeRun(row=0, first=1, last=2, grade=3, level=3),
        ShadeRun(row=0, first=2, last=3, grade=3, level=2),
        ShadeRun(row=1, first=1, last=2, grade=5, level=4),
    ]


def test_what_is_there_at_all_is_seen() -> None:
    lives = [_life(0, 10, 0, 1), _life(0, 10, 10, 7)]
    columns = columns_of(lives, Axis(0, 10, "time"), 10)
    assert [run.level for run in shade_runs([(life, 0) for life in lives], columns, 2, 20)] == [1, 3]


def test_what_shares_bytes_is_not_more_than_full() -> None:
    lives = [_life(0, 10, 0, 4), _life(0, 10, 0, 4)]
    columns = columns_of(lives, Axis(0, 10, "time"), 10)
    assert [run.level for run in shade_runs([(life, 0) for life in lives], columns, 1, 4)] == [LEVELS]


def test_neighbours_that_are_alike_are_one_run() -> None:
    lives = [_life(t, t + 10, 0, 4) for t in range(0, 100, 10)]
    columns = columns_of(lives, Axis(0, 100, "time"), 10)
    assert list(shade_runs([(life, 0) for life in lives], columns, 1, 4)) == [ShadeRun(0, 0, 10, 0, LEVELS)]


@pytest.mark.parametrize("seed", range(20))
def test_every_column_is_filled_to_the_byte_with_what_is_in_use_at_its_moment(seed: int) -> None:
    chance = random.Random(seed)
    # Slots of 8 bytes that never overlap: in each, one life after the other.
    lives = []
    for slot in range(12):
        time = chance.randrange(5)
        while time < 200:
            end = time + chance.randrange(1, 30)
            lives.append(_life(time, end, slot * 8, chance.randrange(1, 9)))
            time = end + chance.randrange(4)
    axis = Axis(min(life.begin for life in lives), max(life.end for life in lives), "time")
    columns = columns_of(lives, axis, 37)
    # One row a byte: spots are empty or full.
    filled = [0] * len(columns)
    for run in shade_runs([(life, 0) for life in lives], columns, 96, 96):
        assert run.level == LEVELS
        for column in range(run.first, run.last):
            filled[column] += 1
    assert filled == [_in_use(lives, moment) for moment in columns.moments]
    for first, last, moment in zip(columns.edges, columns.edges[1:], columns.moments, strict=False):
        assert first <= moment < last
        assert _in_use(lives, moment) == max(_in_use(lives, time) for time in range(first, last))
