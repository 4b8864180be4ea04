"""The search for good points of large programs: rehearsals in less and less memory, with tastes and weights.

A rehearsal (`solvers/native/recompute`) runs the program below a limit and drops what is cheapest to have
again for its bytes. Here the limits are chosen, and the weights of items that steer what is dropped.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from memstow.planner.graph.recompute.archive import Archive, Found
from memstow.planner.graph.recompute.needs import needs_of
from memstow.solvers.core import Budget
from memstow.solvers.recompute import RecomputeArrays

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

    def __init__(self, arrays: RecomputeArrays, archive: Archive, effort: Effort, most: int | None) -> None:
        self.arrays = arrays
        self.archive = archive
        self.effort = effort
        self.most = _MOST_COST if most is None else min(most, _MOST_COST)
        # Only `random()` keeps its sequence in all versions of Python. Nothing here is a secret.
        self.random = Random(1).random  # noqa: S311
        self.plain = [1.0] * len(arrays.size)
        self.levels: list[Level] = []

    def rounds(self, held: Callable[[int], Sequence[int]]) -> Iterator[None]:
        """Search; pauses where there may be new points to tell.

        `held` gives the items that are best held at the tightest moment, for a cost.
        """
        if not self.arrays.size:
            return
        for limit in self._limits():
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

    def _limits(self) -> Iterator[int]:
        """Limits from high to low, down to where the cost is too much or the peak falls no more."""
        top = max([self.arrays.start, *needs_of(self.arrays)])
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

    def _take(self, level: Level, found: Level) -> bool:
        """Keep what was found where it is as good; whether it is better."""
        better = found.rank() < level.rank()
        if found.rank() <= level.rank():
            level.excess, level.cost, level.weights = found.excess, found.cost, found.weights
            level.taste, level.again = found.taste, found.again
        return better

    def _try(self, limit: int, weights: list[float], taste: tuple[float, float]) -> Level:
        run = self.arrays.native.rehearse(limit, weights, *taste, True, self.effort.budget)
        if not run.runs:
            return Level(limit, limit, 0, weights, taste, [])
        if run.cost <= self.most and not self.archive.beats(run.peak, run.cost):
            self.archive.offer(Found(run.peak, run.cost, run.runs, run.copies))
        counts = Counter(run.runs)
        again = [i for op, count in counts.items() if count > 1 for i in self.arrays.outputs_of(op)]
        return Level(limit, max(run.peak - limit, 0), run.cost, weights, taste, again)
