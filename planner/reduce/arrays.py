"""A problem as arrays, built from bodies with their places and the unit, and the way back.

The parts of an item are its buffers, with their sizes and lifetimes.
"""

from array import array
from collections.abc import Collection, Iterable, MutableSequence, Sequence
from itertools import accumulate, chain
from operator import add, itemgetter
from typing import Final

from memstow.planner.model._instances import BufferColumns, pair_numbers
from memstow.planner.model.model_class import instances_of
from memstow.planner.model.plan import Placement, make_placement
from memstow.planner.model.problem import (
    ALWAYS,
    LIMIT,
    Buffer,
    Kind,
    Problem,
    access_counts,
    allowed_pools,
    counts,
    end_of,
    merged,
    named_pools,
    spans,
)
from memstow.planner.model.records import record
from memstow.planner.reduce.allowed_places import Body, Spot
from memstow.solvers.instance import Instance, Layout

_MOST_TIME = 1 << 62
Pair = tuple[int, int]


def fits_64_bits(begins: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether a solver can add these times to others."""
    return min(begins, default=0) >= -_MOST_TIME and max(ends, default=0) <= _MOST_TIME


class Lives:
    """Lifetimes as sorted, disjoint ranges of 64-bit times."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        least, most = 0, 1
        ranges = list(chain.from_iterable(map(_lifetime_ranges, buffers)))
        if ranges:
            least, most = min(map(itemgetter(0), ranges)), max(map(itemgetter(1), ranges))
        self.moments: list[int] | None = None
        self._rank: dict[int, int] = {}
        if not fits_64_bits((least,), (most,)):
            times = {t for buffer in buffers for life in _lifetime_ranges(buffer) for t in life}
            self.moments = sorted(times)
            self._rank = {time: rank for rank, time in enumerate(self.moments)}
        self._always = [(self._short(least), self._short(most))]

    def _short(self, time: int) -> int:
        return time if self.moments is None else self._rank[time]

    def of(self, buffer: Buffer) -> Sequence[tuple[int, int]]:
        """The live ranges of the buffer."""
        if buffer.lifetime == ALWAYS:
            return self._always
        if self.moments is None:
            return spans(buffer)
        return merged((self._short(begin), self._short(end)) for begin, end in _lifetime_ranges(buffer))


def _lifetime_ranges(buffer: Buffer) -> list[tuple[int, int]]:
    """The ranges as they are given; of one that lives always there are none."""
    if buffer.lifetimes is not None:
        return list(buffer.lifetimes)
    lifetime = buffer.lifetime
    return [] if lifetime is None or isinstance(lifetime, str) else [lifetime]


class Parts:
    """Collects the parts of the items in lists, which grow faster than arrays."""

    def __init__(self, problem: Problem, lives: Lives, unit: int) -> None:
        self._buffers = problem.buffers
        self._lives = lives
        self._unit = unit
        self.buffer: MutableSequence[int] = []
        """By part, its buffer."""
        self.item: MutableSequence[int] = []
        """By part, its item."""
        self._delta: MutableSequence[int] = []
        self._size: MutableSequence[int] = []
        self._ends: MutableSequence[int] = [0]
        self._life_begin: MutableSequence[int] = []
        self._life_end: MutableSequence[int] = []
        self._life_start: MutableSequence[int] = [0]

    def add(self, item: int, body: Body) -> None:
        for index, delta in zip(body.members, body.deltas, strict=True):
            buffer = self._buffers[index]
            self.buffer.append(index)
            self.item.append(item)
            self._delta.append(delta // self._unit)
            self._size.append(buffer.size // self._unit)
            for begin, end in self._lives.of(buffer):
                self._life_begin.append(begin)
                self._life_end.append(end)
            self._life_start.append(len(self._life_begin))
        self._ends.append(len(self.buffer))

    def add_columns(self, columns: BufferColumns) -> None:
        """Add all buffers of a problem, each an item by itself."""
        count, unit = len(columns.sizes), self._unit
        self.buffer = self.item = array("q", range(count))
        self._delta = array("q", bytes(8 * count))
        self._size = columns.sizes if unit == 1 else array("q", [size // unit for size in columns.sizes])
        self._life_begin, self._life_end = columns.begins, columns.ends
        self._ends = self._life_start = array("q", range(count + 1))

    def fill(self, arrays: Instance) -> None:
        arrays.part_delta.extend(self._delta)
        arrays.part_size.extend(self._size)
        arrays.item_parts.extend(self._ends[1:])
        arrays.life_begin.extend(self._life_begin)
        arrays.life_end.extend(self._life_end)
        arrays.life_start.extend(self._life_start[1:])


@record
class Reduction:
    """A problem as arrays, with the way back."""

    problem: Problem
    instance: Instance
    unit: int
    part_buffer: "array[int]"  # by part: index of its buffer
    alone: "tuple[tuple[int, Placement], ...]"  # buffers of size 0 (by index)
    moments: list[int] | None  # by time of the instance: the time of the problem, where they differ

    def moment(self, time: int | None) -> int | None:
        """The time of the problem for a time of the instance."""
        return time if self.moments is None or time is None else self.moments[time]

    def placements(self, layout: Layout) -> tuple[Placement, ...]:
        """The layout in the user's terms, in the order of the buffers. Every item has a place."""
        instance, buffers = self.instance, self.problem.buffers
        names = [pool.id for pool in self.problem.pools]
        if instance.item_count == len(buffers):
            # Each is an item by itself, as in most problems.
            offsets = map(add, layout.offset, instance.part_delta)
            return instances_of(
                Placement,
                len(buffers),
                buffer=[buffer.id for buffer in buffers],
                pool=[names[pool] for pool in layout.pool],
                offset=[offset * self.unit for offset in offsets],
            )
        placements: list[Placement | None] = [None] * len(buffers)
        starts, deltas = instance.item_parts, instance.part_delta
        for item, (pool, offset) in enumerate(zip(layout.pool, layout.offset, strict=True)):
            name = names[pool]
            for part in range(starts[item], starts[item + 1]):
                index = self.part_buffer[part]
                place = (offset + deltas[part]) * self.unit
                placements[index] = make_placement(buffers[index].id, name, place)
        for index, placement in self.alone:
            placements[index] = placement
        return tuple(p for p in placements if p is not None)

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


def build(
    problem: Problem,
    bodies: list[Body],
    alone: tuple[tuple[int, Placement], ...],
    unit: int,
    columns: BufferColumns | None = None,
) -> Reduction:
    """The reduction: items, parts, pools and pairs, in units.

    With `columns` each buffer is an item, and there is a body for each kind of them.
    """
    arrays = Instance()
    # What is in columns has one life each, as an instance has it.
    lives = Lives(problem.buffers if columns is None else ())
    parts = Parts(problem, lives, unit)
    if columns is not None:
        parts.add_columns(columns)
    for item, body in enumerate(bodies if columns is None else ()):
        parts.add(item, body)
    parts.fill(arrays)
    _add_choices(problem, bodies, unit, arrays, columns)
    _add_pools(problem, unit, arrays)
    _add_pairs(problem, parts, arrays)
    return Reduction(problem, arrays, unit, array("q", parts.buffer), alone, lives.moments)


def _add_choices(
    problem: Problem, bodies: list[Body], unit: int, arrays: Instance, columns: BufferColumns | None
) -> None:
    kinds = range(len(bodies)) if columns is None else columns.kinds
    ranks = _Ranks(problem) if counts(problem, Kind.PREFERENCE) else None
    # The numbers of each body are a block, and most bodies have theirs in common with others.
    alike = [(id(body.spots), body.low, body.high) for body in bodies]
    one_of_each = dict(zip(alike, bodies, strict=True))
    choices = {spots: _Choices(body.spots, unit) for (spots, _, _), body in one_of_each.items()}
    blocks = {key: choices[key[0]].blocks(body.low, body.high) for key, body in one_of_each.items()}
    joined = _joined([blocks[key] for key in alike], kinds)
    for target, column in zip(
        (
            arrays.choice_pool,
            arrays.choice_modulus,
            arrays.choice_residue,
            arrays.choice_low,
            arrays.choice_high,
        ),
        joined,
        strict=True,
    ):
        target.frombytes(column)
    zeros = bytes(len(joined[0]))
    has_costs = any(pool.cost for pool in problem.pools)
    arrays.choice_cost.frombytes(_costs(problem, bodies, columns) if has_costs else zeros)
    if ranks is None:
        arrays.choice_rank.frombytes(zeros)
    else:
        members = [body.members for body in bodies] if columns is None else [(i,) for i in range(len(kinds))]
        of_items = zip(kinds, members, strict=True)
        arrays.choice_rank.frombytes(b"".join([ranks.of(bodies[kind].spots, own) for kind, own in of_items]))
    counts_of_spots = [len(body.spots) for body in bodies]
    arrays.choice_start.extend(accumulate([counts_of_spots[kind] for kind in kinds]))


def _joined(rows: list[tuple[bytes, ...]], kinds: Sequence[int]) -> list[bytes]:
    """The blocks of each column one after the other; `kinds`: which row is that of an item."""
    if len(set(map(id, rows))) == 1:
        return [block * len(kinds) for block in rows[0]]
    columns = zip(*rows, strict=True)
    return [b"".join([column[kind] for kind in kinds]) for column in columns] or [b""] * _BLOCKS


def _costs(problem: Problem, bodies: list[Body], columns: BufferColumns | None) -> bytes:
    """The costs of the accesses of each item at each of its spots."""
    accesses = access_counts(problem)
    costs = [[spot.cost for spot in body.spots] for body in bodies]
    if columns is not None:
        of_items = zip(columns.kinds, accesses, strict=True)
        return _block([cost * moved for kind, moved in of_items for cost in costs[kind]])
    totals = [sum([accesses[i] for i in body.members]) for body in bodies]
    return _block([cost * moved for own, moved in zip(costs, totals, strict=True) for cost in own])


def _block(numbers: list[int]) -> bytes:
    """Numbers as an array holds them: blocks of many bodies are joined in no time."""
    return array("q", numbers).tobytes()


_BLOCKS: Final = 5


class _Choices:
    """The choices of items with the same spots, in units."""

    def __init__(self, spots: list[Spot], unit: int) -> None:
        grids = [spot.where for spot in spots]
        self._unit = unit
        self._pool = _block([spot.pool for spot in spots])
        free = [g.modulus % unit == 0 and g.modulus <= LIMIT for g in grids]
        self._modulus = _block([g.modulus // unit if f else 1 for g, f in zip(grids, free, strict=True)])
        self._residue = _block([g.residue // unit if f else 0 for g, f in zip(grids, free, strict=True)])
        # A modulus beyond the largest address leaves one offset: that is a pin.
        self._pins = [grid.residue // unit if grid.modulus > LIMIT else None for grid in grids]

    def blocks(self, low: int, high: int) -> tuple[bytes, bytes, bytes, bytes, bytes]:
        """By spot: pool, modulus, residue, and the limits of an item's offset."""
        return self._pool, self._modulus, self._residue, self._limits(low), self._limits(high)

    def _limits(self, limit: int) -> bytes:
        """By spot, the limit of an item's offset: this one, or the pin of the spot. `LIMIT` is none."""
        inside = LIMIT if limit == LIMIT else limit // self._unit
        return _block([inside if pin is None else pin for pin in self._pins])


class _Ranks:
    """The preferences of bodies. Those with the same spots, allowed pools and sizes share a block."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._positions: dict[tuple[str, ...] | None, dict[str, int]] = {}
        self._blocks: dict[tuple[object, ...], bytes] = {}

    def of(self, spots: list[Spot], members: Iterable[int]) -> bytes:
        """By spot, the preference of these buffers in its pool."""
        buffers = [self._problem.buffers[i] for i in members]
        key = (id(spots), *((named_pools(buffer), buffer.size) for buffer in buffers))
        block = self._blocks.get(key)
        if block is None:
            names = [self._problem.pools[spot.pool].id for spot in spots]
            ranks = [0] * len(names)
            for buffer in buffers:
                positions, size = self._positions_of(buffer), buffer.size
                ranks = [rank + positions[name] * size for rank, name in zip(ranks, names, strict=True)]
            block = self._blocks[key] = _block(ranks)
        return block

    def _positions_of(self, buffer: Buffer) -> dict[str, int]:
        """Of each pool that the buffer may go to, its position; 0: the preferred one."""
        named = named_pools(buffer)
        positions = self._positions.get(named)
        if positions is None:
            allowed = allowed_pools(self._problem, buffer)
            positions = self._positions[named] = {name: place for place, name in enumerate(allowed)}
        return positions


def _add_pools(problem: Problem, unit: int, arrays: Instance) -> None:
    for pool in problem.pools:
        arrays.capacity.append(end_of(pool) // unit)
        for low, high in merged([(r.offset, r.offset + r.size) for r in pool.reserved]):
            arrays.reserved_begin.append(low // unit)
            arrays.reserved_end.append(high // unit)
        arrays.reserved_start.append(len(arrays.reserved_begin))


def _add_pairs(problem: Problem, parts: Parts, arrays: Instance) -> None:
    """Add pairs of buffers as pairs of parts; not those within an item or with a buffer of size 0."""
    if not (problem.conflicts or problem.exclusive or problem.in_place or problem.reuse_costs):
        return
    buffers, item = problem.buffers, parts.item
    part_of = {buffers[index].id: part for part, index in enumerate(parts.buffer)}

    def pairs_of(ones: list[str], others: list[str], taken: Collection[Pair]) -> list[Pair]:
        pairs, _ = pair_numbers(part_of, ones, others, sorted=True)
        return [pair for pair in pairs if item[pair[0]] != item[pair[1]] and pair not in taken]

    conflicts = pairs_of([one for one, _ in problem.conflicts], [other for _, other in problem.conflicts], ())
    exclusive = pairs_of(
        [one for one, _ in problem.exclusive], [other for _, other in problem.exclusive], set(conflicts)
    )
    in_place = pairs_of(
        [entry.input for entry in problem.in_place],
        [entry.output for entry in problem.in_place],
        set(exclusive),
    )
    arrays.conflicts.extend(chain.from_iterable(conflicts))
    arrays.exempt.extend([number for a, b in exclusive for number in (a, b, 0)])
    arrays.exempt.extend([number for a, b in in_place for number in (a, b, 1)])
    for cost in problem.reuse_costs:
        one, two = (part_of.get(name) for name in cost.buffers)
        if one is not None and two is not None:
            arrays.reuse.extend((one, two, cost.cost))
