"""The linear part of the master as an integer program for SCIP, which has cuts for knapsacks.

Where items of all sizes fill the pools at all times, CP-SAT finds poor bounds for the master. Its linear
constraints are a relaxation, so a bound for them holds for the master too. SCIP is part of OR-tools.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, isfinite
from threading import Thread
from typing import Any

from ortools.linear_solver.python import model_builder
from ortools.sat.python import cp_model

from memstow.solvers.milp.numbers import integer_bound, too_large
from memstow.solvers.solver import SUM_TERMS, Task

# With more entries than this, building the model alone would take seconds.
_MOST_ENTRIES = 100_000
# Limits of this size in CP-SAT's ranges mean no limit.
_ENDLESS = 1 << 60


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
        self._solver = model_builder.Solver("scip")
        self._solver.set_time_limit_in_seconds(seconds)
        # Reading the field of another kind would turn a constraint into that kind.
        entries = sum(len(c.linear.vars) for c in model.proto.constraints if c.has_linear())
        self._program: _Program | None = None
        self._status: model_builder.SolveStatus | None = None
        self._thread = Thread(target=self._solve, daemon=True)
        if entries <= _MOST_ENTRIES and self._solver.solver_is_supported():
            self._program = _Program(model.proto)
            self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """End it as soon as it looks up."""
        if not self.done:
            self._solver.stop_search()

    def result(self) -> Relaxation:
        """Wait for its end."""
        program = self._program
        if program is None:
            return Relaxation()
        self._thread.join()
        if self._status not in (model_builder.SolveStatus.OPTIMAL, model_builder.SolveStatus.FEASIBLE):
            return Relaxation()
        return Relaxation(
            program.bound(float(self._solver.best_objective_bound)),
            [round(self._solver.value(column)) for column in program.columns],
        )

    def _solve(self) -> None:
        if self._program is not None:
            self._status = self._solver.solve(self._program.model)


class _Program:
    """Variables, rows and objective; the objective is divided by its common factor."""

    def __init__(self, proto: Any) -> None:
        self.model = model_builder.Model()
        self.columns = [self.model.new_int_var(*_ends(variable.domain), None) for variable in proto.variables]
        for constraint in proto.constraints:
            if not len(constraint.enforcement_literal):
                self._add(constraint)
        objective = proto.objective
        self._offset = round(objective.offset)
        self._unit = gcd(*objective.coeffs) or 1
        self.model.minimize(
            sum(
                coefficient // self._unit * self._literal(variable)
                for variable, coefficient in zip(objective.vars, objective.coeffs, strict=True)
            )
        )

    def bound(self, value: float) -> int | None:
        """The integer bound that a float bound proves, in the units of the model."""
        least = integer_bound(value) if isfinite(value) else None
        return None if least is None else least * self._unit + self._offset

    def _literal(self, reference: int) -> Any:
        """A variable, or one minus it for a negative reference."""
        return self.columns[reference] if reference >= 0 else 1 - self.columns[-reference - 1]

    def _add(self, constraint: Any) -> None:
        """Add a row for a linear constraint; others are left out."""
        if constraint.has_exactly_one():
            self.model.add(sum(map(self._literal, constraint.exactly_one.literals)) == 1)
        elif constraint.has_at_most_one():
            self.model.add(sum(map(self._literal, constraint.at_most_one.literals)) <= 1)
        elif constraint.has_bool_or():
            self.model.add(sum(map(self._literal, constraint.bool_or.literals)) >= 1)
        elif constraint.has_linear() and len(constraint.linear.domain):
            linear = constraint.linear
            some = sum(
                coefficient * self._literal(variable)
                for variable, coefficient in zip(linear.vars, linear.coeffs, strict=True)
            )
            least, most = _ends(linear.domain)
            if least > -_ENDLESS:
                self.model.add(some >= least)
            if most < _ENDLESS:
                self.model.add(some <= most)


def _ends(domain: Any) -> tuple[int, int]:
    """The least and the greatest value of a list of ranges (of C++, which counts from the front alone)."""
    return domain[0], domain[len(domain) - 1]
