"""The interface of a back end: takes a task and a start, reports results at once, returns a verdict."""

from dataclasses import dataclass
from typing import Protocol

from memstow.solvers.instance import Layout
from memstow.solvers.solver import Task


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a solve. The process is killed a little later in any case."""

    seconds: float | None  # None: bounded by work alone
    work: int | None = None  # steps, as `Options.work_limit` counts them; only in deterministic runs
    gap: float = 0.0


class Report(Protocol):
    """Receives the results of a model."""

    def layout(self, layout: Layout) -> None:
        """A layout of the back end, not checked yet."""

    def bound(self, level: int, value: int, locks: tuple[int, ...]) -> None:
        """A bound under locks: no layout whose earlier terms are within the locks has less of this term."""

    def infeasible(self) -> None:
        """It is proven that nothing fits; an explanation may follow."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the solve ended. Layouts and bounds have been reported before."""

    infeasible: bool = False
    core: tuple[int, ...] = ()  # items that cannot be placed together; empty: not known
    failure: str | None = None  # why the back end gave up, for people
    work: int = 0


class Model(Protocol):
    """One back end."""

    name: str

    def declines(self, task: Task) -> str | None:
        """The reason why this back end cannot honour the task; None if it can. Imports nothing."""

    def warm(self) -> None:
        """Import the libraries that a solve needs."""

    def solve(self, task: Task, start: Layout | None, limits: Limits, report: Report) -> Verdict:
        """Solve within the limits, as far as the back end keeps to them."""
