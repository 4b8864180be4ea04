"""Which of two plans of the same problem with symbols is better, as its aim says."""

from memstow.planner.model.plan import PLANNED, Status
from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem
from memstow.planner.model.symbolic_points import points_of
from memstow.planner.shapes.solve.quality import Scale


def better(problem: SymbolicProblem, plan: SymbolicPlan, other: SymbolicPlan) -> bool:
    """Whether the plan is better than the other; of equals the one that is proven."""
    planned, other_planned = plan.status in PLANNED, other.status in PLANNED
    if not planned or not other_planned:
        proven = plan.status is Status.INFEASIBLE and other.status is Status.UNKNOWN
        return (planned and not other_planned) or (proven and not other_planned)
    if [it.at for it in plan.points] != [it.at for it in other.points]:
        return False
    # Of two bounds of the same point, which runs of different lengths have found, the larger one counts.
    pairs = zip(plan.points, other.points, strict=True)
    scale = Scale(
        tuple(max(one.least, two.least) for one, two in pairs),
        tuple(point.weight for point in points_of(problem)),
        problem.aim,
    )
    mine, others = (scale.score([it.peak for it in one.points]) for one in (plan, other))
    if mine != others:
        return mine < others
    return plan.status is Status.OPTIMAL and other.status is not Status.OPTIMAL
