"""Searches on the arrays of a program whose operators may run again, or whose items may wait elsewhere.

`Archive` keeps runs that no other beats in both bytes and cost. `Moments` is a lower bound of the peak for
each cost, the least that the first run of some operator takes: each line says that byte price x peak + cost
price x cost is at least so much in every schedule, so lines are found once and hold for all costs
(docs/recompute.md proves them). Tiny programs are searched exactly in C++ (`cheapest_path`). `Search` is for
large programs: rehearsals in less and less memory, with tastes and weights.
"""

import math
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, Generic, Protocol, TypeVar

from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import RecomputeArrays, Turns


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A run of the program: operators by place in the order, copies by item, after and before runs."""

    bytes: int
    cost: int
    runs: Sequence[int]
    copies: Sequence[tuple[int, int, int]]


class Costed(Protocol):
    """A way to run a graph, as far as fronts compare ways."""

    @property
    def bytes(self) -> int:
        """What is live at its fullest moment."""

    @property
    def cost(self) -> int:
        """What its operators cost."""


T = TypeVar("T", bound=Costed)


class Archive(Generic[T]):
    """The front of what was offered: those that no other is as good as in both bytes and cost.

    Of equal ones the first stays.
    """

    def __init__(self, offered: Iterable[T] = ()) -> None:
        self.items: list[T] = []
        """By ascending bytes and descending cost."""
        for one in offered:
            self.offer(one)

    def beats(self, size: int, cost: int) -> bool:
        """Whether one that is here is as good in both."""
        least = self.least_cost(size)
        return least is not None and least <= cost

    def offer(self, one: T) -> bool:
        """Take it in, unless it is beaten; those that it beats go."""
        if self.beats(one.bytes, one.cost):
            return False
        begin = bisect_left(self.items, one.bytes, key=lambda item: item.bytes)
        end = begin
        while end < len(self.items) and self.items[end].cost >= one.cost:
            end += 1
        self.items[begin:end] = [one]
        return True

    def forget(self, one: T) -> None:
        """Take it out."""
        self.items.remove(one)

    def least_bytes(self, cost: int) -> int | None:
        """The least bytes of those that cost no more."""
        return next((item.bytes for item in self.items if item.cost <= cost), None)

    def least_cost(self, size: int) -> int | None:
        """The least cost of those that need no more bytes."""
        at = bisect_right(self.items, size, key=lambda item: item.bytes)
        return self.items[at - 1].cost if at else None


_BYTE_PRICE: Final = 1 << 10
_MOST: Final = 1 << 60
_HALVINGS: Final = 14


class Moments:
    """Bounds of one program; `free`: of all orders of first runs, else of the one given."""

    def __init__(
        self, arrays: RecomputeArrays, successors: "Sequence[Sequence[int]] | None", budget: Budget
    ) -> None:
        self.arrays = arrays
        self.budget = budget
        self.free = successors is not None
        count = len(arrays.cost)
        self._after: Sequence[Sequence[int]] = successors or []
        self._before: list[list[int]] = [[] for _ in range(count)] if self.free else []
        for op, them in enumerate(self._after):
            for other in them:
                self._before[other].append(op)
        self._own = [self._own_bytes(op) for op in range(count)]
        # Whatever the cost.
        self.least = max([arrays.start, *self._own])
        self._lines: dict[tuple[int, int, int], Sequence[int]] = {}
        total = sum(arrays.size) + 1
        cost = sum(arrays.cost) + 2 * total
        self._byte_price = _BYTE_PRICE if total * _BYTE_PRICE < _MOST else 1
        self._most_cost_price = _MOST // max(cost, 1)
        self._can_cut = total * self._byte_price < _MOST

    def bound(self, cost: int) -> int:
        """No schedule whose runs again and copies cost at most this has a lower peak."""
        best = self.least
        for byte_price, cost_price, total in self._lines:
            best = max(best, -((cost_price * cost - total) // byte_price))
        return best

    def held(self, cost: int) -> Sequence[int]:
        """The items that are held where the bound of this cost comes from."""
        best = max(self._lines, key=lambda line: (line[2] - line[1] * cost) / line[0], default=None)
        return () if best is None else self._lines[best]

    def tighten(self, op: int, cost: int) -> None:
        """Look for the best lines of the operator for this cost."""
        if not self._can_cut:
            return
        around = self._around(op)
        low, high = 0, self._most_cost_price
        best: tuple[int, int, int] | None = None
        for _ in range(_HALVINGS):
            # Prices go over many orders of magnitude: the exponent is halved first.
            middle = (low + high) // 2 if high < 4 * low else _between(low, high)
            moment = self.arrays.native.cheapest(op, *around, self._byte_price, middle, self.budget)
            line = self._byte_price, middle, moment.price + self._byte_price * self._own[op]
            if best is None or line[2] - middle * cost > best[2] - best[1] * cost:
                best = line
                self._lines[line] = moment.kept
            if moment.cost == cost or high - low <= 1 or self.budget.spent:
                break
            low, high = (middle, high) if moment.cost > cost else (low, middle)

    def _own_bytes(self, op: int) -> int:
        """What the first run of the operator takes whatever else is held."""
        arrays = self.arrays
        size = arrays.size
        saved: dict[int, int] = {}
        for source, target in arrays.pairs[op]:
            saved[source] = max(saved.get(source, 0), min(size[source], size[target]))
        fixed = arrays.base if self.free else arrays.fixed[op]
        inputs = sum(size[item] - saved.get(item, 0) for item in arrays.inputs_of(op))
        return fixed + arrays.extra[op] + inputs + sum(size[item] for item in arrays.outputs_of(op))

    def _around(self, op: int) -> tuple[list[bool], list[bool]]:
        """Who has run before the operator, and who runs later, whatever the order."""
        count = len(self.arrays.cost)
        if not self.free:
            return [number < op for number in range(count)], [number > op for number in range(count)]
        return _reached(op, self._before, count), _reached(op, self._after, count)


def _between(low: int, high: int) -> int:
    return 1 << ((max(low, 1).bit_length() + high.bit_length()) // 2) if high > 1 else high


def _reached(op: int, edges: Sequence[Sequence[int]], count: int) -> list[bool]:
    reached = [False] * count
    stack = [op]
    while stack:
        for other in edges[stack.pop()]:
            if not reached[other]:
                reached[other] = True
                stack.append(other)
    return reached


MOST_ITEMS: Final = 18
MOST_OPERATORS: Final = 18


def is_tiny(arrays: RecomputeArrays) -> bool:
    """Whether the exact search is worth a try."""
    return len(arrays.size) <= MOST_ITEMS and len(arrays.cost) <= MOST_OPERATORS


def turns_in_order(count: int, ends: Sequence[int]) -> Turns:
    """First runs as they are listed."""
    return Turns([(1 << op) - 1 for op in range(count)], ends, free=False)


def turns_in_any_order(successors: Sequence[Sequence[int]], ends: Sequence[int]) -> Turns:
    """First runs in all orders in which nobody runs before who must be first."""
    needs = [0] * len(successors)
    for op, them in enumerate(successors):
        for other in them:
            needs[other] |= 1 << op
    return Turns(needs, ends, free=True)


def flagged(flags: Iterable[int]) -> int:
    """The indices of those that are set, in bits."""
    return sum(1 << index for index, flag in enumerate(flags) if flag)


_LEVELS: Final = 16
_TASTES: Final = ((0.0, 1.0), (0.0, 0.3), (0.5, 1.0), (0.5, 0.3), (1.0, 0.3), (1.0, 1.0))
_SHARES: Final = (0.8, 1.0)
_FACTORS: Final = (3.0, 20.0)
_TRIES: Final = 12
"""Changed weights that are tried for a limit before the next has its turn."""
_MOST_COST: Final = (1 << 62) - 1
"""What costs more is not counted to the last."""
_PATIENT_TURNS: Final = 30
"""Turns of all limits in a row that may find nothing."""


class Effort:
    """When the search must stop: by the clock, by work, or when told."""

    def __init__(self, seconds: float | None, work: int | None, cancel: threading.Event | None) -> None:
        self.budget = Budget(-1.0 if seconds is None else seconds, -1 if work is None else work)
        self._cancel = cancel

    def spent(self) -> bool:
        """Whether nothing is left."""
        if self._cancel is not None and self._cancel.is_set():
            self.budget.cancel()
        return self.budget.spent


@dataclass
class Level:
    """The best run below one limit so far, and how to have it again."""

    limit: int
    excess: int
    cost: int
    weights: list[float] = field(repr=False)
    taste: tuple[float, float]
    again: list[int] = field(repr=False)
    """Items that are made more than once in it."""

    def rank(self) -> tuple[int, int]:
        """Less is better: first stay below the limit."""
        return self.excess, self.cost


class Search:
    """Fills an archive."""

    def __init__(
        self, arrays: RecomputeArrays, archive: Archive[ProgramRun], effort: Effort, most: int | None
    ) -> None:
        self.arrays = arrays
        self.archive = archive
        self.effort = effort
        self.most = _MOST_COST if most is None else min(most, _MOST_COST)
        # Only `random()` keeps its sequence in all versions of Python. Nothing here is a secret.
        self.random = Random(1).random  # noqa: S311
        self.plain = [1.0] * len(arrays.size)
        self.levels: list[Level] = []

    def rounds(self, top: int, held: Callable[[int], Sequence[int]]) -> Iterator[None]:
        """Search; pauses where there may be new points to tell.

        `top` is the peak where each operator runs once. `held` gives the items that are best held at the
        tightest moment, for a cost.
        """
        if not self.arrays.size:
            return
        for limit in self._limits(top):
            if self.effort.spent():
                return
            self.levels.append(self._first(limit))
            yield
        self.guide(held)
        yield
        idle = 0
        while idle < _PATIENT_TURNS and not self.effort.spent():
            better = False
            for level in self.levels:
                for _ in range(_TRIES):
                    if self.effort.spent():
                        return
                    better = self._improve(level) or better
            idle = 0 if better else idle + 1
            yield

    def _limits(self, top: int) -> Iterator[int]:
        """Limits from high to low, down to where the cost is too much or the peak falls no more."""
        bottom = self._bottom(top)
        for k in range(_LEVELS):
            yield top - (top - bottom) * (k + 1) // _LEVELS

    def _bottom(self, top: int) -> int:
        """About the least limit that can be kept within the cost."""
        low, high = self.arrays.start, top
        while high - low > max(top // 256, 1) and not self.effort.spent():
            middle = (low + high) // 2
            excess, cost = self._first(middle).rank()
            if excess or cost > self.most:
                low = middle
            else:
                high = middle
        return high

    def _first(self, limit: int) -> Level:
        levels = [self._try(limit, self.plain, taste) for taste in _TASTES]
        return min(levels, key=Level.rank)

    def guide(self, held: Callable[[int], Sequence[int]]) -> None:
        """Try to hold what the bound of a cost holds at its tightest moment."""
        for level in self.levels:
            for share in _SHARES:
                kept = held(int(level.cost * share)) if level.cost else ()
                for factor in _FACTORS if kept else ():
                    if self.effort.spent():
                        return
                    weights = list(self.plain)
                    for item in kept:
                        weights[item] = factor
                    self._take(
                        level, self._try(level.limit, weights, _TASTES[int(self.random() * len(_TASTES))])
                    )

    def _improve(self, level: Level) -> bool:
        """Try other weights of some items."""
        weights = list(level.weights)
        for _ in range(1 + int(self.random() ** 2 * 8)):
            some = level.again if level.again and self.random() < 0.5 else range(len(weights))
            item = some[int(self.random() * len(some))]
            weights[item] *= math.exp((self.random() - 0.5) * 6)
        return self._take(level, self._try(level.limit, weights, level.taste))

    def _take(self, level: Level, candidate: Level) -> bool:
        """Keep what was found where it is as good; whether it is better."""
        better = candidate.rank() < level.rank()
        if candidate.rank() <= level.rank():
            level.excess, level.cost, level.weights = candidate.excess, candidate.cost, candidate.weights
            level.taste, level.again = candidate.taste, candidate.again
        return better

    def _try(self, limit: int, weights: list[float], taste: tuple[float, float]) -> Level:
        run = self.arrays.native.rehearse(limit, weights, *taste, True, self.effort.budget)
        if not run.runs:
            return Level(limit, limit, 0, weights, taste, [])
        if run.cost <= self.most and not self.archive.beats(run.peak, run.cost):
            self.archive.offer(ProgramRun(run.peak, run.cost, run.runs, run.copies))
        counts = Counter(run.runs)
        again = [i for op, count in counts.items() if count > 1 for i in self.arrays.outputs_of(op)]
        return Level(limit, max(run.peak - limit, 0), run.cost, weights, taste, again)
