"""The front in the memories of each of several targets: which is the smallest that will do."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import memstow
from memstow.planner.front.find_front import (
    Outcome,
    collect,
    digest_of,
    kept_order_of,
    request_of,
    with_choices,
)
from memstow.planner.front.front_request import (
    ANY,
    GRAPH_TERMS,
    Collected,
    Ending,
    FrontCallbacks,
    FrontRequest,
)
from memstow.planner.front.two_terms import CAPACITY, PlansFor
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontOptions, FrontPoint, TargetFront
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Live, PoolUse, Schedule
from memstow.planner.model.problem import Pool, Problem, Target, end_of
from memstow.planner.solve.portfolio import Allowance
from memstow.planner.targets import retarget

MOST_TARGETS: Final = 64
# Issues of pins that depend on the memories alone.
_PINS: Final = ("pin_beyond_capacity", "pin_on_reserved", "pin_misaligned")

OnTargetPoint = Callable[[str, FrontPoint, Callable[[], Front]], None]
"""Told of each point: the target, the point, and how to get the front of all targets so far."""


@dataclass(frozen=True, slots=True)
class InTarget:
    """The front that is asked for, in the memories of one target."""

    name: str
    target: Target
    document: Problem | Graph
    request: FrontRequest
    refusal: Explanation | None = None
    """Why the document cannot be in these memories, whatever the plan; then it is the one of the user."""
    alone: str | None = None
    """The only memory of several that the document is in: then it has no other pool."""


def in_targets(
    document: Problem | Graph,
    asked: FrontOptions,
    options: Options,
    targets: Sequence[Target],
    names: Sequence[str] | None = None,
) -> tuple[InTarget, ...]:
    """The fronts to find, the smallest target first; InputError for all that one of them would refuse."""
    if not 0 < len(targets) <= MOST_TARGETS:
        message = f"there are {len(targets):,}; compare 1 to {MOST_TARGETS} in one call"
        raise InputError.single("too_many", "targets", message)
    called = names_of(targets) if names is None else list(names)
    for name, count in Counter(called).items():
        if count > 1:
            message = f"{count} targets are called {name!r}; give each one once, with a name of its own"
            raise InputError.single("repeated_target", "targets", message)
    document = with_choices(document, asked)
    in_order = sorted(range(len(targets)), key=lambda at: _size_order(targets[at]))
    moved = {at: _moved(document, targets[at]) for at in in_order}
    requests: dict[int, FrontRequest] = {}
    terms = asked.terms
    for at, it in moved.items():
        if not isinstance(it, Explanation):
            # The terms of the first are those of all.
            it = _alone(document, asked, it)
            moved[at] = it
            requests[at] = request_of(it, replace(asked, terms=terms), options)
            terms = requests[at].terms
    if terms is None:
        terms = request_of(document, asked, options).terms
    found: list[InTarget] = []
    for at, entry in moved.items():
        if isinstance(entry, Explanation):
            found.append(InTarget(called[at], targets[at], document, FrontRequest(terms, options), entry))
        else:
            alone = entry.pools[0].id if len(entry.pools) < len(targets[at].pools) else None
            found.append(InTarget(called[at], targets[at], entry, requests[at], alone=alone))
    return tuple(found)


def names_of(targets: Sequence[Target]) -> list[str]:
    """What targets are called that nobody has given another name."""
    return [target.name or f"target {number}" for number, target in enumerate(targets, start=1)]


def front_of_targets(
    document: Problem | Graph,
    asked: FrontOptions,
    options: Options,
    targets: Sequence[Target],
    callbacks: FrontCallbacks,
    names: Sequence[str] | None = None,
    on_point: OnTargetPoint | None = None,
    start: Sequence[TargetFront] = (),
) -> Front:
    """The fronts, the smallest target first; `names`: as the targets are called, else as they say.

    `start`: what an earlier run of ours has found of the same targets.
    """
    allowance = Allowance(options)
    document = with_choices(document, asked)
    run = _Run(document, asked, in_targets(document, asked, options, targets, names), allowance, start)
    for at in range(len(run.wanted)):
        if not run.is_known(at):
            run.find(at, callbacks, on_point)
    front = run.so_far()
    # The order is the same in all memories.
    some = next((entry for entry in run.wanted if entry.refusal is None), None)
    if some is None:
        return front
    return replace(front, kept_order=kept_order_of(some.document, some.request, allowance))


class _Run:
    """The fronts one after the other, each within its share of what is left."""

    def __init__(
        self,
        document: Problem | Graph,
        asked: FrontOptions,
        wanted: tuple[InTarget, ...],
        allowance: Allowance,
        start: Sequence[TargetFront],
    ) -> None:
        self.wanted = wanted
        self._document = document
        self._asked = asked
        self._allowance = allowance
        self._fronts = [
            TargetFront(target=entry.name, fits="unknown", bytes=_bytes(entry.target)) for entry in wanted
        ]
        if [entry.target for entry in start] == [entry.name for entry in wanted]:
            self._fronts = list(start)

    def is_known(self, at: int) -> bool:
        """Whether an earlier run has found all of this one."""
        return self._fronts[at].complete or self._fronts[at].fits == "no"

    def find(self, at: int, callbacks: FrontCallbacks, on_point: OnTargetPoint | None) -> None:
        """Find one front."""
        it = self.wanted[at]
        if it.refusal is not None:
            none = Outcome((), Ending(complete=True, explanation=it.refusal, infeasible=True))
            self._fronts[at] = _front_of(it, none)
            return
        share = self._allowance.share(1 / (len(self.wanted) - at))
        request = replace(it.request, options=share, start=self._fronts[at].points)
        collected = Collected(request)
        collected.add(request.start)

        def hear(point: FrontPoint) -> None:
            collected.add([_in_all(it, point)])
            points = collected.points()
            fits = self._fronts[at].fits if not _some_fit(it, points) else "yes"
            self._fronts[at] = replace(self._fronts[at], fits=fits, points=points)
            if on_point is not None and collected.holds(point):
                on_point(it.name, _in_all(it, point), self.so_far)

        outcome = collect(it.document, request, callbacks, hear)
        outcome = replace(outcome, points=tuple(_in_all(it, point) for point in outcome.points))
        self._allowance.spend(outcome.ending.work)
        self._fronts[at] = _front_of(it, outcome)

    def so_far(self) -> Front:
        """What is known of all of them."""
        return Front(
            name=self._document.name,
            terms=self.wanted[0].request.terms,
            complete=all(front.complete for front in self._fronts),
            asked=self._asked,
            targets=self._fronts,
            smallest=_smallest(self._fronts),
            seconds=self._allowance.seconds,
            work=self._allowance.work,
            digest=digest_of(self._document),
            memstow=memstow.__version__,
        )


def _moved(document: Problem | Graph, target: Target) -> Problem | Graph | Explanation:
    """The document in the memories of the target, or why it cannot be there: pins that it has no room for."""
    if isinstance(document, Problem):
        try:
            return retarget(document, target)
        except InputError as error:
            if not all(issue.code in _PINS for issue in error.issues):
                raise
            issue = error.issues[0]
            return Explanation(code=issue.code, message=f"{issue.path.removeprefix('$.')}: {issue.message}")
    from memstow.planner.graph.changes import in_memories

    return in_memories(document, target, None, fit_only=False)


def _alone(document: Problem | Graph, asked: FrontOptions, moved: Problem | Graph) -> Problem | Graph:
    """A graph that names no memory, in the largest alone where a front is of its one peak: as an arena is."""
    if isinstance(moved, Problem) or isinstance(document, Problem) or len(moved.pools) < 2:
        return moved
    if asked.terms not in (None, GRAPH_TERMS) or _names_pools(document):
        return moved
    return replace(moved, pools=(max(moved.pools, key=_room),))


def _names_pools(graph: Graph) -> bool:
    operators = (
        *graph.operators,
        *(operator for other in graph.alternatives for operator in other.operators),
    )
    tensors = (*graph.tensors, *(tensor for other in graph.alternatives for tensor in other.tensors))
    temporaries = (temporary for operator in operators for temporary in operator.temporaries)
    if any(tensor.pools is not None for tensor in tensors) or any(
        temporary.pools is not None for temporary in temporaries
    ):
        return True
    return len(graph.pools) > 1


def _room(pool: Pool) -> tuple[bool, int]:
    reserved = sum(entry.size for entry in pool.reserved)
    return pool.capacity is None, 0 if pool.capacity is None else pool.capacity - reserved


def _in_all(target: InTarget, point: FrontPoint) -> FrontPoint:
    """The point of one memory as one of the target, the other memories of which are empty."""
    if target.alone is None or isinstance(target.document, Problem):
        return point
    from memstow.planner.graph.schedules import scheduled_problem
    from memstow.planner.solve.schedules import judged

    graph = replace(target.document, pools=target.target.pools)
    used = {use.pool: use for use in point.plan.pools}
    empty = Live(bytes=0, time=None)
    uses = (
        used.get(pool.id) or PoolUse(pool=pool.id, capacity=pool.capacity, peak=0, bound=0, live=empty)
        for pool in target.target.pools
    )
    schedule = point.plan.schedule or Schedule(order=())
    plan = PlansFor(scheduled_problem(graph, schedule), None).plan(replace(point.plan, pools=tuple(uses)))
    return replace(point, plan=judged(graph, plan, schedule))


def _front_of(target: InTarget, outcome: Outcome) -> TargetFront:
    fits: Literal["yes", "no", "unknown"] = "unknown"
    everything = outcome.ending.complete and target.request.within is None
    if _some_fit(target, outcome.points):
        fits = "yes"
    elif outcome.ending.infeasible or (outcome.points and everything):
        fits = "unknown" if target.alone is not None and not _too_much(target, outcome) else "no"
    return TargetFront(
        target=target.name,
        fits=fits,
        bytes=_bytes(target.target),
        pool=target.alone,
        points=outcome.points,
        complete=outcome.ending.complete,
        explanation=outcome.ending.explanation,
    )


def _some_fit(target: InTarget, points: Sequence[FrontPoint]) -> bool:
    """Whether one of the points fits: where a capacity is looked for, it must be one that the target has."""
    most = {
        f"{CAPACITY}:{pool.id}": pool.capacity for pool in target.target.pools if pool.capacity is not None
    }
    if len(target.target.pools) == 1:
        most[CAPACITY] = next(iter(most.values()), ANY)
    return any(all(value <= most.get(term, ANY) for term, value in point.values.items()) for point in points)


def _too_much(target: InTarget, outcome: Outcome) -> bool:
    """Whether all memories of the target together are less than what is needed at one time."""
    needed, room = outcome.ending.explanation, _bytes(target.target)
    return needed is not None and needed.needed is not None and room is not None and needed.needed > room


def _bytes(target: Target) -> int | None:
    """All of its memory; None: a pool has no limit."""
    if any(pool.capacity is None for pool in target.pools):
        return None
    return sum(map(end_of, target.pools))


def _size_order(target: Target) -> tuple[bool, int]:
    size = _bytes(target)
    return size is None, size or 0


def _smallest(fronts: Sequence[TargetFront]) -> str | None:
    """The first that will do, if all that are smaller are known not to."""
    for front in fronts:
        if front.fits != "no":
            return front.target if front.fits == "yes" else None
    return None
