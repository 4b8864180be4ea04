"""What is asked of those who find the points of a front, and what they tell."""

import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from memstow.planner.model.front import MOST_POINTS, CostUnit, FrontPoint
from memstow.planner.model.options import Listener, Options
from memstow.planner.model.plan import Explanation

DEFAULT_GENERATORS: Final = frozenset(("stripes",))
GRAPH_TERMS: Final = ("peak", "cost")


@dataclass(frozen=True, slots=True)
class FrontRequest:
    """One front of one document. Its options hold for all points together: one time limit, one work limit."""

    terms: tuple[str, str] = GRAPH_TERMS
    options: Options = field(default_factory=Options)
    generators: frozenset[str] = DEFAULT_GENERATORS
    cost_unit: CostUnit = "given"
    within: float | None = None
    points: int = MOST_POINTS
    start: tuple[FrontPoint, ...] = ()
    """Points that an earlier run of ours has found and proven as they say."""

    def most(self, least: int) -> int | None:
        """The largest value of the second term that is asked for, where this is its least; None: any."""
        # As the number is written: 1.1 times 10 is 11.
        return None if self.within is None else int(Fraction(str(self.within)) * least)


@dataclass(frozen=True, slots=True)
class FrontCallbacks:
    """Whom a run tells, and who may stop it: what is found until then is yielded, and the run ends."""

    on_event: Listener | None = None
    cancel: threading.Event | None = None

    @property
    def cancelled(self) -> bool:
        """Whether to end."""
        return self.cancel is not None and self.cancel.is_set()


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known when a run has ended."""

    complete: bool = False
    """Every point within what was asked for was yielded, and was proven when it was yielded last."""
    explanation: Explanation | None = None
    """Why nothing fits, where that is proven."""
    infeasible: bool = False
    """Whether it is proven that nothing fits."""
    work: int = 0


Points = Generator[FrontPoint, None, Ending]
"""Yields each point when it is found, and again with the same values when more is proven of it.

Points may be worse than others: `planner.front.collected` keeps those that are on the front. Every plan has
been judged. The generator returns its ending.
"""
OnPoint = Callable[[FrontPoint], None]
