"""What a front says of one of its points and is not so, as far as it can be counted."""

from collections.abc import Iterator

import memstow
from memstow.planner.front.front import digest_of
from memstow.planner.graph.costs import with_cost_unit
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.verify.graphs.refused import Refused
from memstow.planner.verify.graphs.schedule_cost import schedule_cost


def other_document(front: Front) -> str:
    """What is said of a front whose digest is not that of the document."""
    said = "the front is of another problem or graph, as its digest says"
    if front.memstow in (None, memstow.__version__) or "channels" not in (front.asked.generators or ()):
        return said
    return f"{said}, or memstow {front.memstow}, which made it, has other alternatives in parts of channels"


def point_errors(document: Problem | Graph, front: Front, point: FrontPoint) -> Iterator[str]:
    """Why the point is not what the front says; its plan is judged elsewhere.

    The document has the alternatives that the front was asked to choose from.
    """
    if front.digest not in (None, digest_of(document)):
        yield other_document(front)
    for term, value in point.values.items():
        counted = _counted(document, front, point.plan, term)
        if isinstance(counted, str):
            yield counted
        elif counted is not None and counted != value:
            yield f"it says that {term} is {value:,}, and {counted:,} is counted"
        if point.bounds.get(term, 0) > value:
            yield f"its bound of {term} is above its value"
    if point.proven and point.bounds != point.values:
        yield "it is called proven, and its bounds are not its values"


def _counted(document: Problem | Graph, front: Front, plan: Plan, term: str) -> int | str | None:
    """The value of a term in the plan, or why there is none; None: it is not counted here."""
    if term == "cost" and isinstance(document, Graph):
        try:
            return schedule_cost(with_cost_unit(document, front.asked.cost), plan.schedule)
        except (InputError, Refused) as error:
            return str(error)
    named = {it.term: it.value for it in plan.objective}
    if term in named:
        return named[term]
    kind, _, pool = term.partition(":")
    if kind not in ("peak", "capacity"):
        return None
    peaks = [use.peak for use in plan.pools if pool in ("", use.pool)]
    return sum(peaks) if peaks and kind == "peak" else None
