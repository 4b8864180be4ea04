"""The problem at each of its points: the least peak that is possible there, and a plan."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from memstow.planner.model.plan import PLANNED, Explanation, Plan, Status
from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import Point, SymbolicProblem
from memstow.planner.shapes.at_point import points_of, problem_at, sizes_at
from memstow.planner.shapes.sizes import note_same_sizes
from memstow.planner.shapes.solve.live import LiveBytes
from memstow.planner.solve.allowance import Allowance
from memstow.planner.solve.engine import plan

# Of what the call may take, all points together.
_SHARE = 0.4
# What a plan of a point takes at the least, where there are many buffers.
_SECONDS_PER_BUFFER = 25e-6


@dataclass(frozen=True, slots=True)
class PointPlan:
    """What is known of one point."""

    at: Mapping[str, int]
    weight: int
    least: int
    plan: Plan
    """Of the problem there; where nothing fits or was found, of the problem without capacities. Where there
    is no time, it has no placements."""
    nothing: Explanation | None
    """Why nothing fits."""


def plans_at_points(
    problem: SymbolicProblem, allowance: Allowance, cancel: threading.Event | None
) -> tuple[PointPlan, ...]:
    """Each point with a bound and, as far as there is time, a plan: of some that are far from each other."""
    points = points_of(problem)
    each = _SECONDS_PER_BUFFER * len(problem.buffers) / _SHARE
    count = next(it for it in range(len(points), -1, -1) if not it or allowance.affords(it * each))
    planned = set(_spread(len(points), count))
    live = LiveBytes(problem) if count < len(points) else None
    found: list[PointPlan] = []
    for number, point in enumerate(points):
        if number in planned or live is None:
            found.append(_planned(problem, point, allowance, _SHARE / count, cancel))
        else:
            least = live.at(sizes_at(problem, point.at))
            found.append(PointPlan(point.at, point.weight, least, Plan(status=Status.UNKNOWN), None))
    return tuple(found)


def _spread(total: int, count: int) -> list[int]:
    """So many of these numbers, from the first to the last."""
    return [number * (total - 1) // max(count - 1, 1) for number in range(count)]


def _planned(
    problem: SymbolicProblem,
    point: Point,
    allowance: Allowance,
    share: float,
    cancel: threading.Event | None,
) -> PointPlan:
    concrete = problem_at(problem, point.at)
    solved = plan(concrete, allowance.share(share), cancel=cancel)
    allowance.spend(solved.work)
    bounded = solved
    if solved.status not in PLANNED:
        # Whatever the capacities, no layout needs less.
        bounded = plan(without_capacities(concrete), allowance.share(share / 4), cancel=cancel)
        allowance.spend(bounded.work)
    least = bounded.objective[0].bound if bounded.objective else 0
    nothing = solved.explanation if solved.status is Status.INFEASIBLE else None
    return PointPlan(point.at, point.weight, least, bounded, nothing)


_P = TypeVar("_P", Problem, SymbolicProblem)


def without_capacities(problem: _P) -> _P:
    """The problem with pools that are as large as needed."""
    loose = replace(problem, pools=tuple(replace(pool, capacity=None) for pool in problem.pools))
    if isinstance(problem, SymbolicProblem) and isinstance(loose, SymbolicProblem):
        note_same_sizes(loose, problem)
    return loose
