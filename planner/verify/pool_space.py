"""Whether a pool has room: for one buffer when nothing else is there, and for blocks that share no byte.

All starts of such blocks are congruent modulo the common divisor g of their alignments, so memory falls into
cells of g bytes, each of which at most one block can use: a block begins with a cell, and holds at least
`part` bytes of each cell it uses, the rest of its last cell being waste. A cell whose first byte is reserved
is of no use. With g = 1 the cells are the free bytes.
"""

from collections.abc import Iterable, Sequence
from math import gcd
from typing import NamedTuple

from memstow.planner.model.ranges import Range
from memstow.planner.model.records import record
from memstow.planner.verify.problem_index import ALONE, Grid, ProblemIndex


@record
class Cells:
    """The cells of one pool: they begin at `first`, `first + size`, ..."""

    size: int
    first: int
    part: int
    reserved: Sequence[Range]

    def within(self, height: int) -> int:
        """Cells whose first `part` bytes are below that height and whose first byte is not reserved."""
        below = height - self.part + 1
        return self._starts_below(below) - sum(
            self._starts_below(min(end, below)) - self._starts_below(min(begin, below))
            for begin, end in self.reserved
        )

    def _starts_below(self, offset: int) -> int:
        return max(0, -((self.first - offset) // self.size))


def least_height(pools: Sequence[tuple[Cells, int]], needed: int) -> int | None:
    """The least height at which pools cut off there, or at their own limit, have the cells needed."""

    def cells(height: int) -> int:
        return sum(pool.within(min(height, limit)) for pool, limit in pools)

    highest = max((limit for _, limit in pools), default=0)
    if needed <= 0:
        return 0
    if len(pools) == 1 and not pools[0][0].reserved:
        # The usual case needs no search: the last of the cells needed ends there.
        height = pools[0][0].first + (needed - 1) * pools[0][0].size + pools[0][0].part
        return height if height <= highest else None
    if cells(highest) < needed:
        return None
    low, high = 0, min(needed, highest)
    while cells(high) < needed:
        low, high = high, min(2 * high, highest)
    while high - low > 1:
        middle = (low + high) // 2
        if cells(middle) >= needed:
            high = middle
        else:
            low = middle
    return high


def common_step(grids: Sequence[Grid]) -> int:
    """The greatest g for which all starts on these grids, of one pool, are congruent modulo g."""
    return gcd(*(grid.step for grid in grids), *(grid.first - grids[0].first for grid in grids))


def least_height_alone(index: ProblemIndex, buffers: Iterable[int], pool: int) -> int:
    """The least height of the pool that can hold each of these buffers when it is alone."""
    return max(_lowest_end(index, buffer, pool) for buffer in buffers)


def _lowest_end(index: ProblemIndex, buffer: int, pool: int) -> int:
    """Where the buffer ends at the least when it is alone in the pool."""
    it = index.buffers[buffer]
    if it.offset is not None:
        return it.offset + it.size
    grid = index.grid(it.alignment, pool)
    offset = grid.first
    for begin, end in index.reserved[pool]:
        if offset + it.size <= begin:
            break
        if offset < end:
            offset = grid.lowest_from(end)
    return offset + it.size


class _Rooms(NamedTuple):
    """The largest buffer of one alignment that each of some empty pools holds."""

    largest: Sequence[tuple[int, int]]  # (pool, size); -1: not even a byte
    least: int  # of these sizes
    pools: frozenset[int]


class EmptyPools:
    """The pools into which a buffer, with its whole rigid group, fits when they hold nothing else.

    Buffers of the same size, alignment and allowed pools share a result, and so do those of one group.
    """

    def __init__(self, index: ProblemIndex) -> None:
        self._index = index
        self._pools: dict[tuple[object, ...], frozenset[int]] = {}
        self._rooms: dict[tuple[object, ...], _Rooms] = {}

    def pools_for(self, buffer: int) -> frozenset[int]:
        """The pools the buffer may be in that have a place for it when nothing else is there."""
        index, it = self._index, self._index.buffers[buffer]
        alone = index.rigid.group[buffer] == ALONE
        kind: tuple[object, ...] = (index.pool_kind(buffer),)
        if alone:
            kind = (*kind, it.alignment, it.size, it.offset)
        found = self._pools.get(kind)
        if found is None:
            if alone and it.offset is None and it.size:
                found = self._with_room(buffer)
            else:
                found = frozenset(pool for pool in index.allowed(buffer) if self._try(buffer, pool))
            self._pools[kind] = found
        return found

    def _with_room(self, buffer: int) -> frozenset[int]:
        """The pools of a single buffer with bytes and without a pin."""
        index, it = self._index, self._index.buffers[buffer]
        key = (index.pool_kind(buffer), it.alignment)
        rooms = self._rooms.get(key)
        if rooms is None:
            largest = [(pool, self._largest(it.alignment, pool)) for pool in index.allowed(buffer)]
            least = min((size for _, size in largest), default=0)
            rooms = self._rooms[key] = _Rooms(largest, least, frozenset(pool for pool, _ in largest))
        if it.size <= rooms.least:
            return rooms.pools
        return frozenset(pool for pool, largest in rooms.largest if it.size <= largest)

    def _largest(self, alignment: int, pool: int) -> int:
        """The size of the largest single buffer of that alignment that the pool holds."""
        index = self._index
        limit, grid = index.ends[pool], index.grid(alignment, pool)
        start, largest = grid.first, -1
        for begin, end in index.reserved[pool]:
            largest = max(largest, min(begin, limit) - start)
            if start < end:
                start = grid.lowest_from(end)
        return max(largest, limit - start)

    def _try(self, buffer: int, pool: int) -> bool:
        index = self._index
        grid = index.grid_of(buffer, pool)
        if grid is None:
            return False
        group = index.rigid.group[buffer]
        members = [buffer] if group == ALONE else index.rigid.members[group]
        shift = {i: index.rigid.delta.get(i, 0) - index.rigid.delta.get(buffer, 0) for i in members}
        pins = {offset - shift[i] for i in members if (offset := index.buffers[i].offset) is not None}
        if len(pins) > 1:
            return False
        start = max(-least for least in shift.values())
        start = max(pins) if pins else grid.lowest_from(start)
        return self._place(pool, start, grid, shift, pinned=bool(pins))

    def _place(self, pool: int, start: int, grid: Grid, shift: dict[int, int], pinned: bool) -> bool:
        """Move up past reserved ranges until the group is free, or beyond the end of the pool."""
        index = self._index
        limit = index.ends[pool]
        while True:
            if (start - grid.first) % grid.step or min(start + d for d in shift.values()) < 0:
                return False
            if any(start + d + index.buffers[i].size > limit for i, d in shift.items()):
                return False
            past = [
                end - d
                for i, d in shift.items()
                for begin, end in index.reserved[pool]
                if begin < start + d + index.buffers[i].size and start + d < end and index.buffers[i].size
            ]
            if not past:
                return True
            if pinned:
                return False
            start = grid.lowest_from(max(past))
