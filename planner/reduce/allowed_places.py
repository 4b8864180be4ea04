"""The pools and offsets that a buffer or a rigid group may have when it is alone."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import (
    LIMIT,
    Buffer,
    Congruence,
    Pool,
    Problem,
    allowed_pools,
    end_of,
    group_alignment,
    merged,
    named_pools,
    reserved_bytes,
)
from memstow.planner.model.records import record


@record
class Spot:
    """A pool an item may go to, and the offsets at which it is aligned there."""

    pool: int
    cost: int  # of one access
    where: Congruence


class Body(NamedTuple):
    """A buffer or a rigid group on its way to become an item, in bytes."""

    members: tuple[int, ...]
    deltas: tuple[int, ...]
    spots: list[Spot]
    low: int
    high: int


class _PoolSpace:
    """The space of a pool between its reserved ranges."""

    def __init__(self, number: int, pool: Pool) -> None:
        self.number = number
        self.pool = pool
        self.end = end_of(pool)
        self.reserved = merged([(r.offset, r.offset + r.size) for r in pool.reserved])
        begins = [0] + [end for _, end in self.reserved]
        ends = [begin for begin, _ in self.reserved] + [self.end]
        self.widest = max(end - begin for begin, end in zip(begins, ends, strict=True))

    def has(self, where: Congruence, low: int, high: int, footprints: list[tuple[int, int]]) -> bool:
        """Whether the footprints (delta, size) fit at an allowed offset within [low, high]."""
        if low < high == LIMIT and len(footprints) == 1 and footprints[0][1] + where.modulus <= self.widest:
            return True
        start = align_up(where, low)
        moved = True
        while moved:
            if start > high or any(start + delta + size > self.end for delta, size in footprints):
                return False
            moved = False
            for delta, size in footprints:
                begin = start + delta
                after = bisect_right(self.reserved, begin, key=lambda r: r[1])
                if size and after < len(self.reserved) and self.reserved[after][0] < begin + size:
                    start = align_up(where, self.reserved[after][1] - delta)
                    moved = True
        return True


def align_up(where: Congruence, low: int) -> int:
    """The least offset of the congruence that is at least `low`."""
    return low + (where.residue - low) % where.modulus


class PlaceFinder:
    """Finds the places of buffers and groups. Buffers with the same constraints share a result."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._spaces = {pool.id: _PoolSpace(number, pool) for number, pool in enumerate(problem.pools)}
        # By alignment and named pools: the spots, and the largest size that surely fits in all of them.
        self._spots_of: dict[tuple[int, tuple[str, ...] | None], tuple[list[Spot], int]] = {}
        # By alignment, named pools, size and limits of the offset, where some spots may be too small.
        self._fitting: dict[tuple[int, tuple[str, ...] | None, int, int, int], list[Spot]] = {}
        self._narrowest = min(space.widest for space in self._spaces.values())

    def bodies(self, groups: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[Body]:
        """Groups and single buffers, as (members, deltas), with their places; none after one without any."""
        bodies: list[Body] = []
        for members, deltas in groups:
            bodies.append(self.body(members, deltas))
            if not bodies[-1].spots:
                break
        return bodies

    def roomy_spots(self, index: int) -> list[Spot] | None:
        """The spots of this buffer, and of all that are like it and no larger; None if they may differ."""
        body = self.body((index,), (0,))
        buffer = self._problem.buffers[index]
        spots, _ = self._spots_of[buffer.alignment, named_pools(buffer)]
        return spots if body.spots is spots and spots else None

    def body(self, members: tuple[int, ...], deltas: tuple[int, ...]) -> Body:
        """The buffers with the pools that have a place for them."""
        if len(members) > 1:
            return self._group(members, deltas)
        buffer = self._problem.buffers[members[0]]
        named = named_pools(buffer)
        cached = self._spots_of.get((buffer.alignment, named))
        if cached is None:
            spots = self._spots(allowed_pools(self._problem, buffer), [(buffer, 0)])
            steps = (spot.where.modulus for spot in spots)
            cached = self._spots_of[buffer.alignment, named] = spots, self._narrowest - max(steps, default=0)
        spots, largest = cached
        if buffer.offset is None:
            low, high = 0, LIMIT
            if buffer.size <= largest:
                return Body(members, deltas, spots, low, high)
        else:
            low = high = buffer.offset
        key = (buffer.alignment, named, buffer.size, low, high)
        fitting = self._fitting.get(key)
        if fitting is None:
            fitting = [s for s in spots if self._space(s).has(s.where, low, high, [(0, buffer.size)])]
            self._fitting[key] = fitting
        return Body(members, deltas, fitting, low, high)

    def _group(self, members: tuple[int, ...], deltas: tuple[int, ...]) -> Body:
        buffers = [(self._problem.buffers[i], delta) for i, delta in zip(members, deltas, strict=True)]
        allowed = [set(some) for some in {allowed_pools(self._problem, buffer) for buffer, _ in buffers}]
        names = allowed_pools(self._problem, buffers[0][0])
        spots = self._spots(tuple(n for n in names if all(n in some for some in allowed)), buffers)
        starts = {buffer.offset - delta for buffer, delta in buffers if buffer.offset is not None}
        low, high = (min(starts), max(starts)) if starts else (0, LIMIT)
        footprints = [(delta, buffer.size) for buffer, delta in buffers]
        fitting = [s for s in spots if self._space(s).has(s.where, low, high, footprints)]
        return Body(members, deltas, fitting, low, high)

    def _spots(self, names: tuple[str, ...], buffers: list[tuple[Buffer, int]]) -> list[Spot]:
        spots: list[Spot] = []
        grids: dict[tuple[int, int | None], Congruence | None] = {}
        for name in names:
            space = self._spaces[name]
            kind = space.pool.alignment, space.pool.base
            if kind not in grids:
                grids[kind] = group_alignment(buffers, space.pool)
            where = grids[kind]
            if where is not None:
                spots.append(Spot(space.number, space.pool.cost, where))
        return spots

    def _space(self, spot: Spot) -> _PoolSpace:
        return self._spaces[self._problem.pools[spot.pool].id]


def size_of(pool: Pool) -> str:
    """The capacity of a pool, for messages."""
    return "unbounded, but no address is above 2^62" if pool.capacity is None else f"{pool.capacity:,}"


def no_place(problem: Problem, members: tuple[int, ...]) -> Explanation:
    """The explanation that these buffers have no place, even alone."""
    buffers = [problem.buffers[i] for i in members]
    ids = tuple(b.id for b in buffers)
    names = ", ".join(map(repr, ids[:8])) + (" ..." if len(ids) > 8 else "")
    pools = [p for p in problem.pools if p.id in allowed_pools(problem, buffers[0])]
    sizes = ", ".join(
        f"{p.id!r} ({size_of(p)}" + (f", {reserved_bytes(p):,} reserved" if p.reserved else "") + ")"
        for p in pools[:8]
    )
    largest = max(buffers, key=lambda b: b.size)
    one = pools[0] if len(pools) == 1 else None
    what = f"the {largest.size:,} bytes of {names}" if len(buffers) == 1 else f"the rigid group of {names}"
    return Explanation(
        code="no_place",
        message=f"{what} fit in no pool allowed, even alone, as aligned and pinned: {sizes}",
        pool=one.id if one else None,
        capacity=one.capacity if one else None,
        reserved=reserved_bytes(one) or None if one else None,
        buffers=ids,
    )
