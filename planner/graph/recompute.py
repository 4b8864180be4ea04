"""Recompute and spill: what to make again, or to copy out and back, so that the peak falls.

In: a graph and an order of first runs. Out: points of peak and cost, each with its schedule and what no
schedule of that cost can do without. The graph becomes a program (`program_of`), the arrays that
`recompute_search` reads.
"""

import threading
from array import array
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final, Literal

from memstow.planner.graph.links import links_of
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
    FoundRun,
    Moments,
    Search,
    States,
    TooManyStatesError,
    Turns,
    cheapest_path,
    is_tiny,
    turns_in_any_order,
    turns_in_order,
)
from memstow.planner.graph.schedules import at_states, checked_order, only_orders, runs_once, with_runs
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Temporary, Tensor, size_of
from memstow.planner.model.plan import Schedule, Spill
from memstow.planner.model.problem import end_of, measure
from memstow.solvers.graph_programs import RecomputeArrays

Kind = Literal["recompute", "spill"]
KINDS: Final[tuple[Kind, ...]] = ("recompute", "spill")
Again = Literal["allowed", "same", "any time"]
"""Who runs again: whoever a schedule allows to; of these, who is known to make the same; of these, who is
never too late, since what it makes is needed only before a state that it reads is written."""
# Words in the type of an operator that may make something else when it runs again.
_RANDOM: Final = ("random", "dropout", "bernoulli", "multinomial", "uniform", "normal_", "rand")


@dataclass(frozen=True)
class Program:
    """The arrays of a graph, and the way back."""

    graph: Graph
    order: Sequence[int]
    arrays: RecomputeArrays
    tensors: Sequence[int]
    """By item, the tensor."""


@dataclass(frozen=True)
class Counting:
    """What counts: the bytes of one pool, or of all."""

    graph: Graph
    pool: str | None
    certain: bool
    """Only what can be nowhere else; else also what would rather be there."""

    def counts(self, element: Tensor | Temporary) -> bool:
        """Whether the bytes of this are in the pool."""
        if self.pool is None:
            return True
        allowed = element.pools if element.pools is not None else tuple(pool.id for pool in self.graph.pools)
        return set(allowed) == {self.pool} if self.certain else allowed[:1] == (self.pool,)


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
        it = graph.operators[operator]
        for names, start, values in ((it.inputs, input_start, inputs), (it.outputs, output_start, outputs)):
            tensors = (links.tensor_index[name] for name in dict.fromkeys(names))
            values.extend(index[tensor] for tensor in tensors if tensor in index)
            start.append(len(values))
    in_place = array("q")
    everything = storages(graph)
    for operator, source, target in in_place_triples(graph, everything):
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
    return Program(graph, order, arrays, [item.tensor for item in items])


def _room_to_wait(graph: Graph, pool: str | None) -> int | None:
    """The most bytes that any other pool has for one copy; None: no limit."""
    room = 0
    for entry in graph.pools:
        if entry.id == pool:
            continue
        if entry.capacity is None:
            return None
        room = max(
            room, entry.capacity - measure((one.offset, one.offset + one.size) for one in entry.reserved)
        )
    return room


def last_turns(graph: Graph, order: Sequence[int]) -> list[int]:
    """By place in the order, the places of those, in bits, of which none has run when the operator runs last.

    They must come after all of its runs, or write a state that it uses.
    """
    at = {operator: place for place, operator in enumerate(order)}
    found = [0] * len(order)
    for first, then in (*links_of(graph).before, *at_states(graph)):
        found[at[first]] |= 1 << at[then]
    return found


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
_MOST_BYTES: Final = 1 << 61
ANY_COST: Final = 1 << 200
"""Whatever it costs."""

Bound = tuple[int, int]
"""(cost, bytes): no schedule that costs no more, above each operator once, has a lower peak of live bytes."""


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
    waits_in: str | None = None
    """The pool that spilled tensors wait in; by default the largest that is not `pool`."""
    unit: CostUnit = "given"
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
        self.graph = graph
        self.choice = choice
        self.waits_in = waits_in
        costs = operator_costs(graph, choice.unit)
        self.base_cost = sum(costs)
        self.most: int | None = None
        if choice.within is not None:
            # As the number is written: 1.1 times 10 is 11.
            self.most = max(int(self.base_cost * Fraction(str(choice.within))) - self.base_cost, 0)
        self.order = order
        self.costs = costs
        certain = Counting(graph, choice.pool, certain=True)
        self.program = self._program("any time", _counting(graph, choice.pool))
        self.certain = self._program("allowed", certain)
        self.archive = Archive[FoundRun]()
        seconds = patience.seconds
        if seconds is None and patience.work is None:
            seconds = _SECONDS
        # The clock of the search ends first, so that there is time for the bounds of the last points.
        self.late = Effort(seconds, None, patience.cancel)
        self.effort = Effort(None if seconds is None else seconds * _SHARE, patience.work, patience.cancel)
        self.told: list[tuple[int, int]] = []
        self.proven: list[Bound] = []
        self.successors = _successors(graph, order) if choice.free else None
        self.moments = Moments(self.certain.arrays, self.successors, self.late.budget)
        needs = [step.bytes for step in steps(graph, order, counts=certain.counts)]
        self.needs = sorted(((need, op) for op, need in enumerate(needs)), key=lambda entry: -entry[0])

    def points(self) -> Iterator[ChosenPoint]:
        arrays = self.program.arrays
        peak = _peak(self.graph, self.order, _counting(self.graph, self.choice.pool))
        base = FoundRun(peak, 0, list(range(len(arrays.cost))), [])
        self.archive.offer(base)
        if sum(arrays.size) + sum(arrays.fixed[:1]) >= _MOST_BYTES or sum(arrays.cost) >= _MOST_BYTES:
            yield self._point(base)
            return
        if is_tiny(arrays) and (yield from self._exact(base)):
            return
        search = Search(arrays, self.archive, self.effort, self.most)
        yield from self._new(0)
        if self.moments.least >= base.bytes:
            return  # One operator alone needs as much.
        for _ in search.rounds(base.bytes, self._held):
            yield from self._new(base.bytes // _FINEST)
        yield from self._new(0)

    def bounds(self) -> list[Bound]:
        """What is proven of all schedules of the kinds that were asked for."""
        told = [(cost, self.moments.bound(cost)) for _, cost in self.told]
        return [*self.proven, *told, (ANY_COST, self.moments.least)]

    def _exact(self, base: FoundRun) -> Generator[ChosenPoint, None, bool]:
        """The whole front, each point proven; whether it is there.

        What is careful about running again is the front; what all schedules do without is proven with all.
        """
        ends = last_turns(self.graph, self.order)
        careful = self._program("same", _counting(self.graph, self.choice.pool))
        listed = turns_in_order(len(ends), ends)
        turns = listed if self.successors is None else turns_in_any_order(self.successors, ends)
        same = careful.arrays == self.certain.arrays
        if not same:
            for _ in self._falling(self.certain, turns, base.bytes, proves=True, certain=True):
                pass
        told = yield from self._told(self._falling(careful, turns, base.bytes, proves=same))
        if told or turns is listed:
            return told
        return (yield from self._told(self._falling(careful, listed, base.bytes)))

    def _told(self, found: "Generator[FoundRun, None, bool]") -> Generator[ChosenPoint, None, bool]:
        """The points of these; whether they are a whole front."""
        while True:
            try:
                it = next(found)
            except StopIteration as end:
                whole: bool = end.value
                return whole
            self._tighten(it.cost)
            self.told.append((it.bytes, it.cost))
            yield self._point(it)

    def _falling(
        self, program: Program, turns: Turns, limit: int, *, proves: bool = False, certain: bool | None = None
    ) -> Generator[FoundRun, None, bool]:
        """The cheapest below a limit, limit after limit; whether none is missing. Notes what that proves."""
        states = States(_MOST_STATES, self.late.spent)
        best: FoundRun | None = None
        while True:
            try:
                path = cheapest_path(program.arrays, turns, limit, self.most, states)
                if proves:
                    dearest = ANY_COST if self.most is None else self.most
                    self.proven.append((dearest if path is None else path.cost - 1, limit + 1))
                if best is not None and (path is None or path.cost > best.cost):
                    yield best
                if path is None:
                    return True
                schedule = self._schedule(path.runs, path.copies)
                peak = peak_of(self.graph, schedule, self.choice.pool, certain=certain)
            except (TooManyStatesError, InputError):
                # Too much, or the names of its second runs are too long.
                return False
            best = FoundRun(peak, path.cost, path.runs, path.copies)
            limit = min(peak, limit) - 1

    def _program(self, again: Again, counting: Counting) -> Program:
        return program_of(self.graph, self.order, self.costs, self.choice.kinds, counting, again)

    def _new(self, step: int) -> Iterator[ChosenPoint]:
        """What is in the front and not told yet: where it is by so many bytes better than what was told."""
        for found in self.archive.items[::-1]:
            told = min((size for size, cost in self.told if cost <= found.cost), default=None)
            if told is not None and (found.bytes >= told or found.bytes > told - step):
                continue
            self.told.append((found.bytes, found.cost))
            self._tighten(found.cost)
            try:
                yield self._point(found)
            except InputError:
                # The graph has an order that the search does not know; the point does not count.
                self.archive.forget(found)

    def _point(self, found: FoundRun) -> ChosenPoint:
        schedule = self._schedule(found.runs, found.copies)
        peak = peak_of(self.graph, schedule, self.choice.pool)
        proven = [size for cost, size in self.proven if cost >= found.cost]
        return ChosenPoint(peak, found.cost, schedule, max([self.moments.bound(found.cost), *proven]))

    def _schedule(self, runs: Sequence[int], copies: Sequence[tuple[int, int, int]]) -> Schedule:
        order = self.program.order
        names = tuple(self.graph.operators[order[op]].id for op in runs)
        spills = [
            Spill(
                tensor=self.graph.tensors[self.program.tensors[item]].id,
                pool=self.waits_in,
                out=out,
                back=back,
            )
            for item, out, back in copies
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


def _checked(graph: Graph, choice: Choice) -> str:
    """The pool that spilled tensors wait in."""
    pools = [pool.id for pool in graph.pools]
    for name in (choice.pool, choice.waits_in):
        if name is not None and name not in pools:
            raise InputError.single("unknown_pool", "pool", f"the graph has no pool {name!r}; it has {pools}")
    if "spill" not in choice.kinds:
        return ""
    if choice.unit != "bytes":
        raise InputError.single(
            "spill_cost", "unit", "copies cost bytes: with spill, take the cost in bytes (`--cost bytes`)"
        )
    others = [pool for pool in graph.pools if pool.id != choice.pool]
    if choice.pool is None or not others:
        raise InputError.single(
            "spill_without_pool",
            "pool",
            "to spill, the graph needs two pools: name the one that is too small",
        )
    # Of equal ones the last.
    return choice.waits_in or max(reversed(others), key=end_of).id


def _successors(graph: Graph, order: Sequence[int]) -> list[list[int]]:
    """Who must run after whom, by place in the order."""
    at = {operator: place for place, operator in enumerate(order)}
    successors = links_of(graph).successors()
    return [[at[other] for other in successors[operator]] for operator in order]
