"""Runs tasks through keepers, from as many threads as wanted: here, or on a worker of a cluster."""

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
    """A run that came to nothing through no fault of its own."""


class StoppedError(MemstowError):
    """A run that was called off."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a task: the record, or why the instance is none."""

    line: str | None = None
    unreadable: str | None = None
    seconds: float = 0.0


class Keepers:
    """Keepers that wait for work; as many are started as are wanted at once."""

    def __init__(self, python: str = sys.executable) -> None:
        self._python = python
        self._lock = threading.Lock()
        self._idle: list[Process] = []
        self._stopped = threading.Event()

    def perform(self, task: Task) -> Result:
        """Run the task, as those of `perform_some`."""
        return self.perform_some([task])[0]

    def perform_some(self, tasks: Sequence[Task]) -> list[Result]:
        """Run the first of the tasks, and as many more as there is time for while others wait.

        LostError when keepers end again and again, StoppedError when called off.
        """
        runs = [task.message() for task in tasks]
        request: Message = {"kind": "runs", "runs": runs, "seconds": TOGETHER_SECONDS}
        failure = ""
        for _ in range(_TRIES):
            keeper = self._take()
            try:
                done = Session(keeper, request, _NO_LIMIT, _ignore, self._look).run()
            except EndedError as error:
                keeper.close()
                failure = str(error)
            except BaseException:
                keeper.close()
                raise
            else:
                self._give_back(keeper)
                return [_result(result) for result in done["results"]]
        raise LostError(f"the process that watches a run came to its end: {failure}")

    def stop(self) -> None:
        """Call off what runs, and end every keeper."""
        self._stopped.set()
        with self._lock:
            idle, self._idle = self._idle, []
        for keeper in idle:
            keeper.close()

    def _take(self) -> Process:
        self._look(0.0)
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Process([self._python, "-P", "-m", "memstow.planner.bench.runs.supervisor", "{events}"])

    def _give_back(self, keeper: Process) -> None:
        with self._lock:
            if not self._stopped.is_set():
                self._idle.append(keeper)
                return
        keeper.close()

    def _look(self, _now: float) -> None:
        if self._stopped.is_set():
            raise StoppedError("called off")


_ours = Keepers()


def perform_some(tasks: Sequence[Task]) -> list[Result]:
    """Run some of the tasks with the keepers of this process, at least the first."""
    return _ours.perform_some(tasks)


def _result(values: Message) -> Result:
    line: bytes | None = values.get("line")
    return Result(None if line is None else line.decode(), values.get("unreadable"), values["seconds"])


def _ignore(_message: Message) -> None:
    """A keeper says nothing but its last word."""
