"""Event streams: one query of the store serves all readers, whichever server works on the jobs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, ParamSpec, Protocol, TypeVar

from memstow.api.store.database import StoreError
from memstow.api.store.job_records import JobEvents
from memstow.api.store.tables import StoredEvent

_POLL_SECONDS: Final = 0.25
_LAST: Final = "done"

P = ParamSpec("P")
T = TypeVar("T")


class InThread(Protocol):
    """Makes a call in a thread and waits for it."""

    def __call__(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Awaitable[T]: ...


@dataclass(slots=True)
class _Stream:
    """The events of a job that somebody reads."""

    events: list[StoredEvent] = field(default_factory=list)
    readers: int = 0
    removed: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Whether there will be no more events."""
        return self.removed or (bool(self.events) and self.events[-1].kind == _LAST)

    def wake_readers(self) -> None:
        """Let those who wait look again."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class EventHub:
    """The event streams of one server. Lives in the event loop."""

    def __init__(self, events: JobEvents, in_thread: InThread) -> None:
        self._events = events
        self._in_thread = in_thread
        self._streams: dict[str, _Stream] = {}
        self._poll_now = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self.closing = asyncio.Event()

    def notify(self, _job: str) -> None:
        """There may be new events; may be called from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._poll_now.set)

    def close(self) -> None:
        """End every stream."""
        self.closing.set()
        for stream in self._streams.values():
            stream.changed.set()

    def wake_readers(self) -> None:
        """Let every reader look whether its stream has ended."""
        for stream in self._streams.values():
            stream.wake_readers()

    async def follow(
        self, job: str, after: int = 0, has_ended: Callable[[], bool] = lambda: False
    ) -> AsyncIterator[StoredEvent]:
        """The events of a job after number `after`, up to its last event or the end of the server.

        A reader whose stream `has_ended` gets no more; it looks when it is woken.
        """
        stream = self._streams.setdefault(job, _Stream())
        stream.readers += 1
        self._poll_now.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        try:
            while not (self.closing.is_set() or has_ended()):
                changed = stream.changed
                for event in stream.events[_index_after(stream.events, after) :]:
                    yield event
                    after = event.number
                if stream.over:
                    return
                if stream.changed is changed:
                    await changed.wait()
        finally:
            stream.readers -= 1
            if not stream.readers:
                self._streams.pop(job, None)

    async def wait_until_over(self, job: str, seconds: float) -> bool:
        """Wait for the end of a job; False when it did not come in time."""
        try:
            async with asyncio.timeout(seconds):
                async for event in self.follow(job):
                    if event.kind == _LAST:
                        return True
        except TimeoutError:
            return False
        return False

    async def _poll(self) -> None:
        while self._streams and not self.closing.is_set():
            self._poll_now.clear()
            try:
                await self._poll_once()
            except StoreError:
                # Counted by the database; readers wait until the store is back.
                await asyncio.sleep(_POLL_SECONDS)
            try:
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._poll_now.wait()
            except TimeoutError:
                continue

    async def _poll_once(self) -> None:
        names = list(self._streams)
        last = await self._in_thread(self._events.last_numbers, names)
        for job in names:
            stream = self._streams.get(job)
            if stream is None:
                continue
            seen = stream.events[-1].number if stream.events else 0
            if job not in last:
                stream.removed = True
            elif last[job] > seen:
                stream.events += await self._in_thread(self._events.after, job, seen)
            else:
                continue
            stream.wake_readers()


def _index_after(events: list[StoredEvent], number: int) -> int:
    """The index of the first event after this number."""
    return min(max(number - (events[0].number - 1), 0), len(events)) if events else 0
