"""The shade of items too thin to be drawn one by one: how full each spot of a map is, by column.

A column stands for a stretch of time and shows one moment of it, the one with the most bytes in use: what is
filled in a column is what is in use then. A mean would let a peak of one moment fade away, and the sum of all
that is ever there would show more than there is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from sys import maxsize
from typing import NamedTuple

from memstow.planner.model.records import record
from memstow.planner.show.drawing.items import Axis, Life
from memstow.planner.show.drawing.palette import LEVELS


@record
class Columns:
    """The stretches of an axis, first to last: where each begins and ends, and the moment it shows."""

    edges: Sequence[int]
    moments: Sequence[int]

    def __len__(self) -> int:
        return len(self.moments)

    def of(self, life: Life) -> range:
        """Those that show a moment of this life."""
        return range(bisect_left(self.moments, life.begin), bisect_left(self.moments, life.end))


class ShadeRun(NamedTuple):
    """Spots of one row, side by side and alike: columns `first` until `last`."""

    row: int
    first: int
    last: int
    grade: int
    level: int


def columns_of(lives: Sequence[Life], axis: Axis, most: int) -> Columns:
    """A column for each step between two changes; steps narrower than a `most`-th of the axis share one."""
    changes: dict[int, int] = {axis.begin: 0, axis.end: 0}
    for life in lives:
        changes[life.begin] = changes.get(life.begin, 0) + life.buffer.size
        changes[life.end] = changes.get(life.end, 0) - life.buffer.size
    times = sorted(changes)
    in_use = list(accumulate(changes[time] for time in times))
    span = axis.end - axis.begin
    edges, moments = [times[0]], []
    first = 0
    for step in range(len(times) - 1):
        filled = (times[step + 1] - times[first]) * most >= span
        last = step + 2 == len(times)
        # What is wide enough alone is not mixed with a short burst before it.
        if filled or last or (times[step + 2] - times[step + 1]) * most >= span:
            edges.append(times[step + 1])
            moments.append(times[max(range(first, step + 1), key=in_use.__getitem__)])
            first = step + 1
    return Columns(edges, moments)


def skyline(lives: Sequence[Life], columns: Columns) -> list[int]:
    """For each column the first address above all that is in use at the moment it shows."""
    heights = [0] * len(columns)
    # The highest first; what is set is passed over, each column knowing where the next one may be.
    following = list(range(len(columns) + 1))
    for life in sorted(lives, key=lambda life: -life.top):
        inside = columns.of(life)
        column = inside.start
        while (column := _next(following, column)) < inside.stop:
            heights[column] = life.top
            following[column] = column + 1
    return heights


def shade_runs(
    graded: Sequence[tuple[Life, int]], columns: Columns, rows: int, height: int, most: int = maxsize
) -> list[ShadeRun]:
    """Where and how full, the first `most`; a spot has the grade of the lives that have most of it."""
    runs: list[ShadeRun] = []
    bounds = [height * row // rows for row in range(rows + 1)]
    for row, changes in sorted(_changes(graded, columns, bounds).items()):
        size = bounds[row + 1] - bounds[row]
        grades = sorted(changes)
        filled = [list(accumulate(changes[grade])) for grade in grades]
        place = 0
        for (level, grade), alike in groupby(_spots(grades, filled, size)):
            length = len(list(alike))
            if level:
                runs.append(ShadeRun(row, place, place + length, grade, level))
                if len(runs) == most:
                    return runs
            place += length
    return runs


def _spots(grades: Sequence[int], filled: Sequence[Sequence[int]], size: int) -> Iterator[tuple[int, int]]:
    """Of each column of a row how full it is, and the grade that fills most of it."""
    for parts in zip(*filled, strict=True):
        total = sum(parts)
        # Rounded up, so that every item is visible. Items that share bytes can fill more than all.
        level = min(LEVELS, -(-total * LEVELS // size))
        yield level, grades[parts.index(max(parts))] if level else 0


def _changes(
    graded: Sequence[tuple[Life, int]], columns: Columns, bounds: Sequence[int]
) -> dict[int, dict[int, list[int]]]:
    """By row and grade, how many bytes more are in use in a column than in the one before."""
    found: dict[int, dict[int, list[int]]] = {}
    for life, grade in graded:
        inside = columns.of(life)
        if not inside:
            continue
        low, top = life.offset, life.top
        row = bisect_right(bounds, low) - 1
        while low < top:
            high = min(top, bounds[row + 1])
            by_grade = found.setdefault(row, {})
            changes = by_grade.get(grade)
            if changes is None:
                changes = by_grade[grade] = [0] * (len(columns) + 1)
            changes[inside.start] += high - low
            changes[inside.stop] -= high - low
            low = high
            row += 1
    return found


def _next(following: list[int], column: int) -> int:
    while following[column] != column:
        following[column] = following[following[column]]
        column = following[column]
    return column
