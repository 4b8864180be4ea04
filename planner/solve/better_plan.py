"""Which of two plans for one problem to prefer."""

from memstow.planner.model.plan import Plan, Status

_RANK = {Status.INFEASIBLE: 0, Status.OPTIMAL: 1, Status.FEASIBLE: 1, Status.UNKNOWN: 2}


def better(one: Plan, other: Plan) -> bool:
    """Whether the first is to be preferred: a lower objective, then a tighter proof."""
    return _standing(one) < _standing(other)


def _standing(plan: Plan) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Sorts plans, the preferred one first. A proof that nothing fits leaves no room for a plan."""
    values = tuple(term.value for term in plan.objective)
    bounds = tuple(-term.bound for term in plan.objective)
    return _RANK[plan.status], values, bounds
