"""Solves a lexicographic objective term by term: each term is locked at its value before the next.

First the interface of a back end: it takes a task and a start, reports results at once, and returns a
verdict. Then the check of its layouts, in integers, without a model, a solver or the native core: every
layout of a back end is checked here. Locks are values of layouts that were checked, never values that a back
end reports. The gap applies to each term in its turn: the next one is minimised among layouts that are no
worse in the terms before.
"""

import time
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from memstow.solvers.constraints import Relations, bank_pairs
from memstow.solvers.instance import Layout
from memstow.solvers.solver import SUM_TERMS, Task, Term, TermKind, sum_of


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a solve. The process is killed a little later in any case."""

    seconds: float | None  # None: bounded by work alone
    work: int | None = None  # steps, as `Options.work_limit` counts them; only in deterministic runs
    gap: float = 0.0


class Report(Protocol):
    """Receives the results of a model."""

    def layout(self, layout: Layout) -> None:
        """A layout of the back end, not checked yet."""

    def bound(self, level: int, value: int, locks: tuple[int, ...]) -> None:
        """A bound under locks: no layout whose earlier terms are within the locks has less of this term."""

    def infeasible(self) -> None:
        """It is proven that nothing fits; an explanation may follow."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the solve ended. Layouts and bounds have been reported before."""

    infeasible: bool = False
    core: tuple[int, ...] = ()  # items that cannot be placed together; empty: not known
    failure: str | None = None  # why the back end gave up, for people
    work: int = 0


class Model(Protocol):
    """One back end."""

    name: str

    def declines(self, task: Task) -> str | None:
        """The reason why this back end cannot honour the task; None if it can. Imports nothing."""

    def warm(self) -> None:
        """Import the libraries that a solve needs."""

    def solve(self, task: Task, start: Layout | None, limits: Limits, report: Report) -> Verdict:
        """Solve within the limits, as far as the back end keeps to them."""


class Examiner:
    """Checks the layouts of a task and computes their values."""

    def __init__(self, task: Task, relations: Relations) -> None:
        self._task = task
        self._relations = relations
        self._reuse, self._fixed_reuse = relations.reuse()
        lives = relations.lives
        self._events = sorted((begin, end, part) for part, life in enumerate(lives) for begin, end in life)
        self._bank_pairs = bank_pairs(task.instance)
        self._banks = [task.instance.banks_of(pool) for pool in range(task.instance.pool_count)]
        self._exempt_or_listed = bool(relations.free or relations.shared)

    def values(self, layout: Layout) -> tuple[int, ...] | None:
        """The value of each term; None for a layout that breaks a constraint."""
        if not (self._has_places(layout) and self._keeps_apart(layout) and self._keeps_to_banks(layout)):
            return None
        return tuple(self._value(term, layout) for term in self._task.terms)

    def _has_places(self, layout: Layout) -> bool:
        """Whether every item is in an allowed pool, aligned, in range, and outside reserved ranges."""
        instance = self._task.instance
        if len(layout.pool) != instance.item_count or len(layout.offset) != instance.item_count:
            return False
        for item, (pool, offset) in enumerate(zip(layout.pool, layout.offset, strict=True)):
            for c in range(instance.choice_start[item], instance.choice_start[item + 1]):
                if instance.choice_pool[c] == pool:
                    break
            else:
                return False
            aligned = (offset - instance.choice_residue[c]) % instance.choice_modulus[c] == 0
            if offset < 0 or not aligned or not instance.choice_low[c] <= offset <= instance.choice_high[c]:
                return False
            windows = instance.windows(c)
            if windows is not None and not any(low <= offset <= high for low, high in windows):
                return False
            first, last = instance.reserved_start[pool], instance.reserved_start[pool + 1]
            for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
                begin = offset + instance.part_delta[part]
                end = begin + instance.part_size[part]
                if end > instance.capacity[pool]:
                    return False
                after = bisect_left(instance.reserved_end, begin + 1, first, last)
                if after < last and instance.reserved_begin[after] < end:
                    return False
        return True

    def _keeps_apart(self, layout: Layout) -> bool:
        """Whether conflicting parts share no byte: by a sweep over time, and one by one for listed pairs."""
        instance, relations = self._task.instance, self._relations
        for a, b in relations.listed:
            if not (not self._overlap(layout, a, b) or self._may_overlap(layout, a, b)):
                return False
        widest = max(instance.part_size, default=0)
        pools: list[list[tuple[int, int, int]]] = [[] for _ in range(instance.pool_count)]
        ending: list[tuple[int, int]] = []
        for now, end, part in self._events:
            while ending and ending[0][0] <= now:
                _, gone = ending.pop(0)
                place = self._range(layout, gone)
                living = pools[layout.pool[relations.item_of[gone]]]
                del living[bisect_left(living, (*place, gone))]
            begin, stop = self._range(layout, part)
            living = pools[layout.pool[relations.item_of[part]]]
            at = bisect_left(living, (stop,))
            while at > 0:
                at -= 1
                other_begin, other_end, other = living[at]
                if other_begin + widest <= begin:
                    break
                if other_end > begin and not self._may_overlap(layout, part, other):
                    return False
            insort(living, (begin, stop, part))
            insort(ending, (end, part))
        return True

    def _keeps_to_banks(self, layout: Layout) -> bool:
        """Whether no two parts touch one bank that may not."""
        pairs = (pair for pair in self._bank_pairs if pair.cost is None)
        return not any(self._share_bank(layout, pair.first, pair.second) for pair in pairs)

    def _share_bank(self, layout: Layout, a: int, b: int) -> bool:
        item_of = self._relations.item_of
        pool = layout.pool[item_of[a]]
        if layout.pool[item_of[b]] != pool:
            return False
        (begin, end), (low, high) = self._range(layout, a), self._range(layout, b)
        return any(
            begin < last and first < end and low < last and first < high for first, last in self._banks[pool]
        )

    def _may_overlap(self, layout: Layout, a: int, b: int) -> bool:
        relations = self._relations
        if relations.item_of[a] == relations.item_of[b]:
            return True
        pair = (a, b) if a < b else (b, a)
        if pair in relations.free:
            return True
        return pair in relations.shared and self._range(layout, a)[0] == self._range(layout, b)[0]

    def _overlap(self, layout: Layout, a: int, b: int) -> bool:
        item_of = self._relations.item_of
        if layout.pool[item_of[a]] != layout.pool[item_of[b]]:
            return False
        (begin, end), (low, high) = self._range(layout, a), self._range(layout, b)
        return begin < high and low < end

    def _range(self, layout: Layout, part: int) -> tuple[int, int]:
        begin = layout.offset[self._relations.item_of[part]] + self._task.instance.part_delta[part]
        return begin, begin + self._task.instance.part_size[part]

    def _value(self, term: Term, layout: Layout) -> int:
        instance = self._task.instance
        if term.kind is TermKind.REUSE_COST:
            return self._fixed_reuse + sum(
                pair.cost for pair in self._reuse if self._overlap(layout, pair.first, pair.second)
            )
        if term.kind is TermKind.BANK_COST:
            return sum(
                pair.cost
                for pair in self._bank_pairs
                if pair.cost and self._share_bank(layout, pair.first, pair.second)
            )
        if term.kind is TermKind.MOVES:
            here = zip(layout.pool, layout.offset, strict=True)
            places = dict(enumerate(here))
            stay = sum(k.count for k in self._task.hint_places if places[k.item] == (k.pool, k.offset))
            return self._task.hint_buffers - stay
        if term.kind in SUM_TERMS:
            return sum_of(instance, term.kind, layout, range(instance.item_count))
        peaks = [0] * instance.pool_count
        for part, item in enumerate(self._relations.item_of):
            pool = layout.pool[item]
            peaks[pool] = max(peaks[pool], self._range(layout, part)[1])
        if term.kind is TermKind.PEAK:
            return sum(peaks)
        return max(peaks, default=0) if term.kind is TermKind.MAX_PEAK else peaks[term.pool]


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
        seconds, steps = (
            self._seconds(share),
            None if self._limits.work is None else int((self._limits.work - self._work) * share),
        )
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
