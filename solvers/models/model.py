"""What a back end is: it takes a task and a start, reports what it finds at once, and gives a verdict."""

from dataclasses import dataclass
from typing import Protocol

from memstow.solvers.instance import Layout
from memstow.solvers.solver import Task


@dataclass(frozen=True, slots=True)
class Limits:
    """When a model must be done. The process it runs in is killed a little later, whatever it does."""

    seconds: float | None  # None: bounded by work alone
    work: int | None = None  # steps, as `Options.work_limit` counts them; only in deterministic runs
    gap: float = 0.0


class Report(Protocol):
    """Who is told what a model finds."""

    def layout(self, layout: Layout) -> None:
        """A layout the back end believes in."""

    def bound(self, level: int, value: int, locks: tuple[int, ...]) -> None:
        """No layout whose terms before are within the locks has less of this term."""

    def infeasible(self) -> None:
        """It is proven that nothing fits; an explanation may follow."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the solve ended. Layouts and bounds went to the report before."""

    infeasible: bool = False
    core: tuple[int, ...] = ()  # items that cannot be placed together; empty: not known
    failure: str | None = None  # why the back end gave up, for people
    work: int = 0


class Model(Protocol):
    """One back end."""

    name: str

    def declines(self, task: Task) -> str | None:
        """What in the task this back end cannot honour; None: nothing. Cheap; imports nothing."""

    def warm(self) -> None:
        """Import what a solve will need."""

    def solve(self, task: Task, start: Layout | None, limits: Limits, report: Report) -> Verdict:
        """Solve within the limits, as far as the back end heeds them."""
