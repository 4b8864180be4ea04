"""Plans of problems with symbols in one pool whose buffers have a lifetime, pins and conflicts, in columns.

In: such a problem, and offsets or orders with the largest size of each buffer. Out: that they hold, and what
they need at a point; not what is wrong with those that do not hold, which `symbolic_verdict` finds out. The
counting is native.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate, chain
from operator import attrgetter, itemgetter, lt
from typing import Final

from memstow.planner.judge._judge import Defect, LeastPeaks, PlainOrder, judge_places, peak_of, plain_order
from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import end_of
from memstow.planner.model.symbolic import Order, SymbolicBuffer, SymbolicProblem

_ABSENT: Final = ("lifetimes", "pools")


_buffer_of, _offset_of = attrgetter("buffer"), attrgetter("offset")


class PlainColumns:
    """All of a plain problem but the sizes."""

    def __init__(
        self,
        problem: SymbolicProblem,
        begins: "array[int]",
        ends: "array[int]",
        alignments: "array[int]",
        pins: "array[int]",
    ) -> None:
        self._begins = begins
        self._ends = ends
        self._alignments = alignments
        self._least = LeastPeaks(begins, ends, alignments)
        self._number = {buffer.id: i for i, buffer in enumerate(problem.buffers)}
        self._pool = problem.pools[0].id
        self._end = end_of(problem.pools[0])
        self._pins = pins
        """By buffer, where it must be, or -1; nothing where none is pinned."""
        known = [pair for pair in problem.conflicts if self._number.keys() >= set(pair)]
        self._ones, self._others = (array("q", (self._number[pair[at]] for pair in known)) for at in (0, 1))
        """Pairs that may not share a byte, whenever they live."""
        loops = any(one == other for one, other in known)
        self.is_sound = (
            len(self._number) == len(problem.buffers) and len(known) == len(problem.conflicts) and not loops
        )
        """Whether ids tell buffers apart, and each conflict is one of two buffers."""

    def at(self, sizes: Sequence[int]) -> int:
        """No layout with these sizes has a lower peak."""
        return self._least.at(array("q", sizes))

    def offsets(self, placements: Sequence[Placement]) -> "array[int] | None":
        """The offset of each buffer; None unless each has one place, in the pool."""
        if len(placements) != len(self._number) or {entry.pool for entry in placements} != {self._pool}:
            return None
        offset = dict(zip(map(_buffer_of, placements), map(_offset_of, placements), strict=True))
        if offset.keys() != self._number.keys():
            return None
        return array("q", map(offset.__getitem__, self._number))

    def peak_of_offsets(self, offsets: "array[int]", sizes: Sequence[int]) -> int | None:
        """The peak of these offsets; None where they do not hold with these sizes."""
        (defect, _, _), peak, _ = judge_places(
            array("q", sizes), self._begins, self._ends, self._alignments, offsets, self._end
        )
        return peak if defect is Defect.NONE and self._are_where_they_must(offsets, sizes) else None

    def _are_where_they_must(self, offsets: "array[int]", sizes: Sequence[int]) -> bool:
        """Whether pinned buffers are where the pins say, and those that conflict share no byte."""
        if any(pin >= 0 and pin != offset for pin, offset in zip(self._pins, offsets, strict=False)):
            return False
        for one, other in zip(self._ones, self._others, strict=True):
            begin = max(offsets[one], offsets[other])
            if sizes[one] and sizes[other] and begin < min(offsets[i] + sizes[i] for i in (one, other)):
                return False
        return True

    def order(self, order: Order) -> PlainOrder | None:
        """Which is above which; None where the order says more, or something is wrong with it."""
        placements, number = order.placements, self._number
        if len(placements) != len(number) or any(
            placement.pool != self._pool or placement.shares is not None or placement.empty
            for placement in placements
        ):
            return None
        above = {placement.buffer: placement.above for placement in placements}
        if above.keys() != number.keys():
            return None
        lists = list(map(above.__getitem__, number))
        try:
            below = array("q", map(number.__getitem__, chain.from_iterable(lists)))
        except KeyError:
            return None
        return plain_order(array("q", accumulate(map(len, lists), initial=0)), below)

    def keeps_apart(self, order: PlainOrder, sizes: Sequence[int]) -> bool:
        """Whether the order keeps all apart that have bytes with these sizes, which are never exceeded."""
        lives = self._begins, self._ends
        return order.keeps_apart(array("q", sizes), *lives, self._alignments, self._ones, self._others)

    def peak(self, order: PlainOrder, sizes: Sequence[int]) -> int | None:
        """The peak of the order with these sizes; None where they do not fit."""
        lives = self._begins, self._ends
        return order.peak(array("q", sizes), *lives, self._alignments, self._pins, self._end)


class PlainOrders:
    """Orders that hold with all sizes at their largest, so at every value."""

    def __init__(self, columns: PlainColumns, orders: Sequence[PlainOrder], peak: int) -> None:
        self._columns = columns
        self._orders = orders
        self.peak = peak
        """With all sizes at their largest, of the order that needs the most."""

    def peak_and_least(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The peak with smaller sizes of the best order, and the least of any layout with these."""
        peaks = [self._columns.peak(order, sizes) for order in self._orders]
        fitting = [peak for peak in peaks if peak is not None]
        if len(fitting) < len(peaks):
            raise AssertionError("what holds with larger sizes holds")
        return min(fitting), self._columns.at(sizes)


class PlainFixed:
    """Offsets that hold with all sizes at their largest, so at every value."""

    def __init__(self, columns: PlainColumns, offsets: "array[int]", peak: int) -> None:
        self._columns = columns
        self._offsets = offsets
        self.peak = peak
        """With all sizes at their largest."""

    def peak_and_least(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The peak with smaller sizes, and the least of any layout with these."""
        column = array("q", sizes)
        return peak_of(column, self._offsets), self._columns.at(column)


def is_plain(problem: SymbolicProblem) -> bool:
    """Whether there is one pool, without more than a capacity, and buffers have a lifetime each.

    They may be pinned there, and conflict.
    """
    pool, buffers = problem.pools[0], problem.buffers
    related = problem.exclusive or problem.relative or problem.in_place
    if len(problem.pools) > 1 or related or pool.reserved or pool.base or pool.alignment != 1:
        return False
    if not buffers or any(set(map(attrgetter(name), buffers)) != {None} for name in _ABSENT):
        return False
    return all(
        buffer.pool == pool.id for buffer in buffers if buffer.pool is not None or buffer.offset is not None
    )


def _pins_of(buffers: Sequence[SymbolicBuffer]) -> "array[int]":
    """By buffer, where it must be, or -1; nothing where none is pinned."""
    if all(buffer.offset is None for buffer in buffers):
        return array("q")
    return array("q", (-1 if buffer.offset is None else buffer.offset for buffer in buffers))


def columns_of(problem: SymbolicProblem) -> PlainColumns | None:
    """The columns, where the problem is plain."""
    if not is_plain(problem):
        return None
    buffers = problem.buffers
    lifetimes = [buffer.lifetime for buffer in buffers if isinstance(buffer.lifetime, tuple)]
    try:
        begins = array("q", map(itemgetter(0), lifetimes))
        ends = array("q", map(itemgetter(1), lifetimes))
        pins = _pins_of(buffers)
    except OverflowError:
        return None
    if len(lifetimes) < len(buffers) or not all(map(lt, begins, ends)):
        return None
    alignments = {buffer.alignment for buffer in buffers}
    column = array("q", alignments if len(alignments) == 1 else (buffer.alignment for buffer in buffers))
    columns = PlainColumns(problem, begins, ends, column, pins)
    return columns if columns.is_sound else None


def plain_fixed(
    columns: PlainColumns, placements: Sequence[Placement], largest: Sequence[int]
) -> PlainFixed | None:
    """The offsets of a plan, where they hold with these sizes, which are never exceeded."""
    offsets = columns.offsets(placements)
    peak = None if offsets is None else columns.peak_of_offsets(offsets, largest)
    return None if offsets is None or peak is None else PlainFixed(columns, offsets, peak)


def plain_orders(
    columns: PlainColumns, orders: Sequence[Order], largest: Sequence[int]
) -> PlainOrders | None:
    """The orders of a plan, where all hold with these sizes, which are never exceeded."""
    peaks, sound = [], []
    for order in orders:
        known = columns.order(order)
        peak = None if known is None else columns.peak(known, largest)
        if known is None or peak is None or not columns.keeps_apart(known, largest):
            return None
        peaks.append(peak)
        sound.append(known)
    return PlainOrders(columns, sound, max(peaks)) if peaks else None
