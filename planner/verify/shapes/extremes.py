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
    search = _Search(node, axes, used)
    while search.bound > search.seen:
        known = above is not None and (search.seen > above or search.bound <= above)
        if (known and search.bound < _UNKNOWN) or search.looked >= MOST_BOXES or boxes.left <= 0:
            if search.bound >= _UNKNOWN:
                raise NotShown
            return Largest(search.bound, search.seen, search.at, How.BOUND)
        search.split()
        boxes.left -= 2
    return Largest(search.seen, search.seen, search.at, How.CORNER if search.looked == 1 else How.SPLIT)


def is_never_below(node: Node, axes: Sequence[Axis], least: int) -> bool:
    """Whether intervals alone show that no value is below that."""
    try:
        return node.bounds([axis.first for axis in axes], [axis.last for axis in axes])[0] >= least
    except Unsure:
        return False


class _Search:
    """`seen` is the largest value that was seen, at the point `at`; `looked` counts the boxes."""

    def __init__(self, node: Node, axes: Sequence[Axis], used: Collection[int]) -> None:
        self._node = node
        self._axes = axes
        self._heap: list[tuple[int, int, _Box]] = []
        self.looked = 0
        self.at = tuple(axis.first for axis in axes)
        self.seen = _value(node, self.at)
        self._look(tuple((0, axis.count - 1 if s in used else 0) for s, axis in enumerate(axes)))

    @property
    def bound(self) -> int:
        """No value is above it, or above the largest seen."""
        return -self._heap[0][0] if self._heap else self.seen

    def split(self) -> None:
        """Split the box with the highest bound where it has the most values."""
        box = heappop(self._heap)[2]
        widest = max(range(len(box)), key=lambda s: box[s][1] - box[s][0])
        first, last = box[widest]
        middle = (first + last) // 2
        for half in ((first, middle), (middle + 1, last)):
            self._look((*box[:widest], half, *box[widest + 1 :]))

    def _look(self, box: _Box) -> None:
        self.looked += 1
        ends = list(zip(self._axes, box, strict=True))
        low = tuple(axis.first + axis.step * first for axis, (first, _) in ends)
        high = tuple(axis.first + axis.step * last for axis, (_, last) in ends)
        for at in (high, low):
            if at != self.at and (value := _value(self._node, at)) > self.seen:
                self.seen, self.at = value, at
        try:
            bound = self._node.bounds(low, high)[1]
        except Unsure:
            bound = _UNKNOWN
        if low != high and bound > self.seen:
            heappush(self._heap, (-bound, self.looked, box))


def _value(node: Node, at: Values) -> int:
    try:
        return node.value(at)
    except FormulaError as error:
        raise NoValue(at, str(error)) from None
