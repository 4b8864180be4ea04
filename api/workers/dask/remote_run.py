"""One run on a cluster, for the thread that waits for it: its messages, and whether it is still alive."""

import asyncio
import queue
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

from memstow.api.operations.messages import decode_update
from memstow.api.operations.results import SolveResult
from memstow.api.workers.executor import ChildError, RunControl
from memstow.planner.processes.frames import Message

_TICK: Final = 0.05
# A task ends when its last message is on its way.
_LAST_SECONDS: Final = 10.0


class LostError(Exception):
    """The scheduler is gone, and the run with it."""


class Run:
    """A run until its last message. `wait` is for one thread, the rest for the event loop."""

    def __init__(self, control: RunControl, lease_seconds: float, send_stop: Callable[["Run"], None]) -> None:
        self.name = uuid.uuid4().hex
        self.plan: bytes | None = None
        """The best plan that it has reported."""
        self.worker: str | None = None
        """The address of the worker that has started it."""
        self.future: Any = None
        self.following: asyncio.Future[None] | None = None
        self.stopping: asyncio.Future[Any] | None = None
        self._control = control
        self._lease_seconds = lease_seconds
        self._send_stop = send_stop
        self._stop_sent = False
        self._heard_at = time.monotonic()
        self._ended_at: float | None = None
        self._inbox: queue.SimpleQueue[Callable[[], Message | None]] = queue.SimpleQueue()

    # For the event loop

    def receive(self, messages: Sequence[Message]) -> None:
        """A bundle of messages has come."""
        self._inbox.put(lambda: self._receive(messages))

    def end(self, error: str | None) -> None:
        """The task has ended."""
        self._inbox.put(lambda: self._end(error))

    def lose(self) -> None:
        """The scheduler is gone."""
        self._inbox.put(_lost)

    # For the thread that waits

    def wait(self) -> Message:
        """The last message; ChildError where none comes, LostError where the scheduler is lost."""
        while True:
            try:
                done = self._inbox.get(timeout=_TICK)()
            except queue.Empty:
                done = None
            if done is not None:
                return done
            self._check(time.monotonic())

    def _receive(self, messages: Sequence[Message]) -> Message | None:
        self._heard_at = time.monotonic()
        for message in messages:
            if message["kind"] == "done":
                return message
            if message["kind"] == "begun":
                self._begun(message["worker"])
                continue
            update = decode_update(message)
            if isinstance(update, SolveResult):
                self.plan = update.plan
            self._control.on_update(update)
        return None

    def _begun(self, worker: str) -> None:
        if self.worker is not None:
            # Dask has started it again, without the best plan.
            raise ChildError("child_lost", "the worker that solved it is lost")
        self.worker = worker

    def _end(self, error: str | None) -> None:
        if error is not None:
            raise ChildError("child_lost", f"no answer from the cluster: {error}"[:2000])
        self._ended_at = time.monotonic()

    def _check(self, now: float) -> None:
        control = self._control
        if control.kill_requested():
            raise ChildError("killed", "ended by the server")
        if control.stop_requested():
            if self.worker is None:
                raise ChildError("killed", "called off before a worker had begun")
            if not self._stop_sent:
                self._stop_sent = True
                self._send_stop(self)
        if self.worker is not None and now > self._heard_at + self._lease_seconds:
            raise ChildError("child_lost", "its worker gave no sign of life")
        if self._ended_at is not None and now > self._ended_at + _LAST_SECONDS:
            raise ChildError("child_lost", "its answer was lost on the way")
        control.tick()


def _lost() -> None:
    raise LostError
