"""The curves of a report as plain numbers: what is drawn, before anything is drawn."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Final

MOST_POINTS: Final = 400
"""More points than this on a curve cannot be told apart in print."""
MOMENTS: Final = 200
"""Moments at which means over time are taken."""
PIXELS: Final = 80
"""Points of a scatter that fall into the same square of so many across are one point."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a picture."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def profile(name: str, values: Iterable[float], total: int) -> Curve:
    """A performance profile: the part of all runs whose value is at most x. Those without one count too."""
    ordered = sorted(values)
    counts = accumulate(len(list(equals)) for _, equals in groupby(ordered))
    points = [(value, count / total) for (value, _), count in zip(groupby(ordered), counts, strict=True)]
    return _curve(name, points)


def cactus(name: str, seconds: Iterable[float]) -> Curve:
    """How many runs were over within y seconds each."""
    return _curve(name, [(float(place), time) for place, time in enumerate(sorted(seconds), start=1)])


def moments(first: float, last: float) -> tuple[float, ...]:
    """Moments from the first to the last, equally many in each decade."""
    step = (last / first) ** (1 / (MOMENTS - 1))
    return tuple(first * step**k for k in range(MOMENTS))


def mean_over_time(name: str, runs: Iterable[Sequence[tuple[float, float]]], times: Sequence[float]) -> Curve:
    """The mean, over runs, of what each run had reached by each moment; 1 until it reached anything.

    A run is its steps: at so many seconds, this value from then on.
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
    """The area under the steps: 1 until the first of them, and no more after `until`."""
    area, begin, height = 0.0, 0.0, 1.0
    for seconds, value in steps:
        end = min(max(seconds, begin), until)
        area += (end - begin) * height
        begin, height = end, value
    return area + max(0.0, until - begin) * height


def apart(
    points: Iterable[tuple[float, float]], scale: Callable[[float], float]
) -> list[tuple[float, float]]:
    """The points that can be told apart on axes of this scale: one for each small square."""
    kept = sorted(set(points))
    if len(kept) <= MOST_POINTS:
        return kept
    places = [(scale(x), scale(y)) for x, y in kept]
    sides = [_side([place[axis] for place in places]) for axis in (0, 1)]
    squares = {
        (int(x / sides[0]), int(y / sides[1])): point for (x, y), point in zip(places, kept, strict=True)
    }
    return sorted(squares.values())


def together(
    points: Sequence[tuple[float, float]], scale: Callable[[float], float]
) -> list[tuple[float, float, int]]:
    """Points that cannot be told apart on axes of this scale as one, and how many they are."""
    if not points:
        return []
    places = [(scale(x), scale(y)) for x, y in points]
    sides = [_side([place[axis] for place in places]) for axis in (0, 1)]
    squares: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for (x, y), point in zip(places, points, strict=True):
        squares.setdefault((int(x / sides[0]), int(y / sides[1])), []).append(point)
    # One of them stands for all: the middle one, so that it is no edge of the square.
    return sorted((*sorted(inside)[len(inside) // 2], len(inside)) for inside in squares.values())


def _side(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / PIXELS or 1.0


def _curve(name: str, points: Sequence[tuple[float, float]]) -> Curve:
    if len(points) > MOST_POINTS:
        last = len(points) - 1
        points = [points[k * last // (MOST_POINTS - 1)] for k in range(MOST_POINTS)]
    return Curve(name, tuple(x for x, _ in points), tuple(y for _, y in points))
