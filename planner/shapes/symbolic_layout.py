"""Offsets at a value of the symbols: what is computed at run time, prepared once for many values.

In: a symbolic problem and its plan. Out: at each value the offset of every buffer, the peak of every pool
and the objective (`Layout`), or the ordinary plan, judged, with bounds like any other (`plan_at`).

An order is made of units: buffers at fixed distances from each other. They are put in an order in which
each comes after those that it is above, with everything that does not depend on a value worked out. Every
unit begins at the least offset that is aligned and above what it must be above, so there is nothing to
search. `planner.shapes.symbolic_c` writes the same as C.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import compress
from math import lcm
from operator import add, attrgetter
from typing import NoReturn, Protocol

from memstow.planner.check import require_valid
from memstow.planner.formulas.sizes import sizes_at, values_text
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Explanation, Placement, Plan, make_placement
from memstow.planner.model.printable import as_integer, printable, shown
from memstow.planner.model.problem import (
    LIMIT,
    Congruence,
    Distances,
    Kind,
    Pool,
    Problem,
    Range,
    end_of,
    merged,
    parse_term,
    terms_of,
)
from memstow.planner.model.symbolic import (
    Order,
    SymbolicBuffer,
    SymbolicGraph,
    SymbolicPlan,
    SymbolicProblem,
    with_sizes,
)
from memstow.planner.reduce import reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.one_run import prover_of
from memstow.planner.solve.problem_plans import PlanValues, plan_of_values, recount


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
    return [entry for entry in _reserved(pool) if entry[0] > 0]


def _reserved(pool: Pool) -> list[Range]:
    return merged((entry.offset, entry.offset + entry.size) for entry in pool.reserved)


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
            above = (self._known(entry, f"{at}.above") for entry in placement.above)
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
        unit_of = {member.buffer: number for number, unit in enumerate(units) for member in unit.members}
        return [units[number] for number in self._sorted(units, unit_of)]

    def _distances(self) -> Distances:
        distances = Distances()
        for tie in self._problem.relative:
            apart = distances.tie(self._index[tie.buffer], self._index[tie.base], tie.offset)
            if apart not in (None, tie.offset):
                message = f"{_name(tie.buffer)} has two distances from {_name(tie.base)}"
                raise InputError.single("contradiction", "relative", message)
        pairs = {frozenset((entry.input, entry.output)) for entry in self._problem.in_place}
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
        grid: Congruence | None = None
        floor, pin = 0, None
        members = []
        for index, at in tied:
            buffer, distance = self._buffers[index], at - origin
            above = self._above[index]
            for other in (index, *above):
                if self._pool[other] != pool_index:
                    names = [self._buffers[entry].id for entry in (index, first if other == index else other)]
                    message = f"{' and '.join(map(_name, names))} are not in the same pool"
                    self._fail("two_pools", self._path, message)
            members.append(Member(index, distance, above))
            floor = max(floor, self._floors[pool_index] - distance)
            own = _aligned(buffer.alignment, pool.alignment, distance + (pool.base or 0))
            grid = own if index == first else grid and grid.meet(own)
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


@lru_cache(maxsize=1 << 10)
def _aligned(alignment: int, of_pool: int, beyond: int) -> Congruence:
    """Where a unit may begin so that a member this far beyond that, the base included, is aligned."""
    modulus = lcm(alignment, of_pool)
    return Congruence(modulus, -beyond % modulus)


def _name(text: str) -> str:
    return repr(printable(text, 80))


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
        pools = {pool.id: i for i, pool in enumerate(problem.pools)}
        homes = list(map(attrgetter("pool"), placements))
        named = map(attrgetter("buffer"), placements)
        if pools.keys() >= set(homes) and [*named] == [*map(attrgetter("id"), problem.buffers)]:
            # As we write them: each in the order of the buffers.
            self.offsets = list(map(attrgetter("offset"), placements))
            self.pool_of: Sequence[int] = list(map(pools.__getitem__, homes))
            self._heights = _Heights(problem, self.pool_of)
            return
        index = {buffer.id: i for i, buffer in enumerate(problem.buffers)}
        pool_of: list[int] = [-1] * len(index)
        self.offsets = [0] * len(index)
        for number, placement in enumerate(placements):
            path = f"placements[{number}]"
            if placement.buffer not in index or placement.pool not in pools:
                what = (
                    f"buffer {_name(placement.buffer)}"
                    if placement.buffer not in index
                    else f"pool {_name(placement.pool)}"
                )
                raise InputError.single("unknown_id", path, f"there is no {what}")
            if pool_of[index[placement.buffer]] >= 0:
                raise InputError.single(
                    "repeated_placement", path, f"{_name(placement.buffer)} has a place already; give it one"
                )
            pool_of[index[placement.buffer]] = pools[placement.pool]
            self.offsets[index[placement.buffer]] = placement.offset
        if -1 in pool_of:
            name = _name(problem.buffers[pool_of.index(-1)].id)
            raise InputError.single("no_place", "placements", f"{name} has no place")
        self.pool_of = pool_of
        self._heights = _Heights(problem, pool_of)

    def place(self, sizes: Sequence[int]) -> Placed | str:
        """The offsets as they are, and the peaks with these sizes."""
        ends = list(map(add, self.offsets, sizes))
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
        self._members: list[Sequence[int]] = [range(len(pool_of))]
        if len(problem.pools) > 1:
            by_pool: list[list[int]] = [[] for _ in problem.pools]
            for buffer, pool in enumerate(pool_of):
                by_pool[pool].append(buffer)
            self._members = [*by_pool]

    def placed(self, offsets: Sequence[int], ends: Sequence[int], sizes: Sequence[int]) -> Placed | str:
        """The layout with its peaks; buffers of size 0 do not count."""
        if len(self._ends) == 1:
            peaks = [max(compress(ends, sizes), default=0)]
        else:
            peaks = [
                max((ends[member] for member in members if sizes[member]), default=0)
                for members in self._members
            ]
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
            sizes[member] and offsets[member] < end and begin < ends[member]
            for member in self._members[pool]
            for begin, end in self._reserved[pool]
        )


@dataclass(frozen=True, slots=True)
class LayoutAt:
    """Where everything is at one value of the symbols."""

    sizes: Sequence[int]
    """By buffer, in the order of the problem."""
    offsets: Sequence[int]
    pools: Sequence[int]
    """By buffer: the index of its pool."""
    peaks: Sequence[int]
    """By pool, in the order of the problem."""
    objective: int
    order: int
    """The index of the order that is used here; 0 where offsets are fixed."""


def _lowered(graph: SymbolicGraph, plan: SymbolicPlan) -> SymbolicProblem:
    # Plans of problems do not wait for this import.
    from memstow.planner.graph.symbolic_graph import symbolic_problem_of

    return symbolic_problem_of(graph, plan)


class Layout:
    """A plan that is ready to be evaluated, again and again."""

    def __init__(self, problem: SymbolicProblem | SymbolicGraph, plan: SymbolicPlan) -> None:
        """An InputError if the plan does not say for every buffer of the problem where it is.

        The problem of a graph is that of the plan's schedule, which the graph must allow.
        """
        self.document = problem
        self.problem = problem if isinstance(problem, SymbolicProblem) else _lowered(problem, plan)
        self.plan = plan
        self.placers = placers_of(self.problem, plan)
        self._objective = _Objective(self.problem)

    def at(self, /, **values: int) -> LayoutAt:
        """Where everything is at these values of the symbols: `layout.at(s=128)`."""
        return self.lay_out(values)

    def lay_out(self, at: Mapping[str, int]) -> LayoutAt:
        """Where everything is at these values; an InputError if one is outside of its range."""
        values = _whole(at)
        sizes = sizes_at(self.problem, values)
        best: LayoutAt | None = None
        reasons = []
        for order, placer in enumerate(self.placers):
            placed = placer.place(sizes)
            if not isinstance(placed, Placed):
                reasons.append(placed)
                continue
            value = self._objective.of(placed.peaks)
            if best is None or value < best.objective:
                best = LayoutAt(sizes, placed.offsets, placer.pool_of, placed.peaks, value, order)
        if best is None:
            message = f"the plan does not fit at {values_text(values)}: {reasons[0]}"
            raise InputError.single("does_not_fit", "at", message)
        return best

    def offsets(self, at: Mapping[str, int]) -> dict[str, int]:
        """The offsets at these values, by id of the buffer."""
        placed = self.lay_out(at)
        return {
            buffer.id: offset for buffer, offset in zip(self.problem.buffers, placed.offsets, strict=True)
        }

    def peaks(self, at: Mapping[str, int]) -> dict[str, int]:
        """The peaks at these values, by id of the pool."""
        placed = self.lay_out(at)
        return {pool.id: peak for pool, peak in zip(self.problem.pools, placed.peaks, strict=True)}


def _whole(at: Mapping[str, int]) -> dict[str, int]:
    """The values as integers: NumPy's are others, and True and False are none."""
    return {name: _whole_value(name, value) for name, value in at.items()}


def _whole_value(name: str, value: int) -> int:
    whole = as_integer(value)
    if whole is None:
        message = f"{shown(value)} is no value of {name!r}; give a whole number"
        raise InputError.single("not_whole", "at", message)
    return whole


def placers_of(problem: SymbolicProblem, plan: SymbolicPlan) -> tuple[Placer, ...]:
    """What places the buffers: the orders of the plan, or its constant offsets."""
    if plan.status not in PLANNED:
        message = f"there is no plan to evaluate: the status is {plan.status}"
        raise InputError.single("no_plan", "status", message)
    if plan.shapes == "fixed":
        return (ConstantOffsets(problem, plan.placements),)
    if not plan.orders:
        raise InputError.single("no_plan", "orders", "the plan has no orders")
    return tuple(StackedOffsets(problem, order, f"orders[{i}]") for i, order in enumerate(plan.orders))


class _Objective:
    """The term of the problem, as a function of the peaks."""

    def __init__(self, problem: SymbolicProblem) -> None:
        text = problem.objective[0]
        term = parse_term(text)
        pools = [pool.id for pool in problem.pools]
        known = term is not None and term.kind in (Kind.PEAK, Kind.MAX_PEAK, Kind.POOL_PEAK)
        if term is None or not known or (term.pool is not None and term.pool not in pools):
            message = f"{printable(text, 80)!r} is no peak; use peak, peak:POOL or max_peak"
            raise InputError.single("bad_objective", "objective", message)
        self.kind = term.kind
        self.pool = -1 if term.pool is None else pools.index(term.pool)

    def of(self, peaks: Sequence[int]) -> int:
        """The value for these peaks."""
        if self.kind is Kind.PEAK:
            return sum(peaks)
        return max(peaks) if self.kind is Kind.MAX_PEAK else peaks[self.pool]


_MOST_REPORTED = 20


def plan_at(problem: SymbolicProblem | SymbolicGraph, plan: SymbolicPlan, at: Mapping[str, int]) -> Plan:
    """The plan for the problem at these values; an InputError where the plan is not valid there."""
    return plan_of_layout(Layout(problem, plan), at)[1]


def plan_of_layout(layout: Layout, at: Mapping[str, int]) -> tuple[Problem, Plan]:
    """The problem at these values and the plan for it, of a layout that is prepared.

    Of a graph the plan has the schedule, and says what holds for all orders that the graph allows.
    """
    placed = layout.lay_out(at)
    problem = with_sizes(layout.problem, placed.sizes)
    require_valid(problem)
    placements = _placements(problem, placed)
    plan = _with_values(problem, placements, layout.plan.solver)
    violations = [] if plan is None else recount(problem, plan, None)
    if plan is None or violations:
        raise _not_valid(at, [violation.message for violation in violations])
    if isinstance(layout.document, SymbolicGraph) and layout.plan.schedule is not None:
        from memstow.planner.graph.symbolic_graph import graph_at
        from memstow.planner.solve.schedules import judged

        plan = judged(graph_at(layout.document, at), plan, layout.plan.schedule)
    return problem, plan


def _with_values(problem: Problem, placements: tuple[Placement, ...], solver: str | None) -> Plan | None:
    """The plan with its peaks, objective and bounds; None where some buffer has no place at all."""
    bare = Plan(status=Status.FEASIBLE, placements=placements)
    reduction = reduce(problem, bare)
    if isinstance(reduction, Explanation):
        return None
    arrays = reduction.layout(placements)
    if -1 in arrays.pool:
        return None
    values = PlanValues.of_layout(reduction, arrays, placements, None)
    bounds = Bounds(reduction)
    terms = {term: bounds.of_term(term) for term in terms_of(problem)}
    return replace(plan_of_values(values, bounds, terms, solver, prover_of(terms)), digest=digest(problem))


def _placements(problem: Problem, placed: LayoutAt) -> tuple[Placement, ...]:
    """Where the buffers are. One of size 0 behind the end of its pool may be anywhere: it is moved."""
    placements = []
    for buffer, pool_index, offset in zip(problem.buffers, placed.pools, placed.offsets, strict=True):
        pool = problem.pools[pool_index]
        if not buffer.size and offset > end_of(pool):
            offset = -(pool.base or 0) % lcm(buffer.alignment, pool.alignment)
        placements.append(make_placement(buffer.id, pool.id, offset))
    return tuple(placements)


def _not_valid(at: Mapping[str, int], reasons: list[str]) -> InputError:
    some = "; ".join(reasons[:_MOST_REPORTED]) or "a buffer is where it may never be"
    return InputError.single("invalid_plan", "plan", f"the plan is not valid at {values_text(at)}: {some}")
