"""Units of an order: buffers at fixed distances from each other, and where such a unit may begin.

In: a symbolic problem and one of its orders. Out: the units in an order in which each comes after those that
it is above, with everything that does not depend on a value of the symbols worked out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import lcm
from typing import NoReturn

from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Pool
from memstow.planner.model.ranges import Range, merged
from memstow.planner.model.rigid_groups import ANYWHERE, Congruence, Distances
from memstow.planner.model.symbolic import Order, SymbolicBuffer, SymbolicProblem
from memstow.planner.reading.printable import printable


@dataclass(frozen=True, slots=True)
class Member:
    """A buffer (by index) of a unit."""

    buffer: int
    distance: int
    """Its offset less that of the unit's first member."""
    above: tuple[int, ...]
    """It begins at or after the end of each of these."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Buffers at fixed distances; the first one in the document's order is the first of the members."""

    pool: int
    members: tuple[Member, ...]
    floor: int
    """No offset of the first member is lower."""
    grid: Congruence
    """The offsets of the first member at which all members are aligned."""
    pin: int | None
    """The offset that the first member must have."""


def floor_of(pool: Pool) -> int:
    """The end of what is reserved at the bottom."""
    return next((end for begin, end in _reserved(pool) if begin == 0), 0)


def reserved_above(pool: Pool) -> list[Range]:
    """The reserved ranges that are not at the bottom."""
    return [it for it in _reserved(pool) if it[0] > 0]


def _reserved(pool: Pool) -> list[Range]:
    return merged((it.offset, it.offset + it.size) for it in pool.reserved)


def units_of(problem: SymbolicProblem, order: Order, path: str) -> list[Unit]:
    """The units of the order, each after those that it is above.

    An InputError where the order does not say for each buffer where it is, or contradicts itself or the
    problem; `path` is the place of the order in the plan.
    """
    return _Reader(problem, order, path).units()


class _Reader:
    """One order, with ids as indices."""

    def __init__(self, problem: SymbolicProblem, order: Order, path: str) -> None:
        self._problem = problem
        self._path = path
        self._floors = [floor_of(pool) for pool in problem.pools]
        self._buffers: tuple[SymbolicBuffer, ...] = problem.buffers
        self._index = {buffer.id: i for i, buffer in enumerate(problem.buffers)}
        pools = {pool.id: i for i, pool in enumerate(problem.pools)}
        self._pool = [-1] * len(self._buffers)
        self._above: list[tuple[int, ...]] = [()] * len(self._buffers)
        self._shares: list[int | None] = [None] * len(self._buffers)
        self._empty = [False] * len(self._buffers)
        for number, placement in enumerate(order.placements):
            at = f"{path}.placements[{number}]"
            index = self._known(placement.buffer, f"{at}.buffer")
            if self._pool[index] >= 0:
                self._fail("repeated_placement", at, f"{_name(placement.buffer)} has a place already")
            if placement.pool not in pools:
                self._fail("unknown_pool", f"{at}.pool", f"there is no pool {_name(placement.pool)}")
            self._pool[index] = pools[placement.pool]
            above = (self._known(it, f"{at}.above") for it in placement.above)
            self._above[index] = tuple(dict.fromkeys(above))
            self._empty[index] = placement.empty
            if placement.shares is not None:
                self._shares[index] = self._known(placement.shares, f"{at}.shares")
        missing = next((i for i, pool in enumerate(self._pool) if pool < 0), None)
        if missing is not None:
            self._fail("no_place", path, f"{_name(self._buffers[missing].id)} has no place")

    def units(self) -> list[Unit]:
        """The units, sorted."""
        distances = self._distances()
        by_root: dict[int, list[tuple[int, int]]] = {}
        for index in range(len(self._buffers)):
            root, at = distances.find(index)
            # What has no bytes is a unit alone. Others keep the distances that they have through it.
            by_root.setdefault(-1 - index if self._empty[index] else root, []).append((index, at))
        units = [self._unit(members) for members in by_root.values()]
        unit_of = {it.buffer: number for number, unit in enumerate(units) for it in unit.members}
        return [units[number] for number in self._sorted(units, unit_of)]

    def _distances(self) -> Distances:
        distances = Distances()
        for tie in self._problem.relative:
            apart = distances.tie(self._index[tie.buffer], self._index[tie.base], tie.offset)
            if apart not in (None, tie.offset):
                message = f"{_name(tie.buffer)} has two distances from {_name(tie.base)}"
                raise InputError.single("contradiction", "relative", message)
        pairs = {frozenset((it.input, it.output)) for it in self._problem.in_place}
        for index, other in enumerate(self._shares):
            if other is None:
                continue
            name, shared = self._buffers[index].id, self._buffers[other].id
            if frozenset((name, shared)) not in pairs:
                message = f"{_name(name)} and {_name(shared)} are no pair of `in_place`"
                self._fail("not_in_place", self._path, message)
            if distances.tie(index, other, 0) not in (None, 0):
                message = f"{_name(name)} is at a distance from {_name(shared)}, and cannot share its offset"
                self._fail("contradiction", self._path, message)
        return distances

    def _unit(self, tied: Sequence[tuple[int, int]]) -> Unit:
        """The unit of these buffers (by index, ascending) and distances from any origin."""
        first, origin = tied[0]
        pool_index = self._pool[first]
        pool = self._problem.pools[pool_index]
        grid: Congruence | None = ANYWHERE
        floor, pin = 0, None
        members = []
        for index, at in tied:
            buffer, distance = self._buffers[index], at - origin
            above = self._above[index]
            for other in (index, *above):
                if self._pool[other] != pool_index:
                    names = [self._buffers[it].id for it in (index, first if other == index else other)]
                    message = f"{' and '.join(map(_name, names))} are not in the same pool"
                    self._fail("two_pools", self._path, message)
            members.append(Member(index, distance, above))
            floor = max(floor, self._floors[pool_index] - distance)
            grid = None if grid is None else grid.meet(_grid_of(buffer, pool, distance))
            if buffer.offset is not None:
                if pin is not None and pin != buffer.offset - distance:
                    message = f"{_name(buffer.id)} is not at its distance from another that is pinned"
                    raise InputError.single("contradiction", "relative", message)
                pin = buffer.offset - distance
        name = _name(self._buffers[first].id)
        if grid is None:
            message = f"no offset aligns {name} and those at fixed distances from it"
            raise InputError.single("contradiction", "relative", message)
        if pin is not None and (pin - grid.residue) % grid.modulus:
            message = f"{name} or a buffer at a fixed distance from it is pinned to where it is not aligned"
            raise InputError.single("contradiction", "buffers", message)
        return Unit(pool_index, tuple(members), floor, grid, pin)

    def _sorted(self, units: Sequence[Unit], unit_of: dict[int, int]) -> Iterable[int]:
        """Numbers of units, each after those below it; the first in the document where there is a choice."""
        below = [{unit_of[p] for member in unit.members for p in member.above} for unit in units]
        over: list[list[int]] = [[] for _ in units]
        for number, those in enumerate(below):
            if number in those:
                name = _name(self._buffers[units[number].members[0].buffer].id)
                self._fail("cycle", self._path, f"{name} is above a buffer at a fixed distance from it")
            for other in those:
                over[other].append(number)
        waiting = [len(those) for those in below]
        ready = [number for number, count in enumerate(waiting) if not count]
        heapify(ready)
        done = []
        while ready:
            number = heappop(ready)
            done.append(number)
            for other in over[number]:
                waiting[other] -= 1
                if not waiting[other]:
                    heappush(ready, other)
        if len(done) < len(units):
            stuck = next(number for number, count in enumerate(waiting) if count)
            name = _name(self._buffers[units[stuck].members[0].buffer].id)
            self._fail("cycle", self._path, f"{name} is above buffers that are above each other in a circle")
        return done

    def _known(self, name: str, path: str) -> int:
        index = self._index.get(name)
        if index is None:
            self._fail("unknown_buffer", path, f"there is no buffer {_name(name)}")
        return index

    def _fail(self, code: str, path: str, message: str) -> NoReturn:
        raise InputError.single(code, path, message)


def _grid_of(buffer: SymbolicBuffer, pool: Pool, distance: int) -> Congruence:
    """The offsets of a unit's first member at which this one, at a distance from it, is aligned."""
    modulus = lcm(buffer.alignment, pool.alignment)
    return Congruence(modulus, -(distance + (pool.base or 0)) % modulus)


def _name(text: str) -> str:
    return repr(printable(text, 80))
