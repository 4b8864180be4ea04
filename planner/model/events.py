"""What a run says while it runs."""

from collections.abc import Callable
from dataclasses import dataclass

from memstow.planner.model.plan import Plan

_ENDED_EARLY = " ended early: "
_MISSING = " could do more; it needs "


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of the run begins, or a solver had to give up its turn."""

    name: str
    seconds: float

    @property
    def gives_up(self) -> bool:
        """Whether it says that a solver gave up or is not there, and why."""
        return _ENDED_EARLY in self.name or _MISSING in self.name


def solver_missing(solver: str, needs: str, seconds: float) -> Phase:
    """That a solver which is not installed could do more."""
    return Phase(f"{solver}{_MISSING}{needs}", seconds)


def solver_gave_up(solver: str, reason: str, seconds: float) -> Phase:
    """That a solver had to give up its turn."""
    return Phase(f"{solver}{_ENDED_EARLY}{reason}", seconds)


@dataclass(frozen=True, slots=True)
class Incumbent:
    """A better plan was found: the value of the first objective term, and who found it."""

    value: int
    solver: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Bound:
    """A better lower bound on the first objective term was proven."""

    value: int
    solver: str
    seconds: float


Event = Phase | Incumbent | Bound
Listener = Callable[[Event], None]

# Told of each better plan as the way to have it, judged: that takes its time, and not everyone wants each.
OnBetter = Callable[[Callable[[], Plan]], None]
