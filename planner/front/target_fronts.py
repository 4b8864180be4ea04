"""The front in the memories of each of several targets: which is the smallest that will do."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from memstow.planner.front.find_front import (
    request_of,
    with_choices,
)
from memstow.planner.front.front_request import ANY, GRAPH_TERMS, Ending, FrontRequest, InTarget
from memstow.planner.front.two_terms import CAPACITY, PlansFor
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import FrontOptions, FrontPoint, TargetFront
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Live, PoolUse, Schedule
from memstow.planner.model.problem import Pool, Problem, Target, end_of
from memstow.planner.targets import retarget

MOST_TARGETS: Final = 64
# Issues of pins that depend on the memories alone.
_PINS: Final = ("pin_beyond_capacity", "pin_on_reserved", "pin_misaligned")


def in_targets(
    document: Problem | Graph,
    asked: FrontOptions,
    options: Options,
    targets: Sequence[Target],
    names: Sequence[str] | None = None,
) -> tuple[InTarget, ...]:
    """The fronts to find, the smallest target first; InputError for all that one of them would refuse.

    `names`: as the targets are called, else as they say.
    """
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
            found.append(InTarget(document, FrontRequest(terms, options), called[at], targets[at], entry))
        else:
            alone = entry.pools[0].id if len(entry.pools) < len(targets[at].pools) else None
            found.append(InTarget(entry, requests[at], called[at], targets[at], alone=alone))
    return tuple(found)


def names_of(targets: Sequence[Target]) -> list[str]:
    """What targets are called that nobody has given another name."""
    return [target.name or f"target {number}" for number, target in enumerate(targets, start=1)]


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


def in_all_memories(wanted: InTarget, point: FrontPoint) -> FrontPoint:
    """The point of one memory as one of the target, the other memories of which are empty."""
    target = wanted.target
    if wanted.alone is None or target is None or isinstance(wanted.document, Problem):
        return point
    from memstow.planner.graph.schedules import scheduled_problem
    from memstow.planner.solve.schedules import judged

    graph = replace(wanted.document, pools=target.pools)
    used = {use.pool: use for use in point.plan.pools}
    empty = Live(bytes=0, time=None)
    uses = (
        used.get(pool.id) or PoolUse(pool=pool.id, capacity=pool.capacity, peak=0, bound=0, live=empty)
        for pool in target.pools
    )
    schedule = point.plan.schedule or Schedule(order=())
    plan = PlansFor(scheduled_problem(graph, schedule), None).plan(replace(point.plan, pools=tuple(uses)))
    return replace(point, plan=judged(graph, plan, schedule))


def target_front(
    wanted: InTarget, target: Target, points: tuple[FrontPoint, ...], ended: Ending
) -> TargetFront:
    """The front of one target, with these points."""
    fits: Literal["yes", "no", "unknown"] = "unknown"
    if _some_fit(target, points):
        fits = "yes"
    elif ended.infeasible or (points and ended.complete and wanted.request.within is None):
        fits = "unknown" if wanted.alone is not None and not _too_much(target, ended) else "no"
    return TargetFront(
        target=wanted.name or "",
        fits=fits,
        bytes=_bytes(target),
        pool=wanted.alone,
        points=points,
        complete=ended.complete,
        explanation=ended.explanation,
    )


def _some_fit(target: Target, points: Sequence[FrontPoint]) -> bool:
    """Whether one of the points fits: where a capacity is looked for, it must be one that the target has."""
    most = {f"{CAPACITY}:{pool.id}": pool.capacity for pool in target.pools if pool.capacity is not None}
    if len(target.pools) == 1:
        most[CAPACITY] = next(iter(most.values()), ANY)
    return any(all(value <= most.get(term, ANY) for term, value in point.values.items()) for point in points)


def _too_much(target: Target, ended: Ending) -> bool:
    """Whether all memories of the target together are less than what is needed at one time."""
    needed, room = ended.explanation, _bytes(target)
    return needed is not None and needed.needed is not None and room is not None and needed.needed > room


def _bytes(target: Target) -> int | None:
    """All of its memory; None: a pool has no limit."""
    if any(pool.capacity is None for pool in target.pools):
        return None
    return sum(map(end_of, target.pools))


def _size_order(target: Target) -> tuple[bool, int]:
    size = _bytes(target)
    return size is None, size or 0


def smallest_of(fronts: Sequence[TargetFront]) -> str | None:
    """The first that will do, if all that are smaller are known not to."""
    for front in fronts:
        if front.fits != "no":
            return front.target if front.fits == "yes" else None
    return None
