"""The way to a front: the points of a problem or a graph, collected as they are found."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import memstow
from memstow.planner.front.choices import with_choices
from memstow.planner.front.collected import Collected
from memstow.planner.front.problems import problem_points
from memstow.planner.front.request import (
    DEFAULT_GENERATORS,
    GRAPH_TERMS,
    Ending,
    FrontCallbacks,
    FrontRequest,
    OnPoint,
    Points,
)
from memstow.planner.front.two_terms import default_terms, require_front
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import (
    MOST_POINTS,
    CostUnit,
    Front,
    FrontOptions,
    FrontPoint,
    Generator,
    KeptOrder,
)
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Listener, Options
from memstow.planner.model.problem import Problem, Target
from memstow.planner.solve.portfolio import Allowance

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
    on_point: OnPoint | None = None,
    cancel: threading.Event | None = None,
) -> Front:
    """Find the front of two terms of the problem or the graph, within the limits of the options.

    `on_point` is called with each point when it is found, and again when more is proven of it. When `cancel`
    is set, what was found so far is returned. With targets, the front in the memories of each.
    Raises InputError for a problem that contradicts itself, and for terms that have no front.
    """
    named = None if terms is None else _two_names(terms)
    asked = FrontOptions(terms=named, generators=generators, cost=cost, within=within, points=points)
    callbacks = FrontCallbacks(on_event, cancel)
    if targets:
        from memstow.planner.front.targets import front_of_targets

        def pass_on(_target: str, point: FrontPoint, _so_far: Callable[[], Front]) -> None:
            if on_point is not None:
                on_point(point)

        return front_of_targets(problem, asked, options or Options(), targets, callbacks, on_point=pass_on)
    return find_front(problem, asked, options or Options(), callbacks, on_point)


def find_front(
    document: Problem | Graph,
    asked: FrontOptions,
    options: Options,
    callbacks: FrontCallbacks,
    on_point: OnPoint | None = None,
    start: Sequence[FrontPoint] = (),
) -> Front:
    """The front that is asked for; `start` are points of an earlier run of ours."""
    allowance = Allowance(options)
    document = with_choices(document, asked)
    request = request_of(document, asked, options, start)
    outcome = collect(document, request, callbacks, on_point)
    return Front(
        name=document.name,
        terms=request.terms,
        points=outcome.points,
        complete=outcome.ending.complete,
        asked=asked,
        explanation=outcome.ending.explanation,
        kept_order=kept_order_of(document, request, allowance),
        seconds=allowance.seconds,
        work=outcome.ending.work,
        digest=digest_of(document),
        memstow=memstow.__version__,
    )


def kept_order_of(document: Problem | Graph, request: FrontRequest, allowance: Allowance) -> KeptOrder | None:
    """That the order of a graph was kept; None for what has no other."""
    if isinstance(document, Problem):
        return None
    from memstow.planner.front.kept_order import kept_order

    return kept_order(document, request, allowance)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The points that are asked for, and how the run ended."""

    points: tuple[FrontPoint, ...]
    ending: Ending


def collect(
    document: Problem | Graph, request: FrontRequest, callbacks: FrontCallbacks, on_point: OnPoint | None
) -> Outcome:
    """Run to the end, telling of each point."""
    collected = Collected(request)
    collected.add(request.start)
    found = _points_of(document, request, callbacks)
    while True:
        try:
            point = next(found)
        except StopIteration as end:
            ending: Ending = end.value
            return Outcome(collected.points(), ending)
        collected.add([point])
        if on_point is not None:
            on_point(point)


def request_of(
    document: Problem | Graph, asked: FrontOptions, options: Options, start: Sequence[FrontPoint] = ()
) -> FrontRequest:
    """The request, with defaults filled in; InputError for all that has no front."""
    if isinstance(document, Problem):
        _refuse_for_problem(asked)
    elif options.hint is not None:
        message = "the front of a graph does not start from a plan; leave it out"
        raise InputError.single("not_a_problem", "hint", message)
    most = MOST_POINTS if asked.points is None else asked.points
    size = len(document.buffers) if isinstance(document, Problem) else len(document.tensors)
    terms = asked.terms
    if terms is None:
        terms = default_terms(document, options.hint) if isinstance(document, Problem) else GRAPH_TERMS
    request = FrontRequest(
        terms=terms,
        options=options,
        generators=DEFAULT_GENERATORS if asked.generators is None else frozenset(asked.generators),
        cost_unit=asked.cost,
        within=asked.within,
        points=min(most, max(_MOST_PLACEMENTS // max(size, 1), 2)),
        start=tuple(start),
    )
    _require_front(document, request)
    return request


def _require_front(document: Problem | Graph, request: FrontRequest) -> None:
    """Raise InputError where there is no such front: those who accept a request do not begin the work."""
    if isinstance(document, Problem):
        require_front(document, request.terms, request.options.hint)
        return
    # Fronts of problems do not wait for this import.
    from memstow.planner.front import graph_terms

    graph_terms.require_front(document, request)


def digest_of(document: Problem | Graph) -> str:
    """The digest of the problem or of the graph."""
    if isinstance(document, Problem):
        return digest(document)
    from memstow.planner.graph.digest import graph_digest

    return graph_digest(document)


def _points_of(document: Problem | Graph, request: FrontRequest, callbacks: FrontCallbacks) -> Points:
    if isinstance(document, Problem):
        return problem_points(document, request, callbacks)
    from memstow.planner.front.graphs import graph_points

    return graph_points(document, request, callbacks)


def _refuse_for_problem(asked: FrontOptions) -> None:
    for name, given in (("generators", bool(asked.generators)), ("cost", asked.cost != "given")):
        if given:
            message = "it is for graphs, and this is a problem, whose lifetimes are as they are; leave it out"
            raise InputError.single("not_a_graph", name, message)


def _two_names(terms: Sequence[str]) -> tuple[str, str]:
    if isinstance(terms, str) or len(terms) != 2:
        raise InputError.single("two_terms", "terms", "name two terms, such as peak:fast and placement_cost")
    return terms[0], terms[1]
