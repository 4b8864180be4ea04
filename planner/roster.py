"""Every solver by name: the native ones, and the back ends that run in processes of their own."""

from collections.abc import Iterator

from planner.errors import MissingBackEndError
from planner.isolate.solver import Isolated
from solvers import solver as native
from solvers.models.register import BACK_ENDS
from solvers.solver import Description, Solver

_EVERYTHING = ("every constraint", "every term")


def names() -> tuple[str, ...]:
    """Every solver that can be asked for by name."""
    return (*native.names(), *BACK_ENDS)


def find(name: str) -> Solver:
    """The solver of that name; KeyError when there is none, MissingBackEndError when it is not installed."""
    if name not in BACK_ENDS:
        return native.find(name)
    missing = BACK_ENDS[name].missing()
    if missing:
        raise MissingBackEndError(
            f"solver {name!r} needs {' and '.join(missing)}; "
            f"install it with: pip install 'memstow[{BACK_ENDS[name].extra}]'"
        )
    return Isolated(name)


def is_model(name: str) -> bool:
    """Whether the solver runs in a process of its own, from a plan that another has found."""
    return name in BACK_ENDS


def describe() -> Iterator[Description]:
    """Every solver, whether it can be used here or not."""
    for name in native.names():
        yield Description(name, native.find(name).summary, ())
    for name, back_end in BACK_ENDS.items():
        yield Description(name, back_end.summary, _EVERYTHING, back_end.missing())
