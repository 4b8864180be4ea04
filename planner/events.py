"""What a run says while it runs."""

from collections.abc import Callable
from dataclasses import dataclass

from planner.plan import Plan


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of the run begins."""

    name: str
    seconds: float


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
