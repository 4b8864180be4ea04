"""A lexicographic objective as one solve a term: each term is locked at its best before the next is asked for.

The locks are integers taken from layouts that were checked, never what a back end says it reached.
"""

import time
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from solvers.instance import Layout
from solvers.models.exact import Examiner
from solvers.models.model import Limits, Report, Verdict
from solvers.solver import Task

# Of the time left, a term may take this share while others wait behind it.
_SHARE = 0.8


class Ended(Enum):
    """How one level ended."""

    DONE = auto()  # with the best there is, or out of budget: the bound tells
    INFEASIBLE = auto()


@dataclass(frozen=True, slots=True)
class Level:
    """What one level is asked: the term (None: any layout), the values the terms before it may not pass."""

    term: int | None
    locks: tuple[int, ...]
    start: Layout | None
    start_values: tuple[int, ...] | None
    seconds: float | None
    work: int | None
    gap: float


@dataclass(frozen=True, slots=True)
class Answer:
    """How a level ended, with the bound the back end proved on its term."""

    ended: Ended
    bound: int | None = None
    work: int = 0
    failure: str | None = None


class Solves(Protocol):
    """A back end with its model built."""

    def solve(self, level: Level, best: "Best") -> Answer:
        """Minimise one term, telling `best` every layout found."""


class Best:
    """The best layout so far: every candidate is checked here, and told on when it is better."""

    def __init__(self, examiner: Examiner, report: Report) -> None:
        self._examiner = examiner
        self._report = report
        self.layout: Layout | None = None
        self.values: tuple[int, ...] | None = None
        self._lower: dict[int, int] = {}
        self.locks: tuple[int, ...] = ()

    def offer(self, layout: Layout, *, silently: bool = False) -> bool:
        """Whether the layout is right; it is kept if it is the best."""
        values = self._examiner.values(layout)
        if values is None:
            return False
        if self.values is None or values < self.values:
            self.layout, self.values = layout, values
            if not silently:
                self._report.layout(layout)
        return True

    def bound(self, level: int, value: int) -> None:
        """A bound the back end has proven."""
        if value > self._lower.get(level, 0):
            self._lower[level] = value
            self._report.bound(level, value, self.locks)

    def know(self, level: int, value: int) -> None:
        """A bound that everyone has."""
        self._lower[level] = value

    def lower(self, level: int) -> int:
        """The best bound on a level."""
        return self._lower.get(level, 0)


def lexicographic(
    task: Task,
    examiner: Examiner,
    start: Layout | None,
    limits: Limits,
    report: Report,
    solver: Solves,
) -> Verdict:
    """Solve level after level while the budget lasts."""
    begin = time.monotonic()
    best = Best(examiner, report)
    if start is not None:
        best.offer(start, silently=True)
    for term, known in enumerate(task.lower_bounds):
        best.know(term, known)
    if not task.instance.item_count:
        best.offer(Layout())
        for term, value in enumerate(best.values or ()):
            best.bound(term, value)
        return Verdict()
    terms: list[int | None] = list(range(len(task.terms))) or [None]
    work = 0
    for at, term in enumerate(terms):
        last = at == len(terms) - 1
        seconds = None
        if limits.seconds is not None:
            seconds = (limits.seconds - (time.monotonic() - begin)) * (1.0 if last else _SHARE)
            if seconds <= 0:
                break
        left = None if limits.work is None else limits.work - work
        if left is not None:
            left = left if last else int(left * _SHARE)
            if left <= 0:
                break
        if best.values is not None:
            if term is None:
                break
            if best.values[term] <= best.lower(term):
                continue
        best.locks = tuple(best.values[: term or 0]) if best.values is not None else ()
        answer = solver.solve(
            Level(term, best.locks, best.layout, best.values, seconds, left, limits.gap), best
        )
        work += answer.work
        if answer.failure is not None:
            return Verdict(failure=answer.failure, work=work)
        if answer.ended is Ended.INFEASIBLE:
            if best.values is None:
                return Verdict(infeasible=True, work=work)
            return Verdict(failure="the back end contradicts a layout that was checked", work=work)
        if term is not None and answer.bound is not None:
            most = answer.bound if best.values is None else best.values[term]
            best.bound(term, min(answer.bound, most))
        if best.values is None:
            break
    return Verdict(work=work)
