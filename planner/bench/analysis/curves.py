"""The curves of a report as numbers, before they are drawn."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Final

MOST_POINTS: Final = 400
"""The most points of a curve: more cannot be distinguished in print."""
MOMENTS: Final = 200
"""Times at which means are computed."""
PIXELS: Final = 80
"""Squares across a plot of many points, of which one in each square is drawn."""
SQUARES: Final = 24
"""Squares across a scatter plot whose points are counted: a number has room beside its point."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a plot."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def profile(name: str, values: Iterable[float], total: int) -> Curve:
    """A performance profile: the share of all runs (with a value or not) that are at most x."""
    ordered = sorted(values)
    counts = accumulate(len(list(equals)) for _, equals in groupby(ordered))
    points = [(value, count / total) for (value, _), count in zip(groupby(ordered), counts, strict=True)]
    return _curve(name, points)


def cactus(name: str, seconds: Iterable[float]) -> Curve:
    """A cactus plot: the number of runs (x) that took at most y seconds."""
    return _curve(name, [(float(place), time) for place, time in enumerate(sorted(seconds), start=1)])


def log_spaced(first: float, last: float) -> tuple[float, ...]:
    """Times from the first to the last, equally spaced on a logarithmic axis."""
    step = (last / first) ** (1 / (MOMENTS - 1))
    return tuple(first * step**k for k in range(MOMENTS))


def mean_over_time(name: str, runs: Iterable[Sequence[tuple[float, float]]], times: Sequence[float]) -> Curve:
    """The mean over runs of the value that each had reached at each time; 1 before its first step.

    A run is a step function, given as pairs of seconds and the value from then on.
    """
    changes = [0.0] * (len(times) + 1)
    many = 0
    for steps in runs:
        many += 1
        before = 1.0
        for seconds, value in steps:
            changes[bisect_left(times, seconds)] += value - before
            before = value
    means = [1 + change / many for change in accumulate(changes[:-1])] if many else []
    return Curve(name, tuple(times[: len(means)]), tuple(max(0.0, mean) for mean in means))


def integral(steps: Sequence[tuple[float, float]], until: float) -> float:
    """The area under a step function until a time; the function is 1 before its first step."""
    area, begin, height = 0.0, 0.0, 1.0
    for seconds, value in steps:
        end = min(max(seconds, begin), until)
        area += (end - begin) * height
        begin, height = end, value
    return area + max(0.0, until - begin) * height


def thin_out(
    points: Iterable[tuple[float, float]], scale: Callable[[float], float]
) -> list[tuple[float, float]]:
    """One point for each small square of a plot with this scale of its axes."""
    distinct = sorted(set(points))
    if len(distinct) <= MOST_POINTS:
        return distinct
    places = [(scale(x), scale(y)) for x, y in distinct]
    sides = [_side([place[axis] for place in places], PIXELS) for axis in (0, 1)]
    squares = {
        (int(x / sides[0]), int(y / sides[1])): point for (x, y), point in zip(places, distinct, strict=True)
    }
    return sorted(squares.values())


def cluster(
    points: Sequence[tuple[float, float]], scale: Callable[[float], float]
) -> list[tuple[float, float, int]]:
    """Points that are close together in a plot as one point, with their number."""
    if not points:
        return []
    places = [(scale(x), scale(y)) for x, y in points]
    sides = [_side([place[axis] for place in places], SQUARES) for axis in (0, 1)]
    squares: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for (x, y), point in zip(places, points, strict=True):
        squares.setdefault((round(x / sides[0]), round(y / sides[1])), []).append(point)
    crowds: dict[tuple[int, int], list[tuple[float, float]]] = {}
    # The fullest squares first: what is beside one joins it, since numbers in adjacent squares overlap.
    for (x, y), inside in sorted(squares.items(), key=lambda it: (-len(it[1]), it[0])):
        near = next((it for it in crowds if abs(it[0] - x) <= 1 and abs(it[1] - y) <= 1), (x, y))
        crowds.setdefault(near, []).extend(inside)
    # The middle point stands for all, so that it is not at the edge.
    return sorted((*sorted(inside)[len(inside) // 2], len(inside)) for inside in crowds.values())


def _side(values: Sequence[float], squares: int) -> float:
    return (max(values) - min(values)) / squares or 1.0


def _curve(name: str, points: Sequence[tuple[float, float]]) -> Curve:
    if len(points) > MOST_POINTS:
        last = len(points) - 1
        points = [points[k * last // (MOST_POINTS - 1)] for k in range(MOST_POINTS)]
    return Curve(name, tuple(x for x, _ in points), tuple(y for _, y in points))
