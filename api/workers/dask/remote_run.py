"""One run on a cluster, for the thread that waits for it: its messages, and whether it is still alive."""

import queue
import time
from collections.abc import Callable, Sequence
from typing import Final

from memstow.api.operations.request_types import Known, SolveResult, decode_update
from memstow.api.workers.executor import ChildError, RunControl
from memstow.planner.cluster.roster import NoWorkerError
from memstow.planner.processes.frames import Message

_TICK: Final = 0.05
# A task ends when its last message is on its way.
_LAST_SECONDS: Final = 10.0
_SILENT: Final = "its worker gave no sign of life"


class LostError(Exception):
    """The scheduler is gone, and the run with it."""


class Run:
    """A run until its last message. `wait` is for one thread, the rest for that of the cluster."""

    def __init__(self, control: RunControl, lease_seconds: float) -> None:
        self.plan: bytes | None = None
        """The best plan that it has reported."""
        self.worker: str | None = None
        """The address of the worker that has started it."""
        self.begun_by: str | None = None
        """The same, known to the thread of the cluster a moment before."""
        self.silent = False
        """Whether it was given up because its worker said nothing."""
        self._control = control
        self._lease_seconds = lease_seconds
        self._stop_sent = False
        self._heard_at = time.monotonic()
        self._ended_at: float | None = None
        self._inbox: queue.SimpleQueue[Callable[[], Message | None]] = queue.SimpleQueue()

    # For the thread of the cluster

    def receive(self, messages: Sequence[Message]) -> None:
        """A bundle of messages has come."""
        for message in messages:
            if message["kind"] == "begun":
                self.begun_by = message["worker"]
        self._inbox.put(lambda: self._receive(messages))

    def end(self, _result: object) -> None:
        """The call has ended; the result is in a message."""
        self._inbox.put(self._end)

    def fail(self, error: Exception) -> None:
        """The call has failed, or no worker can do it."""
        if isinstance(error, NoWorkerError):
            failure = ChildError("declined", str(error))
        else:
            text = f"no answer from the cluster: {type(error).__name__}: {error}"
            failure = ChildError("child_lost", text[:2000])
        self._inbox.put(lambda: _raise(failure))

    def lose(self) -> None:
        """The scheduler is gone."""
        self._inbox.put(lambda: _raise(LostError()))

    def lose_worker(self, _worker: str) -> bool:
        """Its worker is silent or gone: a run that has begun there is over, another goes elsewhere."""
        if self.begun_by is None:
            return True
        self._inbox.put(lambda: _raise(ChildError("child_lost", _SILENT)))
        return False

    # For the thread that waits

    def wait(self, send_stop: Callable[[], None], send_known: Callable[[Known], None]) -> Message:
        """The last message; ChildError where none comes, LostError where the scheduler is lost."""
        while True:
            try:
                done = self._inbox.get(timeout=_TICK)()
            except queue.Empty:
                done = None
            if done is not None:
                return done
            self._check(time.monotonic(), send_stop)
            if self.worker is not None and (known := self._control.to_tell()) is not None:
                send_known(known)

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
        self._control.on_wait(False)

    def _end(self) -> None:
        self._ended_at = time.monotonic()

    def _check(self, now: float, send_stop: Callable[[], None]) -> None:
        control = self._control
        if control.kill_requested():
            raise ChildError("killed", "ended by the server")
        if control.stop_requested():
            if self.worker is None:
                raise ChildError("killed", "called off before a worker had begun")
            if not self._stop_sent:
                self._stop_sent = True
                send_stop()
        if self.worker is not None and now > self._heard_at + self._lease_seconds:
            self.silent = True
            raise ChildError("child_lost", _SILENT)
        if self._ended_at is not None and now > self._ended_at + _LAST_SECONDS:
            raise ChildError("child_lost", "its answer was lost on the way")
        control.tick()


def _raise(error: Exception) -> None:
    raise error
