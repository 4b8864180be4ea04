"""The back ends by name: where each is made, what it needs, and whether that is installed."""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from solvers.models.model import Model


@dataclass(frozen=True, slots=True)
class BackEnd:
    """What is known of a back end without importing it."""

    home: str
    summary: str
    needs: tuple[str, ...]  # modules
    extra: str  # of the package, that brings them

    def missing(self) -> tuple[str, ...]:
        """The modules that are not installed."""
        return tuple(module for module in self.needs if find_spec(module) is None)


BACK_ENDS: Final = {
    "cpsat": BackEnd(
        "solvers.cpsat",
        "constraint model on OR-tools CP-SAT: packing in time and memory, proofs; in a process of its own",
        ("ortools",),
        "cpsat",
    ),
    "cbc": BackEnd(
        "solvers.milp",
        "integer program of the largest end offset, on PuLP with CBC; in a process of its own",
        ("pulp",),
        "milp",
    ),
    "highs": BackEnd(
        "solvers.milp",
        "integer program of the largest end offset, on PuLP with HiGHS; in a process of its own",
        ("pulp", "highspy"),
        "milp",
    ),
}


def model(name: str) -> Model:
    """The back end of that name. What it needs is imported when it solves."""
    made: Model = import_module(BACK_ENDS[name].home).make(name)
    return made
