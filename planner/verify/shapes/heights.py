"""Where an order puts everything, given sizes; and what is wrong there.

The rule: a unit begins as low as what is reserved at the bottom, what its members are above of, and its
alignment allow; a pinned unit begins where the pin says. Larger sizes never put anything lower, so the sizes
that are never exceeded give heights that are never exceeded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.model.objective import Kind, Term
from memstow.planner.model.ranges import Range
from memstow.planner.verify.findings import Code
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.shapes.stack import Stack


@dataclass(frozen=True, slots=True)
class Broken:
    """Something that does not hold at some sizes."""

    code: Code
    message: str
    buffers: tuple[str, ...]
    pool: str


class Heights:
    """A sound stack, ready to be laid out again and again."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._index: ProblemIndex = stack.index
        self.floors = [_floor(ranges) for ranges in self._index.reserved]
        self._lids = [
            min((begin for begin, _ in ranges if begin > 0), default=None) for ranges in self._index.reserved
        ]
        """Where the first range is reserved that is not at the bottom."""
        units = stack.units
        self._steps = []
        for u in stack.sequence:
            members = units.members[u]
            least = self.floors[stack.pool[members[0]]] - min(units.at[i] for i in members)
            below = [(other, units.at[i]) for i in members for other in stack.above[i]]
            self._steps.append((members, least, below, stack.grid[u], stack.pinned[u]))

    def offsets(self, sizes: Sequence[int]) -> list[int]:
        """The offset of each buffer."""
        found = [0] * len(sizes)
        at = self._stack.units.at
        for members, least, below, grid, pin in self._steps:
            start = pin
            if start is None:
                start = least
                for other, distance in below:
                    end = found[other] + sizes[other] - distance
                    start = max(start, end)
                start = grid.lowest_from(start)
            for i in members:
                found[i] = start + at[i]
        return found

    def peaks(self, sizes: Sequence[int], offsets: Sequence[int]) -> list[int]:
        """The peak of each pool."""
        peaks = [0] * len(self._index.pools)
        for pool, size, offset in zip(self._stack.pool, sizes, offsets, strict=True):
            if size and offset + size > peaks[pool]:
                peaks[pool] = offset + size
        return peaks

    def broken(self, sizes: Sequence[int], offsets: Sequence[int]) -> Iterator[Broken]:
        """What does not hold at these sizes: ends of pools, reserved ranges, pins."""
        for i, (size, offset) in enumerate(zip(sizes, offsets, strict=True)):
            yield from self._misplaced(i, size, offset)
        yield from self._pushed(sizes, offsets)

    def broken_below(self, sizes: Sequence[int], offsets: Sequence[int]) -> Iterator[Broken]:
        """What may not hold at these sizes or smaller ones; nothing: all of it holds at all of them."""
        units = self._stack.units
        for i, (size, offset) in enumerate(zip(sizes, offsets, strict=True)):
            yield from self._misplaced(i, size, offset)
            lid = self._lids[self._stack.pool[i]]
            is_free = size and self._stack.pinned[units.unit[i]] is None
            if lid is not None and is_free and offset + size > lid:
                yield self._on_reserved(i, size, offset, lid)
        yield from self._pushed(sizes, offsets)

    def _misplaced(self, i: int, size: int, offset: int) -> Iterator[Broken]:
        index, pool = self._index, self._stack.pool[i]
        it, name = index.pools[pool], index.id_of(i)
        if offset < 0:
            yield Broken(Code.PINNED_OFFSET, f"{name!r} would be at {offset:,}, below 0", (name,), it.id)
        if offset + size > index.ends[pool]:
            message = f"{name!r} ends at {offset + size:,} but {it.id!r} ends at {index.ends[pool]:,}"
            yield Broken(Code.BEYOND_CAPACITY, message, (name,), it.id)
        if size:
            for begin, end in index.reserved[pool]:
                if begin < offset + size and offset < end:
                    yield self._on_reserved(i, size, offset, begin)
                    break

    def _on_reserved(self, i: int, size: int, offset: int, begin: int) -> Broken:
        name, pool = self._index.id_of(i), self._index.pools[self._stack.pool[i]].id
        message = (
            f"{name!r} is at [{offset}, {offset + size}) of {pool!r}, where bytes from {begin} are reserved"
        )
        return Broken(Code.RESERVED, message, (name,), pool)

    def _pushed(self, sizes: Sequence[int], offsets: Sequence[int]) -> Iterator[Broken]:
        """Pinned buffers that begin before something ends that they are above of."""
        stack = self._stack
        for u, pin in enumerate(stack.pinned):
            if pin is None:
                continue
            for i in stack.units.members[u]:
                for other in stack.above[i]:
                    if offsets[other] + sizes[other] > offsets[i]:
                        names = (self._index.id_of(i), self._index.id_of(other))
                        message = (
                            f"{names[0]!r} is pinned to {offsets[i]:,} and above {names[1]!r}, "
                            f"which ends at {offsets[other] + sizes[other]:,}"
                        )
                        pool = self._index.pools[stack.pool[i]].id
                        yield Broken(Code.PINNED_OFFSET, message, names, pool)


def value_of(index: ProblemIndex, term: Term, peaks: Sequence[int]) -> int:
    """The objective."""
    if term.kind is Kind.POOL_PEAK:
        return peaks[index.pool_index[term.pool or ""]]
    return max(peaks) if term.kind is Kind.MAX_PEAK else sum(peaks)


def _floor(ranges: Sequence[Range]) -> int:
    """The end of what is reserved from 0 on."""
    return ranges[0][1] if ranges and ranges[0][0] == 0 else 0
