"""Problems of one pool whose buffers have a lifetime and nothing else, in columns: judged by native code.

In the columns the judge says that offsets hold, and what their peak and the least peak are. What is wrong it
does not tell: the rest of this package does, which judges the same once more.
"""

from array import array
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from memstow.planner.judge._judge import Defect, judge_places, least_peak
from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import end_of
from memstow.planner.model.symbolic import SymbolicProblem

_ABSENT: Final = ("lifetimes", "pools", "pool", "offset")


class PlainColumns:
    """All of a plain problem but the sizes."""

    def __init__(
        self, problem: SymbolicProblem, begins: "array[int]", ends: "array[int]", alignments: "array[int]"
    ) -> None:
        self._begins = begins
        self._ends = ends
        self._alignments = alignments
        self._number = {buffer.id: i for i, buffer in enumerate(problem.buffers)}
        self._pool = problem.pools[0].id
        self._end = end_of(problem.pools[0])
        self.is_sound = len(self._number) == len(problem.buffers)
        """Whether ids tell buffers apart."""

    def at(self, sizes: Sequence[int]) -> int:
        """No layout with these sizes has a lower peak."""
        return least_peak(array("q", sizes), self._begins, self._ends, self._alignments)

    def offsets(self, placements: Sequence[Placement]) -> "array[int] | None":
        """The offset of each buffer; None unless each has one place, in the pool."""
        if len(placements) != len(self._number) or any(it.pool != self._pool for it in placements):
            return None
        offset = {it.buffer: it.offset for it in placements}
        if offset.keys() != self._number.keys():
            return None
        return array("q", map(offset.__getitem__, self._number))

    def peak_and_least(self, offsets: "array[int]", sizes: Sequence[int]) -> tuple[int, int] | None:
        """The peak of these offsets and the least of any; None where they do not hold."""
        (defect, _, _), peak, least = judge_places(
            array("q", sizes), self._begins, self._ends, self._alignments, offsets, self._end
        )
        return (peak, least) if defect is Defect.NONE else None


class PlainFixed:
    """Offsets that hold with all sizes at their largest, so at every value."""

    def __init__(self, columns: PlainColumns, offsets: "array[int]", peak: int) -> None:
        self._columns = columns
        self._offsets = offsets
        self.peak = peak
        """With all sizes at their largest."""

    def peak_and_least(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The peak with smaller sizes, and the least of any layout with these."""
        found = self._columns.peak_and_least(self._offsets, sizes)
        if found is None:
            raise AssertionError("what holds with larger sizes holds")
        return found


def columns_of(problem: SymbolicProblem) -> PlainColumns | None:
    """The columns, where the problem is plain."""
    pool, buffers = problem.pools[0], problem.buffers
    related = problem.conflicts or problem.exclusive or problem.relative or problem.in_place
    if len(problem.pools) > 1 or related or pool.reserved or pool.base or pool.alignment != 1 or not buffers:
        return None
    if any(set(map(attrgetter(name), buffers)) != {None} for name in _ABSENT):
        return None
    begins, ends = array("q"), array("q")
    try:
        for buffer in buffers:
            lifetime = buffer.lifetime
            if not isinstance(lifetime, tuple) or lifetime[0] >= lifetime[1]:
                return None
            begins.append(lifetime[0])
            ends.append(lifetime[1])
    except OverflowError:
        return None
    alignments = {buffer.alignment for buffer in buffers}
    column = array("q", alignments if len(alignments) == 1 else (buffer.alignment for buffer in buffers))
    columns = PlainColumns(problem, begins, ends, column)
    return columns if columns.is_sound else None


def plain_fixed(
    columns: PlainColumns, placements: Sequence[Placement], largest: Sequence[int]
) -> PlainFixed | None:
    """The offsets of a plan, where they hold with these sizes, which are never exceeded."""
    offsets = columns.offsets(placements)
    found = None if offsets is None else columns.peak_and_least(offsets, largest)
    return None if offsets is None or found is None else PlainFixed(columns, offsets, found[0])
