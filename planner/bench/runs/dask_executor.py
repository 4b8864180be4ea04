"""Runs on a cluster of Dask distributed, whose scheduler is reached at an address.

Dask gives a task to another worker when its worker is lost; the results of a task are counted once, here.
"""

import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

from distributed import Client

from memstow.planner.bench.records.journal import InterruptedBenchError
from memstow.planner.bench.runs.supervisors import Result, perform_some
from memstow.planner.bench.runs.task import Task
from memstow.planner.model.errors import MemstowError

# For each thread of a worker one task that runs and one that waits; some for workers that are still to come.
_FOR_A_THREAD: Final = 2
_LEAST: Final = 8
_LOOK_SECONDS: Final = 2.0


class Cluster:
    """An executor that submits tasks to a Dask scheduler."""

    def __init__(self, scheduler: str) -> None:
        self._scheduler = scheduler
        # A lost worker is not worth a message: its tasks run elsewhere.
        logging.getLogger("distributed.client").setLevel(logging.ERROR)
        # Dask warns of large tasks, and an instance travels with its task.
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        try:
            self._client = Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise MemstowError(f"no scheduler of Dask can be reached at {scheduler}: {error}") from None
        self._executor = self._client.get_executor(pure=False)
        self._window = _LEAST
        self._looked = 0.0

    @property
    def window(self) -> int:
        """Enough bundles to keep the current workers busy."""
        now = time.monotonic()
        if now >= self._looked + _LOOK_SECONDS:
            self._looked = now
            with self._scheduler_errors():
                self._window = max(_LEAST, _FOR_A_THREAD * sum(self._client.nthreads().values()))
        return self._window

    def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
        """Run them on a worker."""
        with self._scheduler_errors():
            future: Future[list[Result]] = self._executor.submit(perform_some, tasks)
        return future

    def close(self) -> None:
        """Leave the cluster, which cancels the runs there."""
        self._client.close()

    @contextmanager
    def _scheduler_errors(self) -> Iterator[None]:
        """Turn errors of Dask into one that names the scheduler."""
        try:
            yield
        except Exception as error:
            raise InterruptedBenchError(
                f"the scheduler of Dask at {self._scheduler} is gone: {error}"
            ) from None
