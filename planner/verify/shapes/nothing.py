"""A plan that says that nothing fits: whether its reason shows it, or a layout contradicts it."""

from dataclasses import replace
from itertools import chain

from memstow.planner.model.plan import Explanation, Plan, Status
from memstow.planner.model.ranges import measure
from memstow.planner.model.symbolic import SymbolicPlan
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.proofs import COUNTED_AGAIN, check_explanation
from memstow.planner.verify.refutation import refute_claims
from memstow.planner.verify.shapes.sizes import Sizes
from memstow.planner.verify.shapes.space import Space
from memstow.planner.verify.verdict import Claim, Claims, Standing, Subject

_MOST_POINTS = 72
"""Where the reason is looked for."""


def check_nothing(
    plan: SymbolicPlan,
    index: ProblemIndex,
    sizes: Sizes,
    space: Space,
    findings: Findings,
    claims: Claims,
) -> None:
    """Judge the explanation: at the points, at the corners, and with the largest sizes."""
    explanation = plan.explanation
    if explanation is None:
        if plan.status is Status.INFEASIBLE:
            findings.add(Code.EXPLANATION, "the plan is infeasible and does not say why")
        return
    where = _shown_at(explanation, sizes, space)
    if where is None:
        findings.merge(_false_everywhere(explanation, index, space))
    if plan.status is not Status.INFEASIBLE:
        return
    says = f"nothing fits at every value ({explanation.code[:64]})"
    if where is not None:
        claims.proven(Subject.NOTHING_FITS, None, says, f"counting at {where}", holds=True)
        return
    contradicted = not findings.total and _fits(explanation, index, is_fixed=plan.shapes == "fixed")
    claims.claimed(Subject.NOTHING_FITS, None, says, plan.prover, not (findings.total or contradicted))
    if contradicted:
        text = "the explanation does not show that nothing fits: the judge has found places for all buffers"
        findings.add(Code.EXPLANATION, text)


def _shown_at(explanation: Explanation, sizes: Sizes, space: Space) -> str | None:
    """A point at which these buffers need more than there is."""
    if explanation.code not in COUNTED_AGAIN:
        return None
    every = space.all() if space.count <= _MOST_POINTS else ()
    points = dict.fromkeys(chain(every, space.points, space.corners(), sizes.points_of_largest()))
    for values in list(points)[:_MOST_POINTS]:
        claims, findings = _judged(
            explanation, ProblemIndex(sizes.problem_with(sizes.at(values)), Findings())
        )
        if not findings.total and claims[0].standing is Standing.CHECKED:
            return space.say(values)
    return None


def _false_everywhere(explanation: Explanation, largest: ProblemIndex, space: Space) -> Findings:
    """What is wrong with it at every value of the symbols, where it is shown at none that was looked at.

    What is so at some value is so of the largest sizes: these conflict at the same moments, need no less and
    have no other pools. Only the pools that several may go to can be fewer, and what these have together.
    """
    _, findings = _judged(explanation, largest)
    at_most = sum(largest.ends), sum(map(measure, largest.reserved))
    some = (explanation.capacity or 0) <= at_most[0] and (explanation.reserved or 0) <= at_most[1]
    if findings.total and explanation.pool is None and some and space.count > _MOST_POINTS:
        amounts = replace(explanation, needed=None, capacity=None, reserved=None)
        _, findings = _judged(amounts, largest)
    return findings


def _fits(explanation: Explanation, largest: ProblemIndex, is_fixed: bool) -> bool:
    """Whether a layout of the judge's own holds all buffers at their largest: then it does at every value."""
    if not is_fixed and any(largest.reserved):
        # An order keeps free what is at the bottom alone, also of buffers of no bytes.
        return False
    everything = Explanation(code=explanation.code, message=explanation.message)
    plan = Plan(status=Status.INFEASIBLE, explanation=everything)
    claims, findings = Claims(plan), Findings()
    claims.claimed(Subject.NOTHING_FITS, None, "", None, holds=True)
    refute_claims(largest, plan, None, claims, findings)
    return findings.total > 0


def _judged(explanation: Explanation, index: ProblemIndex) -> tuple[tuple[Claim, ...], Findings]:
    plan = Plan(status=Status.INFEASIBLE, explanation=explanation)
    claims, findings = Claims(plan), Findings()
    check_explanation(index, plan, findings, claims)
    return claims.settled(), findings
