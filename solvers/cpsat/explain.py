"""Finds a small set of items that cannot be placed together, by leaving items out."""

import time

from ortools.sat.python import cp_model

from memstow.solvers.cpsat.build import Model
from memstow.solvers.cpsat.search import make_solver, run_solver
from memstow.solvers.models.model import Limits
from memstow.solvers.models.relations import Relations
from memstow.solvers.models.subset import restrict_to
from memstow.solvers.solver import Task

# The limits of one attempt: a share of the time left, seconds, and steps where work is limited.
_SHARE = 0.25
_MOST_SECONDS = 2.0
_STEPS = 60_000_000


def smallest_core(task: Task, limits: Limits, seconds: float | None) -> tuple[int, ...]:
    """Items of an infeasible task that are infeasible by themselves: all of them, or fewer."""
    end = None if seconds is None else time.monotonic() + seconds
    core = list(range(task.instance.item_count))
    chunk = max(len(core) // 2, 1)
    while chunk:
        at = 0
        while at < len(core):
            fewer = core[:at] + core[at + chunk :]
            seconds_left = None if end is None else end - time.monotonic()
            if seconds_left is not None and seconds_left <= 0.01:
                return tuple(core)
            if fewer and _contradicts(task, fewer, seconds_left, limits):
                core = fewer
            else:
                at += chunk
        chunk = min(chunk // 2, max(len(core) // 2, 0)) if chunk > 1 else 0
    return tuple(core)


def _contradicts(task: Task, items: list[int], seconds_left: float | None, limits: Limits) -> bool:
    """Whether these items are proven to be infeasible within a short time."""
    begin = time.monotonic()
    part = Task(
        instance=restrict_to(task.instance, items),
        terms=(),
        lower_bounds=(),
        seed=task.seed,
        workers=task.workers,
    )
    model = Model(part, Relations(part.instance), None)
    if any(not mine for mine in model.choices):
        return True
    seconds = None if seconds_left is None else min(seconds_left * _SHARE, _MOST_SECONDS)
    solver = make_solver(part, seconds, None if limits.work is None else _STEPS, begin)
    return bool(run_solver(solver, model.cp) == cp_model.INFEASIBLE)
