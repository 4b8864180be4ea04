"""Starts every child from one thread that lives as long as the process.

The kernel tells a child of its parent's death when the *thread* that started it ends; a solve runs in threads
that come and go.
"""

import os
import queue
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

_Child = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Start:
    """A program to start in a session of its own, with one pipe to inherit; what it prints is for nobody."""

    arguments: Sequence[str]
    folder: Path
    environment: dict[str, str]
    pipe: int

    def now(self) -> _Child:
        """Start it."""
        return subprocess.Popen(  # noqa: S603
            self.arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=self.environment,
            pass_fds=(self.pipe,),
            start_new_session=True,
        )


class _Launcher:
    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[tuple[Future[_Child], Start]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, wanted: Start) -> _Child:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="memstow launcher", daemon=True)
                self._thread.start()
        future: Future[_Child] = Future()
        self._requests.put((future, wanted))
        return future.result()

    def _serve(self) -> None:
        while True:
            future, wanted = self._requests.get()
            try:
                future.set_result(wanted.now())
            except BaseException as error:
                future.set_exception(error)


_launcher = _Launcher()


def start(wanted: Start) -> _Child:
    """Start a program from the launcher's thread."""
    return _launcher.start(wanted)


def _renew() -> None:
    """A forked process has no launcher thread."""
    global _launcher
    _launcher = _Launcher()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
