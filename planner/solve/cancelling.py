"""A request to stop, passed on to native code while it runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from memstow.solvers.core import Budget

_CHECK_SECONDS: Final = 0.02


@contextmanager
def cancelling(budget: Budget, cancel: threading.Event | None) -> Iterator[None]:
    """While native code runs, pass a request to stop on to it."""
    if cancel is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_CHECK_SECONDS):
            if cancel.is_set():
                budget.cancel()
                return

    watcher = threading.Thread(target=watch, name="memstow cancel", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
