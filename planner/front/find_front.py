"""The way to a front: what is chosen from, its points collected as they are found, and the verdict on one.

Alternatives that are asked for (parts of channels) follow from the graph alone. So a front says no more of
them than that they were asked for, and whoever reads it adds them to the graph that they have; the digest
of the front is that of the graph with them (`with_choices`).
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, Literal

import memstow
from memstow.planner.front.front_request import (
    ANY,
    DEFAULT_GENERATORS,
    GRAPH_TERMS,
    Collected,
    Ending,
    FrontCallbacks,
    FrontRequest,
    InTarget,
    OnPoint,
    Points,
)
from memstow.planner.front.problem_front import problem_points
from memstow.planner.front.two_terms import CAPACITY, PlansFor, default_terms, require_front, two_terms
from memstow.planner.graph.documents import retarget
from memstow.planner.model import PLANNED
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError, MissingBackEndError
from memstow.planner.model.front import (
    MOST_POINTS,
    CostUnit,
    Front,
    FrontOptions,
    FrontPoint,
    Generator,
    KeptOrder,
    TargetFront,
)
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Listener, Options
from memstow.planner.model.plan import Explanation, Live, Plan, PoolUse, Schedule
from memstow.planner.model.problem import Kind, Pool, Problem, Target, counts, end_of, room_in, terms_of
from memstow.planner.reduce import reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.portfolio import Allowance, require_willing, solver_by_name
from memstow.planner.solve.problem_plans import task_of
from memstow.planner.targets import MOST_TARGETS
from memstow.planner.verify.graph_verdict import judge_point, judge_point_of_graph
from memstow.planner.verify.verdict import Code, Verdict, Violation


def with_choices(document: Problem | Graph, options: FrontOptions) -> Problem | Graph:
    """The document that the plans of such a front are plans of; one that is such already stays as it is.

    Raises InputError for a graph that contradicts itself.
    """
    if isinstance(document, Problem) or "channels" not in (options.generators or ()):
        return document
    # Other fronts do not wait for this import.
    from memstow.planner.graph.changes import with_channels

    return with_channels(document)


# Issues of pins that depend on the memories alone.
_PINS: Final = ("pin_beyond_capacity", "pin_on_reserved", "pin_misaligned")
# Of a graph that is placed only to choose its memory: tensors, and steps of work.
_MOST_TO_PLACE: Final = 2_000
_WORK_TO_PLACE: Final = 100_000
# Each point has a plan: those of a front together place no more buffers than this.
_MOST_PLACEMENTS: Final = 1_000_000


def front(
    problem: Problem | Graph,
    terms: Sequence[str] | None = None,
    *,
    generators: Iterable[Generator] | None = None,
    cost: CostUnit = "given",
    within: float | None = None,
    points: int | None = None,
    targets: Sequence[Target] = (),
    options: Options | None = None,
    on_event: Listener | None = None,
    on_point: Callable[[FrontPoint], None] | None = None,
    cancel: threading.Event | None = None,
) -> Front:
    """Find the front of two terms of the problem or the graph, within the limits of the options.

    `on_point` is called with each point when it is found, and again when more is proven of it. When `cancel`
    is set, what was found so far is returned. With targets, the front in the memories of each.
    Raises InputError for a problem that contradicts itself, and for terms that have no front.
    """
    named = None if terms is None else _two_names(terms)
    front_options = FrontOptions(terms=named, generators=generators, cost=cost, within=within, points=points)
    callbacks = FrontCallbacks(on_event, cancel)

    def pass_on(_target: str | None, point: FrontPoint, _so_far: Callable[[], Front]) -> None:
        if on_point is not None:
            on_point(point)

    return find_front(problem, front_options, options or Options(), callbacks, pass_on, targets=targets)


def find_front(
    document: Problem | Graph,
    front_options: FrontOptions,
    options: Options,
    callbacks: FrontCallbacks,
    on_point: OnPoint | None = None,
    *,
    targets: Sequence[Target] = (),
    names: Sequence[str] | None = None,
    known: Front | None = None,
) -> Front:
    """The front that is asked for, with targets in the memories of each, the smallest first.

    `names`: as the targets are called, else as they say. `known`: what an earlier run of ours has found.
    """
    allowance = Allowance(options)
    document = with_choices(document, front_options)
    wanted = parts_of(document, front_options, options, targets, names)
    run = _Run(document, front_options, wanted, allowance, known)
    for at in range(len(wanted)):
        run.find(at, callbacks, on_point)
    # The order is the same in all memories.
    some = next((entry for entry in wanted if entry.refusal is None), None)
    order = None if some is None else _kept_order(some.document, some.request, allowance)
    return replace(run.so_far(), kept_order=order)


def parts_of(
    document: Problem | Graph,
    front_options: FrontOptions,
    options: Options,
    targets: Sequence[Target] = (),
    names: Sequence[str] | None = None,
) -> tuple[InTarget, ...]:
    """The fronts to find: one for each target, if there are any; InputError for all that has no front."""
    if not targets:
        return (InTarget(document, request_of(document, front_options, options)),)
    return in_targets(document, front_options, options, targets, names)


def in_targets(
    document: Problem | Graph,
    front_options: FrontOptions,
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
    document = with_choices(document, front_options)
    in_order = sorted(range(len(targets)), key=lambda at: _size_order(targets[at]))
    moved = {at: _moved(document, targets[at]) for at in in_order}
    requests: dict[int, FrontRequest] = {}
    terms = front_options.terms
    for at, moved_document in moved.items():
        if not isinstance(moved_document, Explanation):
            # The terms of the first are those of all.
            moved_document = _alone(document, front_options, moved_document)
            moved[at] = moved_document
            requests[at] = request_of(moved_document, replace(front_options, terms=terms), options)
            terms = requests[at].terms
    if terms is None:
        terms = request_of(document, front_options, options).terms
    parts: list[InTarget] = []
    for at, entry in moved.items():
        if isinstance(entry, Explanation):
            parts.append(InTarget(document, FrontRequest(terms, options), called[at], targets[at], entry))
        else:
            alone = entry.pools[0].id if len(entry.pools) < len(targets[at].pools) else None
            parts.append(InTarget(entry, requests[at], called[at], targets[at], alone=alone))
    return tuple(parts)


def names_of(targets: Sequence[Target]) -> list[str]:
    """What targets are called that nobody has given another name."""
    return [target.name or f"target {number}" for number, target in enumerate(targets, start=1)]


def _moved(document: Problem | Graph, target: Target) -> Problem | Graph | Explanation:
    """The document in the memories of the target, or why it cannot be there: pins that it has no room for."""
    try:
        return retarget(document, target)
    except InputError as error:
        if not all(issue.code in _PINS for issue in error.issues):
            raise
        issue = error.issues[0]
        return Explanation(code=issue.code, message=f"{issue.path.removeprefix('$.')}: {issue.message}")


def _alone(document: Problem | Graph, options: FrontOptions, moved: Problem | Graph) -> Problem | Graph:
    """A graph that names no memory, in one alone where a front is of its one peak: as an arena is."""
    if isinstance(moved, Problem) or isinstance(document, Problem) or len(moved.pools) < 2:
        return moved
    if options.terms not in (None, GRAPH_TERMS) or _names_pools(document):
        return moved
    return replace(moved, pools=(_arena(moved),))


def _arena(graph: Graph) -> Pool:
    """The fastest memory that holds the graph in its order, or else the largest.

    No point is missing in the one that is chosen: another needs less than the graph in its order, which
    costs least. With alternatives, which may cost less and need more, it is the largest.
    """
    largest = max(graph.pools, key=_room)
    if graph.alternatives or len(graph.tensors) > _MOST_TO_PLACE:
        return largest
    from memstow.planner.solve.engine import plan

    options = Options(solver="greedy", deterministic=True, work_limit=_WORK_TO_PLACE)
    # The larger of two that are as fast first.
    for pool in sorted(sorted(graph.pools, key=_room, reverse=True), key=lambda pool: pool.cost):
        # Views that cannot be aligned in this memory are an error of the graph in it.
        with suppress(InputError):
            if plan(replace(graph, pools=(pool,), objective=()), options).status in PLANNED:
                return pool
    return largest


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
    return pool.capacity is None, 0 if pool.capacity is None else room_in(pool)


class _Run:
    """The fronts one after the other, each within its share of what is left."""

    def __init__(
        self,
        document: Problem | Graph,
        front_options: FrontOptions,
        wanted: Sequence[InTarget],
        allowance: Allowance,
        known: Front | None,
    ) -> None:
        self._document = document
        self._front_options = front_options
        self._wanted = wanted
        self._allowance = allowance
        self._digest = digest_of(document)
        self._fronts = [_front_of(entry, (), Ending()) for entry in wanted]
        if known is not None and [entry.target for entry in known.targets] == [part.name for part in wanted]:
            self._fronts = list(known.targets)
        elif known is not None and not known.targets and wanted[0].target is None:
            self._fronts = [_front_of(wanted[0], known.points, Ending())]

    def find(self, at: int, callbacks: FrontCallbacks, on_point: OnPoint | None) -> None:
        """Find one front, unless an earlier run has found all of it."""
        part, front = self._wanted[at], self._fronts[at]
        if front.complete or front.fits == "no":
            return
        if part.refusal is not None:
            self._fronts[at] = _front_of(part, (), Ending(True, part.refusal, infeasible=True))
            return
        share = self._allowance.share(1 / (len(self._wanted) - at))
        request = replace(part.request, start=front.points, options=share)
        collected = Collected(request)
        collected.add(request.start)
        points = _points_of(part.document, request, callbacks)
        while True:
            try:
                point = in_all_memories(part, next(points))
            except StopIteration as end:
                ending: Ending = end.value
                self._allowance.spend(ending.work)
                self._fronts[at] = _front_of(part, collected.points(), ending)
                return
            collected.add([point])
            self._fronts[at] = _front_of(part, collected.points(), Ending())
            if on_point is not None and collected.holds(point):
                on_point(part.name, point, self.so_far)

    def so_far(self) -> Front:
        """What is known of all of them."""
        front = Front(
            name=self._document.name,
            terms=self._wanted[0].request.terms,
            complete=all(front.complete for front in self._fronts),
            request=self._front_options,
            seconds=self._allowance.seconds,
            work=self._allowance.work,
            digest=self._digest,
            memstow=memstow.__version__,
        )
        if self._wanted[0].target is None:
            only = self._fronts[0]
            return replace(front, points=only.points, explanation=only.explanation)
        return replace(front, targets=tuple(self._fronts), smallest=smallest_of(self._fronts))


def _front_of(wanted: InTarget, points: tuple[FrontPoint, ...], ended: Ending) -> TargetFront:
    """What is known of one of them."""
    if wanted.target is not None:
        return target_front(wanted, wanted.target, points, ended)
    return TargetFront(
        target="",
        fits="unknown",
        bytes=None,
        points=points,
        complete=ended.complete,
        explanation=ended.explanation,
    )


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


def _kept_order(document: Problem | Graph, request: FrontRequest, allowance: Allowance) -> KeptOrder | None:
    """That the order of a graph was kept; None for what has no other."""
    if isinstance(document, Problem):
        return None
    from memstow.planner.front.graph_front import kept_order

    return kept_order(document, request, allowance)


def request_of(document: Problem | Graph, front_options: FrontOptions, options: Options) -> FrontRequest:
    """The request, with defaults filled in; InputError for all that has no front."""
    if isinstance(document, Problem):
        _refuse_for_problem(front_options)
    elif options.hint is not None:
        message = "the front of a graph does not start from a plan; leave it out"
        raise InputError.single("not_a_problem", "hint", message)
    most = MOST_POINTS if front_options.points is None else front_options.points
    size = len(document.buffers) if isinstance(document, Problem) else len(document.tensors)
    terms = front_options.terms
    if terms is None:
        terms = default_terms(document, options.hint) if isinstance(document, Problem) else GRAPH_TERMS
    request = FrontRequest(
        terms=terms,
        options=options,
        generators=DEFAULT_GENERATORS
        if front_options.generators is None
        else frozenset(front_options.generators),
        cost_unit=front_options.cost,
        within=front_options.within,
        points=min(most, max(_MOST_PLACEMENTS // max(size, 1), 2)),
    )
    _require_front(document, request)
    return request


def _require_front(document: Problem | Graph, request: FrontRequest) -> None:
    """Raise InputError where there is no such front: those who accept a request do not begin the work."""
    if isinstance(document, Problem):
        require_front(document, request.terms, request.options.hint)
        return
    # Fronts of problems do not wait for this import.
    from memstow.planner.front import graph_front

    graph_front.require_graph_front(document, request)


def digest_of(document: Problem | Graph) -> str:
    """The digest of the problem or of the graph."""
    if isinstance(document, Problem):
        return digest(document)
    from memstow.planner.graph.graph_document import graph_digest

    return graph_digest(document)


def _points_of(document: Problem | Graph, request: FrontRequest, callbacks: FrontCallbacks) -> Points:
    if isinstance(document, Problem):
        return problem_points(document, request, callbacks)
    from memstow.planner.front.graph_front import graph_points

    return graph_points(document, request, callbacks)


def _refuse_for_problem(options: FrontOptions) -> None:
    for name, is_set in (("generators", bool(options.generators)), ("cost", options.cost != "given")):
        if is_set:
            message = "it is for graphs, and this is a problem, whose lifetimes are as they are; leave it out"
            raise InputError.single("not_a_graph", name, message)


def _two_names(terms: Sequence[str]) -> tuple[str, str]:
    if isinstance(terms, str) or len(terms) != 2:
        raise InputError.single("two_terms", "terms", "name two terms, such as peak:fast and placement_cost")
    return terms[0], terms[1]


def require_willing_solver(document: Problem | Graph, request: FrontRequest) -> None:
    """Raise DeclinedError where the first solve of the front would.

    A solver that is not installed here may be where the work is done.
    """
    with suppress(MissingBackEndError):
        solver = solver_by_name(request.options.solver)
        if solver is None:
            return
        problem, options = _first_solve(document, request)
        reduction = reduce(problem, options.hint if counts(problem, Kind.MOVES) else None)
        if isinstance(reduction, Explanation) or Bounds(reduction).misfit() is not None:
            return
        task, _ = task_of(reduction, dict.fromkeys(terms_of(problem), 0), options)
        require_willing(solver, task)


def _first_solve(document: Problem | Graph, request: FrontRequest) -> tuple[Problem, Options]:
    if isinstance(document, Problem):
        return two_terms(document, request.terms).limited_first(), request.options
    from memstow.planner.front.graph_front import counted_pool
    from memstow.planner.graph.schedules import scheduled_problem

    problem, pool = scheduled_problem(document, None), counted_pool(document, request)
    aimed = problem if pool is None else replace(problem, objective=(f"peak:{pool}",))
    return aimed, replace(request.options, hint=None)


def other_document(front: Front) -> str:
    """What is said of a front whose digest is not that of the document."""
    said = "the front is of another problem or graph, as its digest says"
    if front.memstow in (None, memstow.__version__) or "channels" not in (front.request.generators or ()):
        return said
    return f"{said}, or memstow {front.memstow}, which made it, has other alternatives in parts of channels"


def document_of_point(document: Problem | Graph, front: Front, point: FrontPoint) -> Problem | Graph:
    """What the plan of the point is a plan of: the document, with the capacities that were looked for."""
    if isinstance(document, Graph) or not any(term.partition(":")[0] == "capacity" for term in front.terms):
        return document
    # Others do not wait for this import.
    from memstow.planner.front.problem_front import with_capacities

    two = two_terms(document, front.terms)
    return with_capacities(two.problem, two.capacities, point.plan)


def verdict_on_point(
    document: Problem | Graph,
    origin: Problem | Graph,
    front: Front,
    number: int,
    verdict: Verdict,
    hint: Plan | None = None,
) -> Verdict:
    """The verdict on the plan of a point, from 0, and on what the front says of it.

    `document`: what the plan is a plan of; `origin`: what the front is a front of.
    """
    if front.digest not in (None, digest_of(origin)):
        wrong = Violation(Code.VALUE, f"point {number + 1:,} of the front: {other_document(front)}")
        verdict = replace(verdict, violations=(*verdict.violations, wrong))
    if isinstance(document, Problem):
        return judge_point(document, front, number, verdict, hint, None)
    return judge_point_of_graph(document, front, number, verdict, hint)
