"""Solvers by name: the native ones, and the back ends, each in a process of its own with a hard stop.

A back end takes a task and returns the outcome. A crash or a leak of a back end ends with its process.
"""

from memstow.planner.model.errors import MissingBackEndError
from memstow.solvers import registry as native
from memstow.solvers.registry import BACK_ENDS
from memstow.solvers.solver import Solver


def find(name: str) -> Solver:
    """The solver of that name; KeyError when there is none, MissingBackEndError when it is not installed."""
    if name not in BACK_ENDS:
        return native.find(name)
    missing = how_to_get(name)
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


def how_to_get(name: str) -> str | None:
    """How to install what a back end needs; None if all of it is installed."""
    return BACK_ENDS[name].how_to_get()


def name_with_version(name: str) -> str:
    """The name of a back end with its library and version; any other name as it is."""
    return f"{name} ({BACK_ENDS[name].library()})" if name in BACK_ENDS else name


def is_installed(name: str) -> bool:
    """Whether everything that the solver needs is installed."""
    return name not in BACK_ENDS or how_to_get(name) is None


def is_classic(name: str) -> bool:
    """Whether the solver is a published planner, whose plans are not changed."""
    return native.is_classic(name)


def is_model(name: str) -> bool:
    """Whether the solver is a back end, which starts from a plan that another solver has found."""
    return name in BACK_ENDS
