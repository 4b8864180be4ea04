"""Whether a buffer, with its whole rigid group, fits into a pool that holds nothing else."""

from memstow.planner.model.problem import end_of
from memstow.planner.verify.problem_index import Grid, ProblemIndex
from memstow.planner.verify.rigid import ALONE


class EmptyPools:
    """Caches the answer by pool and group, or by pool and the size, alignment and pin of a single buffer."""

    def __init__(self, index: ProblemIndex) -> None:
        self._index = index
        self._cache: dict[tuple[int, ...], bool] = {}

    def fits(self, buffer: int, pool: int) -> bool:
        """Whether the buffer has a place in the pool when nothing else is there."""
        index = self._index
        group = index.rigid.group[buffer]
        it = index.buffers[buffer]
        alone = (it.size, it.alignment, -1 if it.offset is None else it.offset)
        key = (pool, *alone) if group == ALONE else (pool, group)
        if key not in self._cache:
            self._cache[key] = self._try(buffer, pool)
        return self._cache[key]

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
