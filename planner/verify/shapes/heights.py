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
        """Where the first range is reserved that is not at the bottom: an order keeps below it."""
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
        """What does not hold at these sizes; where nothing is broken, nothing is at smaller ones."""
        index, pools = self._index, self._stack.pool
        for i, (size, offset) in enumerate(zip(sizes, offsets, strict=True)):
            pool = pools[i]
            lid, end = self._lids[pool], index.ends[pool]
            beyond = size and (offset + size > end or (lid and offset + size > lid))
            if beyond or offset < self.floors[pool]:
                yield self._misplaced(i, size, offset)
        yield from self._pushed(sizes, offsets)

    def _misplaced(self, i: int, size: int, offset: int) -> Broken:
        pool = self._stack.pool[i]
        name, home, floor = self._index.id_of(i), self._index.pools[pool].id, self.floors[pool]
        if offset < floor:
            code = Code.PINNED_OFFSET
            message = f"{name!r} would be at {offset:,} of {home!r}, below {floor:,}, where its room begins"
        elif offset + size > self._index.ends[pool]:
            code = Code.BEYOND_CAPACITY
            message = f"{name!r} ends at {offset + size:,} but {home!r} ends at {self._index.ends[pool]:,}"
        else:
            code = Code.RESERVED
            message = (
                f"{name!r} ends at {offset + size:,} of {home!r}, where bytes from {self._lids[pool]:,} are "
                "reserved: an order keeps below them"
            )
        return Broken(code, message, (name,), home)

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
