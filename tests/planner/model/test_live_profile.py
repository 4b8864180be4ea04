"""Live bytes over time."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.model.problem import (
    ALWAYS,
    Buffer,
    Problem,
    Profile,
    Relative,
    counted_once,
    hardest,
    profile,
    spans,
)


def _buffer(size: int, *lives: tuple[int, int], name: str = "b") -> Buffer:
    return Buffer(id=name, size=size, lifetimes=lives)


def test_lives_that_meet_do_not_add_up() -> None:
    steps = profile([_buffer(3, (0, 2)), _buffer(5, (2, 4))])
    assert (steps.times, steps.live) == ((0, 2, 4), (3, 5))
    assert steps.peak == 5


def test_always_is_part_of_every_step_and_timeless_of_none() -> None:
    always = Buffer(id="w", size=7, lifetime=ALWAYS)
    steps = profile([always, Buffer(id="g", size=100), _buffer(3, (0, 2))])
    assert steps.live == (10,)
    assert (steps.always, steps.timeless) == (7, 1)
    assert profile([always]).peak == 7


def test_overlapping_lives_of_one_buffer_count_once() -> None:
    assert list(spans(_buffer(1, (4, 6), (0, 3), (2, 4)))) == [(0, 6)]
    assert profile([_buffer(9, (0, 3), (2, 5))]).peak == 9


def test_nothing_is_live_in_an_empty_problem() -> None:
    steps = profile([])
    assert (steps.peak, steps.live, steps.times) == (0, (), ())
    assert hardest([], steps, 5) == ()


def test_the_hardest_moments_are_summits_with_their_buffers_largest_first() -> None:
    buffers = [
        _buffer(10, (0, 10), name="long"),
        _buffer(5, (1, 3), name="early"),
        _buffer(20, (6, 8), name="late"),
        _buffer(1, (7, 9), name="tail"),
    ]
    moments = hardest(buffers, profile(buffers), 5)
    assert [(m.begin, m.end, m.live) for m in moments] == [(7, 8, 31), (1, 3, 15)]
    assert [b.id for b in moments[0].buffers] == ["late", "long", "tail"]
    assert len(hardest(buffers, profile(buffers), 1)) == 1


def test_a_plateau_is_one_moment() -> None:
    buffers = [_buffer(5, (i, i + 1), name=f"b{i}") for i in range(4)]
    assert [(m.begin, m.live) for m in hardest(buffers, profile(buffers), 9)] == [(0, 5)]


def _level(steps: Profile, time: int) -> int:
    for (begin, end), live in zip(pairwise(steps.times), steps.live, strict=True):
        if begin <= time < end:
            return live
    return 0


lives = st.tuples(st.integers(-20, 20), st.integers(1, 10)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(lives, min_size=1, max_size=3)), max_size=12))
def test_every_moment_is_the_sum_of_what_is_live(given: list[tuple[int, list[tuple[int, int]]]]) -> None:
    buffers = [_buffer(size, *ranges, name=f"b{i}") for i, (size, ranges) in enumerate(given)]
    steps = profile(buffers)
    for time in range(-21, 32):
        live = sum(size for size, ranges in given if any(first <= time < last for first, last in ranges))
        assert live == _level(steps, time)
    for moment in hardest(buffers, steps, 3):
        assert sum(b.size for b in moment.buffers) == moment.live


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.lists(lives, max_size=2), st.integers(-5, 5)), min_size=1, max_size=5
    )
)
def test_bytes_that_tied_buffers_share_are_counted_once(
    given: list[tuple[int, list[tuple[int, int]], int]],
) -> None:
    buffers = [
        _buffer(size, *ranges, name=f"b{i}") if ranges else Buffer(id=f"b{i}", size=size, lifetime="always")
        for i, (size, ranges, _) in enumerate(given)
    ]
    ties = [Relative(buffer=f"b{i}", base="b0", offset=offset) for i, (_, _, offset) in enumerate(given) if i]
    counted = counted_once(Problem(buffers=buffers, relative=ties))
    steps = profile(counted)
    for time in range(-21, 32) if steps.times else ():
        used: set[int] = set()
        for i, (size, ranges, offset) in enumerate(given):
            if not ranges or any(first <= time < last for first, last in ranges):
                begin = offset if i else 0
                used.update(range(begin, begin + size))
        inside = steps.times[0] <= time < steps.times[-1]
        assert len(used) == (_level(steps, time) if inside else steps.always)
    for moment in hardest(counted, steps, 3):
        assert sum(buffer.size for buffer in moment.buffers) == moment.live
