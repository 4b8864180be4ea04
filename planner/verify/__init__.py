"""The independent judge: everything that is wrong with a plan, whoever made it.

It reads the problem in the user's terms and trusts nothing else: not the reduction, not the solvers, not the
figures of the plan. Time is close to linear in the size of the problem.
"""

from planner.digest import digest
from planner.plan import PLANNED, Plan, PoolUse, is_bare
from planner.problem import Problem
from planner.verify.claims import check_objective, check_pools, check_status
from planner.verify.facts import Facts
from planner.verify.figures import Figures
from planner.verify.findings import Code, Findings, Violation
from planner.verify.layout import Layout
from planner.verify.lives import Lives
from planner.verify.overlaps import Pressure, Sweep, check_conflicts
from planner.verify.places import check_distances, check_places
from planner.verify.pressure import most_occupied, occupied_at, occupied_ever

__all__ = ["Code", "Violation", "verify"]


def verify(problem: Problem, plan: Plan, hint: Plan | None = None) -> list[Violation]:
    """Everything that is wrong with the plan; an empty list means that all it says holds.

    A bare layout says nothing of itself: only its places are judged. Without the hint that `moves` were
    counted against, a claimed number of moves is only checked for its range.
    """
    findings = Findings()
    facts = Facts(problem, findings)
    if findings:
        return findings.violations()
    if plan.digest is not None and plan.digest != digest(problem):
        findings.add(Code.DIGEST, "the plan is for another problem: its digest is {}", plan.digest[:64])
    bare = is_bare(plan)
    if not bare:
        check_status(facts, plan, findings)
    layout = Layout(facts)
    if plan.status in PLANNED or plan.placements:
        layout.read(plan.placements, findings)
    check_places(facts, layout, findings)
    check_distances(facts, layout, findings)
    figures = Figures(facts, layout, hint)
    claims = {} if bare else check_pools(facts, plan, figures, findings)
    check_conflicts(facts, layout, findings)
    for pool, placed in enumerate(layout.by_pool()):
        lives = Lives(facts, layout, placed)
        pressure = Sweep(facts, layout, lives, findings).run()
        if pressure is not None and pool in claims and plan.status in PLANNED:
            _check_live(layout, placed, lives, pressure, claims[pool], findings)
    if plan.status in PLANNED and not bare:
        check_objective(facts, plan, figures, findings)
    return findings.violations()


def _check_live(
    layout: Layout, placed: list[int], lives: Lives, pressure: Pressure, use: PoolUse, findings: Findings
) -> None:
    """Compare the claimed live bytes of a pool with the most bytes occupied at one moment."""
    claimed = use.live
    most = most_occupied(lives) if pressure.shared and claimed.bytes != pressure.bytes else pressure.bytes
    if claimed.time is None:
        if not most <= claimed.bytes <= occupied_ever(layout, placed):
            findings.add(Code.LIVE, "the live bytes of {!r} are at least {}", use.pool, most, pool=use.pool)
        return
    then = occupied_at(layout.facts, layout, placed, claimed.time)
    if (claimed.bytes, then) != (most, most):
        findings.add(
            Code.LIVE,
            "{!r} has {} live bytes at {} and {} at the most, not {}",
            use.pool,
            then,
            claimed.time,
            most,
            claimed.bytes,
            pool=use.pool,
        )
