"""A pool of supervisors for any number of threads, here or on a worker of a cluster."""

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.bench.runs.task import Task
from memstow.planner.model.errors import MemstowError
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import Process
from memstow.planner.processes.session import EndedError, Session

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
        return Process([self._python, "-P", "-m", "memstow.planner.bench.runs.supervisor", "{events}"])

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
