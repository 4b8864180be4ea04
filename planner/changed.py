"""A problem as its file has it, but for what the person who asks wants otherwise."""

from dataclasses import replace

from planner.errors import InputError
from planner.problem import Problem


def changed(problem: Problem, capacity: int | None, fit_only: bool) -> Problem:
    """The problem with this capacity of its only pool, and perhaps without an objective."""
    if capacity is not None:
        if len(problem.pools) != 1:
            raise InputError.single(
                "several_pools",
                "--capacity",
                f"the problem has {len(problem.pools)} pools and --capacity sets that of an only one; "
                "set the capacities in the file",
            )
        problem = replace(problem, pools=(replace(problem.pools[0], capacity=capacity),))
    return replace(problem, objective=()) if fit_only else problem
