"""The largest value of a formula over all points, by intervals that are split where they say too little.

A box of points has an upper bound by interval arithmetic, and values at two of its corners. The box with the
highest bound is split until no bound is above the best value, which is then the largest there is; or until
the effort is spent: then the highest bound holds, and may not be reached.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from typing import Final

from memstow.planner.verify.shapes.nodes import FormulaError, Node, Unsure
from memstow.planner.verify.shapes.space import Axis, Values

MOST_BOXES: Final = 131_072
"""For one formula: enough for each of 65,536 values alone."""
MOST_BOXES_IN_ALL: Final = 400_000


class How(StrEnum):
    """How a largest value was found."""

    CORNER = "corner"
    """It is the value at a corner of the range, and intervals show that there is no larger one."""
    SPLIT = "split"
    """The same after the range was split."""
    BOUND = "bound"
    """No value is larger, and there may be none as large."""


@dataclass(frozen=True, slots=True)
class Largest:
    """No value is above `value`; `seen` is the largest that was seen, at the point `at`."""

    value: int
    seen: int
    at: Values
    how: How


class NotShown(Exception):  # noqa: N818
    """The effort was spent before it was known that the formula has a value everywhere."""


class NoValue(Exception):  # noqa: N818
    """The formula has no value at a point."""

    def __init__(self, at: Values, reason: str) -> None:
        super().__init__(reason)
        self.at = at


@dataclass(slots=True)
class Boxes:
    """How many boxes may still be looked at."""

    left: int = MOST_BOXES_IN_ALL


_Box = tuple[tuple[int, int], ...]
"""For each symbol the first and the last of its values, by number."""
_UNKNOWN: Final = 1 << 70
"""Above each bound: such boxes are split first."""


def largest(
    node: Node, axes: Sequence[Axis], used: Collection[int], boxes: Boxes, above: int | None = None
) -> Largest:
    """The largest value of the formula, which uses these symbols.

    With `above` the search ends when it is known whether there is a value above that.
    """
    whole = tuple((0, axis.count - 1 if s in used else 0) for s, axis in enumerate(axes))
    heap: list[tuple[int, int, _Box]] = []
    best: tuple[int, Values] | None = None
    looked = 0

    def look(box: _Box) -> None:
        nonlocal best, looked
        looked += 1
        boxes.left -= 1
        low = tuple(axis.first + axis.step * first for axis, (first, _) in zip(axes, box, strict=True))
        high = tuple(axis.first + axis.step * last for axis, (_, last) in zip(axes, box, strict=True))
        for at in (high, low):
            value = _value(node, at)
            if best is None or value > best[0]:
                best = value, at
        try:
            bound = node.bounds(low, high)[1]
        except Unsure:
            bound = _UNKNOWN
        if low != high and bound > best[0]:
            heappush(heap, (-bound, looked, box))

    look(whole)
    while heap and best is not None and -heap[0][0] > best[0]:
        bound = -heap[0][0]
        known = above is not None and bound != _UNKNOWN and (best[0] > above or bound <= above)
        if known or looked >= MOST_BOXES or boxes.left <= 0:
            if bound == _UNKNOWN:
                raise NotShown
            return Largest(bound, *best, How.BOUND)
        box = heappop(heap)[2]
        for half in _halves(box):
            look(half)
    assert best is not None
    return Largest(best[0], *best, How.CORNER if looked == 1 else How.SPLIT)


def _value(node: Node, at: Values) -> int:
    try:
        return node.value(at)
    except FormulaError as error:
        raise NoValue(at, str(error)) from None


def _halves(box: _Box) -> tuple[_Box, _Box]:
    """Split where the most values are."""
    widest = max(range(len(box)), key=lambda s: box[s][1] - box[s][0])
    first, last = box[widest]
    middle = (first + last) // 2
    return (
        (*box[:widest], (first, middle), *box[widest + 1 :]),
        (*box[:widest], (middle + 1, last), *box[widest + 1 :]),
    )
