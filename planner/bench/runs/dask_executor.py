"""Runs on a cluster of Dask distributed, whose scheduler is reached at an address.

Dask gives a task to another worker when its worker is lost; a worker that is silent, and one without what a
task needs, are dealt with by `planner/cluster`. The results of a task are counted once, by the journal.
"""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from shutil import which
from typing import Any, Final

from distributed import get_worker

from memstow.planner.bench.records.journal import InterruptedBenchError
from memstow.planner.bench.runs.supervisors import NotRunError, Result, perform_some
from memstow.planner.bench.runs.task import SolverRequest, Task
from memstow.planner.cluster.call import Call
from memstow.planner.cluster.cluster import Cluster, Hooks
from memstow.planner.cluster.needs import Needs, needs_of
from memstow.planner.cluster.roster import Notice
from memstow.planner.model.errors import MemstowError
from memstow.solvers.models.register import BACK_ENDS

# For each thread of a worker one task that runs and one that waits; some for workers that are still to come.
_FOR_A_THREAD: Final = 2
_LEAST: Final = 8
_SILENT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.05


class SilentWorkerError(MemstowError):
    """A worker that gives no sign of life."""


class ClusterExecutor:
    """An executor that has its tasks done by the workers of a Dask scheduler."""

    def __init__(self, scheduler: str, wait_seconds: float, on_notice: Callable[[str], None]) -> None:
        self._scheduler = scheduler
        self._wait_seconds = wait_seconds
        self._on_notice = on_notice
        self._away_since: float | None = None
        self._cluster = Cluster(scheduler, _SILENT_SECONDS, Hooks(self._hear))
        # What it has to say is said here.
        for logger in ("distributed", "distributed.client"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        self._cluster.start()
        while not self._cluster.connected:
            if (failure := self._cluster.failure) is not None:
                self.close()
                raise MemstowError(f"no scheduler of Dask can be reached at {scheduler}: {failure}")
            time.sleep(_POLL_SECONDS)

    @property
    def window(self) -> int:
        """Enough bundles to keep the current workers busy; none while the scheduler is away."""
        if self._cluster.connected:
            self._away_since = None
            return max(_LEAST, _FOR_A_THREAD * self._cluster.threads)
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
        if now > self._away_since + self._wait_seconds:
            raise InterruptedBenchError(f"the scheduler of Dask at {self._scheduler} has not come back")
        return 0

    def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
        """Run them on a worker: all that one worker can do, from the first on."""
        needs = [_needs(task.solver) for task in tasks]
        first = needs[0]
        alike = list(takewhile(lambda its: its.things == first.things, needs))
        first = replace(first, better=next((its.better for its in alike if its.better), ()))
        bundle = _Bundle(self._cluster, first)
        arguments = (tasks[: len(alike)],)
        self._cluster.begin(
            Call(perform_there, lambda _name: arguments, first, bundle, begins=False, waits_for_version=False)
        )
        return bundle.future

    def close(self) -> None:
        """Leave the cluster, which cancels the runs there."""
        self._cluster.close()

    def _hear(self, notice: Notice) -> None:
        match notice.kind:
            case "lost":
                self._on_notice(f"{notice.text}; waiting up to {self._wait_seconds:g} s for it to come back")
            case "connected" | "away":
                pass
            case _:
                self._on_notice(notice.text)


class _Bundle:
    """What becomes of a bundle, told to the one that waits for it."""

    def __init__(self, cluster: Cluster, needs: Needs) -> None:
        self.future: Future[list[Result]] = Future()
        self._cluster = cluster
        self._needs = needs

    def end(self, result: Any) -> None:
        """The worker has done some."""
        worker, results = result
        if any(one.missing is not None for one in results):
            self._cluster.note_lack(worker, self._needs)
        self.future.set_result(results)

    def fail(self, error: Exception) -> None:
        """It could not be done."""
        self.future.set_exception(error)

    def lose(self) -> None:
        """The scheduler is lost."""
        self.future.set_exception(NotRunError("the scheduler of Dask is lost"))

    def lose_worker(self, worker: str) -> bool:
        """Counted as a try: what makes one worker silent after the other must come to an end."""
        self.future.set_exception(SilentWorkerError(f"worker {worker} gave no sign of life"))
        return False


def perform_there(tasks: Sequence[Task]) -> tuple[str, list[Result]]:
    """A task of Dask: run some of the tasks; the worker, and what became of them."""
    missing = _missing(tasks[0].solver)
    results = perform_some(tasks) if missing is None else [Result(missing=missing)]
    return get_worker().address, results


def _missing(solver: SolverRequest) -> str | None:
    """What an external program lacks on this machine."""
    if solver.command is None:
        return None
    folder, program = Path(solver.folder or "."), solver.command[0]
    if not folder.is_dir():
        return f"there is no folder {folder}"
    if which(str(folder / program) if "/" in program else program) is None:
        return f"there is no program {program}"
    return None


def _needs(solver: SolverRequest) -> Needs:
    if solver.command is not None:
        return Needs(program=solver.command[0])
    needs = needs_of(solver.name, bool(solver.options.get("deterministic")))
    named = {module for name in solver.back_ends for module in BACK_ENDS[name].needs}
    return replace(needs, libraries=needs.libraries | named)
