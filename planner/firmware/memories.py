"""Which plan a program carries out: the point of a front, in one memory of a device or in several.

In the memories of a device, what counts is the work times what an access costs. In one memory a program may
run in stripes; in several it cannot, so that each tensor lies where accesses cost least, as a whole. With
`spill`, operators work in the fastest memory alone, also in stripes and with parts of channels, and tensors
wait in the others.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.graph.documents import problem_of, retarget
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontOptions, FrontPoint, Generator
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Pool, Target, access_count, room_in

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph, Tensor

NOTHING_FITS: Final = "nothing_fits"
"""The code of the error where no point of the front fits."""
GENERATORS: Final[tuple[Generator, ...]] = ("stripes", "channels", "recompute", "spill")
"""What the program may do to need less memory."""
_ARENA_ALIGNMENT: Final = 16
# Of the time, for the front from which the memory is chosen.
_TO_CHOOSE: Final = 0.4


@dataclass(frozen=True, slots=True)
class Choice:
    """Which point of the front is built: that of a number, or the cheapest that fits; else the cheapest."""

    capacity: int | None = None
    point: int | None = None
    target: Target | None = None
    generators: tuple[Generator, ...] = ("stripes",)
    ports: Mapping[str, str] = field(default_factory=dict)
    """By tensor that could lie with the caller, whether that is `inputs` or `outputs`."""

    @property
    def searched(self) -> tuple[Generator, ...]:
        """What the search is asked for: parts of channels are alternatives that the graph has."""
        return tuple(entry for entry in self.generators if entry != "channels")


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan of a graph; of a front, if it is not in several memories at once."""

    graph: "Graph"
    plan: Plan
    front: Front | None = None
    point: FrontPoint | None = None
    number: int | None = None


def planned(graph: "Graph", chosen: Choice, options: Options, callbacks: FrontCallbacks) -> Planned:
    """The plan that is chosen. InputError where nothing fits, with the least that would."""
    if chosen.target is not None:
        chosen = replace(chosen, target=_of_arrays(chosen.target))
    if "spill" in chosen.generators:
        return _with_spills(graph, chosen, options, callbacks)
    target = chosen.target
    if target is not None and len(target.pools) > 1 and chosen.point is None:
        return _Device(graph, chosen, target, options, callbacks).planned()
    return _of_front(graph, chosen, target, options, callbacks)


def arena_alignment(pool: Pool) -> int:
    """What the address of the array is a multiple of: a power of two, as C wants it."""
    return max(_ARENA_ALIGNMENT, pool.alignment & -pool.alignment)


def _of_arrays(target: Target) -> Target:
    """The memories as a program has them: arrays, which are aligned wherever they lie."""
    pools = (
        replace(pool, base=None) if (pool.base or 0) % arena_alignment(pool) else pool
        for pool in target.pools
    )
    return replace(target, pools=tuple(pools))


def _of_front(
    graph: "Graph", chosen: Choice, target: Target | None, options: Options, callbacks: FrontCallbacks
) -> Planned:
    """A point of the front, in one memory."""
    targets = () if target is None else (target,)
    front = find_front(graph, FrontOptions(generators=chosen.searched), options, callbacks, targets=targets)
    if target is not None:
        graph = retarget(graph, target)
    number, point = _choose(front, chosen, graph)
    return Planned(graph, point.plan, front, point, number)


def _with_spills(graph: "Graph", chosen: Choice, options: Options, callbacks: FrontCallbacks) -> Planned:
    if chosen.target is None or len(chosen.target.pools) < 2:
        message = "to spill, tensors need a second memory to wait in; name a target with several"
        raise InputError.single("spill_without_pool", "generators", message)
    graph = retarget(graph, chosen.target)
    # A memory without room is there for nobody; where none has any, one of them says so.
    pools = [pool for pool in graph.pools if room_in(pool)] or graph.pools
    fastest = min(pools, key=lambda pool: (pool.cost, -room_in(pool)))
    alternatives = (replace(other, tensors=_only_in(fastest, other.tensors)) for other in graph.alternatives)
    graph = replace(graph, tensors=_only_in(fastest, graph.tensors), alternatives=tuple(alternatives))
    front_options = FrontOptions(
        terms=(f"peak:{fastest.id}", "cost"), generators=chosen.searched, cost="bytes"
    )
    front = find_front(graph, front_options, options, callbacks)
    number, point = _choose(front, chosen, graph)
    return Planned(graph, point.plan, front, point, number)


def _only_in(pool: Pool, tensors: "Iterable[Tensor]") -> "tuple[Tensor, ...]":
    """The tensors, of which what is computed lies in this memory but where it waits."""
    return tuple(replace(tensor, pools=(pool.id,)) if tensor.kind == "data" else tensor for tensor in tensors)


class _Device:
    """A device with several memories: in which of them a program works."""

    def __init__(
        self,
        graph: "Graph",
        chosen: Choice,
        target: Target,
        options: Options,
        callbacks: FrontCallbacks,
    ) -> None:
        self._graph = graph
        self._chosen = chosen
        self._target = target
        self._options = options
        self._callbacks = callbacks
        self._end = time.monotonic() + options.time_limit
        # Where nothing says what accesses cost, they cost the same.
        free = any(pool.cost == 0 for pool in target.pools)
        self._cost = {pool.id: pool.cost + free for pool in target.pools}

    def planned(self) -> Planned:
        """The plan with the least work times the cost of an access, of those in one memory and in all."""
        front_options = FrontOptions(generators=self._chosen.searched)
        front = find_front(self._graph, front_options, self._within(_TO_CHOOSE), self._callbacks)
        _, cost = front.terms
        least = min((point.values[cost] for point in front.points), default=0)
        ways: list[tuple[float, Pool | Planned]] = list(self._alone(front))
        best = min((score for score, _ in ways), default=None)
        if best is None or best > least * min(self._cost.values()):
            together = self._together()
            if together is not None:
                ways.append((max(least, 1) * self._cost_of_access(together), together))
        # One memory before several that cost the same: the larger of two that are as fast.
        for _, way in sorted(ways, key=lambda entry: entry[0]):
            if isinstance(way, Planned):
                return way
            alone = Target(name=self._target.name, pools=[way])
            try:
                return _of_front(self._graph, self._chosen, alone, self._within(1.0), self._callbacks)
            except InputError as error:
                # The front above knows nothing of its alignment and of what is reserved in it.
                if error.issues[0].code != NOTHING_FITS:
                    raise
        return _of_front(self._graph, self._chosen, self._target, self._within(1.0), self._callbacks)

    def _alone(self, front: Front) -> Iterator[tuple[float, Pool]]:
        """Memories that hold a point of the front, with what the cheapest of those costs in each."""
        peak, cost = front.terms
        for pool in sorted(self._target.pools, key=room_in, reverse=True):
            fitting = [point.values[cost] for point in front.points if point.values[peak] <= room_in(pool)]
            if fitting:
                yield min(fitting) * self._cost[pool.id], pool

    def _together(self) -> Planned | None:
        """A plan in all memories, if there is any."""
        from memstow.planner.solve.engine import plan

        # Alternatives are chosen for one memory.
        graph = retarget(replace(self._graph, alternatives=()), self._target)
        result = plan(graph, self._within(0.5), self._callbacks.on_event, self._callbacks.cancel)
        return Planned(graph, result) if result.status in PLANNED else None

    def _cost_of_access(self, entry: Planned) -> float:
        pools = {placement.buffer: placement.pool for placement in entry.plan.placements}
        total = cost = 0
        for buffer in problem_of(entry.graph, entry.plan).buffers:
            total += access_count(buffer)
            cost += access_count(buffer) * self._cost[pools[buffer.id]]
        return cost / total if total else 0.0

    def _within(self, share: float) -> Options:
        """The options for a part of what is left of the time."""
        if self._options.deterministic:
            return self._options
        return replace(self._options, time_limit=max(0.0, share * (self._end - time.monotonic())))


def _choose(front: Front, chosen: Choice, graph: "Graph") -> tuple[int, FrontPoint]:
    points: Sequence[FrontPoint] = front.targets[0].points if front.targets else front.points
    peak, cost = front.terms
    numbered = list(enumerate(points, start=1))
    if not numbered:
        explanation = front.targets[0].explanation if front.targets else front.explanation
        why = "" if explanation is None else f": {explanation.message}"
        raise InputError.single(NOTHING_FITS, "$", f"no plan was found{why}{_advice(chosen, ())}")
    if chosen.point is not None:
        if chosen.point > len(numbered):
            message = f"the front has {len(numbered)} points; there is no point {chosen.point}"
            raise InputError.single("bad_point", "point", message)
        return numbered[chosen.point - 1]
    fitting = [
        entry for entry in numbered if chosen.capacity is None or entry[1].values[peak] <= chosen.capacity
    ]
    if not fitting:
        raise InputError.single(NOTHING_FITS, "capacity", _least(numbered, peak, chosen, graph))
    return min(fitting, key=lambda entry: (entry[1].values[cost], entry[1].values[peak]))


def _least(points: Sequence[tuple[int, FrontPoint]], peak: str, chosen: Choice, graph: "Graph") -> str:
    """Why nothing fits: the least that would, and what is live then."""
    from memstow.planner.graph.schedules import scheduled_problem
    from memstow.planner.model.problem import hardest, profile

    _, point = min(points, key=lambda entry: entry[1].values[peak])
    least, bound = point.values[peak], point.bounds.get(peak)
    proven = " (proven)" if bound == least else "" if bound is None else f" (at least {bound:,})"
    message = f"nothing fits in {chosen.capacity:,} bytes: the least that was found is {least:,}{proven}"
    ports: set[str] = set()
    if point.plan.schedule is not None:
        buffers = scheduled_problem(graph, point.plan.schedule).buffers
        names = {tensor.id: tensor.name or tensor.id for tensor in graph.tensors}
        for moment in hardest(buffers, profile(buffers), 1):
            largest = (f"{names.get(entry.id, entry.id)} ({entry.size:,})" for entry in moment.buffers[:4])
            message += f". Live at its tightest moment: {', '.join(largest)}"
            ports.update(chosen.ports[entry.id] for entry in moment.buffers if entry.id in chosen.ports)
    return message + _advice(chosen, sorted(ports))


def _advice(chosen: Choice, ports: Sequence[str]) -> str:
    """What to try next: `ports` could lie with the caller."""
    ways = [f"with external {','.join(ports)}"] if ports else []
    more = [name for name in ("stripes", "channels", "recompute") if name not in chosen.generators]
    if more and "spill" not in chosen.generators:
        ways.append(f"with {','.join((*chosen.generators, *more))}")
    return f". Next, try it {', or '.join(ways)}" if ways else ""
