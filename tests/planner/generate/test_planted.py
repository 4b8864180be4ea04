"""Problems with a known optimum."""

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstow.planner.generate.planted import planted
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem, profile


def _area(problem: Problem) -> int:
    return sum(
        b.size * (b.lifetime[1] - b.lifetime[0]) for b in problem.buffers if isinstance(b.lifetime, tuple)
    )


@settings(max_examples=60)
@given(
    n=st.integers(1, 300),
    seed=st.integers(0, 10**6),
    height=st.sampled_from([300, 1000, 1 << 20]),
    alignment=st.sampled_from([1, 4]),
)
def test_without_slack_every_moment_is_filled_to_the_top(
    n: int, seed: int, height: int, alignment: int
) -> None:
    problem = planted(n, seed, height=height, alignment=alignment)
    steps = profile(problem.buffers)
    assert len(problem.buffers) == n
    assert set(steps.live) == {height}
    assert _area(problem) == height * (steps.times[-1] - steps.times[0])
    assert all(b.size % alignment == 0 and b.size > 0 for b in problem.buffers)


@settings(max_examples=40)
@given(n=st.integers(1, 300), seed=st.integers(0, 10**6), slack=st.floats(0, 1), drop=st.floats(0, 0.9))
def test_slack_leaves_a_moment_that_fills_the_height(n: int, seed: int, slack: float, drop: float) -> None:
    problem = planted(n, seed, slack=slack, drop=drop)
    assert profile(problem.buffers).peak == 1 << 20
    assert len(problem.buffers) >= n
    assert all(b.size > 0 for b in problem.buffers)


def test_slack_leaves_room() -> None:
    exact, loose = planted(500, 1), planted(500, 1, slack=0.5, drop=0.2)
    assert _area(loose) < 0.8 * _area(exact)
    assert len(loose.buffers) == 500


def test_the_name_tells_the_optimum() -> None:
    assert planted(10, 3, height=4096).name == "planted n=10 seed=3 optimum=4096"


def test_one_seed_is_one_problem_and_another_seed_another() -> None:
    assert planted(100, 1) == planted(100, 1)
    assert planted(100, 1) != planted(100, 2)


def test_a_known_seed_gives_known_buffers() -> None:
    """The sequence of chance must not change between versions of Python, or of memstow without a word."""
    problem = planted(5, 1, height=100, horizon=10)
    known = [(37, (0, 8)), (63, (0, 1)), (62, (8, 10)), (38, (1, 10)), (25, (1, 8))]
    assert [(b.size, b.lifetime) for b in problem.buffers] == known


@pytest.mark.parametrize("seed", range(20))
def test_a_problem_does_not_fall_apart_in_time(seed: int) -> None:
    """At every moment but the first and the last something lives on."""
    problem = planted(200, seed)
    times = profile(problem.buffers).times
    crossing = [b.lifetime for b in problem.buffers if isinstance(b.lifetime, tuple)]
    for moment in times[1:-1]:
        assert any(first < moment < last for first, last in crossing)


def test_the_smallest_rectangles_are_cut_into_cells() -> None:
    assert {b.size for b in planted(12, 0, height=3, horizon=4).buffers} == {1}
    with pytest.raises(InputError, match="4 moments"):
        planted(13, 0, height=3, horizon=4)
    with pytest.raises(InputError, match="multiple of the alignment"):
        planted(13, 0, height=100, alignment=64)


def test_growth_is_near_linear() -> None:
    """Counted in steps of the interpreter, which are the same on every machine."""
    small, large = steps(500), steps(5_000)
    assert large < 15 * small


def steps(n: int) -> int:
    """Lines that are run to make a problem."""
    count = 0

    def trace(_frame: object, _what: str, _value: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        planted(n, 1)
    finally:
        sys.settrace(before)
    return count
