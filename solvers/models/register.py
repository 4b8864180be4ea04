"""The back ends by name: where each is made, what it needs, and whether that is installed."""

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.solvers.models.model import Model


@dataclass(frozen=True, slots=True)
class BackEnd:
    """What is known of a back end without importing it."""

    home: str
    summary: str
    supports: str
    needs: tuple[str, ...]  # modules
    extra: str  # of the package, that brings them
    made_of: str  # its solver, as it calls itself

    def library(self) -> str:
        """The solver and its version."""
        return f"{self.made_of} {version(self.needs[-1])}"

    def how_to_get(self) -> str | None:
        """What to do before it can be used; None: nothing."""
        missing = [module for module in self.needs if find_spec(module) is None]
        if not missing:
            return None
        return f"{' and '.join(missing)}; install with: pip install 'memstow[{self.extra}]'"


BACK_ENDS: Final = {
    "cpsat": BackEnd(
        "memstow.solvers.cpsat",
        "constraint model on OR-tools CP-SAT: boxes in time and memory, proofs, explanations",
        "everything whose sums stay below 2^61",
        ("ortools",),
        "cpsat",
        "OR-tools",
    ),
    "assign": BackEnd(
        "memstow.solvers.assign",
        "several pools: a CP-SAT master chooses pools, the native search packs each, cuts go between",
        "everything whose sums stay below 2^61",
        ("ortools",),
        "cpsat",
        "OR-tools",
    ),
    "cbc": BackEnd(
        "memstow.solvers.milp",
        "integer program of the largest end offset on PuLP, solved by CBC",
        "everything, with heights and costs up to 2^26 units",
        ("pulp",),
        "milp",
        "CBC of PuLP",
    ),
    "highs": BackEnd(
        "memstow.solvers.milp",
        "integer program of the largest end offset on PuLP, solved by HiGHS",
        "everything, with heights and costs up to 2^26 units",
        ("pulp", "highspy"),
        "milp",
        "HiGHS",
    ),
}


def model(name: str) -> "Model":
    """The back end of that name. What it needs is imported when it solves."""
    made: Model = import_module(BACK_ENDS[name].home).make(name)
    return made
