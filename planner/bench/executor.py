"""Where runs take place: behind the seam of `concurrent.futures`, so that a cluster is one more place."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from planner.bench.keepers import Keepers, Result
from planner.bench.task import Task


class Executor(Protocol):
    """Takes tasks, a few at a time."""

    @property
    def window(self) -> int:
        """How many tasks to have under way: enough that nobody waits, few enough to hold in memory."""

    def submit(self, task: Task) -> Future[Result]:
        """Have the task run."""

    def close(self) -> None:
        """End what still runs."""


class Local:
    """This machine: so many runs at a time, each watched by a keeper."""

    def __init__(self, jobs: int) -> None:
        self.window = jobs + 1
        self._keepers = Keepers()
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="memstow-bench")

    def submit(self, task: Task) -> Future[Result]:
        """Have the task run by the next keeper that is free."""
        return self._threads.submit(self._keepers.perform, task)

    def close(self) -> None:
        """End what still runs."""
        self._keepers.stop()
        self._threads.shutdown(cancel_futures=True)
        self._keepers.stop()
