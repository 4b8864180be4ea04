"""The threads of the service: for calls that wait for the store, short computations, and child processes."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from memstow.api import tracing
from memstow.api.http.shares import FairSlots

STORE_THREADS: Final = 8
_READERS: Final = 2
_SEARCHERS: Final = 2
# A caller leaves a searcher to the others, because one may be busy for long.
_MOST_SEARCHERS_EACH: Final = 1

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """The thread pools of one server; those that compute are shared fairly between callers."""

    def __init__(self, fast_threads: int, most_waiting: int) -> None:
        self._store = ThreadPoolExecutor(STORE_THREADS, "memstow store")
        self._fast = _FairPool("memstow fast", fast_threads, most_waiting, rests=True)
        self._readers = _FairPool("memstow reader", _READERS, most_waiting)
        self._searchers = _FairPool("memstow searcher", _SEARCHERS, most_waiting, _MOST_SEARCHERS_EACH)

    async def for_store(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """A call that waits for the store."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._store, tracing.carried(partial(call, *arguments, **named)))

    async def for_computing(
        self, share: str, call: Callable[[], T], at_once: Callable[[], T | None] | None = None
    ) -> T:
        """A call that computes for a moment.

        `at_once` takes less time than a thread would cost, so it is made here, and counts for the share like
        the call; that is made where it has no answer.
        """
        slots = self._fast.slots
        begin = await slots.enter(share)
        try:
            found = None if at_once is None else at_once()
            return await self._fast.run(call) if found is None else found
        finally:
            slots.leave(share, begin)

    async def for_reading(self, share: str, call: Callable[[], T]) -> T:
        """A call that waits for a child process which reads a large body."""
        async with self._readers.slots.slot(share):
            return await self._readers.run(call)

    async def for_searching(self, share: str, call: Callable[[bool], T]) -> T:
        """A call that waits for a child process in which solvers search; it is told whether others wait."""
        async with self._searchers.slots.slot(share):
            return await self._searchers.run(partial(call, self._searchers.slots.others_wait(share)))

    def close(self) -> None:
        """Drop all calls that have not started."""
        for pool in (self._store, self._fast.pool, self._readers.pool, self._searchers.pool):
            pool.shutdown(wait=False, cancel_futures=True)


class _FairPool:
    """Threads, and the slots by which callers share them."""

    def __init__(
        self,
        name: str,
        threads: int,
        most_waiting: int,
        most_each: int | None = None,
        *,
        rests: bool = False,
    ) -> None:
        self.pool = ThreadPoolExecutor(threads, name)
        self.slots = FairSlots(threads, most_waiting, most_each, rests=rests)

    async def run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.pool, tracing.carried(call))
