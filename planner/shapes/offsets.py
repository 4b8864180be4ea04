"""Offsets and peaks for given sizes: constant offsets, or those that follow from an order."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Protocol

from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import LIMIT, end_of
from memstow.planner.model.symbolic import Order, SymbolicProblem
from memstow.planner.reading.printable import printable
from memstow.planner.shapes.units import Unit, reserved_above, units_of


@dataclass(frozen=True, slots=True)
class Placed:
    """Offsets by buffer and peaks by pool."""

    offsets: Sequence[int]
    peaks: Sequence[int]


class Placer(Protocol):
    """Something that places all buffers of a problem, whatever their sizes are."""

    pool_of: Sequence[int]
    """By buffer: the index of its pool."""

    def place(self, sizes: Sequence[int]) -> Placed | str:
        """The offsets for these sizes by buffer; or, where they do not fit, why."""


class ConstantOffsets:
    """The offsets of a plan that is fixed."""

    def __init__(self, problem: SymbolicProblem, placements: Sequence[Placement]) -> None:
        index = {buffer.id: i for i, buffer in enumerate(problem.buffers)}
        pools = {pool.id: i for i, pool in enumerate(problem.pools)}
        pool_of: list[int] = [-1] * len(index)
        self.offsets = [0] * len(index)
        for number, it in enumerate(placements):
            path = f"placements[{number}]"
            if it.buffer not in index or it.pool not in pools:
                what = f"buffer {_name(it.buffer)}" if it.buffer not in index else f"pool {_name(it.pool)}"
                raise InputError.single("unknown_id", path, f"there is no {what}")
            if pool_of[index[it.buffer]] >= 0:
                raise InputError.single(
                    "repeated_placement", path, f"{_name(it.buffer)} has a place already; give it one"
                )
            pool_of[index[it.buffer]] = pools[it.pool]
            self.offsets[index[it.buffer]] = it.offset
        if -1 in pool_of:
            name = _name(problem.buffers[pool_of.index(-1)].id)
            raise InputError.single("no_place", "placements", f"{name} has no place")
        self.pool_of: Sequence[int] = pool_of
        self._heights = _Heights(problem, pool_of)

    def place(self, sizes: Sequence[int]) -> Placed | str:
        """The offsets as they are, and the peaks with these sizes."""
        ends = list(map(int.__add__, self.offsets, sizes))
        return self._heights.placed(self.offsets, ends, sizes)


class StackedOffsets:
    """The offsets of an order: each unit at the least one that is aligned and above what is below it."""

    def __init__(self, problem: SymbolicProblem, order: Order, path: str) -> None:
        self.units: Sequence[Unit] = units_of(problem, order, path)
        pool_of = [0] * len(problem.buffers)
        for unit in self.units:
            for member in unit.members:
                pool_of[member.buffer] = unit.pool
        self.pool_of: Sequence[int] = pool_of
        self._names = [buffer.id for buffer in problem.buffers]
        self._heights = _Heights(problem, pool_of)
        # What a unit of one buffer without a pin needs, which most are; None: the unit is another.
        self._steps = [(_alone(unit), unit) for unit in self.units]

    def place(self, sizes: Sequence[int]) -> Placed | str:
        """One pass over the units."""
        offsets = [0] * len(sizes)
        ends = [0] * len(sizes)
        for alone, unit in self._steps:
            if alone is None:
                if not _place_unit(unit, sizes, offsets, ends):
                    name = _name(self._names[unit.members[0].buffer])
                    return f"{name}, or a buffer at a fixed distance, is pinned below the end of another"
                continue
            buffer, above, begin, modulus, residue = alone
            for other in above:
                end = ends[other]
                if end > begin:
                    begin = end
            if modulus > 1:
                begin += (residue - begin) % modulus
            offsets[buffer] = begin
            ends[buffer] = begin + sizes[buffer]
        if max(ends, default=0) > LIMIT:
            return "an offset is above 2^62"
        return self._heights.placed(offsets, ends, sizes)


_Alone = tuple[int, tuple[int, ...], int, int, int]


def _alone(unit: Unit) -> _Alone | None:
    """The buffer, those below it, its least offset, and the alignment as modulus and residue."""
    if len(unit.members) > 1 or unit.pin is not None:
        return None
    member = unit.members[0]
    return member.buffer, member.above, unit.floor, unit.grid.modulus, unit.grid.residue


def _place_unit(unit: Unit, sizes: Sequence[int], offsets: list[int], ends: list[int]) -> bool:
    """Place the members; whether the pin, if there is one, allows it."""
    begin = unit.floor
    for member in unit.members:
        for other in member.above:
            begin = max(begin, ends[other] - member.distance)
    if unit.pin is None:
        begin += (unit.grid.residue - begin) % unit.grid.modulus
    elif begin > unit.pin:
        return False
    else:
        begin = unit.pin
    for member in unit.members:
        offsets[member.buffer] = begin + member.distance
        ends[member.buffer] = begin + member.distance + sizes[member.buffer]
    return True


class _Heights:
    """The peaks of the pools, and whether they fit."""

    def __init__(self, problem: SymbolicProblem, pool_of: Sequence[int]) -> None:
        self._names = [pool.id for pool in problem.pools]
        self._ends = [end_of(pool) for pool in problem.pools]
        self._reserved = [reserved_above(pool) for pool in problem.pools]
        self._members: list[list[int]] = [[] for _ in problem.pools]
        for buffer, pool in enumerate(pool_of):
            self._members[pool].append(buffer)

    def placed(self, offsets: Sequence[int], ends: Sequence[int], sizes: Sequence[int]) -> Placed | str:
        """The layout with its peaks; buffers of size 0 do not count."""
        if len(self._ends) == 1:
            peaks = [max(compress(ends, sizes), default=0)]
        else:
            peaks = [max((ends[it] for it in members if sizes[it]), default=0) for members in self._members]
        for pool, (peak, end, reserved) in enumerate(zip(peaks, self._ends, self._reserved, strict=True)):
            if peak > end:
                return f"pool {_name(self._names[pool])} ends at {end:,}, and {peak:,} bytes of it are needed"
            if reserved and peak > reserved[0][0] and self._is_on_reserved(pool, offsets, ends, sizes):
                return f"a buffer is on what is reserved of pool {_name(self._names[pool])}"
        return Placed(offsets, peaks)

    def _is_on_reserved(
        self, pool: int, offsets: Sequence[int], ends: Sequence[int], sizes: Sequence[int]
    ) -> bool:
        return any(
            sizes[it] and offsets[it] < end and begin < ends[it]
            for it in self._members[pool]
            for begin, end in self._reserved[pool]
        )


def _name(text: str) -> str:
    return repr(printable(text, 80))
