"""Proposals of the master, and better ones by neighbourhoods."""

import time
from typing import Any

from ortools.sat.python import cp_model

from memstow.solvers import _native
from memstow.solvers.assign.clock import Clock
from memstow.solvers.assign.master import Master, Proposal
from memstow.solvers.assign.neighbourhoods import Neighbourhoods, make_small_solver
from memstow.solvers.cpsat.search import make_solver, run_solver, steps_of
from memstow.solvers.models.levels import Best
from memstow.solvers.models.relations import Relations
from memstow.solvers.models.sound_cp_sat import proven_bound, tell_bounds
from memstow.solvers.solver import Task

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
                found = round(solver.objective_value)
                better = value is not None and found < value
                if value is None or better:
                    value, proposal = found, self._master.read(_reader(solver))
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
