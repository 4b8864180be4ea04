"""Compares two plans of one problem."""

from memstow.planner.model import Status
from memstow.planner.model.plan import Plan

_RANK = {Status.INFEASIBLE: 0, Status.OPTIMAL: 1, Status.FEASIBLE: 1, Status.UNKNOWN: 2}


def better(one: Plan, other: Plan) -> bool:
    """Whether the first plan is better: a lower objective, or an equal one with better bounds."""
    return _sort_key(one) < _sort_key(other)


def _sort_key(plan: Plan) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Sorts plans, best first. A proof that nothing fits comes before any plan."""
    values = tuple(term.value for term in plan.objective)
    bounds = tuple(-term.bound for term in plan.objective)
    return _RANK[plan.status], values, bounds
