"""Executors of runs, with the interface of `concurrent.futures`: this machine, or a cluster."""

import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from memstow.planner.bench.runs.supervisors import Result, Supervisors
from memstow.planner.bench.runs.task import Task


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
