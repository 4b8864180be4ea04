"""What a run needs besides a valid problem: a hint for `moves`, a solver that accepts the task."""

from itertools import islice

from memstow.planner.check import MOST_ISSUES
from memstow.planner.model.errors import DeclinedError, InputError, Issue
from memstow.planner.model.objective import Kind, counts
from memstow.planner.model.options import Options
from memstow.planner.model.plan import REPEATED, placed_again
from memstow.planner.model.problem import Problem
from memstow.planner.solve.portfolio import AUTO
from memstow.solvers.solver import Solver, Task


def require_hint(problem: Problem, options: Options) -> None:
    """Raise InputError where the hint places a buffer twice, or a term counts from one that is not there."""
    again = () if options.hint is None else islice(placed_again(options.hint.placements), MOST_ISSUES)
    issues = [Issue(REPEATED, f"$.hint.placements[{index}]", message) for index, message in again]
    if issues:
        raise InputError(issues)
    if counts(problem, Kind.MOVES) and options.hint is None:
        where = problem.terms().index(Kind.MOVES.value)
        raise InputError.single(
            "moves_without_hint",
            f"$.objective[{where}]",
            "`moves` counts what differs from a plan; give that plan as the hint",
        )


def require_willing(solver: Solver, task: Task) -> None:
    """Raise DeclinedError where the only solver asked for cannot honour the task."""
    reason = solver.declines(task)
    if reason is not None:
        raise DeclinedError(f"solver {solver.name!r} cannot honour {reason}; use {AUTO!r}")
