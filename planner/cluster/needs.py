"""What a run needs on a worker: the libraries of its solver, or an external program."""

from dataclasses import dataclass
from typing import Final

from memstow.planner.solve.portfolio import AUTO
from memstow.solvers.models.register import BACK_ENDS

LIBRARIES: Final = tuple(sorted({module for back_end in BACK_ENDS.values() for module in back_end.needs}))
"""Modules that a worker may have."""
# The back ends that `auto` uses, the better one first.
_OF_AUTO: Final = ("cpsat", "highs")


@dataclass(frozen=True, slots=True)
class Needs:
    """What a worker must have; of several that have it, those are chosen that have the first of `better`."""

    libraries: frozenset[str] = frozenset()
    program: str | None = None
    better: tuple[frozenset[str], ...] = ()

    @property
    def things(self) -> frozenset[str]:
        """The libraries and the program."""
        return self.libraries if self.program is None else self.libraries | {self.program}

    def text(self) -> str:
        """What is needed, for a message."""
        return " and ".join(sorted(self.things))


def needs_of(solver: str, deterministic: bool) -> Needs:
    """The needs of a solver of memstow. Deterministic runs use no back end that is not named."""
    if solver in BACK_ENDS:
        return Needs(frozenset(BACK_ENDS[solver].needs))
    if solver == AUTO and not deterministic:
        return Needs(better=tuple(frozenset(BACK_ENDS[name].needs) for name in _OF_AUTO))
    return Needs()
