"""One run on a cluster, as the thread sees it that waits for it: what it says, and whether it still lives."""

import asyncio
import queue
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

from memstow.api.workers.isolated_run import ChildError, Watch
from memstow.planner.processes.frames import Message

_TICK: Final = 0.05
# A task ends when its last message is on its way.
_LAST_SECONDS: Final = 10.0


class LostError(Exception):
    """The scheduler is gone, and the run with it."""


class Run:
    """A run from being given to Dask to its last message. `attend` is for one thread, the rest is not."""

    def __init__(self, watch: Watch, lease_seconds: float, tell_to_stop: Callable[["Run"], None]) -> None:
        self.name = uuid.uuid4().hex
        self.plan: bytes | None = None
        """The best plan it has told of."""
        self.worker: str | None = None
        """The address of the worker that has begun it."""
        self.future: Any = None
        self.following: asyncio.Future[None] | None = None
        self.telling: asyncio.Future[Any] | None = None
        self._watch = watch
        self._lease_seconds = lease_seconds
        self._tell_to_stop = tell_to_stop
        self._told_to_stop = False
        self._heard_at = time.monotonic()
        self._ended_at: float | None = None
        self._happened: queue.SimpleQueue[Callable[[], Message | None]] = queue.SimpleQueue()

    # What happens to it, from the event loop

    def hear(self, messages: Sequence[Message]) -> None:
        """A bundle has come."""
        self._happened.put(lambda: self._hear(messages))

    def end(self, error: str | None) -> None:
        """The task has ended."""
        self._happened.put(lambda: self._end(error))

    def lose(self) -> None:
        """The scheduler is gone."""
        self._happened.put(_lost)

    # What its thread does

    def attend(self) -> Message:
        """The last message; ChildError where none comes, LostError where the scheduler is lost."""
        while True:
            try:
                done = self._happened.get(timeout=_TICK)()
            except queue.Empty:
                done = None
            if done is not None:
                return done
            self._look(time.monotonic())

    def _hear(self, messages: Sequence[Message]) -> Message | None:
        self._heard_at = time.monotonic()
        for message in messages:
            if message["kind"] == "done":
                return message
            if message["kind"] == "begun":
                self._begun(message["worker"])
                continue
            if message["kind"] == "plan":
                self.plan = message["plan"]
            self._watch.hear(message)
        return None

    def _begun(self, worker: str) -> None:
        if self.worker is not None:
            # Dask has begun it anew, from where it was at first.
            raise ChildError("child_lost", "the worker that solved it is lost")
        self.worker = worker

    def _end(self, error: str | None) -> None:
        if error is not None:
            raise ChildError("child_lost", f"no answer from the cluster: {error}"[:2000])
        self._ended_at = time.monotonic()

    def _look(self, now: float) -> None:
        watch = self._watch
        if watch.killed():
            raise ChildError("killed", "ended by the server")
        if watch.stopped():
            if self.worker is None:
                raise ChildError("killed", "called off before a worker had begun")
            if not self._told_to_stop:
                self._told_to_stop = True
                self._tell_to_stop(self)
        if self.worker is not None and now > self._heard_at + self._lease_seconds:
            raise ChildError("child_lost", "its worker gave no sign of life")
        if self._ended_at is not None and now > self._ended_at + _LAST_SECONDS:
            raise ChildError("child_lost", "its answer was lost on the way")
        watch.tick()


def _lost() -> None:
    raise LostError
