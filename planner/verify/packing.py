"""First-fit layouts made by the judge itself, to refute claims (`refutation.py`).

They need not be good: one that is better than a plan claims to be possible refutes the claim. Each body (a
buffer, or a rigid group) in turn goes to the lowest free place. Everything that costs more than a look at
each buffer is counted as steps, and ends when no steps are left.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from memstow.planner.model.ranges import Range
from memstow.planner.verify.layout import Layout
from memstow.planner.verify.problem_index import ALONE, ProblemIndex

Prefer = Callable[[int, int], int]
"""Ranks a pool for a body that would end there at that offset: the lowest rank is taken."""


@dataclass(slots=True)
class Steps:
    """A budget of steps."""

    left: int

    def spend(self, count: int) -> bool:
        """Spend steps; False when the budget is exhausted."""
        self.left -= count
        return self.left >= 0


@dataclass(frozen=True, slots=True)
class Body:
    """Buffers that are placed by one offset: a single buffer, or a rigid group at fixed distances."""

    members: tuple[int, ...]
    deltas: tuple[int, ...]
    pools: tuple[int, ...]
    start: int | None
    """The offset that it is pinned to."""
    bytes: int


@dataclass(slots=True)
class _Pool:
    top: int = 0
    placed: list[int] = field(default_factory=list)


def bodies(index: ProblemIndex, chosen: Iterable[int]) -> list[Body]:
    """These buffers, each with all of its group."""
    found: list[Body] = []
    seen: set[int] = set()
    for buffer in chosen:
        group = index.rigid.group[buffer]
        if group == ALONE:
            found.append(_body(index, (buffer,)))
        elif group not in seen:
            seen.add(group)
            found.append(_body(index, tuple(index.rigid.members[group])))
    return found


def _body(index: ProblemIndex, members: tuple[int, ...]) -> Body:
    first = index.rigid.delta.get(members[0], 0)
    deltas = tuple(index.rigid.delta.get(i, 0) - first for i in members)
    pins = [
        offset - delta
        for i, delta in zip(members, deltas, strict=True)
        if (offset := index.buffers[i].offset) is not None
    ]
    return Body(
        members,
        deltas,
        tuple(index.allowed(members[0])),
        pins[0] if pins else None,
        sum(index.buffers[i].size for i in members),
    )


class Packing:
    """A layout that is being built."""

    def __init__(self, index: ProblemIndex, steps: Steps) -> None:
        self._index = index
        self._steps = steps
        self._layout = Layout(index)
        self._pools = [_Pool() for _ in index.pools]
        self._lives: dict[int, Sequence[Range]] = {}
        self._listed: dict[int, set[int]] = {}
        for one, other in index.conflicts:
            self._listed.setdefault(one, set()).add(other)
            self._listed.setdefault(other, set()).add(one)

    def place_all(self, order: Sequence[Body], prefer: Prefer, stacked: bool) -> Layout | None:
        """Place all bodies, pinned ones first; `stacked`: no byte is used twice. None if one has no place."""
        pinned = [body for body in order if body.start is not None]
        free = [body for body in order if body.start is None]
        for body in (*pinned, *free):
            places = [
                (prefer(pool, offset + body.bytes), pool, offset)
                for pool in body.pools
                if (offset := self._lowest(body, pool, stacked)) is not None
            ]
            if not places or self._steps.left < 0:
                return None
            _, pool, offset = min(places, key=lambda it: it[0])
            self._put(body, pool, offset)
        return self._layout

    def _put(self, body: Body, pool: int, offset: int) -> None:
        there = self._pools[pool]
        for i, delta in zip(body.members, body.deltas, strict=True):
            self._layout.pool[i] = pool
            self._layout.offset[i] = offset + delta
            size = self._index.buffers[i].size
            if size:
                there.placed.append(i)
                there.top = max(there.top, offset + delta + size)

    def _lowest(self, body: Body, pool: int, stacked: bool) -> int | None:
        """The lowest free offset of the body; of a pinned one its pin."""
        index = self._index
        grid = index.grid_of(body.members[0], pool)
        if grid is None:
            return None
        if body.start is not None:
            return body.start
        sizes = [index.buffers[i].size for i in body.members]
        highest = index.ends[pool] - max(d + size for d, size in zip(body.deltas, sizes, strict=True))
        start = max(-d for d in body.deltas)
        if stacked:
            sized = [d for d, size in zip(body.deltas, sizes, strict=True) if size]
            start = max(start, self._pools[pool].top - min(sized, default=0)) if sized else start
        taken: list[Range] = []
        for i, d, size in zip(body.members, body.deltas, sizes, strict=True):
            if not size:
                continue
            taken += ((begin - d - size, end - d) for begin, end in index.reserved[pool])
            if not stacked:
                taken += self._in_the_way(i, d, size, pool)
        taken.sort()
        if not self._steps.spend(len(taken) + 1):
            return None
        start = grid.lowest_from(start)
        for below, above in taken:
            # A start strictly between the two would share a byte.
            if below < start < above:
                start = grid.lowest_from(above)
        return start if start <= highest else None

    def _in_the_way(self, buffer: int, delta: int, size: int, pool: int) -> list[Range]:
        """Starts that the body may not have, because of placed buffers that conflict with this member."""
        placed, index, offset = self._pools[pool].placed, self._index, self._layout.offset
        if not self._steps.spend(len(placed)):
            return []
        listed = self._listed.get(buffer, ())
        mine = self._lives_of(buffer)
        found = []
        for other in placed:
            if other not in listed:
                if not _meet(mine, self._lives_of(other)):
                    continue
                pair = (buffer, other) if buffer < other else (other, buffer)
                if pair in index.exclusive:
                    continue
            begin = offset[other]
            found.append((begin - delta - size, begin + index.buffers[other].size - delta))
        return found

    def _lives_of(self, buffer: int) -> Sequence[Range]:
        found = self._lives.get(buffer)
        if found is None:
            found = self._lives[buffer] = self._index.lives(buffer)
        return found


def _meet(one: Sequence[Range], other: Sequence[Range]) -> bool:
    return any(begin < last and first < end for begin, end in one for first, last in other)
