"""The integer program in PuLP, level by level; CBC and HiGHS differ only in how they are run.

Solutions come in floats, which give the order of the items. Items are placed in that order, each as low as
possible, so that a solution with small errors still becomes a layout.
"""

import time
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulp

from memstow.solvers.constraints import Choice, Pair, Relations, choices
from memstow.solvers.instance import Instance, Layout
from memstow.solvers.lexicographic import Answer, Best, Level, LevelEnd
from memstow.solvers.milp import can_prove, integer_bound
from memstow.solvers.milp.formulation import Expression, Formulation, Values
from memstow.solvers.solver import Task


class Rounding:
    """Turns solutions of a task into layouts, which may be invalid."""

    def __init__(
        self, instance: Instance, relations: Relations, choices: list[list[Choice]], pairs: list[Pair]
    ) -> None:
        self._instance = instance
        self._choices = choices
        self._met: list[list[tuple[int, int, bool]]] = [[] for _ in range(instance.item_count)]
        self._item_of = relations.item_of
        for pair in pairs:
            one, two = relations.item_of[pair.first], relations.item_of[pair.second]
            self._met[one].append((pair.first, pair.second, pair.shared))
            self._met[two].append((pair.second, pair.first, pair.shared))

    def plain(self, pools: list[int], offsets: list[float]) -> Layout:
        """Every offset rounded by itself."""
        return Layout(array("q", pools), array("q", map(round, offsets)))

    def press_down(self, pools: list[int], offsets: list[float]) -> Layout | None:
        """The items in the order of their offsets, each as low as those below it allow."""
        placed: dict[int, int] = {}
        deltas, sizes = self._instance.part_delta, self._instance.part_size
        for item in sorted(range(len(pools)), key=lambda i: (offsets[i], i)):
            low = 0
            for mine, theirs, shared in self._met[item]:
                other = self._item_of[theirs]
                if other not in placed or pools[other] != pools[item]:
                    continue
                begin = placed[other] + deltas[theirs]
                gap = offsets[item] + deltas[mine] - (offsets[other] + deltas[theirs])
                if shared and abs(gap) < 0.5:
                    low = max(low, begin - deltas[mine])
                elif gap > -0.5:
                    low = max(low, begin + sizes[theirs] - deltas[mine])
            offset = self._least(item, pools[item], low)
            if offset is None:
                return None
            placed[item] = offset
        return Layout(array("q", pools), array("q", [placed[item] for item in range(len(pools))]))

    def _least(self, item: int, pool: int, low: int) -> int | None:
        """The least offset allowed that is not below `low`."""
        for choice in self._choices[item]:
            if choice.pool == pool:
                step = -(-(low - choice.residue) // choice.modulus)
                for first, last in choice.steps:
                    if step <= last:
                        return choice.residue + choice.modulus * max(step, first)
        return None


@dataclass(frozen=True, slots=True)
class Run:
    """One solve of one level."""

    problem: Any  # pulp.LpProblem
    columns: Sequence[Any]  # pulp.LpVariable, in the order of the formulation
    start: Sequence[int] | None
    seconds: float | None
    work: int | None
    gap: float
    seed: int
    workers: int


class RunReport(ABC):
    """Receives the results of a run."""

    @abstractmethod
    def solution(self, values: Values) -> None:
        """Values of all columns."""

    @abstractmethod
    def bound(self, value: float) -> None:
        """A bound on the objective."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    infeasible: bool = False
    work: int = 0
    failure: str | None = None


class Program(ABC):
    """A task for one of the two solvers."""

    def __init__(self, task: Task, relations: Relations, start_values: tuple[int, ...] | None) -> None:
        self._task = task
        self._relations = relations
        self._first_value = start_values[0] if start_values else None
        self._formulation: Formulation | None = None
        self._can_prove = can_prove(task)

    @abstractmethod
    def run(self, run: Run, report: RunReport) -> RunResult:
        """Minimise the problem."""

    def solve(self, level: Level, best: Best) -> Answer:
        """Minimise one term."""
        begin = time.monotonic()
        if self._formulation is None:
            self._formulation = Formulation(self._task, self._relations, self._first_value)
            if self._formulation.possible:
                self._build(self._formulation)
        formulation = self._formulation
        if not formulation.possible:
            return Answer(LevelEnd.INFEASIBLE)
        term = None if level.term is None else formulation.terms[level.term]
        self._ask(term, level)
        bounded = level.term if self._can_prove else None
        report = _LayoutReport(self._rounding, formulation, best, bounded, term)
        seconds = None if level.seconds is None else level.seconds - (time.monotonic() - begin)
        start = None
        if level.start is not None and level.start_values is not None:
            start = [*formulation.linear.values(formulation.in_model_order(level.start)), 0]
        # The solver does not see the constant, without which gaps differ.
        hides = term is not None and any(factor < 0 for _, factor in term.entries)
        result = self.run(
            Run(
                self._problem,
                self._columns,
                start,
                seconds,
                level.work,
                (0.0 if hides else level.gap),
                self._task.seed % (1 << 31),
                self._task.workers,
            ),
            report,
        )
        if result.infeasible and not self._can_prove:
            return Answer(
                LevelEnd.DONE, None, result.work, "its numbers are too large to prove that nothing fits"
            )
        if result.infeasible:
            return Answer(LevelEnd.INFEASIBLE, work=result.work)
        return Answer(LevelEnd.DONE, None, result.work, result.failure)

    def _build(self, formulation: Formulation) -> None:
        linear = formulation.linear
        places = choices(self._task.instance, formulation.horizon)
        self._rounding = Rounding(self._task.instance, self._relations, places, formulation.pairs)
        self._problem = pulp.LpProblem("memstow", pulp.LpMinimize)
        # An integer with one possible value is continuous here: CBC refuses PuLP's way to write its range.
        self._columns = [
            pulp.LpVariable(f"x{i}", low, high, pulp.LpInteger if whole and low < high else pulp.LpContinuous)
            for i, (low, high, whole) in enumerate(zip(linear.low, linear.high, linear.integer, strict=True))
        ]
        # PuLP and CBC do not agree on an objective without columns, so there is one with value 0.
        self._columns.append(pulp.LpVariable(f"x{len(self._columns)}", 0, 0))
        self._problem.addVariables(self._columns)
        for row in linear.rows:
            self._add(row.entries, row.low, row.high)
        # CBC reads no column that is in no row.
        unused = set(range(len(self._columns))) - {c for row in linear.rows for c, _ in row.entries}
        for column in sorted(unused):
            self._add([(column, 1)], linear.low[column] if column < len(linear.low) else 0, None)
        self._locked: dict[int, int] = {}

    def _ask(self, term: Expression | None, level: Level) -> None:
        assert self._formulation is not None  # noqa: S101
        for at, value in enumerate(level.locks):
            if value < self._locked.get(at, value + 1):
                self._locked[at] = value
                locked = self._formulation.terms[at]
                self._add(locked.entries, None, (value - locked.constant) // locked.scale)
        entries = term.entries if term is not None and term.entries else [(len(self._columns) - 1, 1)]
        self._problem.setObjective(pulp.LpAffineExpression([(self._columns[c], f) for c, f in entries]))

    def _add(self, entries: Sequence[tuple[int, int]], low: int | None, high: int | None) -> None:
        if not entries:
            if (low is not None and low > 0) or (high is not None and high < 0):
                raise ArithmeticError("a row without columns that cannot hold")
            return
        expression = [(self._columns[column], factor) for column, factor in entries]
        if low is not None and low == high:
            self._row(expression, pulp.LpConstraintEQ, low)
            return
        if low is not None:
            self._row(expression, pulp.LpConstraintGE, low)
        if high is not None:
            self._row(expression, pulp.LpConstraintLE, high)

    def _row(self, expression: Any, sense: int, right: int) -> None:
        self._problem.addConstraint(
            pulp.LpConstraint(pulp.LpAffineExpression(expression), sense=sense, rhs=right)
        )


class _LayoutReport(RunReport):
    """Rounds the solutions of a run and offers them."""

    def __init__(
        self,
        rounding: Rounding,
        formulation: Formulation,
        best: Best,
        level: int | None,
        term: Expression | None,
    ) -> None:
        self._rounding = rounding
        self._formulation = formulation
        self._best = best
        self._level = level
        self._term = term

    def solution(self, values: Values) -> None:
        """Offer the rounded solution, as it is and pressed down."""
        pools, offsets = self._formulation.guess(values)
        tries: list[Layout | None] = [
            self._rounding.plain(pools, offsets),
            self._rounding.press_down(pools, offsets),
        ]
        for layout in tries:
            if layout is not None:
                self._best.offer(layout)

    def bound(self, value: float) -> None:
        """Report the integer bound that it proves."""
        least = integer_bound(value)
        if least is None or self._level is None or self._term is None:
            return
        self._best.bound(self._level, self._term.constant + self._term.scale * least)
