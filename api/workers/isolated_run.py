"""The parent's side of an isolated run: a child of its own for each, told to stop in time, then stopped."""

import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from memstow.api.operations.operations import issues_of, travelling
from memstow.api.store.job import Stop
from memstow.planner.model.errors import MemstowError
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import Process
from memstow.planner.processes.session import EndedError, MemoryLimitError, Session

# From the word to stop to the kill: a plan of a million buffers takes its time to be judged.
_STOP_SECONDS: Final = 5.0


class ChildError(MemstowError):
    """A child that did not come back with an answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Watch:
    """What a run looks at while it goes on."""

    memory: int
    seconds: float
    hear: Callable[[Message], None] = lambda _message: None
    stopped: Callable[[], bool] = lambda: False
    killed: Callable[[], bool] = lambda: False
    tick: Callable[[], None] = lambda: None
    stop: Stop = field(default=Stop.NO)


class Children:
    """Starts children, and has one that is warm in waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spare: Process | None = None
        self._running: set[Process] = set()
        self._closed = False
        self.on_killed: Callable[[str], None] = lambda _reason: None

    def prepare(self) -> None:
        """Have a child start up, if none waits."""
        with self._lock:
            if self._closed or (self._spare is not None and self._spare.alive()):
                return
            if self._spare is not None:
                self._spare.close()
            self._spare = _started()

    def close(self) -> None:
        """End every child."""
        with self._lock:
            self._closed = True
            ended = [*self._running] + ([self._spare] if self._spare is not None else [])
            self._spare = None
        for process in ended:
            process.close()

    def run(self, what: str, arguments: Mapping[str, Any], watch: Watch) -> Message:
        """What the operation returns; its own errors, or ChildError when there was no answer."""
        process = self._take()
        request = {
            "kind": "run",
            "what": what,
            "arguments": travelling(arguments),
            "memory": watch.memory,
            "seconds": watch.seconds,
        }
        try:
            done = _Attended(process, request, watch).run()
        except ChildError as error:
            self.on_killed(error.code)
            raise
        finally:
            with self._lock:
                self._running.discard(process)
            process.close()
            self.prepare()
        return result_of(done, watch)

    def _take(self) -> Process:
        with self._lock:
            if self._closed:
                raise ChildError("stopping", "the server is stopping")
            spare, self._spare = self._spare, None
            if spare is not None and not spare.alive():
                spare.close()
                spare = None
            process = spare or _started()
            self._running.add(process)
            return process


def _started() -> Process:
    return Process([sys.executable, "-P", "-m", "memstow.api.workers.child", "{events}"])


def result_of(done: Message, watch: Watch) -> Message:
    """What the last message of a run says: the result, or the error that it ended with."""
    if "result" in done:
        result: Message = done["result"]
        return result
    if "issues" in done:
        raise issues_of(done["issues"])
    if "declined" in done:
        raise ChildError("declined", str(done.get("message")))
    if done.get("failure") == "memory":
        raise _out_of_memory(watch)
    raise ChildError(str(done.get("failure")), str(done.get("message")))


def _out_of_memory(watch: Watch) -> ChildError:
    message = f"needs more than the {watch.memory >> 20} MiB that the setting `solve_memory` allows"
    return ChildError("out_of_memory", message)


class _Attended:
    """A session, looked after: told to stop in time, and ended when that does not help."""

    def __init__(self, process: Process, request: Message, watch: Watch) -> None:
        self._watch = watch
        self._session = Session(process, request, watch.memory, self._hear, self._look)
        self._session.until = time.monotonic() + watch.seconds
        self._told_to_stop = False

    def run(self) -> Message:
        """The child's last message."""
        try:
            return self._session.run()
        except MemoryLimitError:
            raise _out_of_memory(self._watch) from None
        except EndedError as error:
            self._look_whether_killed()
            raise ChildError("child_lost", f"no answer from the solving process: {error}") from None

    def _hear(self, message: Message) -> None:
        if message["kind"] != "done":
            self._watch.hear(message)

    def _look(self, now: float) -> None:
        watch = self._watch
        self._look_whether_killed()
        if now >= (self._session.until or 0.0):
            if self._told_to_stop:
                raise ChildError("stuck", "did not end when it was told to")
            self._tell_to_stop(now)
        elif watch.stopped() and not self._told_to_stop:
            self._tell_to_stop(now)
        watch.tick()

    def _look_whether_killed(self) -> None:
        if self._watch.killed():
            raise ChildError("killed", "ended by the server")

    def _tell_to_stop(self, now: float) -> None:
        self._told_to_stop = True
        self._session.until = now + _STOP_SECONDS
        self._session.say({"kind": "cancel"})
