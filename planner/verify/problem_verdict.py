"""Judges a plan of a problem: places, overlaps, live bytes, the objective and what is claimed of them."""

from memstow.planner.model import PLANNED
from memstow.planner.model.digest import digest
from memstow.planner.model.plan import Plan, PoolUse, is_bare, repeated_placements
from memstow.planner.model.problem import Problem
from memstow.planner.verify.claims import check_objective, check_pools, check_status
from memstow.planner.verify.layout import Layout, ObjectiveValues, ProblemIndex, check_places
from memstow.planner.verify.overlaps import Lives, Swept, check_overlaps, most_occupied, occupied_at
from memstow.planner.verify.verdict import (
    STEPS_IN_A_RUN,
    STEPS_OF_A_VERDICT,
    Claims,
    Code,
    Findings,
    Subject,
    Verdict,
    live_in_words,
)


def judge_problem(problem: Problem, plan: Plan, hint: Plan | None, refutes: bool, claims: Claims) -> Verdict:
    """The verdict, with the claims that were judged before; `refutes`: test what cannot be counted.

    Everything that can be counted is, and windows are searched for as long as it is worth.
    """
    findings = Findings()
    index = ProblemIndex(problem, findings)
    if findings.total:
        return Verdict(tuple(findings.violations()), claims.settled())
    if plan.digest is not None and plan.digest != digest(problem):
        findings.add(Code.DIGEST, "the plan is for another problem: its digest is {}", plan.digest[:64])
    bare, planned = is_bare(plan), plan.status in PLANNED
    if not bare:
        check_status(index, plan, findings, claims)
    layout = Layout(index)
    before = findings.total
    if planned or plan.placements:
        layout.read(plan.placements, findings)
    check_places(index, layout, findings)
    swept = check_overlaps(index, layout, findings)
    if planned:
        says = "every buffer has a place, and no two that conflict share a byte"
        claims.counted(Subject.PLACES, None, says, findings.total == before)
    if bare:
        return Verdict(tuple(findings.violations()), claims.settled())
    if hint is not None and any(repeated_placements(hint.placements)):
        hint = None
    values = ObjectiveValues(index, layout, hint, claims.graph.cost)
    uses = check_pools(index, plan, values, findings, claims)
    if planned:
        for pool, use in uses.items():
            _check_live(layout, swept[pool], use, findings, claims)
        steps = STEPS_OF_A_VERDICT if refutes else STEPS_IN_A_RUN
        check_objective(index, plan, values, findings, claims, steps)
    if refutes:
        # Imported late: plans of a run are not tested this way.
        from memstow.planner.verify.refutation import refute_claims

        refute_claims(index, plan, hint, claims, findings)
    return Verdict(tuple(findings.violations()), claims.settled())


def _check_live(layout: Layout, swept: Swept, use: PoolUse, findings: Findings, claims: Claims) -> None:
    """Compare the live bytes of a pool with the most that are occupied at one moment, and its first such."""
    live, pressure = use.live, swept.pressure
    says = live_in_words(use.pool, live)
    if pressure is None:
        # The sweep ended at too many overlaps.
        claims.claimed(Subject.LIVE, use.pool, says, None, holds=True)
        return
    most, first = pressure.bytes, pressure.time
    # Where the sizes add up to the most at the moment named, and share nothing then, that is the answer.
    if pressure.shared and not (
        first is not None
        and first == live.time
        and occupied_at(layout.index, layout, swept.placed, first) == most
    ):
        most, first = most_occupied(Lives(layout.index, layout, swept.placed))
    holds = (live.bytes, live.time) == (most, first)
    claims.counted(Subject.LIVE, use.pool, says, holds)
    if not holds:
        findings.add(
            Code.LIVE,
            "{!r} has at most {} live bytes, first at {}, not {} at {}",
            use.pool,
            most,
            first,
            live.bytes,
            live.time,
            pool=use.pool,
        )
