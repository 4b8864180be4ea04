"""All solvers by name: the native ones, and the back ends with what they need, and whether they have it."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

from memstow.records import record
from memstow.solvers.solver import Solver

if TYPE_CHECKING:
    from memstow.solvers.lexicographic import Model
    from memstow.solvers.orders import OrderSolver


@record
class BackEnd:
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
        "everything but banks whose sums stay below 2^61",
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


def is_model(name: str) -> bool:
    """Whether the solver is a back end, which starts from a plan that another solver has found."""
    return name in BACK_ENDS


def is_installed(name: str) -> bool:
    """Whether everything that the solver needs is installed."""
    return name not in BACK_ENDS or BACK_ENDS[name].how_to_get() is None


def name_with_version(name: str) -> str:
    """The name of a back end with its library and version; any other name as it is."""
    return f"{name} ({BACK_ENDS[name].library()})" if name in BACK_ENDS else name


def model(name: str) -> "Model":
    """The back end of that name. Its library is imported by `warm` or `solve`."""
    back_end: Model = import_module(BACK_ENDS[name].home).make(name)
    return back_end


class Description(NamedTuple):
    """One line of the list of solvers."""

    name: str
    summary: str
    supports: str
    missing: str | None = None
    package: str | None = None
    """With its version, of a plug-in."""


# Published planners.
_CLASSICS = (
    "first-fit",
    "tflm",
    "cadence-position",
    "cadence-gap",
    "usmp-size",
    "usmp-conflicts",
    "storage-tokens",
    "xla-heap",
)
# The module and the class of each solver, so that only the one that is used is imported.
_HOMES = {
    "greedy": ("memstow.solvers.greedy", "Greedy"),
    "exact": ("memstow.solvers.one_pool", "Exact"),
    "improve": ("memstow.solvers.one_pool", "Improve"),
    "reuse": ("memstow.solvers.reuse", "Reuse"),
    "banks": ("memstow.solvers.banks", "Banks"),
}


AUTO: Final = "auto"
"""The name that lets all of them take turns."""
_OURS: Final = frozenset((AUTO, *_HOMES, *_CLASSICS, *BACK_ENDS))


def is_ours(name: str) -> bool:
    """Whether it is one of these, or `auto`: any other is of another package."""
    return name in _OURS


def names() -> Iterable[str]:
    """Every solver that can be asked for by name. Back ends are run by `planner.backends`."""
    return (*_HOMES, *_CLASSICS, *BACK_ENDS)


def native_solver(name: str) -> Solver:
    """The native solver of that name; KeyError when there is none."""
    if is_classic(name):
        from memstow.solvers.greedy import Classic

        return Classic(name)
    module, kind = _HOMES[name]
    solver: Solver = getattr(import_module(module), kind)()
    return solver


def is_classic(name: str) -> bool:
    """Whether it is a published planner, whose plans are not changed."""
    return name in _CLASSICS


def describe() -> list[Description]:
    """Every solver, for people."""
    natives = ((name, native_solver(name)) for name in (*_HOMES, *_CLASSICS))
    native = [Description(name, solver.summary, solver.supports) for name, solver in natives]
    back_ends = [
        Description(name, back_end.summary, back_end.supports, back_end.how_to_get())
        for name, back_end in BACK_ENDS.items()
    ]
    return native + back_ends


def order_solver(name: str) -> "OrderSolver":
    """The solver of orders of that name; KeyError when there is none. The model needs OR-tools."""
    if name == "cpsat":
        from memstow.solvers.orders_cpsat import CpSatOrder

        return CpSatOrder()
    # Runs of problems order nothing, and do not wait for this import.
    from memstow.solvers.orders import ORDER_SOLVERS

    return ORDER_SOLVERS[name]
