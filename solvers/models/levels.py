"""Solves a lexicographic objective term by term: each term is locked at its value before the next.

Locks are values of layouts that were checked, never values that a back end reports. The gap applies to each
term in its turn: the next one is minimised among layouts that are no worse in the terms before.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from memstow.solvers.instance import Layout
from memstow.solvers.models.layout_check import Examiner
from memstow.solvers.models.model import Limits, Report, Verdict
from memstow.solvers.solver import Task

# The share of the time left for a term that is not the last.
_SHARE = 0.8


class LevelEnd(Enum):
    """How one level ended."""

    DONE = auto()  # optimal or out of budget, as the bound shows
    INFEASIBLE = auto()


@dataclass(frozen=True, slots=True)
class Level:
    """One solve: the term (None: any layout), and the values that the terms before may not exceed."""

    term: int | None
    locks: tuple[int, ...]
    start: Layout | None
    start_values: tuple[int, ...] | None
    seconds: float | None
    work: int | None
    gap: float


@dataclass(frozen=True, slots=True)
class Answer:
    """How a level ended, with the bound that the back end has proven for its term."""

    ended: LevelEnd
    bound: int | None = None
    work: int = 0
    failure: str | None = None


class Solves(Protocol):
    """A back end with its model built."""

    def solve(self, level: Level, best: "Best") -> Answer:
        """Minimise one term; offer every layout found to `best`."""


Make = Callable[[tuple[int, ...] | None], Solves]
"""Builds the model, given the values of a known layout."""


def near(value: int, bound: int, gap: float) -> bool:
    """Whether the value is within the gap of the bound."""
    return value <= bound or (value - bound) / value <= gap


class Best:
    """The best layout so far. Every candidate is checked; a better one is reported."""

    def __init__(self, examiner: Examiner, report: Report) -> None:
        self._examiner = examiner
        self._report = report
        self.layout: Layout | None = None
        self.values: tuple[int, ...] | None = None
        self._known_bounds: dict[int, int] = {}
        self._lower: dict[int, int] = {}
        self.locks: tuple[int, ...] = ()

    def offer(self, layout: Layout, *, silently: bool = False) -> bool:
        """Whether the layout is valid; it is kept if it is the best."""
        values = self._examiner.values(layout)
        if values is None:
            return False
        if self.values is None or values < self.values:
            self.layout, self.values = layout, values
            if not silently:
                self._report.layout(layout)
        return True

    def bound(self, level: int, value: int) -> None:
        """A bound of the back end; ignored if a checked layout is below it."""
        if self.values is not None and value > self.values[level]:
            return
        if value > self._lower.get(level, 0):
            self._lower[level] = value
            self._report.bound(level, value, self.locks)

    def set_known_bound(self, level: int, value: int) -> None:
        """Set the bound known before the solve."""
        self._known_bounds[level] = self._lower[level] = value

    def unlock(self, level: int) -> None:
        """Forget bounds proven under locks that have changed."""
        self._lower[level] = self._known_bounds.get(level, 0)

    def lower(self, level: int) -> int:
        """The best bound on a level."""
        return self._lower.get(level, 0)


def lexicographic(
    task: Task,
    examiner: Examiner,
    start: Layout | None,
    limits: Limits,
    report: Report,
    make: Make,
) -> Verdict:
    """Solve level after level while the budget lasts."""
    best = Best(examiner, report)
    for term, bound in enumerate(task.lower_bounds):
        best.set_known_bound(term, bound)
    if start is not None:
        best.offer(start, silently=True)
    if not task.instance.item_count:
        best.offer(Layout())
        for term, value in enumerate(best.values or ()):
            best.bound(term, value)
        return Verdict()
    return _Climb(best, limits, make).run(len(task.terms))


class _Climb:
    """One pass through the levels."""

    def __init__(self, best: Best, limits: Limits, make: Make) -> None:
        self._begin = time.monotonic()
        self._best = best
        self._limits = limits
        self._make = make
        self._solver = make(best.values)
        self._work = 0

    def run(self, terms: int) -> Verdict:
        """Solve until all levels are done, the budget is spent, or no layout is known."""
        term = 0
        while term < terms:
            verdict = self._level(term, 1.0 if term == terms - 1 else _SHARE)
            if verdict is not None:
                return verdict
            if self._best.values is None:
                break
            term = self._next(term)
        if not terms and self._best.values is None:
            verdict = self._level(None, 1.0)
            if verdict is not None:
                return verdict
        return Verdict(work=self._work)

    def _next(self, term: int) -> int:
        """The next level; or the one after a term that is now below its lock.

        Then the locks of later terms are no longer valid, and a new model is built, since constraints are
        never removed from one.
        """
        values, locks = self._best.values or (), self._best.locks
        better = next((at for at, lock in enumerate(locks) if values[at] < lock), None)
        if better is None:
            return term + 1
        if better + 1 < len(locks):
            self._solver = self._make(values)
        for level in range(better + 1, term + 1):
            self._best.unlock(level)
        return better + 1

    def _level(self, term: int | None, share: float) -> Verdict | None:
        """Solve one level; a verdict if it is the last."""
        best = self._best
        values = best.values
        best.locks = () if values is None else values[: term or 0]
        if term is not None and values is not None and near(values[term], best.lower(term), self._limits.gap):
            return None
        seconds, steps = self._seconds(share), self._steps(share)
        if (seconds is not None and seconds <= 0) or (steps is not None and steps <= 0):
            return Verdict(work=self._work)
        answer = self._solver.solve(
            Level(term, best.locks, best.layout, best.values, seconds, steps, self._limits.gap), best
        )
        self._work += answer.work
        if answer.failure is not None:
            return Verdict(failure=answer.failure, work=self._work)
        if answer.ended is LevelEnd.INFEASIBLE:
            if best.values is None:
                return Verdict(infeasible=True, work=self._work)
            return Verdict(failure="the back end contradicts a layout that was checked", work=self._work)
        if term is not None and answer.bound is not None:
            best.bound(term, answer.bound)
        return None

    def _seconds(self, share: float) -> float | None:
        if self._limits.seconds is None:
            return None
        return (self._limits.seconds - (time.monotonic() - self._begin)) * share

    def _steps(self, share: float) -> int | None:
        return None if self._limits.work is None else int((self._limits.work - self._work) * share)
