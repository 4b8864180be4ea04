"""The solvers of a run, their order, and the time and work that the run and each of them may use.

Several runs of one call share an `Allowance`.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from memstow.planner.backends import find
from memstow.planner.model.errors import DeclinedError, UnknownSolverError, closest_match
from memstow.planner.model.options import Options
from memstow.planner.processes import machine
from memstow.records import record, replace
from memstow.solvers.core import (
    BANKS_ALONE,
    DEFAULT_WORK,
    FEW_ITEMS_WORK,
    FIRST_PASSES,
    Budget,
    OnePoolStages,
    are_few,
)
from memstow.solvers.registry import AUTO as AUTO
from memstow.solvers.registry import is_installed, is_model, is_ours, names, native_solver
from memstow.solvers.solver import Solver, Task, TermKind

# The share of greedy before a model: a start is found quickly or not at all.
_START_SHARE = 0.25
# Up to this many items a model may prove a reuse cost that the reuse search cannot; with more items it only
# takes time from that search.
_FEW = 64
_BEFORE_MODEL = 0.5
# A model in less time than this for each item ends before its search has begun, and greedy with all the time
# finds better plans. Its process takes a hundred megabytes.
_SECONDS_PER_ITEM: Final = 2e-3


@record
class Stage:
    """One solver's turn."""

    solver: Solver
    share: float  # of the budget that is left when its turn comes
    most_work: int | None = None  # and at most this many steps
    stands_in: bool = False  # only has a turn if the stage before failed

    def share_of(self, budget: Budget) -> Budget:
        """The stage's part of what is left of a budget; it can be cancelled on its own."""
        return budget.share(self.share, self.most_work)


def budget_of(options: Options, seconds: float) -> Budget:
    """The budget of a whole run's search: what the limits leave beside these seconds."""
    if options.deterministic:
        return Budget(-1.0, DEFAULT_WORK if options.work_limit is None else options.work_limit)
    limit = -1 if options.work_limit is None else options.work_limit
    return Budget(max(options.time_limit - seconds, 0.0), limit)


def solver_by_name(name: str) -> Solver | None:
    """The solver of that name, None for auto; UnknownSolverError if there is none, with plug-ins."""
    if name == AUTO:
        return None
    if is_ours(name):
        return find(name)
    # Looking for plug-ins takes as long as a small solve.
    from memstow.planner.plugins import installed

    plug_in = installed.find("solver", name)
    if plug_in is not None:
        from memstow.planner.backends.plugin_solver import PlugInSolver

        return PlugInSolver(plug_in)
    ours = (AUTO, *names())
    choices = (*ours, *installed.names("solver", ours))
    close = closest_match(name, choices)
    hint = f"did you mean {close}? " if close is not None else ""
    raise UnknownSolverError(f"there is no solver {name!r}; {hint}use one of {', '.join(choices)}")


def require_willing(solver: Solver, task: Task) -> None:
    """Raise DeclinedError if the solver that the caller named cannot honour the task."""
    reason = solver.declines(task)
    if reason is not None:
        raise DeclinedError(f"solver {solver.name!r} cannot honour {reason}; use {AUTO!r}")


def _reuse_stages(task: Task) -> list[Stage]:
    """A quick start, the search for the least reuse cost, and a model if there are few items."""
    count = task.instance.item_count
    start = Stage(native_solver("greedy"), _START_SHARE, FIRST_PASSES * count)
    model = next(iter(_installed_models(task, "cpsat", "highs")), None)
    if model is None or count > _FEW:
        return [start, Stage(native_solver("reuse"), 1.0)]
    return [start, Stage(native_solver("reuse"), _BEFORE_MODEL), Stage(find(model), 1.0)]


# Steps of the search where a model follows: it finds good plans soon, and proves nothing.
_BEFORE_BANK_MODEL: Final = 1_000_000


def _bank_stages(requested: Solver | None, task: Task) -> list[Stage]:
    """The search that knows of banks, and then a model."""
    models = _installed_models(task, "cpsat", "highs") if requested is None else []
    if requested is not None and is_model(requested.name):
        models = [requested.name]
    if not models:
        return [Stage(native_solver("banks"), 1.0, BANKS_ALONE)]
    return [
        Stage(native_solver("banks"), _START_SHARE, _BEFORE_BANK_MODEL),
        *(Stage(find(name), 1.0, stands_in=name == "highs" and "cpsat" in models) for name in models),
    ]


def stages_for(requested: Solver | None, task: Task, seconds: float | None) -> Iterable[Stage]:
    """The stages of a run, in turn. `seconds`: what is left of its time limit; None: it has no such limit.

    Greedy comes first wherever another solver starts from a plan.
    """
    if requested is not None and not is_ours(requested.name):
        return [Stage(requested, 1.0)]
    if task.banks is not None:
        return _bank_stages(requested, task)
    if requested is not None:
        greedy = native_solver("greedy")
        if is_model(requested.name):
            return [Stage(greedy, _START_SHARE), Stage(requested, 1.0)]
        before = [Stage(greedy, 1.0)] if requested.name in ("exact", "improve", "reuse") else []
        return [*before, Stage(requested, 1.0)]
    if (
        any(term.kind is TermKind.REUSE_COST for term in task.terms)
        and native_solver("reuse").declines(task) is None
    ):
        return _reuse_stages(task)
    if native_solver("improve").declines(task) is not None:
        # HiGHS stands in for CP-SAT if both are installed.
        costs = any(term.kind is TermKind.REUSE_COST for term in task.terms) and len(task.instance.reuse) > 0
        several = task.instance.pool_count > 1 and not costs
        greedy, models = native_solver("greedy"), list[str]()
        if seconds is None or seconds >= _SECONDS_PER_ITEM * task.instance.item_count:
            models = _installed_models(task, *(["assign"] if several else []), "cpsat", "highs")
        start = Stage(greedy, _START_SHARE if models else 1.0)
        few = [Stage(native_solver("banks"), 1.0, FEW_ITEMS_WORK)] if are_few(task.instance.native) else []
        # HiGHS proves no more than CP-SAT, so it only replaces one that has failed.
        return [
            start,
            *few,
            *(Stage(find(name), 1.0, stands_in=name == "highs" and "cpsat" in models) for name in models),
        ]
    return _one_pool_stages(task)


def _one_pool_stages(task: Task) -> Iterator[Stage]:
    """The stages for the peak of one pool, as native code has them."""
    bound = task.lower_bounds[0] if task.lower_bounds else 0
    stages = OnePoolStages(task.instance.native, bound)
    while (stage := stages.next()) is not None:
        yield Stage(_of_one_pool(stage.solver), stage.share, stage.most_work)


def _of_one_pool(name: str) -> Solver:
    """The solver of this name. Most runs are over before windows of time, and do not wait for the import."""
    if name != "windows":
        return native_solver(name)
    from memstow.solvers.one_pool import Windows

    return Windows()


def _installed_models(task: Task, *models: str) -> list[str]:
    """Those of the models that are installed.

    None in a deterministic run, whose plan must not depend on what is installed.
    """
    return [] if task.deterministic else [name for name in models if is_installed(name)]


def missing_model(requested: Solver | None, task: Task) -> str | None:
    """The model that would take part in this run if it were installed."""
    if requested is not None or task.deterministic or native_solver("improve").declines(task) is None:
        return None
    if is_installed("cpsat") or native_solver("reuse").declines(task) is None:
        return None
    if task.banks is not None:
        return "cpsat"
    return "assign" if task.instance.pool_count > 1 else "cpsat"


# What is left at the end and too little for another solve.
_REST: Final = 0.02


class Allowance:
    """What is left of the limits of a call."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._begin = time.monotonic()
        self.work = 0

    def share(self, fraction: float) -> Options:
        """The options of one solve, which may take this fraction of what is left."""
        options, limit = self._options, self._work_limit()
        if limit is not None:
            left = max(limit - self.work, 0)
            options = replace(options, work_limit=int(left * fraction))
        return replace(options, time_limit=self.seconds_left * fraction)

    def budget(self, fraction: float) -> Budget:
        """The same for native code."""
        limit = self._work_limit()
        work = -1 if limit is None else int(max(limit - self.work, 0) * fraction)
        seconds = -1.0 if self._options.deterministic else self.seconds_left * fraction
        return Budget(seconds, work)

    def mark(self, fraction: float) -> float:
        """Where this fraction of what is left will have been taken."""
        if self._options.deterministic:
            return self.work + max((self._work_limit() or 0) - self.work, 0) * fraction
        return time.monotonic() + self.seconds_left * fraction

    def is_past(self, mark: float) -> bool:
        """Whether that much has been taken."""
        return (self.work if self._options.deterministic else time.monotonic()) >= mark

    def spend(self, work: int) -> None:
        """Count the work of a solve."""
        self.work += work

    @property
    def over(self) -> bool:
        """Whether too little is left for another solve."""
        limit = self._work_limit()
        if limit is not None and limit - self.work <= limit * _REST:
            return True
        return not self._options.deterministic and self.seconds_left <= self._options.time_limit * _REST

    @property
    def seconds(self) -> float:
        """Since the call; a deterministic run has none."""
        return 0.0 if self._options.deterministic else round(time.monotonic() - self._begin, 6)

    @property
    def seconds_left(self) -> float:
        """Until the time limit; none where it is over."""
        return max(self._options.time_limit - (time.monotonic() - self._begin), 0.0)

    def affords(self, seconds: float) -> bool:
        """Whether so much time is left; that of a deterministic run has no end."""
        return self._options.deterministic or self.seconds_left >= seconds

    def fraction(self, seconds: float) -> float:
        """How much this is of the time that is left; nothing in a deterministic run."""
        if self._options.deterministic:
            return 0.0
        left = self.seconds_left
        return seconds / left if left > seconds else 1.0

    def _work_limit(self) -> int | None:
        if self._options.work_limit is not None or not self._options.deterministic:
            return self._options.work_limit
        return DEFAULT_WORK


CHECK_SECONDS: Final = 0.02
"""How often a run looks whether it is to stop."""


@contextmanager
def cancelling(
    budget: Budget, cancel: threading.Event | None, is_over: Callable[[], bool] | None = None
) -> Iterator[None]:
    """While native code runs in this thread, pass a request to stop on to it, or end it once `is_over`.

    Where Ctrl-C is to stop the work as well, the work has a thread and this one waits: see `one_run`.
    """
    if cancel is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(CHECK_SECONDS):
            if cancel.is_set() or (is_over is not None and is_over()):
                budget.cancel()
                return

    watcher = threading.Thread(target=watch, name="memstow cancel", daemon=True)
    machine.start_thread(watcher)
    try:
        yield
    finally:
        ended.set()
        watcher.join()
