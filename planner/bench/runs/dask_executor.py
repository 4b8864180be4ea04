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
    """Tasks go to whichever worker is free."""

    def __init__(self, scheduler: str) -> None:
        self._scheduler = scheduler
        # A worker that is lost is no news for who asked: its tasks run elsewhere.
        logging.getLogger("distributed.client").setLevel(logging.ERROR)
        # A large instance travels with its task: Dask would rather have it there before.
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
        """As many as keep the workers there are now busy."""
        now = time.monotonic()
        if now >= self._looked + _LOOK_SECONDS:
            self._looked = now
            with self._as_gone():
                self._window = max(_LEAST, _FOR_A_THREAD * sum(self._client.nthreads().values()))
        return self._window

    def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
        """Have them run by a worker."""
        with self._as_gone():
            future: Future[list[Result]] = self._executor.submit(perform_some, tasks)
        return future

    def close(self) -> None:
        """Leave the cluster; what runs there is called off."""
        self._client.close()

    @contextmanager
    def _as_gone(self) -> Iterator[None]:
        """What Dask has to say of a scheduler that it could not reach again."""
        try:
            yield
        except Exception as error:
            raise InterruptedBenchError(
                f"the scheduler of Dask at {self._scheduler} is gone: {error}"
            ) from None
