"""Writes cached plans behind the answers: many in one transaction, and none when the store cannot keep up.

What is lost with the process is only that a plan is made once more.
"""

import queue
import threading
from typing import Final

import structlog

from memstow.api.store.database import StoreError
from memstow.api.store.plan_cache import Found, PlanCache

_MOST_WAITING: Final = 2_000
_MOST_AT_ONCE: Final = 200
_PAUSE_SECONDS: Final = 0.1

log = structlog.get_logger("memstow.jobs")


class Keeping:
    """One thread that writes what others have found."""

    def __init__(self, cache: PlanCache) -> None:
        self._cache = cache
        self._waiting: queue.Queue[Found] = queue.Queue(_MOST_WAITING)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="memstow keeping", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def keep(self, found: Found) -> None:
        """Have it written soon, or forget it."""
        try:
            self._waiting.put_nowait(found)
        except queue.Full:
            return

    def close(self) -> None:
        """Write what waits and end."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(5.0)

    def _serve(self) -> None:
        while not self._stopped.wait(_PAUSE_SECONDS) or not self._waiting.empty():
            batch: list[Found] = []
            while len(batch) < _MOST_AT_ONCE and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            if not batch:
                continue
            try:
                self._cache.keep(batch)
            except StoreError as error:
                log.warning("store_error", during="keep", error=str(error))
                if self._stopped.is_set():
                    return
