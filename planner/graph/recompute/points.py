"""Points of (peak, cost) of a graph whose operators may run again, or whose tensors may wait elsewhere."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.graph.costs import CostUnit, operator_costs
from memstow.planner.graph.links import links_of
from memstow.planner.graph.recompute.archive import Archive, Found
from memstow.planner.graph.recompute.exact import States, TooManyStatesError, cheapest_path, is_tiny
from memstow.planner.graph.recompute.moments import Moments
from memstow.planner.graph.recompute.needs import needs_of
from memstow.planner.graph.recompute.programs import Counting, Kind, program_of
from memstow.planner.graph.recompute.search import Effort, Search
from memstow.planner.graph.runs import with_runs
from memstow.planner.graph.steps import steps
from memstow.planner.graph.units import start_height
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Schedule, Spill

_MOST_STATES: Final = 60_000
_MOST_MISSED: Final = 12
_FINEST: Final = 100
"""While the search goes on, only what is better by this part of the peak is told."""
_SECONDS: Final = 5.0
_SHARE: Final = 0.8
"""Of the time, for the search; the rest is for bounds."""
_MOST_BYTES: Final = 1 << 61


@dataclass(frozen=True, slots=True)
class ChosenPoint:
    """A schedule, what it needs, and what no schedule of this cost can do without."""

    bytes: int
    """Live bytes at the tightest moment, before anything is placed."""
    cost: int
    """Of all operators that run more than once, and of copies."""
    schedule: Schedule
    bound_bytes: int
    bound_if_cheaper: int = 0
    """What no schedule that costs less can do without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What may be done to a graph."""

    kinds: frozenset[Kind] = frozenset({"recompute"})
    pool: str | None = None
    """The pool whose bytes count; None: all bytes, wherever they are."""
    waits_in: str | None = None
    """The pool that spilled tensors wait in; by default the last one that is not `pool`."""
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
) -> Iterator[ChosenPoint]:
    """Points as they are found, each better in one term than all before it; the first is the graph as it is.

    The graph is valid, has no alternatives, and its operators run for the first time in this order of
    indices. `bytes` and `cost` are of the schedule that comes along: `with_runs` makes a graph of it. A later
    point may be better in both terms than an earlier one. Raises InputError where the choice does not fit.
    """
    waits_in = _checked(graph, choice)
    run = _Run(graph, order, choice, patience, waits_in)
    yield from run.points()


def peak_of(graph: Graph, schedule: Schedule, pool: str | None = None, unit: int = 1) -> int:
    """The live bytes of a schedule at its tightest moment, in this pool or in all (then in these units)."""
    expanded, moved = with_runs(graph, schedule)
    index = links_of(expanded).operator_index
    order = [index[name] for name in moved.order]
    if pool is None:
        return max([start_height(expanded, unit), *(step.bytes for step in steps(expanded, order, unit))])
    counted = program_of(expanded, order, [0] * len(order), frozenset(), _counting(expanded, pool))
    return max([counted.arrays.start, *needs_of(counted.arrays)])


def _counting(graph: Graph, pool: str | None) -> Counting:
    """Where all other pools have room for anything, only what can be nowhere else needs to be in the pool."""
    others = (it for it in graph.pools if it.id != pool)
    return Counting(graph, pool, certain=all(it.capacity is None for it in others))


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
            self.most = max(int(self.base_cost * choice.within) - self.base_cost, 0)
        self.program = program_of(graph, order, costs, choice.kinds, _counting(graph, choice.pool))
        self.certain = program_of(
            graph, order, costs, choice.kinds, Counting(graph, choice.pool, certain=True), for_bounds=True
        )
        self.archive = Archive()
        seconds = patience.seconds
        if seconds is None and patience.work is None:
            seconds = _SECONDS
        # The clock of the search ends first, so that there is time for the bounds of the last points.
        self.late = Effort(seconds, None, patience.cancel)
        self.effort = Effort(None if seconds is None else seconds * _SHARE, patience.work, patience.cancel)
        self.told: list[tuple[int, int]] = []
        successors = _successors(graph, order) if choice.free else None
        self.moments = Moments(self.certain.arrays, successors, self.late.budget)
        needs = needs_of(self.certain.arrays)
        self.needs = sorted(((need, op) for op, need in enumerate(needs)), key=lambda it: -it[0])

    def points(self) -> Iterator[ChosenPoint]:
        arrays = self.program.arrays
        base = Found(max([arrays.start, *needs_of(arrays)]), 0, list(range(len(arrays.cost))), [])
        self.archive.offer(base)
        if sum(arrays.size) + sum(arrays.fixed[:1]) >= _MOST_BYTES or sum(arrays.cost) >= _MOST_BYTES:
            yield self._point(base, None)
            return
        if is_tiny(arrays):
            try:
                yield from self._exact(base.bytes)
            except TooManyStatesError:
                pass
            else:
                return
        search = Search(arrays, self.archive, self.effort, self.most)
        yield from self._new(0)
        if self.moments.least >= base.bytes:
            return  # One operator alone needs as much.
        for _ in search.rounds(self._held):
            yield from self._new(base.bytes // _FINEST)
        yield from self._new(0)

    def _exact(self, top: int) -> Iterator[ChosenPoint]:
        """The whole front, each point proven."""
        arrays = self.program.arrays
        states = States(_MOST_STATES)
        limit = top
        best: Found | None = None
        last = 0
        proves = not self.choice.free and arrays == self.certain.arrays
        while True:
            path = cheapest_path(arrays, limit, self.most, states)
            if best is not None and (path is None or path.cost > best.cost):
                yield replace(
                    self._point(best, best.bytes if proves else None),
                    bound_if_cheaper=last if proves else 0,
                )
                last = best.bytes
            if path is None:
                return
            schedule = self._schedule(path.runs, path.copies)
            peak = peak_of(self.graph, schedule, self.choice.pool)
            best = Found(peak, path.cost, path.runs, path.copies)
            limit = peak - 1

    def _new(self, step: int) -> Iterator[ChosenPoint]:
        """What is in the front and not told yet: where it is by so many bytes better than what was told."""
        for found in self.archive.front():
            told = min((size for size, cost in self.told if cost <= found.cost), default=None)
            if told is not None and (found.bytes >= told or found.bytes > told - step):
                continue
            self.told.append((found.bytes, found.cost))
            self._tighten(found.cost)
            try:
                yield self._point(found, None)
            except InputError:
                # The graph has an order that the search does not know; the point does not count.
                self.archive.forget(found)

    def _point(self, found: Found, proven: int | None) -> ChosenPoint:
        schedule = self._schedule(found.runs, found.copies)
        peak = peak_of(self.graph, schedule, self.choice.pool)
        bound = self.moments.bound(found.cost) if proven is None else proven
        return ChosenPoint(peak, found.cost, schedule, bound)

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
        return Schedule(order=names, spills=tuple(sorted(spills, key=lambda it: (it.out, it.back))))

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
    others = [name for name in pools if name != choice.pool]
    if choice.pool is None or not others:
        raise InputError.single(
            "spill_without_pool",
            "pool",
            "to spill, the graph needs two pools: name the one that is too small",
        )
    return choice.waits_in or others[-1]


def _successors(graph: Graph, order: Sequence[int]) -> list[list[int]]:
    """Who must run after whom, by place in the order."""
    at = {operator: place for place, operator in enumerate(order)}
    successors = links_of(graph).successors()
    return [[at[other] for other in successors[operator]] for operator in order]
