"""Back ends as solvers like any other, each in a process of its own with a hard stop.

A back end takes a task and returns the outcome. A crash or a leak of a back end ends with its process. Which
solvers there are, and what they need, says `solvers/registry.py`.
"""

from memstow.planner.model.errors import MissingBackEndError
from memstow.solvers.registry import BACK_ENDS, native_solver
from memstow.solvers.solver import Solver


def find(name: str) -> Solver:
    """The solver of that name; KeyError when there is none, MissingBackEndError when it is not installed."""
    if name not in BACK_ENDS:
        return native_solver(name)
    missing = BACK_ENDS[name].how_to_get()
    if missing is not None:
        raise MissingBackEndError(f"solver {name!r} needs {missing}")
    # A run without back ends does not wait for this import.
    from memstow.planner.backends.isolated_solver import IsolatedSolver

    return IsolatedSolver(name)


def prepare(name: str) -> None:
    """Start the process of a back end that will be used soon, in the background."""
    if name in BACK_ENDS:
        from memstow.planner.backends import isolated_solver

        isolated_solver.prepare(name)
