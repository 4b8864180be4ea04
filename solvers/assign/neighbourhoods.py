"""Large neighbourhood search: what lives around a moment is chosen anew, all else stays as it is.

Where pools are full at all times, what the master proposes can either not be packed or is not near the best.
Some forty items are few enough for the constraint model, which chooses their pools and offsets together.
"""

import time
from array import array
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from ortools.sat.python import cp_model

from memstow.solvers import _native
from memstow.solvers.assign.packing import narrow, pin
from memstow.solvers.constraints import Relations, Span, restrict_to
from memstow.solvers.cpsat_model import Model, make_solver, run_solver, steps_of
from memstow.solvers.instance import Layout
from memstow.solvers.lexicographic import Best, Level
from memstow.solvers.solver import SUM_TERMS, Task, TermKind, sum_of

# Items that are chosen anew at first, and how many more where no moment has anything better with these.
_FIRST = 40
_GROWTH = 1.25
# With fewer items than this nothing can change, and with more models are no help.
_LEAST, _MOST = 4, 150
# The most seconds, steps and share of what is left for one neighbourhood.
_SECONDS = 2.0
_STEPS = 600_000_000
_SHARE = 0.5


class Neighbourhoods:
    """Which items are chosen anew, one set after the other: those that live nearest to a moment."""

    def __init__(self, relations: Relations, seed: int) -> None:
        instance = relations.instance
        starts = instance.item_parts
        self._moments = relations.moments
        self._random = Random(seed)  # noqa: S311
        self.spans: list[list[Span]] = [
            [span for part in range(starts[item], starts[item + 1]) for span in relations.lives[part]]
            for item in range(instance.item_count)
        ]
        self._size = _FIRST
        self._left = list[int]()
        self._better = False
        self._tried = self._hard = 0

    def next(self) -> list[int] | None:
        """The next items; none where more of them would not help."""
        if not self._left and not self._next_pass():
            return None
        moment = self._left.pop()
        # Of many that live at the moment, some.
        near = sorted(
            (
                min(max(begin - moment, moment + 1 - end, 0) for begin, end in spans),
                self._random.random(),
                item,
            )
            for item, spans in enumerate(self.spans)
            if spans
        )
        return sorted(item for _, _, item in near[: self._size])

    def learn(self, *, better: bool, decided: bool) -> None:
        """What came of the last one."""
        self._tried += 1
        self._better |= better
        self._hard += not decided

    def _next_pass(self) -> bool:
        """Choose the moments of the next pass."""
        count, hard = sum(map(bool, self.spans)), self._hard * 2 > self._tried
        if count < _LEAST:
            return False
        if self._tried and not self._better:
            if hard or self._size >= min(count, _MOST):
                return False
            self._size = min(int(self._size * _GROWTH), count)
        elif hard:
            self._size = max(int(self._size / _GROWTH), _LEAST)
        self._better = False
        self._tried = self._hard = 0
        # What is at the rim of one neighbourhood is in the middle of the next.
        lived = sum(end - begin for spans in self.spans for begin, end in spans)
        live, life = lived / self._moments, lived / count
        stride = min(max(int((self._size - live) * life / (2 * live)), 1), self._moments)
        self._left = list(range(self._random.randrange(stride), self._moments, stride))
        self._random.shuffle(self._left)
        return bool(self._left)


class LayoutSearch:
    """Improves a layout: what is in a neighbourhood is placed anew, all else stays where it is."""

    def __init__(self, task: Task, relations: Relations, level: Level, best: Best) -> None:
        self._task = replace(task, terms=task.terms[: (level.term or 0) + 1], workers=1)
        self._relations = relations
        self._locks = level.locks
        self._best = best
        self._seed = task.seed
        self._neighbourhoods = Neighbourhoods(relations, self._seed)
        self._known = best.values

    def run(self, budget: _native.Budget) -> None:
        """Go on until the budget is spent or nothing helps."""
        if self._best.values != self._known:
            self._seed += 1
            self._neighbourhoods = Neighbourhoods(self._relations, self._seed)
        while not budget.spent and self._best.layout is not None:
            free = self._neighbourhoods.next()
            if free is None:
                break
            self._improve(free, self._best.layout, budget)
        self._known = self._best.values

    def _improve(self, free: Sequence[int], layout: Layout, budget: _native.Budget) -> None:
        begin = time.monotonic()
        part, items = self._part(free, layout)
        model = Model(part, Relations(part.instance), None)
        here = Layout(*(array("q", [values[i] for i in items]) for values in (layout.pool, layout.offset)))
        model.ask(len(part.terms) - 1, self._locks_of(items, layout), here)
        solver = make_small_solver(part, budget, begin)
        status = run_solver(solver, model.cp)
        budget.count(max(steps_of(solver), 1))
        before = self._best.values
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            candidate = model.layout(solver.value)
            whole = Layout(layout.pool[:], layout.offset[:])
            for item, pool, offset in zip(items, candidate.pool, candidate.offset, strict=True):
                whole.pool[item], whole.offset[item] = pool, offset
            self._best.offer(whole)
        self._neighbourhoods.learn(better=self._best.values != before, decided=status == cp_model.OPTIMAL)

    def _part(self, free: Sequence[int], layout: Layout) -> tuple[Task, list[int]]:
        """The task of these items, with all others that they meet pinned."""
        instance, relations = self._task.instance, self._relations
        chosen = set(free)
        begin = min(begin for item in free for begin, _ in self._neighbourhoods.spans[item])
        end = max(end for item in free for _, end in self._neighbourhoods.spans[item])
        items = chosen | {
            item
            for item, spans in enumerate(self._neighbourhoods.spans)
            if any(first < end and begin < last for first, last in spans)
        }
        for a, b in relations.listed:
            pair = {relations.item_of[a], relations.item_of[b]}
            if pair & chosen:
                items |= pair
        order = sorted(items)
        pools = [-1 if item in chosen else layout.pool[item] for item in order]
        part = narrow(restrict_to(instance, order), pools)
        pin(part, (-1 if item in chosen else layout.offset[item] for item in order))
        return replace(self._task, instance=part), order

    def _locks_of(self, items: Sequence[int], layout: Layout) -> list[int]:
        """The locks of earlier terms, less what all other items add to them."""
        instance = self._task.instance
        others = set(range(instance.item_count)).difference(items)
        return [
            lock - sum_of(instance, term.kind, layout, others) if term.kind in SUM_TERMS else lock
            for lock, term in zip(self._locks, self._task.terms, strict=False)
        ]


def make_small_solver(task: Task, budget: _native.Budget, begin: float) -> cp_model.CpSolver:
    """A solver for one neighbourhood, in one thread: more are no faster."""
    seconds, work = budget.seconds_left, budget.work_left
    solver = make_solver(
        replace(task, workers=1),
        None if seconds is None else min(_SECONDS, seconds * _SHARE),
        None if work is None else min(_STEPS, int(work * _SHARE)),
        begin,
    )
    solver.parameters.linearization_level = 2
    return solver


def can_improve(task: Task, term: int | None) -> bool:
    """Whether the term is a sum over the items, and no earlier one is about pairs or the hint."""
    if term is None or task.terms[term].kind not in SUM_TERMS:
        return False
    kinds = {earlier.kind for earlier in task.terms[:term]}
    return not kinds & {TermKind.REUSE_COST, TermKind.MOVES}
