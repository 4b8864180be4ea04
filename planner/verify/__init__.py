"""The independent judge of plans.

In: a problem and a plan from any source. Out: a verdict, with all violations of the plan and the standing of
each of its claims. It trusts nothing but the problem: not the reduction, not the solvers, not the figures of
the plan. Time is close to linear in the size of the problem.
"""

from typing import TYPE_CHECKING, Final, overload

from memstow.planner.model import PLANNED, Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import Plan, PoolUse, is_bare, repeated_placements
from memstow.planner.model.problem import Problem
from memstow.planner.verify.claims import check_objective, check_pools, check_status
from memstow.planner.verify.layout import Layout, ObjectiveValues, ProblemIndex, check_places
from memstow.planner.verify.overlaps import Lives, Swept, check_overlaps, most_occupied, occupied_at
from memstow.planner.verify.verdict import (
    STEPS_IN_A_RUN,
    STEPS_OF_A_VERDICT,
    Claim,
    Claims,
    Code,
    Findings,
    Standing,
    Subject,
    Verdict,
    Violation,
)

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem

__all__ = [
    "Claim",
    "Code",
    "Standing",
    "Subject",
    "Verdict",
    "Violation",
    "judge",
    "recount",
    "require_valid_plan",
    "verify",
]

_MOST_REPORTED: Final = 20


@overload
def verify(problem: "Problem | Graph", plan: Plan, hint: Plan | None = None) -> list[Violation]: ...
@overload
def verify(problem: "SymbolicProblem", plan: "SymbolicPlan") -> list[Violation]: ...
def verify(
    problem: "Problem | Graph | SymbolicProblem", plan: "Plan | SymbolicPlan", hint: Plan | None = None
) -> list[Violation]:
    """All violations of the plan, as in the verdict of `judge`."""
    return list(_judged(problem, plan, hint, refutes=True).violations)


@overload
def judge(problem: "Problem | Graph", plan: Plan, hint: Plan | None = None) -> Verdict: ...
@overload
def judge(problem: "SymbolicProblem", plan: "SymbolicPlan") -> Verdict: ...
def judge(
    problem: "Problem | Graph | SymbolicProblem", plan: "Plan | SymbolicPlan", hint: Plan | None = None
) -> Verdict:
    """The verdict on a plan: its violations, and for each of its claims whether it was checked.

    Claims that cannot be counted (the proof of a search or a model) are tested against layouts of the judge's
    own, and stay claims where no layout contradicts them. A bare layout makes no claims: only its places are
    judged. Without the hint that `moves` were counted against, a number of moves stays a claim; a hint that
    places a buffer twice is none. A graph is replayed in the order of the plan's
    schedule, or as it is listed. The plan of a symbolic problem is judged at every value of the symbols.
    """
    return _judged(problem, plan, hint, refutes=True)


def recount(problem: "Problem | Graph", plan: Plan, hint: Plan | None = None) -> list[Violation]:
    """Violations found by counting alone: for plans of a run, which has better layouts than the judge's."""
    return list(_judged(problem, plan, hint, refutes=False).violations)


def require_valid_plan(problem: "Problem | Graph", plan: Plan) -> None:
    """An InputError where there is no plan to write, or its places or its schedule are wrong.

    What else the plan claims, of bounds for example, makes no difference to what is written.
    """
    if plan.status not in PLANNED:
        message = f"there is no plan to write: the status is {plan.status}"
        raise InputError.single("no_plan", "status", message)
    bare = Plan(status=Status.FEASIBLE, placements=plan.placements, schedule=plan.schedule)
    violations = verify(problem, bare)[:_MOST_REPORTED]
    if violations:
        raise InputError(Issue(str(violation.code), "plan", violation.message) for violation in violations)


def _judged(
    problem: "Problem | Graph | SymbolicProblem",
    plan: "Plan | SymbolicPlan",
    hint: Plan | None,
    refutes: bool,
) -> Verdict:
    if isinstance(problem, Problem) and isinstance(plan, Plan):
        return judge_problem(problem, plan, hint, refutes, Claims(plan))
    from memstow.planner.model.graph import Graph

    if isinstance(problem, Graph) and isinstance(plan, Plan):
        from memstow.planner.verify.graph_verdict import judge_graph

        return judge_graph(problem, plan, hint, refutes)
    from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem

    if isinstance(problem, SymbolicProblem) and isinstance(plan, SymbolicPlan):
        from memstow.planner.verify.symbolic_verdict import judge_symbolic

        return judge_symbolic(problem, plan)
    kinds = type(problem).__name__, type(plan).__name__
    raise TypeError(f"a {kinds[1]} is no plan of a {kinds[0]}: give a plan of the same kind")


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
    says = f"at most {live.bytes:,} bytes are live in {use.pool!r}, first at {live.time}"
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
