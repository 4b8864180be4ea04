"""Runs operations in child processes of this server, one for each: asked to stop in time, then killed.

Their temporary files are in a folder that is removed at the end of the server, or when the next one starts.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import SubprocessError
from typing import Final, TypeVar

import structlog

from memstow.api.operations.operations import Operation
from memstow.api.operations.request_types import decode_update, encode
from memstow.api.workers.executor import SHORTAGE, ChildError, RunControl, out_of_memory, result_from
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import EndedError, MemoryLimitError, Process, Session, child_command

_PREFIX: Final = "memstow-server-"
_LOCK: Final = "in-use"

service_log = structlog.get_logger("memstow.service")


class Scratch:
    """A folder that belongs to this process as long as it lives, whatever ends it."""

    def __init__(self, parent: Path | None = None) -> None:
        self._path, self._lock = _locked_folder(parent)
        self._closed = False

    @property
    def path(self) -> Path:
        """The folder, made again if something that tidies up has removed it."""
        self._path.mkdir(mode=0o700, exist_ok=True)
        return self._path

    def close(self) -> None:
        """Remove the folder. May be called twice."""
        shutil.rmtree(self._path, ignore_errors=True)
        if not self._closed:
            self._closed = True
            os.close(self._lock)


def _locked_folder(parent: Path | None) -> tuple[Path, int]:
    """A new folder and the lock on it.

    The lock ends with the process, also where process ids mean nothing to each other, as in containers.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _LOCK).exists():
            return folder, lock
        # Another server that starts took it for abandoned before the lock was there.
        os.close(lock)


def remove_abandoned(parent: Path | None = None) -> int:
    """Remove the folders of servers that were killed, and return how many there were."""
    removed = 0
    for folder in (parent or Path(tempfile.gettempdir())).glob(f"{_PREFIX}*"):
        removed += _remove_if_abandoned(folder)
    if removed:
        service_log.info("removed_abandoned_folders", count=removed)
    return removed


def _remove_if_abandoned(folder: Path) -> bool:
    """Remove a folder of ours that nobody uses. One that is just being made has no lock yet."""
    with contextlib.suppress(OSError):
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
            return True
        finally:
            os.close(lock)
    return False


# From the request to stop to the kill: verifying a plan of a million buffers takes its time.
_STOP_SECONDS: Final = 5.0
# With the time that it only waits for a processor, which on a busy machine is nearly all.
_MOST_STOP_SECONDS: Final = 60.0
# Too many open files or processes, no memory, no room for the temporary folder.
_NOT_STARTED: Final = (OSError, MemoryError, RuntimeError, SubprocessError)

Q = TypeVar("Q")
R = TypeVar("R")
log = structlog.get_logger("memstow.jobs")


class ChildExecutor:
    """Starts children, and keeps a spare one that has started up."""

    def __init__(
        self, on_killed: Callable[[str], None] = lambda _reason: None, scratch: Scratch | None = None
    ) -> None:
        self.on_killed = on_killed
        self._scratch = scratch
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
                self._spare = None
            try:
                self._spare = _start_child(self._scratch)
            except _NOT_STARTED as error:
                log.warning("no_spare_child", error=str(error))

    def close(self) -> None:
        """End every child."""
        with self._lock:
            self._closed = True
            ended = [*self._running] + ([self._spare] if self._spare is not None else [])
            self._spare = None
        for process in ended:
            process.close()
        if self._scratch is not None:
            self._scratch.close()

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
            self._clean_up(process)
        return result_from(done, operation, control)

    def _clean_up(self, process: Process) -> None:
        """End the child of a run that is over, whose answer or error a failure here must not replace."""
        with self._lock:
            self._running.discard(process)
        for step in (process.close, self.prepare):
            try:
                step()
            except _NOT_STARTED as error:
                log.warning("clean_up_failed", error=str(error), exc_info=error)

    def _take_child(self) -> Process:
        with self._lock:
            if self._closed:
                raise ChildError("stopping", "the server is stopping")
            spare, self._spare = self._spare, None
            if spare is not None and not spare.alive():
                spare.close()
                spare = None
            try:
                process = spare or _start_child(self._scratch)
            except _NOT_STARTED as error:
                raise ChildError(SHORTAGE, f"the solving process could not be started: {error}") from error
            self._running.add(process)
            return process


def _start_child(scratch: Scratch | None) -> Process:
    return Process(child_command("memstow.api.workers.child"), None if scratch is None else scratch.path)


class _Supervisor:
    """Supervises one run: asks the child to stop when its time is over, and kills it when it does not."""

    def __init__(self, process: Process, request: Message, control: RunControl) -> None:
        self._control = control
        self._session = Session(process, request, control.memory, self._receive, self._check)
        self._session.until = time.monotonic() + control.seconds
        self._process = process
        self._stop_sent = False
        self._stop_at = 0.0
        self._waited = 0.0
        """For a processor, before it was asked to stop."""
        self._waited_since = 0.0
        self._ready = False
        """Whether the child has started up: what ends it before that has nothing to do with the request."""

    def run(self) -> Message:
        """The child's last message."""
        try:
            done = self._session.run()
        except MemoryLimitError:
            raise out_of_memory(self._control) from None
        except EndedError as error:
            self._check_killed()
            if not self._ready:
                raise _not_started(str(error)) from None
            raise ChildError("child_lost", f"no answer from the solving process: {error}") from None
        if not self._ready and "failure" in done:
            raise _not_started(str(done.get("message") or done["failure"]))
        return done

    def _receive(self, message: Message) -> None:
        if message["kind"] == "ready":
            self._ready = True
        elif message["kind"] != "done":
            self._control.on_update(decode_update(message))

    def _check(self, now: float) -> None:
        control = self._control
        self._check_killed()
        if now >= (self._session.until or 0.0):
            if not self._stop_sent:
                self._send_stop(now)
            elif self._is_stuck(now):
                raise ChildError("stuck", "did not end when it was told to")
        elif control.stop_requested() and not self._stop_sent:
            self._send_stop(now)
        control.tick()

    def _is_stuck(self, now: float) -> bool:
        # A process that has ended takes what it waited with it.
        self._waited_since = max(self._waited_since, self._process.waited() - self._waited)
        self._session.until = self._stop_at + min(_STOP_SECONDS + self._waited_since, _MOST_STOP_SECONDS)
        return now >= self._session.until

    def _check_killed(self) -> None:
        if self._control.kill_requested():
            raise ChildError("killed", "ended by the server")

    def _send_stop(self, now: float) -> None:
        self._stop_sent = True
        self._stop_at, self._waited = now, self._process.waited()
        self._session.until = now + _STOP_SECONDS
        self._session.say({"kind": "cancel"})


def _not_started(reason: str) -> ChildError:
    return ChildError(SHORTAGE, f"the solving process did not start up: {reason}")
