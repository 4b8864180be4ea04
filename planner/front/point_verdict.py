"""The verdict on a point of a front: on its plan, and on what the front says of it."""

from dataclasses import replace

import memstow
from memstow.planner.front.front import digest_of
from memstow.planner.front.two_terms import two_terms
from memstow.planner.graph.costs import with_cost_unit
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.verify.graph_replay import Refused
from memstow.planner.verify.graph_verdict import judge_point, schedule_cost
from memstow.planner.verify.verdict import Code, Verdict, Violation


def other_document(front: Front) -> str:
    """What is said of a front whose digest is not that of the document."""
    said = "the front is of another problem or graph, as its digest says"
    if front.memstow in (None, memstow.__version__) or "channels" not in (front.asked.generators or ()):
        return said
    return f"{said}, or memstow {front.memstow}, which made it, has other alternatives in parts of channels"


def document_of_point(document: Problem | Graph, front: Front, point: FrontPoint) -> Problem | Graph:
    """What the plan of the point is a plan of: the document, with the capacities that were looked for."""
    if isinstance(document, Graph) or not any(it.partition(":")[0] == "capacity" for it in front.terms):
        return document
    # Others do not wait for this import.
    from memstow.planner.front.problems import with_capacities

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
    plan = front.points[number].plan
    if isinstance(document, Problem):
        return judge_point(document, front, number, verdict, hint, None)
    from memstow.planner.graph.lowering import scheduled_problem

    try:
        cost = schedule_cost(with_cost_unit(document, front.asked.cost), plan.schedule)
        problem = scheduled_problem(document, plan.schedule)
    except (InputError, Refused) as error:
        wrong = Violation(Code.VALUE, f"point {number + 1:,} of the front: {error}")
        return replace(verdict, violations=(*verdict.violations, wrong))
    return judge_point(problem, front, number, verdict, hint, cost, document.order)
