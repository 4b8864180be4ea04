"""The independent judge of plans.

In: a problem and a plan from any source. Out: a verdict, with all violations of the plan and the standing of
each of its claims. It trusts nothing but the problem: not the reduction, not the solvers, not the figures of
the plan. Time is close to linear in the size of the problem.
"""

from typing import TYPE_CHECKING, overload

from memstow.planner.model import PLANNED
from memstow.planner.model.digest import digest
from memstow.planner.model.plan import Plan, PoolUse, is_bare, repeated_placements
from memstow.planner.model.problem import Problem
from memstow.planner.verify.claims import AgainstOrders, check_objective, check_pools, check_status
from memstow.planner.verify.layout import CostTerm, Layout, ObjectiveValues, ProblemIndex, check_places
from memstow.planner.verify.overlaps import Lives, Pressure, Swept, check_overlaps, most_occupied, occupied_at
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

__all__ = ["Claim", "Code", "Standing", "Subject", "Verdict", "Violation", "judge", "recount", "verify"]


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


def judge_problem(
    problem: Problem,
    plan: Plan,
    hint: Plan | None,
    refutes: bool,
    claims: Claims,
    against_orders: AgainstOrders | None = None,
    cost: CostTerm | None = None,
    of_one_order: bool = False,
) -> Verdict:
    """The verdict, with the claims that were judged before; `refutes`: test what cannot be counted.

    `against_orders` judges certificates about the orders of a graph; `cost` is what its schedule costs;
    `of_one_order`: the graph allows other schedules, which this problem says nothing about.
    """
    findings = Findings()
    index = ProblemIndex(problem, findings)
    if not findings.total:
        _count(index, plan, hint, findings, claims, against_orders, cost, refutes, of_one_order)
        if refutes:
            # Imported late: plans of a run are not tested this way.
            from memstow.planner.verify.refutation import refute_claims

            refute_claims(index, plan, hint, claims, findings, cost)
    return Verdict(tuple(findings.violations()), claims.settled())


def _count(
    index: ProblemIndex,
    plan: Plan,
    hint: Plan | None,
    findings: Findings,
    claims: Claims,
    against_orders: AgainstOrders | None,
    cost: CostTerm | None,
    refutes: bool,
    of_one_order: bool,
) -> None:
    """Check everything that can be counted, and search windows for as long as it is worth."""
    if plan.digest is not None and plan.digest != digest(index.problem):
        findings.add(Code.DIGEST, "the plan is for another problem: its digest is {}", plan.digest[:64])
    bare = is_bare(plan)
    planned = plan.status in PLANNED
    if not bare:
        check_status(index, plan, findings, claims, against_orders, of_one_order)
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
        return
    if hint is not None and any(repeated_placements(hint.placements)):
        hint = None
    values = ObjectiveValues(index, layout, hint, cost)
    for pool, use in check_pools(index, plan, values, findings, claims).items():
        if planned:
            _check_live(layout, swept[pool], use, findings, claims)
    if planned:
        steps = STEPS_OF_A_VERDICT if refutes else STEPS_IN_A_RUN
        check_objective(index, plan, values, findings, claims, against_orders, cost, steps)


def _check_live(layout: Layout, swept: Swept, use: PoolUse, findings: Findings, claims: Claims) -> None:
    """Compare the live bytes of a pool with the most that are occupied at one moment, and its first such."""
    live, pressure = use.live, swept.pressure
    says = f"at most {live.bytes:,} bytes are live in {use.pool!r}, first at {live.time}"
    if pressure is None:
        # The sweep ended at too many overlaps.
        claims.claimed(Subject.LIVE, use.pool, says, None, holds=True)
        return
    most, first = _most(layout, swept, pressure, live.time)
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


def _most(layout: Layout, swept: Swept, pressure: Pressure, moment: int | None) -> tuple[int, int | None]:
    """The most bytes occupied at one moment of this pool, and the first such moment."""
    sizes = pressure.bytes, pressure.time
    if not pressure.shared:
        return sizes
    # Where the sizes add up to the most, and share nothing then, they have the answer.
    if (
        moment is not None
        and moment == pressure.time
        and occupied_at(layout.index, layout, swept.placed, moment) == pressure.bytes
    ):
        return sizes
    return most_occupied(Lives(layout.index, layout, swept.placed))
