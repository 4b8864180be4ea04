"""Proposals of the master, better ones by neighbourhoods, and those of its linear part.

The linear part is an integer program for SCIP, which has cuts for knapsacks.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, isfinite
from threading import Thread
from typing import Any

from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model

from memstow.solvers import _native
from memstow.solvers.assign.master import Master, Proposal
from memstow.solvers.assign.neighbourhoods import Neighbourhoods, make_small_solver
from memstow.solvers.constraints import Relations
from memstow.solvers.cpsat_model import make_solver, proven_bound, run_solver, steps_of, tell_bounds
from memstow.solvers.lexicographic import Best
from memstow.solvers.milp import integer_bound, too_large
from memstow.solvers.solver import SUM_TERMS, Task


class Clock(cp_model.CpSolverSolutionCallback):
    """Ends a solve some time after its first solution."""

    def __init__(self, solver: cp_model.CpSolver, seconds: float) -> None:
        super().__init__()
        self._timer = threading.Timer(seconds, solver.stop_search)
        self._timer.daemon = True
        self._started = False

    def on_solution_callback(self) -> None:
        """Start the timer at the first solution."""
        if not self._started:
            self._started = True
            self._timer.start()

    def stop(self) -> None:
        """Stop the timer when the solve has ended."""
        self._timer.cancel()


# With more entries than this, building the model alone would take seconds.
_MOST_ENTRIES = 100_000
# Limits of this size in CP-SAT's ranges mean no limit.
_ENDLESS = 1 << 60
# It goes on where the bound is lowest: only its bound counts, since others find better plans.
_BEST_FIRST = "nodeselection/bfs/stdpriority = 1000000"
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
            if not solver.SetSolverSpecificParametersAsString(_BEST_FIRST):
                raise ValueError(f"SCIP refuses {_BEST_FIRST}")
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


# The share of the time left for a solve of the master in all. The time after its first solution, which takes
# seconds with thousands of items, is up to the caller.
MOST = 0.85
# With this many workers CP-SAT has some for the linear relaxation.
_MANY_WORKERS = 8


class Proposals:
    """Asks the master for one term of the objective."""

    def __init__(
        self,
        task: Task,
        relations: Relations,
        master: Master,
        term: int | None,
        best: Best,
        budget: _native.Budget,
    ) -> None:
        self._task = task
        self._relations = relations
        self._master = master
        self._term = term
        self._best = best
        self._budget = budget
        self._rounds = 0
        self.bound: int | None = None
        self.open = False
        """Whether the last answer could have been better."""

    def ask(self, share: float, *, proves: bool, has_hint: bool = False) -> tuple[Proposal | None, bool]:
        """A solution of the master if it finds one, and whether it is proven that there is none.

        `has_hint`: the master has a hint already.
        """
        begin = time.monotonic()
        seconds, work = self._budget.seconds_left, self._budget.work_left
        solver = make_solver(
            self._task,
            None if seconds is None else seconds * MOST,
            None if work is None else int(work * share),
            begin,
        )
        _prefer_relaxations(solver)
        if not has_hint and self._best.layout is not None:
            self._master.hint(self._best.layout.pool)
        term = self._term
        if proves and term is not None:
            tell_bounds(solver, self.raise_bound)
        clock = None if seconds is None else Clock(solver, seconds * share)
        status = run_solver(solver, self._master.cp, clock)
        if clock is not None:
            clock.stop()
        self.open = status != cp_model.OPTIMAL
        self._budget.count(max(steps_of(solver), 1))
        if status == cp_model.MODEL_INVALID:
            raise ValueError(f"CP-SAT refuses the master: {self._master.cp.validate()}"[:300])
        if status == cp_model.INFEASIBLE:
            return None, True
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None, False
        if proves and term is not None:
            self.raise_bound(proven_bound(solver, self._master.cp))
        return self._master.read(_reader(solver)), False

    def refine(self, proposal: Proposal, budget: _native.Budget) -> Proposal:
        """A better proposal: pools are chosen anew neighbourhood by neighbourhood."""
        self._rounds += 1
        neighbourhoods = Neighbourhoods(self._relations, self._task.seed + self._rounds)
        value: int | None = None
        while not budget.spent:
            free = neighbourhoods.next()
            if free is None:
                break
            pools = proposal.pools
            self._master.hold(pools, set(free))
            self._master.hint(pools)
            solver = make_small_solver(self._task, budget, time.monotonic())
            status = run_solver(solver, self._master.cp)
            budget.count(max(steps_of(solver), 1))
            better = False
            if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                cost = round(solver.objective_value)
                better = value is not None and cost < value
                if value is None or better:
                    value, proposal = cost, self._master.read(_reader(solver))
            neighbourhoods.learn(better=better, decided=status == cp_model.OPTIMAL)
        self._master.release()
        return proposal

    def raise_bound(self, bound: int | None) -> None:
        """Tell a bound if it is the best one."""
        if self._term is not None and bound is not None and (self.bound is None or bound > self.bound):
            self.bound = bound
            self._best.bound(self._term, bound)


def _reader(solver: cp_model.CpSolver) -> Any:
    """The function for the value of an expression."""
    return lambda expression: int(solver.value(expression))


def _prefer_relaxations(solver: cp_model.CpSolver) -> None:
    """Use the linear relaxation also with few workers: nothing else bounds loads, which are knapsacks."""
    if solver.parameters.num_workers == 1:
        solver.parameters.linearization_level = 2
    elif solver.parameters.num_workers < _MANY_WORKERS:
        solver.parameters.subsolvers.extend(("max_lp", "reduced_costs", "pseudo_costs", "default_lp"))
