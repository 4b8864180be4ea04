"""Runs operations in child processes of this server, one for each: asked to stop in time, then killed."""

import sys
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from memstow.api.operations.messages import decode_update, encode
from memstow.api.operations.operations import Operation
from memstow.api.workers.executor import ChildError, RunControl, out_of_memory, result_from
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import Process
from memstow.planner.processes.session import EndedError, MemoryLimitError, Session

# From the request to stop to the kill: verifying a plan of a million buffers takes its time.
_STOP_SECONDS: Final = 5.0

Q = TypeVar("Q")
R = TypeVar("R")


class ChildExecutor:
    """Starts children, and keeps a spare one that has started up."""

    def __init__(self, on_killed: Callable[[str], None] = lambda _reason: None) -> None:
        self.on_killed = on_killed
        self._lock = threading.Lock()
        self._spare: Process | None = None
        self._running: set[Process] = set()
        self._closed = False

    def prepare(self) -> None:
        """Start a spare child, if there is none."""
        with self._lock:
            if self._closed or (self._spare is not None and self._spare.alive()):
                return
            if self._spare is not None:
                self._spare.close()
            self._spare = _start_child()

    def close(self) -> None:
        """End every child."""
        with self._lock:
            self._closed = True
            ended = [*self._running] + ([self._spare] if self._spare is not None else [])
            self._spare = None
        for process in ended:
            process.close()

    def run(self, operation: Operation[Q, R], request: Q, control: RunControl) -> R:
        """The result of the operation; its own errors, or ChildError when there is no result."""
        process = self._take_child()
        message = {
            "kind": "run",
            "operation": operation.name,
            "request": encode(request),
            "memory": control.memory,
            "seconds": control.seconds,
        }
        try:
            done = _Supervisor(process, message, control).run()
        except ChildError as error:
            self.on_killed(error.code)
            raise
        finally:
            with self._lock:
                self._running.discard(process)
            process.close()
            self.prepare()
        return result_from(done, operation, control)

    def _take_child(self) -> Process:
        with self._lock:
            if self._closed:
                raise ChildError("stopping", "the server is stopping")
            spare, self._spare = self._spare, None
            if spare is not None and not spare.alive():
                spare.close()
                spare = None
            process = spare or _start_child()
            self._running.add(process)
            return process


def _start_child() -> Process:
    return Process([sys.executable, "-P", "-m", "memstow.api.workers.child", "{events}"])


class _Supervisor:
    """Supervises one run: asks the child to stop when its time is over, and kills it when it does not."""

    def __init__(self, process: Process, request: Message, control: RunControl) -> None:
        self._control = control
        self._session = Session(process, request, control.memory, self._receive, self._check)
        self._session.until = time.monotonic() + control.seconds
        self._stop_sent = False

    def run(self) -> Message:
        """The child's last message."""
        try:
            return self._session.run()
        except MemoryLimitError:
            raise out_of_memory(self._control) from None
        except EndedError as error:
            self._check_killed()
            raise ChildError("child_lost", f"no answer from the solving process: {error}") from None

    def _receive(self, message: Message) -> None:
        if message["kind"] != "done":
            self._control.on_update(decode_update(message))

    def _check(self, now: float) -> None:
        control = self._control
        self._check_killed()
        if now >= (self._session.until or 0.0):
            if self._stop_sent:
                raise ChildError("stuck", "did not end when it was told to")
            self._send_stop(now)
        elif control.stop_requested() and not self._stop_sent:
            self._send_stop(now)
        control.tick()

    def _check_killed(self) -> None:
        if self._control.kill_requested():
            raise ChildError("killed", "ended by the server")

    def _send_stop(self, now: float) -> None:
        self._stop_sent = True
        self._session.until = now + _STOP_SECONDS
        self._session.say({"kind": "cancel"})
