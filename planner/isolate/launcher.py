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
from typing import Any

_Request = tuple["Future[subprocess.Popen[bytes]]", Sequence[str], dict[str, Any]]


class _Launcher:
    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, arguments: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="memstow launcher", daemon=True)
                self._thread.start()
        future: Future[subprocess.Popen[bytes]] = Future()
        self._requests.put((future, arguments, options))
        return future.result()

    def _serve(self) -> None:
        while True:
            future, arguments, options = self._requests.get()
            try:
                future.set_result(subprocess.Popen[bytes](arguments, **options))
            except BaseException as error:
                future.set_exception(error)


_launcher = _Launcher()


def start(arguments: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
    """Start a program as `subprocess.Popen` does."""
    return _launcher.start(arguments, **options)


def _renew() -> None:
    """A forked process has no launcher thread."""
    global _launcher
    _launcher = _Launcher()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
