"""Runs CP-SAT on one level of the objective, and reports layouts and bounds while it runs."""

import time
from functools import partial
from typing import Any

from ortools.sat.python import cp_model

from memstow.solvers.cpsat.build import Model
from memstow.solvers.models.levels import Answer, Best, Level, LevelEnd
from memstow.solvers.models.relations import Relations
from memstow.solvers.models.sound_cp_sat import proven_bound, sound_solver, tell_bounds
from memstow.solvers.solver import Task

# Deterministic time is counted in seconds of about this many steps of work. One of them took 2 s of a
# processor with three pools, and 11 with reuse costs; native solvers take some 130 million steps in a second.
STEPS_PER_SECOND = 300_000_000


class Search:
    """One task, level by level."""

    def __init__(self, task: Task, relations: Relations, first: int | None) -> None:
        self._task = task
        self._model: Model | None = None
        self._make = partial(Model, task, relations, first)

    def solve(self, level: Level, best: Best) -> Answer:
        """Minimise one term."""
        begin = time.monotonic()
        if self._model is None:
            self._model = self._make()
        model = self._model
        if any(not mine for mine in model.choices):
            return Answer(LevelEnd.INFEASIBLE)
        model.ask(level.term, level.locks, level.start)
        solver = make_solver(self._task, level.seconds, level.work, begin)
        solver.parameters.relative_gap_limit = level.gap
        if level.term is not None:
            tell_bounds(solver, partial(best.bound, level.term))
        status = run_solver(solver, model.cp, _SolutionCallback(model, best))
        work = steps_of(solver)
        if status == cp_model.INFEASIBLE:
            return Answer(LevelEnd.INFEASIBLE, work=work)
        if status == cp_model.MODEL_INVALID:
            return Answer(LevelEnd.DONE, failure=f"CP-SAT refuses the model: {model.cp.validate()}"[:300])
        bound = None
        if level.term is not None and status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            bound = proven_bound(solver, model.cp)
        return Answer(LevelEnd.DONE, bound, work)


def make_solver(task: Task, seconds: float | None, work: int | None, begin: float) -> cp_model.CpSolver:
    """A solver with the limits of a level; a deterministic one where work is limited."""
    solver = sound_solver()
    parameters = solver.parameters
    parameters.random_seed = task.seed % (1 << 31)
    if work is not None:
        parameters.num_workers = 1
        # A step before may have used more than was left; a negative limit is refused.
        parameters.max_deterministic_time = max(work, 0) / STEPS_PER_SECOND
    else:
        parameters.num_workers = task.workers
    if seconds is not None:
        parameters.max_time_in_seconds = max(seconds - (time.monotonic() - begin), 0.001)
    return solver


def run_solver(
    solver: cp_model.CpSolver,
    cp: cp_model.CpModel,
    callback: cp_model.CpSolverSolutionCallback | None = None,
) -> Any:
    """Solve, and return the status.

    The search for symmetries in presolve of OR-tools 9.15 fails on some models that have no solution, with
    an IndexError of its own: those are solved once more without it.
    """
    begin = time.monotonic()
    try:
        return solver.solve(cp, callback)
    except IndexError:
        solver.parameters.symmetry_level = 0
        seconds_left = solver.parameters.max_time_in_seconds - (time.monotonic() - begin)
        solver.parameters.max_time_in_seconds = max(seconds_left, 0.001)
        return solver.solve(cp, callback)


def steps_of(solver: cp_model.CpSolver) -> int:
    """The steps of its last solve."""
    return int(solver.deterministic_time * STEPS_PER_SECOND)


class _SolutionCallback(cp_model.CpSolverSolutionCallback):
    """Offers each solution."""

    def __init__(self, model: Model, best: Best) -> None:
        super().__init__()
        self._model = model
        self._best = best

    def on_solution_callback(self) -> None:
        """A better solution was found."""

        def read(expression: Any) -> int:
            return int(self.value(expression))

        self._best.offer(self._model.layout(read))
