"""Parts of all pictures of plans: colours, the boxes to draw on one axis, and the shade of thin ones."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from math import log
from sys import maxsize
from typing import Final, Literal, NamedTuple

from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import ALWAYS, Buffer, Interval, Problem, spans
from memstow.records import record

INK: Final = "#16181d"
QUIET: Final = "#626874"
FRAME: Final = "#e3e3df"
HOLE: Final = "#eeece6"
RESERVED: Final = "#8b909a"
CAPACITY: Final = "#b3261e"
MET: Final = "#157347"
"""A bound that the plan reaches."""
OPEN: Final = "#c2410c"
"""A bound below it."""

# From short lives to long ones: ever darker, so that the order survives colour blindness and print in grey.
RAMP: Final = (
    "#dbb35d",
    "#beb14d",
    "#9bae4a",
    "#73ab54",
    "#40a564",
    "#009d75",
    "#009185",
    "#008390",
    "#007395",
    "#006392",
    "#215389",
    "#34447b",
)
DARK_RAMP: Final = (
    "#5566a8",
    "#3f6fb0",
    "#1f7fb4",
    "#008fb3",
    "#009ca8",
    "#12a896",
    "#35b182",
    "#62ba72",
    "#8dc26a",
    "#b5c66b",
    "#d3c777",
    "#ecc98a",
)
"""The same on dark paper: there the longest are the lightest."""
DARK: Final = {
    "#ffffff": "#0f1116",
    INK: "#f2f3f5",
    QUIET: "#a3a9b5",
    FRAME: "#2b2f38",
    HOLE: "#171a20",
    RESERVED: "#7b818c",
    CAPACITY: "#ff7b72",
    MET: "#6ee7a0",
    OPEN: "#fb923c",
}
"""What other colours become on dark paper."""
LEVELS: Final = 4
"""How many shades tell how full a spot is."""
_STRENGTH: Final = (0.35, 0.55, 0.78, 1.0)


_RANGE: Final = 512
"""What is less than this part of the longest has the first colour: one moment among many would otherwise
leave all others alike."""


def grade(length: int, shortest: int, longest: int) -> int:
    """The place on the ramp of a life of this length, by orders of magnitude."""
    if shortest == longest:
        return len(RAMP) // 3
    low = max(shortest, longest // _RANGE)
    part = (log(length) - log(low)) / (log(longest) - log(low))
    # The small addition: logarithms differ in the last digit between machines, and edges are at round values.
    return min(len(RAMP) - 1, max(0, int(part * len(RAMP) + 1e-9)))


def shade(colour: str, level: int, paper: str = "#ffffff") -> str:
    """The colour as of a spot that is `level` of LEVELS full."""
    strength = _STRENGTH[level - 1]
    pairs = ((int(paper[i : i + 2], 16), int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(below + (above - below) * strength):02x}" for below, above in pairs)


def ink_on(colour: str) -> str:
    """Black or white, whichever is read better on the colour."""
    light = _luminance(colour)
    return "#ffffff" if 1.05 / (light + 0.05) > (light + 0.05) / (_luminance(INK) + 0.05) else INK


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


class Life(NamedTuple):
    """A buffer at its place from one time to another."""

    buffer: Buffer
    offset: int
    top: int
    """The first address above it."""
    begin: int
    end: int


@record
class Axis:
    """The horizontal axis: time, or, without lifetimes, the buffers side by side, one unit each."""

    begin: int
    end: int
    kind: Literal["time", "buffers", "always"]


@record
class Scene:
    """The lives of buffers on one axis, by pool."""

    axis: Axis
    pools: dict[str, list[Life]]

    def lives(self) -> list[Life]:
        """The lives in all pools."""
        return [life for inside in self.pools.values() for life in inside]


def scene_of(problem: Problem, plan: Plan) -> Scene:
    """The plan's buffers that have bytes, in the order of the problem."""
    where = {place.buffer: place for place in plan.placements}
    placed = [buffer for buffer in problem.buffers if buffer.size and buffer.id in where]
    ranges_of = [spans(buffer) for buffer in placed]
    axis = _axis(placed, ranges_of)
    pools: dict[str, list[Life]] = {pool.id: [] for pool in problem.pools}
    slot = 0
    for buffer, ranges in zip(placed, ranges_of, strict=True):
        place = where[buffer.id]
        if not ranges:
            ranges = ((axis.begin, axis.end),)
            if axis.kind == "buffers" and buffer.lifetime != ALWAYS:
                ranges = ((slot, slot + 1),)
                slot += 1
        top = place.offset + buffer.size
        pools[place.pool] += [Life(buffer, place.offset, top, begin, end) for begin, end in ranges]
    return Scene(axis, pools)


def _axis(buffers: Sequence[Buffer], ranges_of: Sequence[Sequence[Interval]]) -> Axis:
    ranges = [span for ranges in ranges_of for span in ranges]
    if ranges:
        return Axis(min(begin for begin, _ in ranges), max(end for _, end in ranges), "time")
    # Without a word on time buffers may share bytes, and would hide each other.
    timeless = sum(buffer.lifetime != ALWAYS for buffer in buffers)
    return Axis(0, timeless, "buffers") if timeless else Axis(0, 1, "always")


@record
class Columns:
    """The stretches of an axis, first to last: where each begins and ends, and the moment it shows."""

    edges: Sequence[int]
    moments: Sequence[int]

    def __len__(self) -> int:
        return len(self.moments)

    def of(self, life: Life) -> range:
        """The columns that show a moment of this life."""
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
    by_row: dict[int, dict[int, list[int]]] = {}
    for life, grade in graded:
        inside = columns.of(life)
        if not inside:
            continue
        low, top = life.offset, life.top
        row = bisect_right(bounds, low) - 1
        while low < top:
            high = min(top, bounds[row + 1])
            by_grade = by_row.setdefault(row, {})
            changes = by_grade.get(grade)
            if changes is None:
                changes = by_grade[grade] = [0] * (len(columns) + 1)
            changes[inside.start] += high - low
            changes[inside.stop] -= high - low
            low = high
            row += 1
    return by_row


def _next(following: list[int], column: int) -> int:
    while following[column] != column:
        following[column] = following[following[column]]
        column = following[column]
    return column
