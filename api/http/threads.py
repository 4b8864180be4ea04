"""The threads of the service: for calls that wait for the store, short computations, and child processes."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from memstow.api import tracing
from memstow.api.http.errors import ApiError

STORE_THREADS: Final = 8
_CHILD_THREADS: Final = 2

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """The thread pools of one server, each with a limit on the calls that wait for it."""

    def __init__(self, fast_threads: int, most_waiting: int) -> None:
        self._store = ThreadPoolExecutor(STORE_THREADS, "memstow store")
        self._fast = _LimitedPool(fast_threads, "memstow fast", most_waiting)
        self._child = _LimitedPool(_CHILD_THREADS, "memstow child", most_waiting)

    async def for_store(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """A call that waits for the store."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._store, tracing.carried(partial(call, *arguments, **named)))

    async def for_computing(self, call: Callable[[], T]) -> T:
        """A call that computes for a moment."""
        return await self._fast.run(call)

    async def for_child(self, call: Callable[[], T]) -> T:
        """A call that waits for a child process."""
        return await self._child.run(call)

    def close(self) -> None:
        """Drop all calls that have not started."""
        for pool in (self._store, self._fast.pool, self._child.pool):
            pool.shutdown(wait=False, cancel_futures=True)


class _LimitedPool:
    """Threads that refuse calls when too many are not finished."""

    def __init__(self, threads: int, name: str, most_waiting: int) -> None:
        self.pool = ThreadPoolExecutor(threads, name)
        self._most_waiting = most_waiting
        self._waiting = 0

    async def run(self, call: Callable[[], T]) -> T:
        if self._waiting >= self._most_waiting:
            raise ApiError(
                429,
                "busy",
                "as many requests wait as the setting `fast_waiting` allows; try again",
                headers={"Retry-After": "1"},
            )
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.pool, tracing.carried(call))
        finally:
            self._waiting -= 1
