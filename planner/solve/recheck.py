"""Solves again to check claims of a plan that the judge cannot check by counting.

A claim that the engine proves is as certain as the engine. A claim that one of its plans contradicts is a
violation; that plan was accepted by the judge. A claim that it does not decide in time stays open.
"""

import threading
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem, subproblem
from memstow.planner.solve import engine
from memstow.planner.verify import Code, Standing, Subject, Verdict, Violation
from memstow.planner.verify.verdict import SOLVED_AGAIN

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

_DECIDED = (Subject.NOTHING_FITS, Subject.BOUND)


def recheck(
    problem: "Problem | Graph",
    plan: Plan,
    verdict: Verdict,
    time_limit: float = 10.0,
    hint: Plan | None = None,
    cancel: threading.Event | None = None,
) -> Verdict:
    """The verdict after solving again for at most this many seconds; an invalid plan is not solved again."""
    if not verdict.valid or not any(claim.subject in _DECIDED for claim in verdict.unchecked):
        return verdict
    if not isinstance(problem, Problem):
        return _recheck_graph(problem, plan, verdict, time_limit, hint, cancel)
    options = Options(time_limit=time_limit, hint=hint)
    if plan.status is Status.INFEASIBLE:
        names = plan.explanation.buffers if plan.explanation is not None else ()
        part = replace(subproblem(problem, names) if names else problem, objective=())
        return _after_misfit(verdict, engine.plan(part, options, cancel=cancel))
    if plan.status not in PLANNED:
        return verdict
    if hint is None:
        # The plan itself is a good start. Without the hint nobody knows what `moves` counts from.
        options = replace(options, hint=plan)
        problem = replace(problem, objective=tuple(takewhile(lambda term: term != "moves", problem.terms())))
    return _after_bounds(verdict, plan, engine.plan(problem, options, cancel=cancel))


def _recheck_graph(
    graph: "Graph",
    plan: Plan,
    verdict: Verdict,
    time_limit: float,
    hint: Plan | None,
    cancel: threading.Event | None,
) -> Verdict:
    """The verdict after planning the graph again: in its own order where that is given."""
    from memstow.planner.graph.lowering import listed_problem
    from memstow.planner.graph.schedules import only_orders, scheduled_problem

    if plan.schedule is not None and not only_orders(plan.schedule):
        # Its claims are about the problem of its schedule.
        return recheck(scheduled_problem(graph, plan.schedule), plan, verdict, time_limit, hint, cancel)
    if graph.order == "given":
        return recheck(listed_problem(graph), plan, verdict, time_limit, hint, cancel)
    if plan.status not in PLANNED:
        return verdict
    # Whichever rule has ordered the plan, its bound is about all orders.
    graph = replace(graph, order="free")
    again = engine.plan(graph, Options(time_limit=time_limit, hint=hint or plan), cancel=cancel)
    return _after_bounds(verdict, plan, again)


def _after_misfit(verdict: Verdict, again: Plan) -> Verdict:
    """The verdict on the claim that nothing fits, after another run."""
    if again.status is Status.INFEASIBLE:
        return verdict.standing((Subject.NOTHING_FITS, None), Standing.CHECKED, SOLVED_AGAIN)
    if again.status in PLANNED:
        message = "the explanation does not show that nothing fits: solving again has found places"
        refuted = verdict.standing((Subject.NOTHING_FITS, None), Standing.REFUTED, SOLVED_AGAIN)
        return refuted.violated(Violation(Code.EXPLANATION, message))
    return verdict


def _after_bounds(verdict: Verdict, plan: Plan, again: Plan) -> Verdict:
    """The verdict on the bounds after another run of the same terms, or of the first of them.

    Each bound is about plans with equal values in the terms before.
    """
    if again.status not in PLANNED:
        return verdict
    open_claims = {claim.name for claim in verdict.unchecked if claim.subject is Subject.BOUND}
    for mine, theirs in zip(plan.objective, again.objective, strict=False):
        if mine.term in open_claims and theirs.value < mine.bound:
            message = (
                f"the bound {mine.bound} of {mine.term} is too high: solving again has found a plan with "
                f"{theirs.value}"
            )
            verdict = verdict.standing((Subject.BOUND, mine.term), Standing.REFUTED, SOLVED_AGAIN)
            verdict = verdict.violated(Violation(Code.CERTIFICATE, message))
        elif mine.term in open_claims and theirs.bound >= mine.bound:
            verdict = verdict.standing((Subject.BOUND, mine.term), Standing.CHECKED, SOLVED_AGAIN)
        if mine.value != theirs.value:
            break
    return verdict
