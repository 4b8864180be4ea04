"""Recompute and spill: what to make again, or to copy out and back, so that the peak falls.

In: a graph and an order of first runs. Out: points of peak and cost, each with its schedule and what no
schedule of that cost can do without. The graph becomes a program (`program_of`), the arrays that
`recompute_search` reads.
"""

import threading
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, permutations, product
from math import prod
from operator import le
from typing import Final, Literal

from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.graph.live_bytes import (
    Storage,
    in_place_triples,
    lives_of,
    resident_load,
    start_height,
    steps,
    storages,
    temporary_height,
)
from memstow.planner.graph.operators import CostUnit, operator_costs
from memstow.planner.graph.recompute_search import (
    Archive,
    Effort,
    Moments,
    ProgramRun,
    Search,
    flagged,
    is_tiny,
    turns_in_any_order,
    turns_in_order,
)
from memstow.planner.graph.schedules import at_states, checked_order, only_orders, runs_once, with_runs
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor, is_resident, size_of
from memstow.planner.model.plan import Schedule, Spill
from memstow.planner.model.problem import end_of, measure
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import Memory, RecomputeArrays, TinyProgram, Turns, cheapest_path

Kind = Literal["recompute", "spill"]
KINDS: Final[tuple[Kind, ...]] = ("recompute", "spill")
Again = Literal["allowed", "same", "any time"]
"""Who runs again: whoever a schedule allows to; of these, who is known to make the same; of these, who is
never too late, since what it makes is needed only before a state that it reads is written."""
# Words in the type of an operator that may make something else when it runs again.
_RANDOM: Final = ("random", "dropout", "bernoulli", "multinomial", "uniform", "normal_", "rand")


def pools_of(graph: Graph, element: Tensor | Temporary) -> tuple[str, ...]:
    """The pools it may be in."""
    return element.pools if element.pools is not None else tuple(pool.id for pool in graph.pools)


@dataclass(frozen=True)
class Counting:
    """What counts: the bytes of one pool, or of all."""

    graph: Graph
    pool: str | None
    certain: bool
    """Only what can be nowhere else; else also what would rather be there."""
    others: tuple[str, ...] = ()
    """Pools that count as well."""

    def counts(self, element: Tensor | Temporary) -> bool:
        """Whether the bytes of this are in the pools that count."""
        if self.pool is None:
            return True
        allowed, pools = pools_of(self.graph, element), {self.pool, *self.others}
        return pools.issuperset(allowed if self.certain else allowed[:1])


@dataclass(frozen=True)
class Program:
    """The arrays of a graph, and the way back."""

    graph: Graph
    order: Sequence[int]
    arrays: RecomputeArrays
    tensors: Sequence[int]
    """By item, the tensor."""
    counting: Counting


def program_of(
    graph: Graph,
    order: Sequence[int],
    costs: Sequence[int],
    kinds: frozenset[Kind],
    counting: Counting,
    again: Again = "same",
) -> Program:
    """The program of a valid graph; `costs` by operator of the graph."""
    at = {operator: place for place, operator in enumerate(order)}
    stored = [
        storage
        for storage in storages(graph)
        if storage.size and counting.counts(graph.tensors[storage.tensor])
    ]
    items = [entry for entry in stored if entry.begin is None]
    pieces = [entry for entry in stored if entry.begin is not None]
    index = {item.tensor: i for i, item in enumerate(items)}
    once = runs_once(graph) if "recompute" in kinds else [True] * len(order)
    if again != "allowed":
        once = [a or b for a, b in zip(once, _avoided(graph), strict=True)]
    if again == "any time":
        once = [a or b for a, b in zip(once, _late(graph, at), strict=True)]
    base = resident_load(graph, counts=counting.counts).bytes
    fixed, gap, end = _fixed(base, pieces, at)
    input_start, inputs = array("q", [0]), array("q")
    output_start, outputs = array("q", [0]), array("q")
    links = links_of(graph)
    for operator in order:
        described = graph.operators[operator]
        for names, start, values in (
            (described.inputs, input_start, inputs),
            (described.outputs, output_start, outputs),
        ):
            tensors = (links.tensor_index[name] for name in dict.fromkeys(names))
            values.extend(index[tensor] for tensor in tensors if tensor in index)
            start.append(len(values))
    in_place = array("q")
    everything = storages(graph)
    for operator, source, target in in_place_triples(graph):
        ends = everything[source].tensor, everything[target].tensor
        if all(tensor in index for tensor in ends):
            in_place.extend((at[operator], *(index[tensor] for tensor in ends)))
    room = _room_to_wait(graph, counting.pool)
    fits = {item.tensor: room is None or size_of(graph.tensors[item.tensor]) <= room for item in items}
    arrays = RecomputeArrays(
        extra=array(
            "q", (temporary_height(graph.operators[entry], counts=counting.counts) for entry in order)
        ),
        fixed=fixed,
        gap=gap,
        cost=array("q", (costs[entry] for entry in order)),
        once=array("q", (once[entry] for entry in order)),
        input_start=input_start,
        inputs=inputs,
        output_start=output_start,
        outputs=outputs,
        in_place=in_place,
        size=array("q", (item.size for item in items)),
        producer=array("q", (at[item.writers[0]] if item.writers else -1 for item in items)),
        kept=array("q", (item.to_end for item in items)),
        spillable=array("q", ("spill" in kinds and fits[item.tensor] for item in items)),
        start=start_height(graph, counts=counting.counts),
        end=end,
        base=base,
    )
    return Program(graph, order, arrays, [item.tensor for item in items], counting)


def tiny_program_of(
    graph: Graph,
    order: Sequence[int],
    costs: Sequence[int],
    kinds: frozenset[Kind],
    pool: str | None,
    limited: tuple[str, ...],
    elsewhere: str,
    again: Again,
) -> TinyProgram:
    """The program in which these pools count, each as a memory: the one whose peak counts, and limited ones.

    What may be elsewhere is no item: there is room for it, and who waits does so in the pool `elsewhere`.
    """
    program = program_of(graph, order, costs, kinds, Counting(graph, pool, True, limited), again)
    rooms, names = rooms_of(graph), (pool, *limited)
    alone = [Counting(graph, name, certain=True) for name in names]
    # What is always there, and may be in several of them, is in one.
    always = [
        index
        for index, tensor in enumerate(graph.tensors)
        if is_resident(tensor)
        and program.counting.counts(tensor)
        and not any(counting.counts(tensor) for counting in alone)
    ]
    arrays = _with_kept(program.arrays, [size_of(graph.tensors[index]) for index in always])
    tensors = [*program.tensors, *always]
    pools = [pools_of(graph, graph.tensors[tensor]) for tensor in tensors]
    has_room = len(graph.pools) > len(names)
    can_wait = "spill" in kinds and not has_room and pool is not None
    memories: list[Memory] = []
    for name, counting in zip(names, alone, strict=True):
        room = _MOST_BYTES if name is None else rooms.get(name, _MOST_BYTES)
        holds = flagged(name is None or name in entry for entry in pools)
        # Who can be in this memory alone would only have another copy here.
        waits = flagged(
            can_wait and entry != (name,) and size <= room and number < len(program.tensors)
            for number, (entry, size) in enumerate(zip(pools, arrays.size, strict=True))
        )
        counted = program_of(graph, order, costs, kinds, counting, again).arrays
        memories.append(Memory(counted, room, holds, waits))
    return TinyProgram(
        arrays=arrays,
        extras=[_extras(graph, graph.operators[entry], program.counting, names) for entry in order],
        tensors=tensors,
        memories=memories,
        waits=flagged(arrays.spillable) if has_room else 0,
        pools=(pool or "", *limited, elsewhere),
    )


def _with_kept(arrays: RecomputeArrays, sizes: Sequence[int]) -> RecomputeArrays:
    """The arrays with items that are there from the start to the end."""
    count = len(sizes)
    return replace(
        arrays,
        size=arrays.size + array("q", sizes),
        producer=arrays.producer + array("q", [NOBODY] * count),
        kept=arrays.kept + array("q", [1] * count),
        spillable=arrays.spillable + array("q", [0] * count),
    )


# Ways to have the temporaries of an operator in memories; of more than these, only what can be nowhere else.
_MOST_WAYS: Final = 64


def _extras(
    graph: Graph, operator: Operator, counting: Counting, names: Sequence[str | None]
) -> list[tuple[int, ...]]:
    """The ways to have its temporaries in memories: by memory, the bytes; none that another is as good as."""
    if len(names) == 1:
        return [(temporary_height(operator, counts=counting.counts),)]
    free = [temporary for temporary in operator.temporaries if counting.counts(temporary)]
    choices = [pools_of(graph, temporary) for temporary in free]
    if prod(map(len, choices)) > _MOST_WAYS:
        choices = [pools if len(pools) == 1 else ("",) for pools in choices]
    ways = {tuple(_height_in(name, operator, free, places) for name in names) for places in product(*choices)}
    return [
        way for way in sorted(ways) if not any(other != way and all(map(le, other, way)) for other in ways)
    ]


def _height_in(name: str | None, operator: Operator, free: Sequence[Temporary], places: Sequence[str]) -> int:
    """What the temporaries that are in this memory add."""
    here = {temporary.id for temporary, place in zip(free, places, strict=True) if place == name}
    return temporary_height(operator, counts=lambda temporary: temporary.id in here)


def rooms_of(graph: Graph) -> dict[str, int]:
    """The bytes of each pool that has a limit, without what is reserved."""
    return {
        pool.id: pool.capacity - measure((one.offset, one.offset + one.size) for one in pool.reserved)
        for pool in graph.pools
        if pool.capacity is not None
    }


def _room_to_wait(graph: Graph, pool: str | None) -> int | None:
    """The most bytes that any other pool has for one copy; None: no limit."""
    rooms = rooms_of(graph)
    others = [rooms.get(entry.id) for entry in graph.pools if entry.id != pool]
    return None if None in others else max(filter(None, others), default=0)


def turns_of(graph: Graph, order: Sequence[int], *, free: bool) -> Turns:
    """When operators may run, by place in the order; `free`: in any order that the graph allows."""
    ends = _last_turns(graph, order)
    if not free:
        return turns_in_order(len(order), ends)
    return turns_in_any_order(_successors(graph, order), ends)


def _last_turns(graph: Graph, order: Sequence[int]) -> list[int]:
    """By place in the order, the places of those, in bits, of which none has run when the operator runs last.

    They must come after all of its runs, or write a state that it uses.
    """
    at = {operator: place for place, operator in enumerate(order)}
    turns = [0] * len(order)
    for first, then in (*links_of(graph).before, *at_states(graph)):
        turns[at[first]] |= 1 << at[then]
    return turns


def _avoided(graph: Graph) -> list[bool]:
    """Operators that are not made to run again: their effect may be another the second time."""
    ordered = {name for pair in graph.before for name in pair}
    return [
        operator.id in ordered or any(word in (operator.type or "").lower() for word in _RANDOM)
        for operator in graph.operators
    ]


def _late(graph: Graph, at: dict[int, int]) -> list[bool]:
    """Operators that read a state and make what is needed after it is written: then they run no more."""
    until: dict[int, int] = {}
    for reader, writer in at_states(graph):
        until[reader] = min(until.get(reader, at[writer]), at[writer])
    links = links_of(graph)
    late = [False] * len(graph.operators)
    for operator, place in until.items():
        for name in graph.operators[operator].outputs:
            readers = links.readers[links.tensor_index[name]]
            needed = name in graph.outputs or any(at[reader] > place for reader in readers)
            late[operator] = late[operator] or needed
    return late


def _fixed(base: int, pieces: Sequence[Storage], at: dict[int, int]) -> "tuple[array[int], array[int], int]":
    """The bytes that cannot be dropped: during each first run, just before it, and in the end."""
    count = len(at)
    # By how much each step is above the one before it.
    during, before = [base] + [0] * (count + 1), [base] + [0] * (count + 1)
    for piece, (begin, end) in zip(pieces, lives_of(pieces, at), strict=True):
        _add(during, begin, end, piece.size)
        _add(before, 0 if piece.from_start else begin + 1, end + piece.to_end, piece.size)
    levels = list(accumulate(before))
    return array("q", accumulate(during[:count])), array("q", levels[:count]), levels[count]


def _add(changes: list[int], begin: int, end: int, size: int) -> None:
    if begin < end:
        changes[begin] += size
        changes[end] -= size


_MOST_STATES: Final = 60_000
_MOST_MISSED: Final = 12
_FINEST: Final = 100
"""While the search goes on, only what is better by this part of the peak is told."""
_SECONDS: Final = 5.0
_SHARE: Final = 0.8
"""Of the time, for the search; the rest is for bounds."""
_EXACT_SHARE: Final = 0.5
"""Of the work, at most, for the exact search."""
_MOST_BYTES: Final = 1 << 60
_MOST_SHUFFLED: Final = 4
"""Copies of which all orders are tried."""
ANY_COST: Final = 1 << 200
"""Whatever it costs."""
_NOTHING_FITS: Final = 1 << 200
"""The least bytes of what fits in no memory."""

Bound = tuple[int, int]
"""(cost, bytes): no schedule that costs no more, above each operator once, has a lower peak of live bytes."""


# Who runs again in the exact search: for bounds, and for points.
_AGAIN_IN_FULL: Final[tuple[Again, Again]] = ("allowed", "same")


@dataclass(frozen=True, slots=True)
class ChosenPoint:
    """A schedule, what it needs, and what no schedule of this cost can do without."""

    bytes: int
    """Live bytes at the tightest moment, before anything is placed."""
    cost: int
    """Of all operators that run more than once, and of copies."""
    schedule: Schedule
    bound_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What may be done to a graph."""

    kinds: frozenset[Kind] = frozenset({"recompute"})
    pool: str | None = None
    """The pool whose bytes count; None: all bytes, wherever they are."""
    unit: CostUnit = "given"
    is_priced: bool = False
    """Whether operators say what they cost in this unit: those of alternatives share their constants."""
    within: float | None = None
    """What all runs may cost at most, as a multiple of the cost of one run of each operator."""
    free: bool = False
    """Whether bounds must hold for all orders of first runs, instead of the one given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long points are looked for; where a work limit is given alone, the same points come every time."""

    seconds: float | None = None
    work: int | None = None
    cancel: threading.Event | None = None


def recompute_points(
    graph: Graph, order: Sequence[int], choice: Choice, patience: Patience
) -> Generator[ChosenPoint, None, list[Bound]]:
    """Points as they are found, each better in one term than all before it; the first is the graph as it is.

    The graph is valid, has no alternatives, and its operators run for the first time in this order of
    indices. `bytes` and `cost` are of the schedule that comes along: `with_runs` makes a graph of it. A later
    point may be better in both terms than an earlier one. Returns what is proven of all schedules of these
    kinds. Raises InputError where the choice does not fit.
    """
    waits_in = _checked(graph, choice)
    run = _Run(graph, order, choice, patience, waits_in)
    yield from run.points()
    return run.bounds()


def peak_of(
    graph: Graph, schedule: Schedule, pool: str | None = None, unit: int = 1, *, certain: bool | None = None
) -> int:
    """The live bytes of a schedule at its tightest moment, in this pool or in all (then in these units).

    In one pool, with what may be elsewhere, or if `certain` without; by default as there is room elsewhere.
    """
    if pool is None and only_orders(schedule):
        # The graph stays as it is, and what was counted for it before still holds.
        order = checked_order(graph, links_of(graph), schedule)
        return max([start_height(graph, unit), *(step.bytes for step in steps(graph, order, unit))])
    expanded, moved = with_runs(graph, schedule)
    index = links_of(expanded).operator_index
    order = [index[name] for name in moved.order]
    counting = _counting(expanded, pool) if certain is None else Counting(expanded, pool, certain)
    return _peak(expanded, order, counting, unit if pool is None else 1)


def overfull_pools(graph: Graph, schedule: Schedule) -> dict[str, int]:
    """By pool with too little room for what can be nowhere else in this schedule, its live bytes."""
    rooms = rooms_of(graph)
    if not rooms:
        return {}
    expanded, moved = with_runs(graph, schedule)
    index = links_of(expanded).operator_index
    order = [index[name] for name in moved.order]
    levels = {name: _peak(expanded, order, Counting(expanded, name, certain=True)) for name in rooms}
    return {name: level for name, level in levels.items() if level > rooms[name]}


def with_room(
    graph: Graph, schedule: Schedule, pool: str | None, most: int, unit: int = 1
) -> tuple[Schedule, int]:
    """The schedule and the peak of its live bytes, with its copies listed in an order that has room.

    Copies between the same two runs are made in the order in which they are listed, and one may need the
    place that another leaves. If no order has room in all pools and needs at most `most` in the one that
    counts, it stays as it is.
    """

    def needs(one: Schedule) -> tuple[bool, int]:
        peak = peak_of(graph, one, pool, unit, certain=True)
        return peak > most or bool(overfull_pools(graph, one)), peak

    is_over, peak = needs(schedule)
    if not is_over or not 1 < len(schedule.spills) <= _MOST_SHUFFLED:
        return schedule, peak
    for spills in permutations(schedule.spills):
        other = replace(schedule, spills=spills)
        is_over, lower = needs(other)
        if not is_over:
            return other, lower
    return schedule, peak


def _peak(graph: Graph, order: Sequence[int], counting: Counting, unit: int = 1) -> int:
    """What counts at the fullest moment of an order in which each operator runs once."""
    needs = (step.bytes for step in steps(graph, order, unit, counting.counts))
    return max([start_height(graph, unit, counting.counts), *needs])


def _counting(graph: Graph, pool: str | None) -> Counting:
    """Where all other pools have room for anything, only what can be nowhere else needs to be in the pool."""
    others = (entry for entry in graph.pools if entry.id != pool)
    return Counting(graph, pool, certain=all(entry.capacity is None for entry in others))


class _Run:
    def __init__(
        self, graph: Graph, order: Sequence[int], choice: Choice, patience: Patience, waits_in: str
    ) -> None:
        seconds = patience.seconds
        if seconds is None and patience.work is None:
            seconds = _SECONDS
        # The clock of the search ends first, so that there is time for the bounds of the last points.
        self.late = Effort(seconds, None, patience.cancel)
        self.effort = Effort(None if seconds is None else seconds * _SHARE, patience.work, patience.cancel)
        self.graph = graph
        self.choice = choice
        self.waits_in = waits_in
        costs = operator_costs(graph, "given" if choice.is_priced else choice.unit)
        self.base_cost = sum(costs)
        self.most = self._most(0)
        self.order = order
        self.costs = costs
        certain = Counting(graph, choice.pool, certain=True)
        self.program = self._program("any time", _counting(graph, choice.pool))
        self.certain = self._program("allowed", certain)
        self.archive = Archive[ProgramRun]()
        self.peak = _peak(graph, order, _counting(graph, choice.pool))
        work = -1 if patience.work is None else int(patience.work * _EXACT_SHARE)
        self.exact = Budget(-1.0, work, self.late.budget)
        self.yielded: list[tuple[int, int]] = []
        self.proven: list[Bound] = []
        self.successors = _successors(graph, order) if choice.free else None
        self.moments = Moments(self.certain.arrays, self.successors, self.late.budget)
        needs = [step.bytes for step in steps(graph, order, counts=certain.counts)]
        self.needs = sorted(((need, op) for op, need in enumerate(needs)), key=lambda entry: -entry[0])

    def _most(self, least: int) -> int | None:
        """The most that may be spent above each operator once, where that much is needed in any case."""
        if self.choice.within is None:
            return None
        # As the number is written: 1.1 times 10 is 11.
        most = int((self.base_cost + least) * Fraction(str(self.choice.within)))
        return max(most - self.base_cost, 0)

    def points(self) -> Iterator[ChosenPoint]:
        arrays = self.program.arrays
        base = ProgramRun(self.peak, 0, list(range(len(arrays.cost))), [])
        self.archive.offer(base)
        if sum(arrays.size) + sum(arrays.fixed[:1]) >= _MOST_BYTES or sum(arrays.cost) >= _MOST_BYTES:
            yield self._point(base)
            return
        for limited in self._limited():
            if (yield from self._exact(limited)):
                return
        self.effort.budget.count(self.exact.work)
        search = Search(arrays, self.archive, self.effort, self.most)
        yield from self._new(0)
        if self.moments.least >= base.bytes:
            return  # One operator alone needs as much.
        for _ in search.rounds(base.bytes, self._held):
            yield from self._new(base.bytes // _FINEST)
        yield from self._new(0)

    def bounds(self) -> list[Bound]:
        """What is proven of all schedules of the kinds that were asked for."""
        points = [(cost, self.moments.bound(cost)) for _, cost in self.yielded]
        return [*self.proven, *points, (ANY_COST, self.moments.least)]

    def _limited(self) -> Iterator[tuple[str, ...]]:
        """The pools whose limits the exact search looks at together: all, then none if that is too much."""
        graph, pool = self.graph, self.choice.pool
        others = [entry for entry in graph.pools if entry.id != pool] if pool is not None else []
        limited = tuple(entry.id for entry in others if entry.capacity is not None)
        for some in dict.fromkeys((limited, ())):
            if is_tiny(self._program("allowed", Counting(graph, pool, True, some)).arrays):
                yield some

    def _exact(self, limited: tuple[str, ...]) -> Generator[ChosenPoint, None, bool]:
        """The whole front, each point proven; whether it is there.

        What is careful about running again is the front; what all schedules do without is proven with all.
        """
        graph, order = self.graph, self.order
        everything, careful = (
            tiny_program_of(
                graph, order, self.costs, self.choice.kinds, self.choice.pool, limited, self.waits_in, again
            )
            for again in _AGAIN_IN_FULL
        )
        listed = turns_of(graph, order, free=False)
        turns = turns_of(graph, order, free=True) if self.choice.free else listed
        same = careful == everything
        if not same:
            for _ in self._falling(everything, turns, proves=True):
                pass
        improved = yield from self._bounded(self._falling(careful, turns, proves=same))
        if improved or turns is listed:
            return improved
        return (yield from self._bounded(self._falling(careful, listed)))

    def _bounded(self, points: "Generator[ChosenPoint, None, bool]") -> Generator[ChosenPoint, None, bool]:
        """The points of these; whether they are a whole front."""
        while True:
            try:
                point = next(points)
            except StopIteration as end:
                whole: bool = end.value
                return whole
            self._tighten(point.cost)
            self.yielded.append((point.bytes, point.cost))
            yield replace(point, bound_bytes=self._bound(point.cost))

    def _falling(
        self, program: TinyProgram, turns: Turns, *, proves: bool = False
    ) -> Generator[ChosenPoint, None, bool]:
        """The cheapest below a limit, limit after limit; whether none is missing. Notes what that proves."""
        left = _MOST_STATES
        best: ChosenPoint | None = None
        alone = len(program.memories) == 1
        # In several memories each operator once may not fit, and then the least cost is not known before.
        limit, most = (self.peak, self.most) if alone else (program.memories[0].room, None)
        while True:
            if self.late.spent():
                return False
            path = cheapest_path(program, turns, limit, most, left, self.exact)
            left -= path.states
            if path.is_stopped:
                return False
            if proves:
                dearest = ANY_COST if most is None else most
                least = limit + 1 if alone or best is not None else _NOTHING_FITS
                self.proven.append((path.cost - 1 if path.is_known else dearest, least))
            if best is not None and (not path.is_known or path.cost > best.cost):
                yield best
            if not path.is_known:
                return True
            copies = [(item, out, back, program.pools[at]) for item, out, back, at in path.copies]
            try:
                schedule = self._schedule(program.tensors, path.runs, copies)
                schedule, peak = with_room(self.graph, schedule, self.choice.pool, path.bytes)
            except InputError:
                # The names of its second runs are too long.
                return False
            if best is None:
                most = self._most(path.cost)
            if not program.is_settled:
                peak = max(peak, path.bytes)
            best = ChosenPoint(peak, path.cost, schedule, 0)
            limit = min(peak, limit) - 1

    def _program(self, again: Again, counting: Counting) -> Program:
        return program_of(self.graph, self.order, self.costs, self.choice.kinds, counting, again)

    def _new(self, step: int) -> Iterator[ChosenPoint]:
        """What is in the front and not told yet: where it is by so many bytes better than what was told."""
        for run in self.archive.items[::-1]:
            least = min((size for size, cost in self.yielded if cost <= run.cost), default=None)
            if least is not None and (run.bytes >= least or run.bytes > least - step):
                continue
            self.yielded.append((run.bytes, run.cost))
            self._tighten(run.cost)
            try:
                yield self._point(run)
            except InputError:
                # The graph has an order that the search does not know; the point does not count.
                self.archive.forget(run)

    def _point(self, run: ProgramRun) -> ChosenPoint:
        copies = [(item, out, back, self.waits_in) for item, out, back in run.copies]
        schedule = self._schedule(self.program.tensors, run.runs, copies)
        peak = peak_of(self.graph, schedule, self.choice.pool)
        return ChosenPoint(peak, run.cost, schedule, self._bound(run.cost))

    def _bound(self, cost: int) -> int:
        return max([self.moments.bound(cost), *(size for most, size in self.proven if most >= cost)])

    def _schedule(
        self, tensors: Sequence[int], runs: Sequence[int], copies: Iterable[tuple[int, int, int, str]]
    ) -> Schedule:
        names = tuple(self.graph.operators[self.order[op]].id for op in runs)
        spills = [
            Spill(tensor=self.graph.tensors[tensors[item]].id, pool=pool, out=out, back=back)
            for item, out, back, pool in copies
        ]
        return Schedule(order=names, spills=tuple(sorted(spills, key=lambda spill: (spill.out, spill.back))))

    def _held(self, cost: int) -> Sequence[int]:
        """The items of the search that are best held at the tightest moment, for this cost."""
        self._tighten(cost)
        index = {tensor: item for item, tensor in enumerate(self.program.tensors)}
        tensors = (self.certain.tensors[item] for item in self.moments.held(cost))
        return [index[tensor] for tensor in tensors if tensor in index]

    def _tighten(self, cost: int) -> None:
        """A better bound for this cost, from the operators that need the most."""
        missed = 0
        for need, op in self.needs:
            bound = self.moments.bound(cost)
            if need <= bound or missed > _MOST_MISSED or self.late.spent():
                return
            self.moments.tighten(op, cost)
            missed = missed + 1 if self.moments.bound(cost) == bound else 0


def pool_of_spills(graph: Graph, pool: str) -> str | None:
    """The pool in which tensors wait that do not in this one; None where there is none."""
    others = [entry for entry in graph.pools if entry.id != pool]
    # Of equal ones the last.
    return max(reversed(others), key=end_of).id if others else None


def _checked(graph: Graph, choice: Choice) -> str:
    """The pool that spilled tensors wait in."""
    pools = [pool.id for pool in graph.pools]
    if choice.pool is not None and choice.pool not in pools:
        message = f"the graph has no pool {choice.pool!r}; it has {pools}"
        raise InputError.single("unknown_pool", "pool", message)
    if "spill" not in choice.kinds:
        return ""
    if choice.unit != "bytes":
        raise InputError.single(
            "spill_cost", "unit", "copies cost bytes: with spill, take the cost in bytes (`--cost bytes`)"
        )
    waits_in = None if choice.pool is None else pool_of_spills(graph, choice.pool)
    if waits_in is None:
        raise InputError.single(
            "spill_without_pool",
            "pool",
            "to spill, the graph needs two pools: name the one that is too small",
        )
    return waits_in


def _successors(graph: Graph, order: Sequence[int]) -> list[list[int]]:
    """Who must run after whom, by place in the order."""
    at = {operator: place for place, operator in enumerate(order)}
    successors = links_of(graph).successors()
    return [[at[other] for other in successors[operator]] for operator in order]
