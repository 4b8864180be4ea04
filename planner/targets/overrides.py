"""Changes to a problem from the command line or a request: target, capacity, objective."""

from dataclasses import replace

from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem, Target
from memstow.planner.targets.target import retarget


def with_overrides(problem: Problem, target: Target | None, capacity: int | None, fit_only: bool) -> Problem:
    """The problem in the memories of the target, its single pool of this capacity, without an objective."""
    if target is not None:
        problem = retarget(problem, target)
    if capacity is not None:
        if len(problem.pools) != 1:
            raise InputError.single(
                "several_pools",
                "capacity",
                f"the problem has {len(problem.pools)} pools and a capacity can be given for a single one; "
                "set the capacities in the file",
            )
        problem = replace(problem, pools=(replace(problem.pools[0], capacity=capacity),))
    return replace(problem, objective=()) if fit_only else problem
