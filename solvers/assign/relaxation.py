"""The linear part of the master as an integer program for SCIP, which has cuts for knapsacks.

Where items of all sizes fill the pools at all times, CP-SAT finds poor bounds for the master. Its linear
constraints are a relaxation, so a bound for them holds for the master too. SCIP is part of OR-tools.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, isfinite
from threading import Thread
from typing import Any

from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model

from memstow.solvers.milp.numbers import integer_bound, too_large
from memstow.solvers.solver import SUM_TERMS, Task

# With more entries than this, building the model alone would take seconds.
_MOST_ENTRIES = 100_000
# Limits of this size in CP-SAT's ranges mean no limit.
_ENDLESS = 1 << 60
# Seconds between two attempts to interrupt SCIP: it forgets one that comes before it has begun.
_AGAIN = 0.02


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A bound on the objective, and the values of CP-SAT's variables in the best solution."""

    bound: int | None = None
    values: Sequence[int] | None = None


def suits(task: Task, term: int | None) -> bool:
    """Whether the term is a sum of costs. Never in deterministic runs: SCIP is limited by time only."""
    if term is None or task.deterministic or task.terms[term].kind not in SUM_TERMS:
        return False
    return too_large(task) is None


class Relaxing:
    """The objective minimised over the linear constraints of a model as it is now, in a thread of its own."""

    def __init__(self, model: cp_model.CpModel, seconds: float) -> None:
        # Reading the field of another kind would turn a constraint into that kind.
        entries = sum(len(c.linear.vars) for c in model.proto.constraints if c.has_linear())
        self._program: _Program | None = None
        self._status: int | None = None
        self._thread = Thread(target=self._solve, daemon=True)
        solver = pywraplp.Solver.CreateSolver("SCIP") if entries <= _MOST_ENTRIES else None
        if solver is not None:
            solver.SetTimeLimit(max(round(1000 * seconds), 1))
            self._program = _Program(solver, model.proto)
            self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Interrupt it, and wait for its end."""
        while self._program is not None and not self.done:
            self._program.solver.InterruptSolve()
            self._thread.join(_AGAIN)

    def result(self) -> Relaxation:
        """Wait for its end."""
        program = self._program
        if program is None:
            return Relaxation()
        self._thread.join()
        if self._status not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
            return Relaxation()
        return Relaxation(program.bound(), [round(column.solution_value()) for column in program.columns])

    def _solve(self) -> None:
        if self._program is not None:
            self._status = self._program.solver.Solve()


class _Program:
    """Variables, rows and objective; the objective is divided by its common factor."""

    def __init__(self, solver: Any, proto: Any) -> None:
        self.solver = solver
        self.columns = [solver.IntVar(*map(float, _ends(v.domain)), "") for v in proto.variables]
        for constraint in proto.constraints:
            if not len(constraint.enforcement_literal):
                self._add(constraint)
        self._offset = round(proto.objective.offset)
        self._unit = gcd(*proto.objective.coeffs) or 1
        objective = solver.Objective()
        for variable, coefficient in zip(proto.objective.vars, proto.objective.coeffs, strict=True):
            self._offset += _add_to(objective, self.columns, variable, coefficient // self._unit) * self._unit
        objective.SetMinimization()

    def bound(self) -> int | None:
        """The integer bound that its float bound proves, in the units of the model."""
        value = self.solver.Objective().BestBound()
        least = integer_bound(value) if isfinite(value) else None
        return None if least is None else least * self._unit + self._offset

    def _add(self, constraint: Any) -> None:
        """Add a row for a linear constraint; others are left out."""
        if constraint.has_exactly_one():
            self._row(constraint.exactly_one.literals, None, 1, 1)
        elif constraint.has_at_most_one():
            self._row(constraint.at_most_one.literals, None, -_ENDLESS, 1)
        elif constraint.has_bool_or():
            self._row(constraint.bool_or.literals, None, 1, _ENDLESS)
        elif constraint.has_linear() and len(constraint.linear.domain):
            linear = constraint.linear
            self._row(linear.vars, linear.coeffs, *_ends(linear.domain))

    def _row(
        self, references: Sequence[int], coefficients: Sequence[int] | None, least: int, most: int
    ) -> None:
        """Add `least <= sum <= most`; without coefficients they are all one."""
        row = self.solver.Constraint("")
        constant = 0
        for at, reference in enumerate(references):
            constant += _add_to(row, self.columns, reference, 1 if coefficients is None else coefficients[at])
        endless = self.solver.infinity()
        row.SetBounds(
            -endless if least <= -_ENDLESS else float(least - constant),
            endless if most >= _ENDLESS else float(most - constant),
        )


def _add_to(into: Any, columns: Sequence[Any], reference: int, coefficient: int) -> int:
    """Add a variable, or one minus it for a negative reference; the constant that is left over."""
    constant = 0
    if reference < 0:
        reference, coefficient, constant = -reference - 1, -coefficient, coefficient
    into.SetCoefficient(columns[reference], into.GetCoefficient(columns[reference]) + coefficient)
    return constant


def _ends(domain: Any) -> tuple[int, int]:
    """The least and the greatest value of a list of ranges (of C++, which counts from the front alone)."""
    return domain[0], domain[len(domain) - 1]
