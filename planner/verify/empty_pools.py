"""Whether a buffer, with its whole rigid group, has a place in a pool when nothing else is there."""

from memstow.planner.model.problem import end_of
from memstow.planner.verify.problem_index import Facts, Grid
from memstow.planner.verify.rigid import ALONE


class Rooms:
    """Answers once for each group, or for each kind of plain buffer, and pool."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._known: dict[tuple[int, ...], bool] = {}

    def has(self, buffer: int, pool: int) -> bool:
        """Whether the buffer can be in that pool at all, though the pool be empty."""
        facts = self._facts
        group = facts.rigid.group[buffer]
        it = facts.buffers[buffer]
        alone = (it.size, it.alignment, -1 if it.offset is None else it.offset)
        key = (pool, *alone) if group == ALONE else (pool, group)
        if key not in self._known:
            self._known[key] = self._tried(buffer, pool)
        return self._known[key]

    def _tried(self, buffer: int, pool: int) -> bool:
        facts = self._facts
        grid = facts.grid_of(buffer, pool)
        if grid is None:
            return False
        group = facts.rigid.group[buffer]
        members = [buffer] if group == ALONE else facts.rigid.members[group]
        shift = {i: facts.rigid.delta.get(i, 0) - facts.rigid.delta.get(buffer, 0) for i in members}
        pins = {offset - shift[i] for i in members if (offset := facts.buffers[i].offset) is not None}
        if len(pins) > 1:
            return False
        start = max(-least for least in shift.values())
        start = max(pins) if pins else _aligned(grid, start)
        return self._place(pool, start, grid, shift, pinned=bool(pins))

    def _place(self, pool: int, start: int, grid: Grid, shift: dict[int, int], pinned: bool) -> bool:
        """Move up past what is reserved until the group lies free or sticks out of the pool."""
        facts = self._facts
        limit = end_of(facts.pools[pool])
        while True:
            if (start - grid.first) % grid.step or min(start + d for d in shift.values()) < 0:
                return False
            if any(start + d + facts.buffers[i].size > limit for i, d in shift.items()):
                return False
            past = [
                end - d
                for i, d in shift.items()
                for begin, end in facts.reserved[pool]
                if begin < start + d + facts.buffers[i].size and start + d < end and facts.buffers[i].size
            ]
            if not past:
                return True
            if pinned:
                return False
            start = _aligned(grid, max(past))


def _aligned(grid: Grid, least: int) -> int:
    return least + (grid.first - least) % grid.step
