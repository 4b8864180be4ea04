"""Executors of runs, as in `concurrent.futures`: supervisors on this machine, or a Dask cluster."""

import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from shutil import which
from typing import Any, Final, Protocol

from distributed import get_worker

from memstow.planner.bench.journal import InterruptedBenchError
from memstow.planner.bench.task import SolverRequest, Task
from memstow.planner.cluster.cluster import Cluster, Hooks
from memstow.planner.cluster.roster import Call, Needs, Notice, needs_of
from memstow.planner.model.errors import MemstowError
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import EndedError, Process, Session, child_command
from memstow.solvers.registry import BACK_ENDS

_TRIES: Final = 3
# Results wait no longer for those of the tasks that came with theirs.
TOGETHER_SECONDS: Final = 0.5
_NO_LIMIT: Final = 1 << 62


class LostError(MemstowError):
    """A run whose supervisors died again and again."""


class NotRunError(MemstowError):
    """Runs that were not done, for a reason that has nothing to do with them."""


class StoppedError(MemstowError):
    """A run that was cancelled."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a task: a record, or why there is none."""

    line: str | None = None
    unreadable: str | None = None  # why the instance cannot be read
    missing: str | None = None  # what the solver needs and is not installed there
    seconds: float = 0.0


class Supervisors:
    """Idle supervisors; one more is started whenever none is idle."""

    def __init__(self, python: str = sys.executable) -> None:
        self._python = python
        self._lock = threading.Lock()
        self._idle: list[Process] = []
        self._stopped = threading.Event()

    def perform(self, task: Task) -> Result:
        """Run one task; see `perform_some`."""
        return self.perform_some([task])[0]

    def perform_some(self, tasks: Sequence[Task]) -> list[Result]:
        """Run the first of the tasks, and as many more as there is time for while others wait.

        LostError when supervisors die again and again, StoppedError when cancelled.
        """
        runs = [task.message() for task in tasks]
        request: Message = {"kind": "runs", "runs": runs, "seconds": TOGETHER_SECONDS}
        failure = ""
        for _ in range(_TRIES):
            supervisor = self._take()
            try:
                done = Session(supervisor, request, _NO_LIMIT, _ignore, self._look).run()
            except EndedError as error:
                supervisor.close()
                failure = str(error)
            except BaseException:
                supervisor.close()
                raise
            else:
                self._give_back(supervisor)
                return [_result(result) for result in done["results"]]
        raise LostError(f"the process that watches a run came to its end: {failure}")

    def stop(self) -> None:
        """Cancel all runs, and end every supervisor."""
        self._stopped.set()
        with self._lock:
            idle, self._idle = self._idle, []
        for supervisor in idle:
            supervisor.close()

    def _take(self) -> Process:
        self._look(0.0)
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Process(child_command("memstow.planner.bench.supervisor", python=self._python))

    def _give_back(self, supervisor: Process) -> None:
        with self._lock:
            if not self._stopped.is_set():
                self._idle.append(supervisor)
                return
        supervisor.close()

    def _look(self, _now: float) -> None:
        if self._stopped.is_set():
            raise StoppedError("cancelled")


_ours = Supervisors()


def perform_some(tasks: Sequence[Task]) -> list[Result]:
    """Run some of the tasks with the supervisors of this process, at least the first."""
    return _ours.perform_some(tasks)


def _result(values: Message) -> Result:
    line: bytes | None = values.get("line")
    return Result(
        None if line is None else line.decode(),
        values.get("unreadable"),
        values.get("missing"),
        values["seconds"],
    )


def _ignore(_message: Message) -> None:
    """A supervisor sends nothing but its result."""


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
        # For who watches: whether it runs or waits there, only the scheduler knows.
        self.future.set_running_or_notify_cancel()
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


class Executor(Protocol):
    """Runs bundles of tasks."""

    @property
    def window(self) -> int:
        """The number of bundles to submit at a time: enough to keep all workers busy."""

    def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
        """Run the first task, and as many more as fit into a moment."""

    def close(self) -> None:
        """Cancel the runs that are under way."""


class Local:
    """Runs `jobs` tasks at a time on this machine, with supervisors of the memstow of this Python."""

    def __init__(self, jobs: int, python: str = sys.executable) -> None:
        self.window = jobs + 1
        self._supervisors = Supervisors(python)
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="memstow-bench")

    def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
        """Run them with the next free supervisor."""
        return self._threads.submit(self._supervisors.perform_some, tasks)

    def close(self) -> None:
        """Cancel the runs that are under way."""
        self._supervisors.stop()
        self._threads.shutdown(cancel_futures=True)
