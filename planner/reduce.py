"""From a problem to arrays, and from a layout back to placements.

Rigid groups become one item, times become 64-bit, and all sizes and offsets are divided by their common unit:
a plan can be pressed down until every offset is a sum of sizes and given offsets, so no optimum is lost.
Buffers of size 0 are placed here, since nothing depends on where they are.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from planner.groups import Congruence, group_alignment, rigid_groups
from planner.plan import Explanation, Placement, Plan
from planner.problem import ALWAYS, LIMIT, Buffer, Pool, Problem, access_count, allowed_pools
from planner.ranges import merged
from solvers.instance import Instance, Layout

_MOST_TIME = 1 << 62


@dataclass(frozen=True, slots=True)
class Reduction:
    """A problem as arrays, with the way back."""

    problem: Problem
    instance: Instance
    unit: int
    part_buffer: "array[int]"  # by part: index of its buffer
    riders: "tuple[tuple[int, int, int], ...]"  # (buffer, item, delta) of empty members of groups
    alone: "tuple[tuple[int, Placement], ...]"  # empty buffers (by index) that belong to no item
    moments: list[int] | None  # by time of the instance: the time of the problem, where they differ

    def moment(self, time: int | None) -> int | None:
        """The time of the problem for a time of the instance."""
        return time if self.moments is None or time is None else self.moments[time]

    def placements(self, layout: Layout) -> tuple[Placement, ...]:
        """The layout in the user's terms, in the order of the buffers. Every item has a place."""
        instance, buffers = self.instance, self.problem.buffers
        names = [pool.id for pool in self.problem.pools]
        found: list[Placement | None] = [None] * len(buffers)
        starts, deltas = instance.item_parts, instance.part_delta
        for item, (pool, offset) in enumerate(zip(layout.pool, layout.offset, strict=True)):
            name = names[pool]
            for part in range(starts[item], starts[item + 1]):
                index = self.part_buffer[part]
                place = (offset + deltas[part]) * self.unit
                found[index] = Placement(buffer=buffers[index].id, pool=name, offset=place)
        for index, item, delta in self.riders:
            place = layout.offset[item] * self.unit + delta
            found[index] = Placement(buffer=buffers[index].id, pool=names[layout.pool[item]], offset=place)
        for index, placement in self.alone:
            found[index] = placement
        return tuple(p for p in found if p is not None)

    def layout(self, placements: tuple[Placement, ...]) -> Layout:
        """The items as the placements have them; -1 where they say nothing that an item could follow."""
        pool_of = {pool.id: i for i, pool in enumerate(self.problem.pools)}
        place_of = {p.buffer: p for p in placements}
        pools: list[int] = []
        offsets: list[int] = []
        starts = self.instance.item_parts
        for item in range(self.instance.item_count):
            part = starts[item]
            place = place_of.get(self.problem.buffers[self.part_buffer[part]].id)
            pool = -1 if place is None else pool_of.get(place.pool, -1)
            start = -1
            if place is not None and pool >= 0 and place.offset % self.unit == 0:
                start = place.offset // self.unit - self.instance.part_delta[part]
            pools.append(pool if start >= 0 else -1)
            offsets.append(max(start, -1))
        return Layout(array("q", pools), array("q", offsets))


@dataclass(frozen=True, slots=True)
class _Spot:
    """A pool an item may go to, and the offsets at which it is aligned there."""

    pool: int
    cost: int  # of one access
    where: Congruence


@dataclass(frozen=True, slots=True)
class _Body:
    """A buffer or a rigid group on its way to become an item, in bytes."""

    members: tuple[int, ...]
    deltas: tuple[int, ...]
    spots: list[_Spot]
    low: int
    high: int


def reduce(problem: Problem, kept: Plan | None = None) -> Reduction | Explanation:
    """The arrays of a valid problem, or why some buffer has no place even alone.

    Places of `kept` can be taken whatever they are: for objectives that count what moves.
    """
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    rooms = _Rooms(problem)
    bodies: list[_Body] = []
    alone: list[tuple[int, Placement]] = []
    for members, deltas in _bodies(problem, index_of):
        body = rooms.body(members, deltas)
        if not body.spots:
            return _no_place(problem, members)
        if problem.buffers[members[0]].size or any(problem.buffers[i].size for i in members):
            bodies.append(body)
            continue
        best = min(body.spots, key=lambda spot: spot.cost)
        start = _first_aligned(best.where, body.low)
        pool = problem.pools[best.pool].id
        for i, delta in zip(members, deltas, strict=True):
            place = Placement(buffer=problem.buffers[i].id, pool=pool, offset=start + delta)
            alone.append((i, place))
    unit = gcd(_common_unit(problem, bodies), *_offsets(problem, kept))
    return _build(problem, index_of, bodies, tuple(alone), max(unit, 1))


def _offsets(problem: Problem, kept: Plan | None) -> Iterator[int]:
    """The offsets that a plan gives to buffers that have bytes."""
    if kept is not None:
        sized = {buffer.id for buffer in problem.buffers if buffer.size}
        yield from (place.offset for place in kept.placements if place.buffer in sized)


def _bodies(problem: Problem, index_of: dict[str, int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Buffers and groups as (members, deltas), in the order of their first buffers."""
    group_at = {group.members[0]: group for group in rigid_groups(problem, index_of)}
    grouped = {i for group in group_at.values() for i in group.members}
    for index in range(len(problem.buffers)):
        if index in group_at:
            yield group_at[index].members, group_at[index].deltas
        elif index not in grouped:
            yield (index,), (0,)


class _Room:
    """A pool while buffers are tried in it alone."""

    def __init__(self, number: int, pool: Pool) -> None:
        self.number = number
        self.pool = pool
        self.end = LIMIT if pool.capacity is None else pool.capacity
        self.reserved = merged([(r.offset, r.offset + r.size) for r in pool.reserved])
        begins = [0] + [end for _, end in self.reserved]
        ends = [begin for begin, _ in self.reserved] + [self.end]
        self.widest = max(end - begin for begin, end in zip(begins, ends, strict=True))

    def has(self, where: Congruence, low: int, high: int, footprints: list[tuple[int, int]]) -> bool:
        """Whether the footprints (delta, size) fit, at an offset allowed within [low, high]."""
        if low != high and len(footprints) == 1 and footprints[0][1] + where.modulus <= self.widest:
            return True
        start = _first_aligned(where, low)
        moved = True
        while moved:
            if start > high or any(start + delta + size > self.end for delta, size in footprints):
                return False
            moved = False
            for delta, size in footprints:
                begin = start + delta
                after = bisect_right(self.reserved, begin, key=lambda r: r[1])
                if size and after < len(self.reserved) and self.reserved[after][0] < begin + size:
                    start = _first_aligned(where, self.reserved[after][1] - delta)
                    moved = True
        return True


def _first_aligned(where: Congruence, low: int) -> int:
    return low + (where.residue - low) % where.modulus


class _Rooms:
    """Where buffers and groups may go. What only alignment and allowed pools decide is worked out once."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._rooms = {pool.id: _Room(number, pool) for number, pool in enumerate(problem.pools)}
        self._aligned: dict[tuple[int, tuple[str, ...]], list[_Spot]] = {}
        self._narrowest = min(room.widest for room in self._rooms.values())

    def body(self, members: tuple[int, ...], deltas: tuple[int, ...]) -> _Body:
        """The buffers with the pools in which they have a place when they are there alone."""
        if len(members) > 1:
            return self._group(members, deltas)
        buffer = self._problem.buffers[members[0]]
        names = allowed_pools(self._problem, buffer)
        spots = self._aligned.get((buffer.alignment, names))
        if spots is None:
            spots = self._spots(names, [(buffer, 0)])
            self._aligned[buffer.alignment, names] = spots
        if buffer.offset is None:
            low, high = 0, LIMIT
            if all(buffer.size + spot.where.modulus <= self._narrowest for spot in spots):
                return _Body(members, deltas, spots, low, high)
        else:
            low = high = buffer.offset
        fitting = [s for s in spots if self._room(s).has(s.where, low, high, [(0, buffer.size)])]
        return _Body(members, deltas, fitting, low, high)

    def _group(self, members: tuple[int, ...], deltas: tuple[int, ...]) -> _Body:
        tied = [(self._problem.buffers[i], delta) for i, delta in zip(members, deltas, strict=True)]
        allowed = [set(allowed_pools(self._problem, buffer)) for buffer, _ in tied]
        names = allowed_pools(self._problem, tied[0][0])
        spots = self._spots(tuple(n for n in names if all(n in some for some in allowed)), tied)
        starts = {buffer.offset - delta for buffer, delta in tied if buffer.offset is not None}
        low, high = (min(starts), max(starts)) if starts else (0, LIMIT)
        footprints = [(delta, buffer.size) for buffer, delta in tied]
        fitting = [s for s in spots if self._room(s).has(s.where, low, high, footprints)]
        return _Body(members, deltas, fitting, low, high)

    def _spots(self, names: tuple[str, ...], tied: list[tuple[Buffer, int]]) -> list[_Spot]:
        rooms = (self._rooms[name] for name in names)
        aligned = ((room, group_alignment(tied, room.pool)) for room in rooms)
        return [_Spot(room.number, room.pool.cost, where) for room, where in aligned if where is not None]

    def _room(self, spot: _Spot) -> _Room:
        return self._rooms[self._problem.pools[spot.pool].id]


def _no_place(problem: Problem, members: tuple[int, ...]) -> Explanation:
    buffers = [problem.buffers[i] for i in members]
    ids = tuple(b.id for b in buffers)
    names = ", ".join(map(repr, ids[:8])) + (" ..." if len(ids) > 8 else "")
    pools = [p for p in problem.pools if p.id in allowed_pools(problem, buffers[0])]
    sizes = ", ".join(
        f"{p.id!r} ({'unbounded' if p.capacity is None else p.capacity}"
        + (f", {sum(r.size for r in p.reserved)} reserved" if p.reserved else "")
        + ")"
        for p in pools[:8]
    )
    largest = max(buffers, key=lambda b: b.size)
    one = pools[0] if len(pools) == 1 else None
    what = f"the {largest.size} bytes of {names}" if len(buffers) == 1 else f"the rigid group of {names}"
    return Explanation(
        code="no_place",
        message=f"{what} fit in no pool allowed, even alone, as aligned and pinned: {sizes}",
        pool=one.id if one else None,
        capacity=one.capacity if one else None,
        reserved=sum(r.size for r in one.reserved) if one and one.reserved else None,
        buffers=ids,
    )


def _common_unit(problem: Problem, bodies: list[_Body]) -> int:
    """The greatest unit of which every size, distance, given offset and alignment is a multiple.

    An alignment that divides the unit asks for nothing more, so it does not count.
    """
    unit = gcd(*(problem.buffers[i].size for body in bodies for i in body.members))
    for pool in problem.pools:
        for reserved in pool.reserved:
            unit = gcd(unit, reserved.offset, reserved.size)
    grids: set[Congruence] = set()
    for body in bodies:
        if len(body.deltas) > 1:
            unit = gcd(unit, *body.deltas)
        for spot in body.spots:
            grids.add(spot.where)
        if body.low == body.high:
            unit = gcd(unit, body.low)
    before = 0
    while unit != before:
        before = unit
        for where in grids:
            unit = gcd(unit, where.residue)
            if unit % where.modulus:
                unit = gcd(unit, where.modulus)
    return unit


def _build(
    problem: Problem,
    index_of: dict[str, int],
    bodies: list[_Body],
    alone: tuple[tuple[int, Placement], ...],
    unit: int,
) -> Reduction:
    lives = _Lives(problem)
    arrays = Instance()
    costly = any(pool.cost for pool in problem.pools)
    part_of: dict[int, int] = {}
    item_of: dict[int, int] = {}
    riders: list[tuple[int, int, int]] = []
    paired = _paired(problem)
    part_buffer = array("q")
    for item, body in enumerate(bodies):
        accesses = sum(access_count(problem.buffers[i]) for i in body.members) if costly else 0
        for spot in body.spots:
            modulus = spot.where.modulus
            arrays.choice_pool.append(spot.pool)
            arrays.choice_modulus.append(modulus // unit if modulus % unit == 0 else 1)
            arrays.choice_residue.append(spot.where.residue // unit)
            arrays.choice_low.append(body.low // unit)
            high = min(body.high, _highest(problem, body, problem.pools[spot.pool]))
            arrays.choice_high.append(LIMIT if high == LIMIT else high // unit)
            arrays.choice_cost.append(spot.cost * accesses)
        arrays.choice_start.append(len(arrays.choice_pool))
        for index, delta in zip(body.members, body.deltas, strict=True):
            buffer = problem.buffers[index]
            if buffer.id in paired:
                item_of[index] = item
            if not buffer.size:
                riders.append((index, item, delta))
                continue
            if buffer.id in paired:
                part_of[index] = len(part_buffer)
            part_buffer.append(index)
            arrays.part_delta.append(delta // unit)
            arrays.part_size.append(buffer.size // unit)
            for begin, end in lives.of(buffer):
                arrays.life_begin.append(begin)
                arrays.life_end.append(end)
            arrays.life_start.append(len(arrays.life_begin))
        arrays.item_parts.append(len(part_buffer))
    for pool in problem.pools:
        arrays.capacity.append((LIMIT if pool.capacity is None else pool.capacity) // unit)
        for low, high in merged([(r.offset, r.offset + r.size) for r in pool.reserved]):
            arrays.reserved_begin.append(low // unit)
            arrays.reserved_end.append(high // unit)
        arrays.reserved_start.append(len(arrays.reserved_begin))
    _add_pairs(problem, index_of, part_of, item_of, arrays)
    return Reduction(problem, arrays, unit, part_buffer, tuple(riders), alone, lives.moments)


def _highest(problem: Problem, body: _Body, pool: Pool) -> int:
    """The offset above which an empty member would leave the pool; LIMIT where others leave it sooner."""
    if len(body.members) == 1:
        return LIMIT
    tied = [(problem.buffers[i].size, delta) for i, delta in zip(body.members, body.deltas, strict=True)]
    top = max(delta for _, delta in tied)
    if max(delta + size for size, delta in tied if size) >= top:
        return LIMIT
    return (LIMIT if pool.capacity is None else pool.capacity) - top


def _paired(problem: Problem) -> set[str]:
    """Ids of the buffers that some pair names."""
    ids = {name for pair in (*problem.conflicts, *problem.exclusive) for name in pair}
    ids.update(name for share in problem.in_place for name in (share.input, share.output))
    ids.update(name for cost in problem.reuse_costs for name in cost.buffers)
    return ids


def _add_pairs(
    problem: Problem,
    index_of: dict[str, int],
    part_of: dict[int, int],
    item_of: dict[int, int],
    arrays: Instance,
) -> None:
    """Pairs of buffers as pairs of parts. Pairs within an item or with an empty buffer say nothing."""

    def parts(first: str, second: str) -> tuple[int, int] | None:
        one, two = index_of[first], index_of[second]
        if one not in part_of or two not in part_of or item_of[one] == item_of[two]:
            return None
        a, b = part_of[one], part_of[two]
        return (a, b) if a < b else (b, a)

    conflicts = {pair for entry in problem.conflicts if (pair := parts(*entry))}
    exclusive = {pair for entry in problem.exclusive if (pair := parts(*entry))} - conflicts
    shared = {pair for entry in problem.in_place if (pair := parts(entry.input, entry.output))} - exclusive
    for a, b in sorted(conflicts):
        arrays.conflicts.extend((a, b))
    for a, b in sorted(exclusive):
        arrays.exempt.extend((a, b, 0))
    for a, b in sorted(shared):
        arrays.exempt.extend((a, b, 1))
    for cost in problem.reuse_costs:
        one, two = (index_of[name] for name in cost.buffers)
        if one in part_of and two in part_of:
            arrays.reuse.extend((part_of[one], part_of[two], cost.cost))


class _Lives:
    """Lifetimes as sorted, disjoint ranges of 64-bit times."""

    def __init__(self, problem: Problem) -> None:
        least, most = 0, 1
        seen = False
        for buffer in problem.buffers:
            for begin, end in _listed(buffer):
                least, most = (min(least, begin), max(most, end)) if seen else (begin, end)
                seen = True
        self.moments: list[int] | None = None
        self._rank: dict[int, int] = {}
        if least < -_MOST_TIME or most > _MOST_TIME:
            times = {t for buffer in problem.buffers for life in _listed(buffer) for t in life}
            self.moments = sorted(times)
            self._rank = {time: rank for rank, time in enumerate(self.moments)}
        self._always = [(self._short(least), self._short(most))]

    def _short(self, time: int) -> int:
        return time if self.moments is None else self._rank[time]

    def of(self, buffer: Buffer) -> list[tuple[int, int]]:
        """The buffer's live ranges."""
        if buffer.lifetime == ALWAYS:
            return self._always
        if self.moments is None and buffer.lifetimes is None:
            return _listed(buffer)
        ranges = _listed(buffer)
        if self.moments is not None:
            ranges = [(self._short(begin), self._short(end)) for begin, end in ranges]
        return ranges if len(ranges) < 2 else merged(ranges)


def _listed(buffer: Buffer) -> list[tuple[int, int]]:
    if buffer.lifetimes is not None:
        return list(buffer.lifetimes)
    if buffer.lifetime is None or isinstance(buffer.lifetime, str):
        return []
    return [buffer.lifetime]
