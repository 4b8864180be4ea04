"""Problems with symbols whose buffers have one lifetime each, and plans of them, in columns.

In: such a problem, and offsets or orders with the largest size of each buffer. Out: that they hold, and what
they need at a point; not what is wrong with those that do not hold, which `symbolic_verdict` finds out. The
counting is native.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import Final

from memstow.planner.judge._judge import (
    Defect,
    Frame,
    Goal,
    frame,
    judge_places,
    peaks_of,
)
from memstow.planner.judge._judge import (
    Order as NativeOrder,
)
from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import Kind, end_of, parse_term
from memstow.planner.model.symbolic import Order, OrderedPlacement, SymbolicBuffer, SymbolicProblem
from memstow.records import picker

_GOALS: Final = {Kind.PEAK: Goal.SUM, Kind.MAX_PEAK: Goal.LARGEST, Kind.POOL_PEAK: Goal.ONE}
_MOST_POOLS: Final = 62

_buffer_of, _offset_of, _pool_of = attrgetter("buffer"), attrgetter("offset"), attrgetter("pool")
_lifetime_of = attrgetter("lifetime")


class _Buffers:
    """Numbers by buffer: lives, alignments, and offsets of pins or -1, where there are any."""

    def __init__(self, buffers: Sequence[SymbolicBuffer]) -> None:
        """OverflowError for what is too large."""
        lifetimes = list(map(_lifetime_of, buffers))
        given = [lifetime for lifetime in lifetimes if isinstance(lifetime, tuple)]
        if len(given) < len(lifetimes):
            span = (min(begin for begin, _ in given), max(end for _, end in given)) if given else (0, 1)
            given = [lifetime if isinstance(lifetime, tuple) else span for lifetime in lifetimes]
        self.begins, self.ends = (array("q", times) for times in zip(*given, strict=True))
        self.alignments = array("q", [buffer.alignment for buffer in buffers])
        offsets = list(map(_offset_of, buffers))
        pinned = any(offset is not None for offset in offsets)
        self.pins = array("q", [-1 if offset is None else offset for offset in offsets] if pinned else ())


class ProblemColumns:
    """All of a problem but the sizes."""

    def __init__(
        self,
        problem: SymbolicProblem,
        buffers: _Buffers,
        allowed: "array[int]",
        native: Frame,
        number: dict[str, int],
    ) -> None:
        """`allowed`: by buffer the bits of its pools."""
        self._buffers = buffers
        self._allowed = allowed
        self._native = native
        self._number = number
        """By name, of the buffers."""
        self._pool = {pool.id: number for number, pool in enumerate(problem.pools)}
        self._ends = list(map(end_of, problem.pools))
        term = parse_term(problem.objective[0])
        self._goal = _GOALS[term.kind] if term is not None else Goal.SUM
        self._measured = self._pool[term.pool] if term is not None and term.pool is not None else 0
        self._conflicts = [(number[one], number[other]) for one, other in problem.conflicts]
        related = problem.exclusive or problem.relative or problem.in_place
        self.has_one_layer = not related
        """Whether what lives at one time is always apart in each pool."""

    def at(self, sizes: Sequence[int]) -> int:
        """No layout with these sizes has less."""
        return self._native.least(array("q", sizes), self._goal, self._measured)

    def value(self, peaks: Sequence[int]) -> int:
        """The objective where these are the peaks of the pools."""
        if self._goal is Goal.ONE:
            return peaks[self._measured]
        return max(peaks) if self._goal is Goal.LARGEST else sum(peaks)

    def places(self, placements: Sequence[Placement]) -> "_Places | None":
        """Where each buffer is; None unless each has one place, in a pool that it may be in."""
        try:
            buffers = list(map(self._number.__getitem__, map(_buffer_of, placements)))
            pools = list(map(self._pool.__getitem__, map(_pool_of, placements)))
        except KeyError:
            return None
        offsets = list(map(_offset_of, placements))
        everyone = list(range(len(self._number)))
        if buffers != everyone:
            order = sorted(range(len(buffers)), key=buffers.__getitem__)
            if [buffers[index] for index in order] != everyone:
                return None
            pools, offsets = ([column[index] for index in order] for column in (pools, offsets))
        if not all(allowed >> pool & 1 for allowed, pool in zip(self._allowed, pools, strict=True)):
            return None
        return _Places(array("q", pools), array("q", offsets), len(self._ends))

    def peaks_of_places(self, places: "_Places", sizes: Sequence[int]) -> list[int] | None:
        """By pool, the peak of these places; None where they do not hold with these sizes."""
        own, peaks = self._buffers, []
        column = array("q", sizes)
        for pool, end in enumerate(self._ends):
            (defect, _, _), peak, _ = judge_places(
                places.within(pool, column),
                places.within(pool, own.begins),
                places.within(pool, own.ends),
                places.within(pool, own.alignments),
                places.within(pool, places.offsets),
                end,
            )
            if defect is not Defect.NONE:
                return None
            peaks.append(peak)
        return peaks if self._are_where_they_must(places, sizes) else None

    def _are_where_they_must(self, places: "_Places", sizes: Sequence[int]) -> bool:
        """Whether pinned buffers are where the pins say, and those that conflict share no byte."""
        pins, pools, offsets = self._buffers.pins, places.pools, places.offsets
        if any(pin >= 0 and pin != offset for pin, offset in zip(pins, offsets, strict=False)):
            return False
        for one, other in self._conflicts:
            begin = max(offsets[one], offsets[other])
            shares = begin < min(offsets[i] + sizes[i] for i in (one, other))
            if shares and sizes[one] and sizes[other] and pools[one] == pools[other]:
                return False
        return True

    def order(self, order: Order, largest: "array[int]") -> NativeOrder | None:
        """Which is above which; None where something is wrong with it."""
        placements: Sequence[OrderedPlacement] = order.placements
        number = self._number
        if list(map(_buffer_of, placements)) != list(number):
            by_name = {placement.buffer: placement for placement in placements}
            if len(placements) != len(number) or by_name.keys() != number.keys():
                return None
            placements = [by_name[name] for name in number]
        lists = [placement.above for placement in placements]
        sharing = [(i, entry.shares) for i, entry in enumerate(placements) if entry.shares is not None]
        try:
            below = array("q", map(number.__getitem__, chain.from_iterable(lists)))
            pools = array("q", map(self._pool.__getitem__, map(_pool_of, placements)))
            places = array("q", [number[name] for _, name in sharing])
        except KeyError:
            return None
        start = array("q", accumulate(map(len, lists), initial=0))
        shared = array("q", [i for i, _ in sharing]), places
        empty = array("q", [i for i, placement in enumerate(placements) if placement.empty])
        return self._native.order((start, below), pools, shared, empty, largest)


class LaidOrders:
    """Orders that hold with all sizes at their largest, so at every value."""

    def __init__(self, columns: ProblemColumns, orders: Sequence[NativeOrder], peaks: Sequence[int]) -> None:
        self._columns = columns
        self._orders = orders
        self.peaks = peaks
        """With all sizes at their largest, of the order that needs the most of each pool."""

    def peak_and_least(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The objective with smaller sizes of the best order, and the least of any layout with these."""
        column, values = array("q", sizes), []
        for order in self._orders:
            peaks = order.peaks(column)
            if peaks is None:
                raise AssertionError("what holds with larger sizes holds")
            values.append(self._columns.value(peaks))
        return min(values), self._columns.at(column)


class _Places:
    """By buffer, the pool and the offset."""

    def __init__(self, pools: "array[int]", offsets: "array[int]", count: int) -> None:
        """`count`: how many pools there are."""
        self.pools = pools
        self.offsets = offsets
        members: list[list[int]] = [[] for _ in range(count)]
        for buffer, pool in enumerate(pools if count > 1 else ()):
            members[pool].append(buffer)
        self._pickers = list(map(picker, members)) if count > 1 else []

    def within(self, pool: int, column: "array[int]") -> "array[int]":
        """Of a number by buffer, those of the buffers in this pool."""
        return array("q", self._pickers[pool](column)) if self._pickers else column


class LaidOffsets:
    """Offsets that hold with all sizes at their largest, so at every value."""

    def __init__(self, columns: ProblemColumns, places: _Places, peaks: Sequence[int]) -> None:
        self._columns = columns
        self._places = places.offsets, places.pools
        self.peaks = peaks
        """By pool, with all sizes at their largest."""

    def peak_and_least(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The objective with smaller sizes, and the least of any layout with these."""
        column = array("q", sizes)
        peaks = peaks_of(column, self._places, len(self.peaks))
        return self._columns.value(peaks), self._columns.at(column)


def has_columns(problem: SymbolicProblem) -> bool:
    """Whether buffers have a lifetime each, and pools no more than a capacity."""
    if not problem.buffers or len(problem.pools) > _MOST_POOLS:
        return False
    if any(pool.reserved or pool.base or pool.alignment != 1 for pool in problem.pools):
        return False
    if any(buffer.lifetimes is not None for buffer in problem.buffers):
        return False
    kinds = set(map(type, map(_lifetime_of, problem.buffers)))
    return kinds <= {tuple, str}


def _allowed(problem: SymbolicProblem) -> "array[int] | None":
    """By buffer the bits of the pools that it may be in; None where one names what is no pool."""
    bit = {pool.id: 1 << number for number, pool in enumerate(problem.pools)}
    everywhere = (1 << len(problem.pools)) - 1
    kinds = [(buffer.pool, buffer.pools) for buffer in problem.buffers]
    of_kind: dict[tuple[str | None, tuple[str, ...] | None], int] = {}
    for kind in set(kinds):
        pinned, pools = kind
        named = {*(() if pinned is None else (pinned,)), *(pools or ())}
        if not named <= bit.keys():
            return None
        among = everywhere if pools is None else sum(bit[name] for name in set(pools))
        of_kind[kind] = among & (everywhere if pinned is None else bit[pinned])
    return array("q", map(of_kind.__getitem__, kinds))


def _numbers(number: dict[str, int], names: Iterable[str]) -> "array[int]":
    return array("q", map(number.__getitem__, names))


def columns_of(problem: SymbolicProblem) -> ProblemColumns | None:
    """The columns, where the problem has some and is valid; what is not valid is told by other means."""
    if not has_columns(problem):
        return None
    buffers, pools = problem.buffers, problem.pools
    term = parse_term(problem.objective[0])
    names = {pool.id for pool in pools}
    if term is None or term.kind not in _GOALS or (term.pool is not None and term.pool not in names):
        return None
    number = {buffer.id: i for i, buffer in enumerate(buffers)}
    allowed = _allowed(problem)
    unpinned = any(buffer.offset is not None and buffer.pool is None for buffer in buffers)
    if len(number) < len(buffers) or len(names) < len(pools) or allowed is None or unpinned:
        return None

    def sides(ones: Iterable[str], others: Iterable[str]) -> "tuple[array[int], array[int]]":
        return _numbers(number, ones), _numbers(number, others)

    try:
        columns = _Buffers(buffers)
        native = frame(
            (columns.begins, columns.ends, columns.alignments, columns.pins),
            allowed,
            array("q", map(end_of, pools)),
            sides(*_parted(problem.conflicts)),
            sides(*_parted(problem.exclusive)),
            sides(*_parted([(entry.input, entry.output) for entry in problem.in_place])),
            (
                *sides(*_parted([(entry.buffer, entry.base) for entry in problem.relative])),
                array("q", map(_offset_of, problem.relative)),
            ),
        )
    except (KeyError, OverflowError):
        return None
    return None if native is None else ProblemColumns(problem, columns, allowed, native, number)


def _parted(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [one for one, _ in pairs], [other for _, other in pairs]


def laid_offsets(
    columns: ProblemColumns, placements: Sequence[Placement], largest: Sequence[int]
) -> LaidOffsets | None:
    """The offsets of a plan, where all hold with these sizes, which are never exceeded.

    None as well of what may share bytes.
    """
    places = columns.places(placements) if columns.has_one_layer else None
    peaks = None if places is None else columns.peaks_of_places(places, largest)
    return None if places is None or peaks is None else LaidOffsets(columns, places, peaks)


def laid_orders(
    columns: ProblemColumns, orders: Sequence[Order], largest: Sequence[int]
) -> LaidOrders | None:
    """The orders of a plan, where all hold with these sizes, which are never exceeded."""
    column, sound, peaks = array("q", largest), [], []
    for order in orders:
        native = columns.order(order, column)
        reached = None if native is None else native.peaks(column)
        if native is None or reached is None or not native.keeps_apart():
            return None
        sound.append(native)
        peaks.append(reached)
    return LaidOrders(columns, sound, [max(pool) for pool in zip(*peaks, strict=True)]) if sound else None
