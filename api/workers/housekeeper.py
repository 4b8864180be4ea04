"""Heartbeats of the running jobs, the jobs of dead servers put back, expired data removed, metrics."""

import time
from collections.abc import Callable
from typing import Final

import structlog

from memstow.api.metrics import Metrics
from memstow.api.store.administration import end_jobs_of_invalid_keys, remove_expired
from memstow.api.store.database import Database, StoreClock, StoreError
from memstow.api.store.plan_cache import bound_cache_of_keys
from memstow.api.store.queue import Claims, Queue
from memstow.api.store.tables import Stop
from memstow.api.workers.job_run import JobRun, Shutdown

_HEARTBEATS_PER_LEASE: Final = 5
_EXPIRE_SECONDS: Final = 30.0

log = structlog.get_logger("memstow.jobs")


class Housekeeper:
    """Runs in a thread of its own until the server stops."""

    def __init__(
        self,
        database: Database,
        queue: Queue,
        claims: Claims,
        metrics: Metrics,
        clock: StoreClock,
        *,
        lease_seconds: float,
        keep_seconds: float,
        max_plans: int,
        key_cache_bytes: int = 1 << 50,
        running: Callable[[], dict[str, JobRun]],
        on_requeued: Callable[[], None],
        on_change: Callable[[str], None] = lambda _job: None,
    ) -> None:
        self._database = database
        self._queue = queue
        self._claims = claims
        self._metrics = metrics
        self._lease_seconds = lease_seconds
        self._keep_seconds = keep_seconds
        self._max_plans = max_plans
        self._key_cache_bytes = key_cache_bytes
        self._running = running
        self._on_requeued = on_requeued
        self._on_change = on_change
        # Of each running job elsewhere: attempt and heartbeats, and since when they have not changed.
        self._seen: dict[str, tuple[tuple[int, int], float]] = {}
        self._clock = clock
        self._expired_at = 0.0

    def serve(self, shutdown: Shutdown) -> None:
        """Work until the server stops."""
        while not shutdown.stopped.wait(self._lease_seconds / _HEARTBEATS_PER_LEASE):
            try:
                self._send_heartbeats()
                self._take_over()
                self.end_invalid_keys()
                if time.monotonic() - self._expired_at > _EXPIRE_SECONDS:
                    self._clock.advance()
                    remove_expired(self._database, self._max_plans)
                    bound_cache_of_keys(self._database, self._key_cache_bytes)
                    self._expired_at = time.monotonic()
                totals = self._queue.totals()
                self._metrics.queued.set(totals.queued)
                self._metrics.running.set(totals.running)
                self._metrics.stored_bytes.set(totals.bytes)
            except StoreError as error:
                log.warning("store_error", during="heartbeat", error=str(error))
            except Exception:
                log.exception("defect")

    def end_invalid_keys(self) -> None:
        """End the jobs of keys that are revoked or have expired; those that run here at once."""
        ended = end_jobs_of_invalid_keys(self._database, self._keep_seconds)
        runs = self._running()
        for job in ended:
            if job in runs:
                runs[job].request_stop(Stop.KEEP)
            self._on_change(job)

    def _send_heartbeats(self) -> None:
        runs = self._running()
        if not runs:
            return
        stops = self._claims.heartbeat([(job, run.job.attempt) for job, run in runs.items()])
        for job, stop in stops.items():
            if stop is None:
                runs[job].lost = True
            elif stop is not Stop.NO:
                runs[job].request_stop(stop)

    def _take_over(self) -> None:
        """Put back jobs without a heartbeat for the length of a lease, by the steady clock of this server."""
        now = time.monotonic()
        heartbeats = self._claims.heartbeats()
        mine = {job: run.job.attempt for job, run in self._running().items()}
        seen: dict[str, tuple[tuple[int, int], float]] = {}
        for job, heartbeat in heartbeats.items():
            attempt = heartbeat[0]
            if mine.get(job) == attempt:
                continue
            last, since = self._seen.get(job, (heartbeat, now))
            if last != heartbeat:
                since = now
            if now - since <= self._lease_seconds:
                seen[job] = (heartbeat, since)
            elif self._claims.requeue(job, attempt, self._keep_seconds):
                log.warning("job_taken_over", job=job)
                self._metrics.taken_over.inc()
                self._on_requeued()
        self._seen = seen
