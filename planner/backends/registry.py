"""Any solver by name: the native ones, and the back ends that run in processes of their own."""

from memstow.planner.model.errors import MissingBackEndError
from memstow.solvers import registry as native
from memstow.solvers.models.register import BACK_ENDS
from memstow.solvers.solver import Solver


def find(name: str) -> Solver:
    """The solver of that name; KeyError when there is none, MissingBackEndError when it is not installed."""
    if name not in BACK_ENDS:
        return native.find(name)
    missing = how_to_get(name)
    if missing is not None:
        raise MissingBackEndError(f"solver {name!r} needs {missing}")
    # Processes and their pipes are nothing that a run without them should wait for.
    from memstow.planner.backends.isolated_solver import IsolatedSolver

    return IsolatedSolver(name)


def prepare(name: str) -> None:
    """Let a back end that will be wanted start up while something else is done."""
    if name in BACK_ENDS:
        from memstow.planner.backends import warm_children

        warm_children.prepare(name)


def how_to_get(name: str) -> str | None:
    """What to do before a back end can be used; None: nothing."""
    return BACK_ENDS[name].how_to_get()


def name_with_version(name: str) -> str:
    """A back end with what it is made of; any other name as it is."""
    return f"{name} ({BACK_ENDS[name].library()})" if name in BACK_ENDS else name


def is_installed(name: str) -> bool:
    """Whether nothing is missing for the solver of that name."""
    return name not in BACK_ENDS or how_to_get(name) is None


def is_classic(name: str) -> bool:
    """Whether the solver is somebody else's planner, whose plans are to stay as that makes them."""
    return native.is_classic(name)


def is_model(name: str) -> bool:
    """Whether the solver runs in a process of its own, from a plan that another has found."""
    return name in BACK_ENDS
