"""What is asked of those who find the points of a front, what they tell, and what is kept of it.

`Facts` is what is proven about all plans at once: the least value of one term within a limit on the other.
`Known` puts plans beside these: which are on the front, which are proven, and where one may be missing.
`Collected` keeps points as they are found, and those of them that are on the front.
"""

import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Final

from memstow.planner.model.front import MOST_POINTS, CostUnit, Front, FrontPoint
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Listener, Options
from memstow.planner.model.plan import Explanation, Plan
from memstow.planner.model.problem import Problem, Target

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


@dataclass(frozen=True, slots=True)
class InTarget:
    """The front that is asked for, in the memories of one target, or in those of the document."""

    document: Problem | Graph
    request: FrontRequest
    name: str | None = None
    target: Target | None = None
    refusal: Explanation | None = None
    """Why the document cannot be in these memories, whatever the plan; then it is the one of the user."""
    alone: str | None = None
    """The only memory of several that the document is in: then it has no other pool."""


Points = Generator[FrontPoint, None, Ending]
"""Yields each point when it is found, and again with the same values when more is proven of it.

Points may be worse than others: `Collected` keeps those that are on the front. Every plan has been judged.
The generator returns its ending.
"""
OnPoint = Callable[[str | None, FrontPoint, Callable[[], Front]], None]
"""Told of each point: the target, if there are any, the point, and how to get all of the front so far."""


ANY: Final = 1 << 200
"""No limit; and as the least value: nothing fits."""


class Facts:
    """Statements of the form: every plan whose limited term is at most `limit` has at least `least`."""

    def __init__(self) -> None:
        # By limit, descending; a smaller limit is only kept where it has a larger least value.
        self._steps: list[tuple[int, int]] = []

    def learn(self, limit: int, least: int) -> None:
        """Note a proven statement."""
        if limit >= 0 and least > self.least(limit):
            kept = [step for step in self._steps if step[0] > limit or step[1] > least]
            self._steps = sorted([*kept, (limit, least)], reverse=True)

    def least(self, limit: int) -> int:
        """The proven least value within this limit."""
        return max((least for known, least in self._steps if known >= limit), default=0)

    def reach(self, value: int) -> int:
        """The largest limit within which every plan has at least this value; -1 where there is none."""
        if value <= 0:
            return ANY
        return max((limit for limit, least in self._steps if least >= value), default=-1)


@dataclass(frozen=True, slots=True)
class ValuedPlan:
    """A plan: the values of the limited term and of the other, and the plan as the solve made it."""

    limited: int
    improved: int
    plan: Plan

    @property
    def values(self) -> tuple[int, int]:
        """Both values."""
        return self.limited, self.improved


@dataclass(frozen=True, slots=True)
class Gap:
    """Limits at which something better is not ruled out, between two neighbours that are known."""

    low: int
    high: int
    area: int


class Known:
    """Plans of which none is as good as another in both terms, and facts.

    `most` tells the largest value of the second term that is asked for, given its least (None: any);
    `limited_first`: whether the limited term is the first; `room`: the largest value of the other that fits.
    """

    def __init__(self, most: Callable[[int], int | None], *, limited_first: bool, room: int = ANY) -> None:
        self._most = most
        self._limited_first = limited_first
        self._room = room
        self._plans: list[ValuedPlan] = []
        self.facts = Facts()

    def add(self, plan: ValuedPlan) -> None:
        """Keep it unless another is as good in both; drop what is no better than it."""
        if any(entry.limited <= plan.limited and entry.improved <= plan.improved for entry in self._plans):
            return
        kept = [
            entry for entry in self._plans if entry.limited < plan.limited or entry.improved < plan.improved
        ]
        self._plans = sorted([*kept, plan], key=lambda entry: entry.limited)

    def worth(self, limit: int) -> int:
        """The largest value of the other term with which a plan within this limit would be a new point."""
        known = (entry.improved for entry in self._plans if entry.limited <= limit)
        return min((value - 1 for value in known), default=self._room)

    def best_within(self, limit: int | None) -> Plan | None:
        """The plan with the least value of the other term among those known to keep the limit."""
        fitting = [entry for entry in self._plans if limit is None or entry.limited <= limit]
        return min(fitting, key=lambda entry: entry.improved).plan if fitting else None

    def listed(self) -> list[ValuedPlan]:
        """The points that are asked for."""
        x, y = self.most_limited(), self._most_improved()
        return [entry for entry in self._plans if entry.limited <= x and entry.improved <= y]

    def bounds(self, plan: ValuedPlan) -> tuple[int, int]:
        """What no plan has less of that has no more of the other: of the limited term, and of the other."""
        limited = self.facts.reach(plan.improved + 1) + 1
        return min(limited, plan.limited), min(self.facts.least(plan.limited), plan.improved)

    def proven(self, plan: ValuedPlan) -> bool:
        """Whether no plan is better in one term and as good in the other."""
        return self.bounds(plan) == (plan.limited, plan.improved)

    def gaps(self) -> list[Gap]:
        """Where something that is asked for may be missing."""
        most_x, most_y = self.most_limited(), self._most_improved()
        known = [entry for entry in self._plans if entry.limited <= most_x]
        if not known:
            return [] if self.infeasible else [Gap(0, ANY, 1)]
        gaps = [self._gap(0, known[0].limited - 1, min(most_y + 1, ANY), 1)]
        for one, other in pairwise(known):
            worth = min(one.improved, most_y + 1)
            gaps.append(self._gap(one.limited, other.limited - 1, worth, worth - other.improved))
        gaps.append(self._gap(known[-1].limited, most_x, known[-1].improved, 1))
        return [gap for gap in gaps if gap is not None]

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that nothing fits."""
        return self.facts.least(ANY) >= min(self._room + 1, ANY)

    @property
    def complete(self) -> bool:
        """Whether everything that is asked for is known, and proven."""
        return self.infeasible or (bool(self._plans) and not self.gaps())

    def _most_improved(self) -> int:
        """The largest value of the other term that is asked for."""
        if not self._limited_first or not self._plans:
            return self._room
        most = self._most(self._plans[-1].improved)
        return self._room if most is None else most

    def most_limited(self) -> int:
        """The largest value of the limited term that is asked for."""
        if self._limited_first or not self._plans:
            return ANY
        most = self._most(self._plans[0].limited)
        return ANY if most is None else most

    def _gap(self, low: int, high: int, worth: int, height: int) -> Gap | None:
        """The limits from `low` to `high` at which less than `worth` is possible, for all that is proven."""
        if high < 0 or self.facts.least(high) >= worth:
            return None
        low = max(low, self.facts.reach(worth) + 1)
        width = 1 if high >= ANY else high - low + 1
        return Gap(low, high, width * max(height, 1))


class Collected:
    """The points of one front: of equal ones what is proven best, and none that is worse than another."""

    def __init__(self, request: FrontRequest) -> None:
        self._request = request
        self._points: dict[tuple[int, int], FrontPoint] = {}

    def add(self, points: Iterable[FrontPoint]) -> None:
        """Take points in; of those with the same values all that is proven of either is kept."""
        for point in points:
            values = self._values(point)
            if any(other != values and _no_worse(other, values) for other in self._points):
                continue
            self._points = {
                other: kept
                for other, kept in self._points.items()
                if other == values or not _no_worse(values, other)
            }
            self._points[values] = with_proofs(point, self._points.get(values))

    def holds(self, point: FrontPoint) -> bool:
        """Whether none that was taken in is better in one term and as good in the other."""
        return self._values(point) in self._points

    def points(self) -> tuple[FrontPoint, ...]:
        """Those that are asked for, by the first term, ascending."""
        if not self._points:
            return ()
        most = self._request.most(min(second for _, second in self._points))
        listed = [values for values in sorted(self._points) if most is None or values[1] <= most]
        return tuple(self._points[values] for values in listed[: self._request.points])

    def _values(self, point: FrontPoint) -> tuple[int, int]:
        first, second = self._request.terms
        return point.values[first], point.values[second]


def with_proofs(point: FrontPoint, earlier: FrontPoint | None) -> FrontPoint:
    """The point with what was proven before of a point with the same values."""
    if earlier is None or (earlier.bounds == point.bounds and earlier.proven == point.proven):
        return point
    bounds = {
        term: max(point.bounds.get(term, 0), earlier.bounds.get(term, 0))
        for term in point.values
        if term in point.bounds or term in earlier.bounds
    }
    return replace(point, bounds=bounds, proven=point.proven or earlier.proven or bounds == point.values)


def _no_worse(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[0] and one[1] <= other[1]
