"""All solvers by name: the native ones, and the back ends that `solvers.models.register` lists."""

from collections.abc import Iterable
from importlib import import_module
from typing import NamedTuple

from memstow.solvers.models.register import BACK_ENDS
from memstow.solvers.solver import Solver


class Description(NamedTuple):
    """One line of the list of solvers."""

    name: str
    summary: str
    supports: str
    missing: str | None = None


# The module of each solver, so that only the one that is used is imported.
_HOMES = {
    "greedy": "memstow.solvers.greedy",
    "exact": "memstow.solvers.one_pool",
    "improve": "memstow.solvers.one_pool",
    "reuse": "memstow.solvers.reuse",
    "first-fit": "memstow.solvers.classics",
    "tflm": "memstow.solvers.classics",
    "cadence-position": "memstow.solvers.classics",
    "cadence-gap": "memstow.solvers.classics",
    "usmp-size": "memstow.solvers.classics",
    "usmp-conflicts": "memstow.solvers.classics",
    "storage-tokens": "memstow.solvers.classics",
    "xla-heap": "memstow.solvers.classics",
}


def names() -> Iterable[str]:
    """Every solver that can be asked for by name. Back ends are run by `planner.backends`."""
    return (*_HOMES, *BACK_ENDS)


def find(name: str) -> Solver:
    """The native solver of that name; KeyError when there is none."""
    home = import_module(_HOMES[name])
    solver: Solver = home.make(name)
    return solver


def is_classic(name: str) -> bool:
    """Whether it is a published planner."""
    return _HOMES.get(name) == "memstow.solvers.classics"


def describe() -> list[Description]:
    """Every solver, for people."""
    native = [Description(name, find(name).summary, find(name).supports) for name in _HOMES]
    back_ends = [
        Description(name, back_end.summary, back_end.supports, back_end.how_to_get())
        for name, back_end in BACK_ENDS.items()
    ]
    return native + back_ends
