"""Curves say what the runs say, and stay small however many runs there are."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.bench.analysis import (
    MOST_POINTS,
    arithmetic,
    cactus,
    cluster,
    geometric,
    integral,
    log_spaced,
    mean_over_time,
    profile,
    shifted_geometric,
    thin_out,
)

STEPS = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 1)), max_size=6).map(sorted)


def test_a_profile_counts_what_is_as_good_and_what_has_no_value() -> None:
    curve = profile("a", [2.0, 1.0, 1.0], 4)
    assert curve.x == (1.0, 2.0)
    assert curve.y == (0.5, 0.75)


def test_a_cactus_counts_runs_by_time() -> None:
    assert cactus("a", [3.0, 1.0, 2.0]) == cactus("a", [1.0, 2.0, 3.0])
    assert cactus("a", [3.0, 1.0]).y == (1.0, 3.0)


@given(STEPS, st.floats(0, 12))
def test_the_integral_is_the_area_under_the_steps(steps: list[tuple[float, float]], until: float) -> None:
    def height(time: float) -> float:
        return next((value for seconds, value in reversed(steps) if seconds <= time), 1.0)

    edges = sorted({0.0, until, *(min(seconds, until) for seconds, _ in steps)})
    area = sum((b - a) * height((a + b) / 2) for a, b in itertools.pairwise(edges))
    assert integral(steps, until) == pytest.approx(area, abs=1e-6)


@given(st.lists(STEPS, min_size=1, max_size=5))
def test_the_mean_over_time_is_the_mean_of_all_runs_at_each_moment(
    runs: list[list[tuple[float, float]]],
) -> None:
    times = log_spaced(0.01, 10)

    def at(steps: list[tuple[float, float]], time: float) -> float:
        return next((value for seconds, value in reversed(steps) if seconds <= time), 1.0)

    curve = mean_over_time("a", runs, times)
    for time, mean in zip(curve.x, curve.y, strict=True):
        assert mean == pytest.approx(sum(at(steps, time) for steps in runs) / len(runs), abs=1e-9)


def test_of_no_runs_there_is_no_curve() -> None:
    assert mean_over_time("a", [], log_spaced(0.01, 1)).x == ()


def test_curves_of_many_runs_stay_small_and_keep_their_ends() -> None:
    many = [1 + k / 1000 for k in range(100_000)]
    curve = profile("a", many, len(many))
    assert len(curve.x) == MOST_POINTS
    assert (curve.x[0], curve.x[-1], curve.y[-1]) == (1.0, many[-1], 1.0)


def test_points_that_fall_together_are_drawn_once() -> None:
    points = [(1 + k % 100 / 1e6, 2.0 + k / 1e7) for k in range(5_000)]
    assert len(thin_out([*points, (50.0, 90.0)], math.log)) < 100
    assert thin_out([(1.0, 1.0), (1.0, 1.0)], math.log) == [(1.0, 1.0)]


def test_points_in_one_place_are_counted_and_none_is_lost() -> None:
    points = [(1.0, 1.0)] * 7 + [(1.0, 1.0000001)] * 2 + [(50.0, 90.0)]
    assert cluster(points, math.log) == [(1.0, 1.0, 9), (50.0, 90.0, 1)]
    assert cluster([(2.0, 2.0)] * 3, math.log) == [(2.0, 2.0, 3)]
    assert cluster([], math.log) == []
    many = [(1 + k % 97, 1 + k % 89) for k in range(5_000)]
    result = cluster([(float(x), float(y)) for x, y in many], math.log)
    assert sum(count for _, _, count in result) == 5_000
    assert {(x, y) for x, y, _ in result} <= set(many)


def test_means() -> None:
    assert geometric([1.0, 4.0]) == pytest.approx(2.0)
    assert shifted_geometric([0.0, 3.0]) == pytest.approx(1.0)
    assert arithmetic([1.0, 2.0]) == 1.5
    assert geometric([]) is shifted_geometric([]) is arithmetic([]) is None
