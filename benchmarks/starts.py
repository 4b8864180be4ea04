"""The value of a start: time to a proof with and without a greedy plan, where the bound does not decide."""

import time
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from benchmarks.page import table
from memstow.planner.backends import isolated_solver
from memstow.planner.backends.isolated_solver import IsolatedSolver
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import PEAK, Buffer, Problem
from memstow.planner.reduce import reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.run_state import task_of
from memstow.solvers import _native
from memstow.solvers.greedy import make
from memstow.solvers.registry import BACK_ENDS
from memstow.solvers.solver import Listeners, Outcome, Task

SECONDS = 10.0
COUNT = 10
PROBLEMS = 4
_SILENT = Listeners(lambda *_: None, lambda *_: None)


def measure() -> str:
    """A row for each problem."""
    names = [name for name in BACK_ENDS if BACK_ENDS[name].how_to_get() is None]
    header = ("problem", "bound", "greedy", "best", *(f"{n}: started / not, s" for n in names))
    return table(header, list(_rows(names)))


def _rows(names: list[str]) -> Iterator[tuple[object, ...]]:
    found, seed = 0, 0
    while found < PROBLEMS:
        seed += 1
        task = _task(seed)
        greedy = make("greedy").solve(task, _native.Budget(1.0, -1), _SILENT)
        if not greedy.values or greedy.values[0] <= task.lower_bounds[0]:
            continue
        found += 1
        started = {n: _timed(n, replace(task, start=greedy.layout)) for n in names}
        unstarted = {n: _timed(n, task) for n in names}
        best = min([greedy.values[0], *(v for _, v, _ in (*started.values(), *unstarted.values()) if v)])
        cells = [f"{_told(started[n])} / {_told(unstarted[n])}" for n in names]
        yield (f"seed {seed}", task.lower_bounds[0], greedy.values[0], best, *cells)


def _task(seed: int) -> Task:
    rng = Random(seed)
    buffers = tuple(
        Buffer(
            id=f"b{i}",
            size=rng.randrange(5, 40),
            lifetime=(begin := rng.randrange(COUNT), begin + rng.randrange(2, COUNT // 2)),
        )
        for i in range(COUNT * 2)
    )
    reduction = reduce(Problem(version=1, buffers=buffers))
    if isinstance(reduction, Explanation):
        raise TypeError("nothing here has a capacity")
    bound = Bounds(reduction).of_term(PEAK).value
    return task_of(reduction, {PEAK: bound}, Options(workers=2))[0]


def _timed(name: str, task: Task) -> tuple[float, int | None, bool]:
    """Seconds, the value reached, and whether it was proven."""
    isolated_solver.prepare(name)
    time.sleep(1.0)  # the import is not what is measured
    begin = time.monotonic()
    outcome: Outcome = IsolatedSolver(name).solve(task, _native.Budget(SECONDS, -1), _SILENT)
    seconds = time.monotonic() - begin
    bound = max((b.value for b in outcome.bounds), default=task.lower_bounds[0])
    start = task.start is not None
    value = outcome.values[0] if outcome.values else None
    # A start that is the best there is comes back as a bound alone.
    proven = outcome.failure is None and (bound == value or (start and value is None))
    return seconds, value, proven


def _told(result: tuple[float, int | None, bool]) -> str:
    seconds, value, proven = result
    return f"{seconds:.1f}" if proven else f"not in {SECONDS:.0f} ({value or 'start'})"
