"""Tells readers of events what is new: one look at the store for all of them, whoever works on the jobs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from memstow.api.store.database import StoreError
from memstow.api.store.queue import Queue

_LOOK_SECONDS: Final = 0.25
_LAST: Final = "done"

Happening = tuple[int, str, str]
InThread = Callable[..., Awaitable[Any]]


@dataclass(slots=True)
class _Watched:
    """A job that somebody reads about."""

    happenings: list[Happening] = field(default_factory=list)
    readers: int = 0
    gone: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.gone or (bool(self.happenings) and self.happenings[-1][1] == _LAST)


class Hub:
    """The event streams of one server. Lives in the event loop."""

    def __init__(self, queue: Queue, in_thread: InThread) -> None:
        self._queue = queue
        self._in_thread = in_thread
        self._watched: dict[str, _Watched] = {}
        self._look = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self.closing = asyncio.Event()

    def nudge(self, _job: str) -> None:
        """Something happened here; may be called from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._look.set)

    def close(self) -> None:
        """End every stream."""
        self.closing.set()
        for watched in self._watched.values():
            watched.news.set()

    async def follow(self, job: str, after: int = 0) -> AsyncIterator[Happening]:
        """What happened to a job behind event `after` and what will, up to its last event or our end."""
        watched = self._watched.setdefault(job, _Watched())
        watched.readers += 1
        self._watch()
        try:
            while not self.closing.is_set():
                news = watched.news
                for happening in watched.happenings[_behind(watched.happenings, after) :]:
                    yield happening
                    after = happening[0]
                if watched.over:
                    return
                if watched.news is news:
                    await news.wait()
        finally:
            watched.readers -= 1
            if not watched.readers:
                self._watched.pop(job, None)

    async def over(self, job: str, seconds: float) -> bool:
        """Wait for the end of a job; False when it did not come in time."""
        try:
            async with asyncio.timeout(seconds):
                async for _, kind, _ in self.follow(job):
                    if kind == _LAST:
                        return True
        except TimeoutError:
            return False
        return False

    def _watch(self) -> None:
        self._look.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watching())

    async def _watching(self) -> None:
        while self._watched and not self.closing.is_set():
            self._look.clear()
            try:
                await self._look_once()
            except StoreError:
                # Counted where it happened; readers wait until the store is back.
                await asyncio.sleep(_LOOK_SECONDS)
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._look.wait()
            except TimeoutError:
                continue

    async def _look_once(self) -> None:
        jobs = list(self._watched)
        last = await self._in_thread(self._queue.last_events, jobs)
        for job in jobs:
            watched = self._watched.get(job)
            if watched is None:
                continue
            known = watched.happenings[-1][0] if watched.happenings else 0
            if job not in last:
                watched.gone = True
            elif last[job] > known:
                watched.happenings += await self._in_thread(self._queue.events_after, job, known)
            else:
                continue
            news, watched.news = watched.news, asyncio.Event()
            news.set()


def _behind(happenings: list[Happening], after: int) -> int:
    """The index of the first event behind number `after`; numbers count up from 1."""
    return min(max(after - (happenings[0][0] - 1), 0), len(happenings)) if happenings else 0
