"""The independent judge of plans.

In: a problem and a plan from any source. Out: a verdict, with all violations of the plan and the standing of
each of its claims. It trusts nothing but the problem: not the reduction, not the solvers, not the figures of
the plan. Time is close to linear in the size of the problem.
"""

from typing import TYPE_CHECKING, Final, overload

from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.verify.problem_verdict import judge_problem
from memstow.planner.verify.verdict import Claim, Code, Standing, Subject, Verdict, Violation

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.symbolic import SymbolicGraph, SymbolicPlan, SymbolicProblem

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
def verify(problem: "SymbolicProblem | SymbolicGraph", plan: "SymbolicPlan") -> list[Violation]: ...
def verify(
    problem: "Problem | Graph | SymbolicProblem | SymbolicGraph",
    plan: "Plan | SymbolicPlan",
    hint: Plan | None = None,
) -> list[Violation]:
    """All violations of the plan, as in the verdict of `judge`."""
    return list(_judged(problem, plan, hint, refutes=True).violations)


@overload
def judge(problem: "Problem | Graph", plan: Plan, hint: Plan | None = None) -> Verdict: ...
@overload
def judge(problem: "SymbolicProblem | SymbolicGraph", plan: "SymbolicPlan") -> Verdict: ...
def judge(
    problem: "Problem | Graph | SymbolicProblem | SymbolicGraph",
    plan: "Plan | SymbolicPlan",
    hint: Plan | None = None,
) -> Verdict:
    """The verdict on a plan: its violations, and for each of its claims whether it was checked.

    Claims that cannot be counted (the proof of a search or a model) are tested against layouts of the judge's
    own, and stay claims where no layout contradicts them. A bare layout makes no claims: only its places are
    judged. Without the hint that `moves` were counted against, a number of moves stays a claim; a hint that
    places a buffer twice is none. A graph is replayed in the order of the plan's
    schedule, or as it is listed. The plan of a symbolic problem or graph is judged at every value of the
    symbols.
    """
    return _judged(problem, plan, hint, refutes=True)


@overload
def recount(problem: "Problem | Graph", plan: Plan, hint: Plan | None = None) -> list[Violation]: ...
@overload
def recount(problem: "SymbolicProblem | SymbolicGraph", plan: "SymbolicPlan") -> list[Violation]: ...
def recount(
    problem: "Problem | Graph | SymbolicProblem | SymbolicGraph",
    plan: "Plan | SymbolicPlan",
    hint: Plan | None = None,
) -> list[Violation]:
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
    problem: "Problem | Graph | SymbolicProblem | SymbolicGraph",
    plan: "Plan | SymbolicPlan",
    hint: Plan | None,
    refutes: bool,
) -> Verdict:
    if isinstance(problem, Problem) and isinstance(plan, Plan):
        return judge_problem(problem, plan, hint, refutes)
    from memstow.planner.model.graph import Graph

    if isinstance(problem, Graph) and isinstance(plan, Plan):
        from memstow.planner.verify.graph_verdict import judge_graph

        return judge_graph(problem, plan, hint, refutes)
    from memstow.planner.model.symbolic import SymbolicGraph, SymbolicPlan, SymbolicProblem

    if isinstance(problem, SymbolicGraph) and isinstance(plan, SymbolicPlan):
        from memstow.planner.verify.symbolic_graph_verdict import judge_symbolic_graph

        return judge_symbolic_graph(problem, plan, refutes)
    if isinstance(problem, SymbolicProblem) and isinstance(plan, SymbolicPlan):
        from memstow.planner.verify.symbolic_verdict import judge_symbolic

        return judge_symbolic(problem, plan)
    kinds = type(problem).__name__, type(plan).__name__
    raise TypeError(f"a {kinds[1]} is no plan of a {kinds[0]}: give a plan of the same kind")
