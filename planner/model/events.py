"""The events that a run sends while it goes on."""

from collections.abc import Callable

from memstow.planner.model.plan import Plan
from memstow.planner.model.records import record

_ENDED_EARLY = " ended early: "
_MISSING = " could do more; it needs "


@record
class Phase:
    """A phase of the run begins, or a solver ended its turn early."""

    name: str
    seconds: float

    @property
    def gives_up(self) -> bool:
        """Whether a solver gave up or is not installed; the name says why."""
        return _ENDED_EARLY in self.name or _MISSING in self.name


def solver_missing(solver: str, needs: str, seconds: float) -> Phase:
    """The event that a solver which is not installed could do more."""
    return Phase(f"{solver}{_MISSING}{needs}", seconds)


def solver_gave_up(solver: str, reason: str, seconds: float) -> Phase:
    """The event that a solver ended its turn early."""
    return Phase(f"{solver}{_ENDED_EARLY}{reason}", seconds)


@record
class Incumbent:
    """A better plan was found: the value of the first objective term, and who found it."""

    value: int
    solver: str
    seconds: float


@record
class Bound:
    """A better lower bound on the first objective term was proven."""

    value: int
    solver: str
    seconds: float


Event = Phase | Incumbent | Bound
Listener = Callable[[Event], None]

OnBetter = Callable[[Callable[[], Plan]], None]
"""Called for each better plan, with a function that makes and judges the plan: that takes time."""
