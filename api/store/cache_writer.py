"""Writes plans to the cache in the background: many in one transaction, none when the store is too slow.

A plan that is lost with the process is only solved once more.
"""

import queue
import threading
from typing import Final

import structlog

from memstow.api.store.database import StoreError
from memstow.api.store.plan_cache import CachedPlan, PlanCache

_MOST_WAITING: Final = 2_000
_MOST_AT_ONCE: Final = 200
_PAUSE_SECONDS: Final = 0.1

log = structlog.get_logger("memstow.jobs")


class CacheWriter:
    """One thread that writes the plans of all others."""

    def __init__(self, cache: PlanCache) -> None:
        self._cache = cache
        self._waiting: queue.Queue[CachedPlan] = queue.Queue(_MOST_WAITING)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="memstow cache writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def write(self, plan: CachedPlan) -> None:
        """Write a plan soon, or drop it when too many wait. The best of a problem is known at once."""
        if plan.best:
            self._cache.remember_best(plan.digest, plan.result.plan, plan.owner)
        try:
            self._waiting.put_nowait(plan)
        except queue.Full:
            return

    def close(self) -> None:
        """Write the plans that wait, and end."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(5.0)

    def _serve(self) -> None:
        while not self._stopped.wait(_PAUSE_SECONDS) or not self._waiting.empty():
            plans: list[CachedPlan] = []
            while len(plans) < _MOST_AT_ONCE and not self._waiting.empty():
                plans.append(self._waiting.get_nowait())
            if not plans:
                continue
            try:
                self._cache.store(plans)
            except StoreError as error:
                log.warning("store_error", during="keep", error=str(error))
                if self._stopped.is_set():
                    return
