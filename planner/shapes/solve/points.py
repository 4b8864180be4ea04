"""The problem at each of its points: the least peak that is possible there, and a plan."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from memstow.planner.model.plan import PLANNED, Explanation, Plan, Status
from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import SymbolicProblem
from memstow.planner.shapes.at_point import points_of, problem_at
from memstow.planner.solve.allowance import Allowance
from memstow.planner.solve.engine import plan

# Of what the call may take, all points together.
_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class PointPlan:
    """What is known of one point."""

    at: Mapping[str, int]
    weight: int
    least: int
    plan: Plan
    """Of the problem there; where nothing fits or was found, of the problem without capacities."""
    nothing: Explanation | None
    """Why nothing fits."""


def plans_at_points(
    problem: SymbolicProblem, allowance: Allowance, cancel: threading.Event | None
) -> tuple[PointPlan, ...]:
    """Each point with a bound and a plan."""
    points = points_of(problem)
    found: list[PointPlan] = []
    for point in points:
        concrete = problem_at(problem, point.at)
        solved = plan(concrete, allowance.share(_SHARE / len(points)), cancel=cancel)
        allowance.spend(solved.work)
        bounded = solved
        if solved.status not in PLANNED:
            # Whatever the capacities, no layout needs less.
            bounded = plan(
                without_capacities(concrete), allowance.share(_SHARE / len(points) / 4), cancel=cancel
            )
            allowance.spend(bounded.work)
        least = bounded.objective[0].bound if bounded.objective else 0
        nothing = solved.explanation if solved.status is Status.INFEASIBLE else None
        found.append(PointPlan(point.at, point.weight, least, bounded, nothing))
    return tuple(found)


_P = TypeVar("_P", Problem, SymbolicProblem)


def without_capacities(problem: _P) -> _P:
    """The problem with pools that are as large as needed."""
    return replace(problem, pools=tuple(replace(pool, capacity=None) for pool in problem.pools))
