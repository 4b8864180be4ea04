"""The pools into which a buffer, with its whole rigid group, fits when they hold nothing else."""

from collections.abc import Sequence
from typing import NamedTuple

from memstow.planner.model.problem import end_of
from memstow.planner.verify.problem_index import Grid, ProblemIndex
from memstow.planner.verify.rigid import ALONE


class _Rooms(NamedTuple):
    """The largest buffer of one alignment that each of some empty pools holds."""

    largest: Sequence[tuple[int, int]]  # (pool, size); -1: not even a byte
    least: int  # of these sizes
    pools: frozenset[int]


class EmptyPools:
    """Buffers of the same size, alignment and allowed pools share a result, and so do those of one group."""

    def __init__(self, index: ProblemIndex) -> None:
        self._index = index
        self._pools: dict[tuple[object, ...], frozenset[int]] = {}
        self._rooms: dict[tuple[object, ...], _Rooms] = {}

    def pools_of(self, buffer: int) -> frozenset[int]:
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
        limit, grid = end_of(index.pools[pool]), index.grid(alignment, pool)
        start, largest = grid.first, -1
        for begin, end in index.reserved[pool]:
            largest = max(largest, min(begin, limit) - start)
            if start < end:
                start = _aligned(grid, end)
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
        start = max(pins) if pins else _aligned(grid, start)
        return self._place(pool, start, grid, shift, pinned=bool(pins))

    def _place(self, pool: int, start: int, grid: Grid, shift: dict[int, int], pinned: bool) -> bool:
        """Move up past reserved ranges until the group is free, or beyond the end of the pool."""
        index = self._index
        limit = end_of(index.pools[pool])
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
            start = _aligned(grid, max(past))


def _aligned(grid: Grid, least: int) -> int:
    return least + (grid.first - least) % grid.step
