"""Where runs take place: behind the seam of `concurrent.futures`, so that a cluster is one more place."""

import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from memstow.planner.bench.runs.supervisors import Keepers, Result
from memstow.planner.bench.runs.task import Task


class Executor(Protocol):
    """Takes bundles of tasks, a few at a time."""

    @property
    def window(self) -> int:
        """How many bundles to have under way: enough that nobody waits, few enough to hold in memory."""

    def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
        """Have the first of the tasks run, and as many more as fit into a moment."""

    def close(self) -> None:
        """End what still runs."""


class Local:
    """This machine: so many runs at a time, each watched by a keeper of the memstow of this Python."""

    def __init__(self, jobs: int, python: str = sys.executable) -> None:
        self.window = jobs + 1
        self._keepers = Keepers(python)
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="memstow-bench")

    def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
        """Have them run by the next keeper that is free."""
        return self._threads.submit(self._keepers.perform_some, tasks)

    def close(self) -> None:
        """End what still runs."""
        self._keepers.stop()
        self._threads.shutdown(cancel_futures=True)
