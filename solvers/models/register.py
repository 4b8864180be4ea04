"""The back ends by name: their module, what they need, and whether that is installed."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from memstow.solvers.models.model import Model


class BackEnd(NamedTuple):
    """A back end's description, available without importing it."""

    home: str
    summary: str
    supports: str
    needs: tuple[str, ...]  # modules
    extra: str  # of the package, which installs them
    library_name: str

    def library(self) -> str:
        """The name and version of its library."""
        # Imported late: it takes long, and most runs name no back end.
        from importlib.metadata import version

        return f"{self.library_name} {version(self.needs[-1])}"

    def how_to_get(self) -> str | None:
        """How to install what it needs; None if all of it is installed."""
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
    """The back end of that name. Its library is imported by `warm` or `solve`."""
    back_end: Model = import_module(BACK_ENDS[name].home).make(name)
    return back_end
