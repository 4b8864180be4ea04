"""The threads of the service, shared fairly between callers: in turns, whoever asks how often."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from math import exp
from typing import Final, ParamSpec, TypeVar

from starlette.requests import Request

from memstow.api import tracing
from memstow.api.http.callers import Caller
from memstow.api.http.connections import network_of
from memstow.api.http.errors import ApiError

# A share is present for so long after it has asked, and its work counts for about as long.
_PRESENT_SECONDS: Final = 5.0
# Seconds of rest for a second of work.
_REST: Final = 3.0
_MOMENT: Final = 0.001
# Who has lately worked less than this, a quarter of a processor, is not held back.
_LITTLE_SECONDS: Final = _PRESENT_SECONDS / 4


def share_of(caller: Caller, request: Request) -> str:
    """The name that the work of a caller counts under: the key, or without one the address."""
    if caller.key_id is not None:
        return f"key {caller.key_id}"
    return f"address {network_of(None if request.client is None else request.client.host)}"


@dataclass(slots=True)
class _Work:
    """What a share has worked lately, and until when it rests."""

    last_call: float = 0.0
    rests_until: float = 0.0
    _seconds: float = 0.0
    _at: float = 0.0

    def lately(self, now: float) -> float:
        """The seconds, of which those longer ago count less and less."""
        return self._seconds * exp((self._at - now) / _PRESENT_SECONDS)

    def add(self, seconds: float, now: float) -> None:
        """Count a piece of work."""
        self._seconds, self._at = self.lately(now) + seconds, now


class FairSlots:
    """Slots of work. A free one goes to the share that has the fewest, and of equals to the next in turn.

    Who has lately worked more than the average of those present leaves one slot free, which they need not
    wait for, and where slots have `rests`, rests three times as long as it works: then it takes at most a
    quarter of a processor. Lives in the event loop.
    """

    def __init__(
        self, slots: int, most_waiting: int, most_each: int | None = None, *, rests: bool = False
    ) -> None:
        self._slots = slots
        self._free = slots
        self._most_waiting = most_waiting
        self._most_each = most_each or slots
        self._used: Counter[str] = Counter()
        self._waiting = 0
        # By share, those in front whose turn is next.
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        # Of those present; who asked last is last.
        self._present: dict[str, _Work] = {}
        self._rests = rests

    @asynccontextmanager
    async def slot(self, share: str) -> AsyncIterator[None]:
        """A slot for one piece of work; ApiError when too many wait."""
        begin = await self.enter(share)
        try:
            yield
        finally:
            self.leave(share, begin)

    async def enter(self, share: str) -> float:
        """Take a slot; when that was, for `leave`. ApiError when too many wait."""
        clock = asyncio.get_running_loop().time
        now = clock()
        self._note(share, now)
        if self._waiting or not self._free or not self._may_take(share, now):
            await self._wait(share)
            return clock()
        self._take(share)
        return now

    def leave(self, share: str, begin: float) -> None:
        """Give the slot back."""
        self.count(share, begin)
        self._give_back(share)

    def may_pass(self, share: str) -> bool:
        """Whether the share may work for a moment without a slot: it has lately worked little."""
        now = asyncio.get_running_loop().time()
        self._note(share, now)
        return (
            share not in self._queues and not self._rests_at(share, now) and not self._works_much(share, now)
        )

    def count(self, share: str, begin: float) -> None:
        """Count work from then until now, and let its share rest if it works much."""
        work = self._present.get(share)
        if work is None:
            return
        loop = asyncio.get_running_loop()
        end = loop.time()
        work.add(end - begin, end)
        if self._rests and self._works_much(share, end):
            rested = max(work.rests_until, end) + _REST * (end - begin)
            work.rests_until = min(rested, end + _PRESENT_SECONDS)
            loop.call_at(work.rests_until, self._serve_next)

    def others_wait(self, share: str) -> bool:
        """Whether work of another share waits."""
        return len(self._queues) > (share in self._queues)

    def _note(self, share: str, now: float) -> None:
        """Note that a share is present, and forget those that are not any more."""
        work = self._present.pop(share, None) or _Work()
        self._present[share] = work
        work.last_call = now
        while (first := next(iter(self._present.items())))[1].last_call < now - _PRESENT_SECONDS:
            del self._present[first[0]]

    def _works_much(self, share: str, now: float) -> bool:
        """Whether a share has lately worked more than the average of those present."""
        work = self._present.get(share)
        if work is None or len(self._present) == 1:
            return False
        average = sum(entry.lately(now) for entry in self._present.values()) / len(self._present)
        return work.lately(now) > max(average, _LITTLE_SECONDS)

    def _rests_at(self, share: str, now: float) -> bool:
        work = self._present.get(share)
        # A timer may fire a moment early.
        return work is not None and work.rests_until > now + _MOMENT

    def _may_take(self, share: str, now: float) -> bool:
        if self._rests_at(share, now):
            return False
        one_less = self._slots > 1 and self._works_much(share, now)
        return self._used[share] < min(self._most_each, self._slots - one_less)

    async def _wait(self, share: str) -> None:
        if self._waiting >= self._most_waiting:
            self._make_room(share)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(share, deque()).append(turn)
        self._waiting += 1
        self._serve_next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._give_back(share)
            else:
                self._forget(share, turn)
            raise

    def _make_room(self, share: str) -> None:
        """Refuse the newest of the share with the most, so that one share cannot keep the others out."""
        greediest = max(self._queues, key=lambda name: len(self._queues[name]))
        if len(self._queues[greediest]) <= len(self._queues.get(share, ())) + 1:
            raise _busy()
        last = self._queues[greediest][-1]
        self._forget(greediest, last)
        last.set_exception(_busy())

    def _forget(self, share: str, turn: "asyncio.Future[None]") -> None:
        queue = self._queues.get(share)
        if queue is not None and turn in queue:
            queue.remove(turn)
            self._waiting -= 1
            if not queue:
                del self._queues[share]

    def _take(self, share: str) -> None:
        self._free -= 1
        self._used[share] += 1

    def _give_back(self, share: str) -> None:
        self._free += 1
        self._used[share] -= 1
        if not self._used[share]:
            del self._used[share]
        self._serve_next()

    def _serve_next(self) -> None:
        while self._free and self._queues:
            now = asyncio.get_running_loop().time()
            allowed = [share for share in self._queues if self._may_take(share, now)]
            if not allowed:
                return
            share = min(allowed, key=lambda name: self._used[name])
            # Out and in again: behind all others.
            queue = self._queues.pop(share)
            turn = queue.popleft()
            if queue:
                self._queues[share] = queue
            self._waiting -= 1
            if not turn.done():
                # Else its task is cancelled, and has not run since.
                self._take(share)
                turn.set_result(None)


def _busy() -> ApiError:
    return ApiError(
        429,
        "busy",
        "as many requests wait as the setting `fast_waiting` allows, and more of yours than of anyone else; "
        "try again",
        headers={"Retry-After": "1"},
    )


STORE_THREADS: Final = 8
READERS: Final = 2
SEARCHERS: Final = 2
# A caller leaves a searcher to the others, because one may be busy for long.
_MOST_SEARCHERS_EACH: Final = 1

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """The thread pools of one server; those that compute are shared fairly between callers."""

    def __init__(self, fast_threads: int, most_waiting: int) -> None:
        self._store = ThreadPoolExecutor(STORE_THREADS, "memstow store")
        self._fast = _FairPool("memstow fast", fast_threads, most_waiting, rests=True)
        self._readers = _FairPool("memstow reader", READERS, most_waiting)
        self._searchers = _FairPool("memstow searcher", SEARCHERS, most_waiting, _MOST_SEARCHERS_EACH)

    async def for_store(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """A call that waits for the store."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._store, tracing.carried(partial(call, *arguments, **named)))

    async def for_computing(
        self, share: str, call: Callable[[], T], at_once: Callable[[], T | None] | None = None
    ) -> T:
        """A call that computes for a moment.

        `at_once` takes less time than a thread would cost, so it is made here, and counts for the share like
        the call; that is made where it has no answer. Who has lately worked little does not wait for a free
        slot before.
        """
        slots = self._fast.slots
        if at_once is not None and slots.may_pass(share):
            begin = asyncio.get_running_loop().time()
            try:
                answer = at_once()
            finally:
                slots.count(share, begin)
            if answer is not None:
                return answer
            at_once = None
        begin = await slots.enter(share)
        try:
            answer = None if at_once is None else at_once()
            return await self._fast.run(call) if answer is None else answer
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
