"""Runs the jobs of the queue: threads that claim jobs and answer them, and the way to their end.

Slots are in lanes: for any job, for short jobs, and for keys that have nothing running.
"""

import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Final

import structlog

from memstow.api import tracing
from memstow.api.metrics import Metrics
from memstow.api.store.database import Database, StoreClock, StoreError
from memstow.api.store.job_records import Notices
from memstow.api.store.plan_cache import PlanCache
from memstow.api.store.queue import ClaimedJob, Claims, Queue
from memstow.api.store.tables import State, Stop
from memstow.api.workers.executor import Backoff, Executor, is_shortage
from memstow.api.workers.housekeeper import Housekeeper
from memstow.api.workers.job_run import JobLimits, JobRun, JobSteps, Shutdown
from memstow.planner.model.errors import InputError, MemstowError, RefusedPlanError


class Bell:
    """What is rung before a thread begins to wait is not missed, if it looked at `rings` before its work."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._rings = 0

    @property
    def rings(self) -> int:
        """How often it was rung."""
        return self._rings

    def ring(self) -> None:
        """Wake one thread."""
        with self._condition:
            self._rings += 1
            self._condition.notify()

    def ring_for_all(self) -> None:
        """Wake every thread."""
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def wait(self, rings_before: int, seconds: float) -> None:
        """Wait for a ring since there were this many, at most for this time."""
        with self._condition:
            if self._rings == rings_before:
                self._condition.wait(seconds)


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """Slots of one kind: what they are for, and what wakes their threads."""

    name: str
    slots: int
    short_only: bool = False
    first_only: bool = False
    """Only for keys with no running job, short ones aside."""
    bell: Bell = field(default_factory=Bell)


class Lanes:
    """All slots of a server."""

    def __init__(self, slots: int, short_slots: int, first_slots: int) -> None:
        self._any = Lane("worker", slots)
        self._first = Lane("first worker", first_slots, first_only=True)
        self.all = (self._any, Lane("short worker", short_slots, short_only=True), self._first)
        self._lock = threading.Lock()
        self._taken = 0

    def wake(self) -> None:
        """Wake a thread of each: there may be a job."""
        for lane in self.all:
            lane.bell.ring()

    def wake_all(self) -> None:
        """Wake every thread."""
        for lane in self.all:
            lane.bell.ring_for_all()

    def may_claim(self, lane: Lane) -> bool:
        """Whether a thread of this lane may claim a job now: while others have a free slot, it is theirs."""
        return not lane.first_only or self._taken >= self._any.slots

    @contextmanager
    def taken(self, lane: Lane) -> Iterator[None]:
        """A slot of this lane is taken."""
        # There may be another job for another thread.
        lane.bell.ring()
        if lane is not self._any:
            yield
            return
        with self._lock:
            self._taken += 1
        self._first.bell.ring()
        try:
            yield
        finally:
            with self._lock:
                self._taken -= 1


_RETRY_SECONDS: Final = 1.0
# Other servers submit jobs too: without notices from them the store is asked this often.
_POLL_SECONDS: Final = 0.5
_POLL_WITH_NOTICES_SECONDS: Final = 15.0
_SLOTS_PER_FURTHER_SLOT: Final = 8

log = structlog.get_logger("memstow.jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """How the queue is processed, from the settings of the server."""

    slots: int
    short_seconds: float
    key_running: int
    lease_seconds: float
    keep_seconds: float
    max_plans: int
    key_cache_bytes: int = 1 << 50
    limits: JobLimits

    @property
    def short_slots(self) -> int:
        """Slots besides the others, for short jobs only: they never wait behind long ones."""
        return ceil(self.slots / _SLOTS_PER_FURTHER_SLOT) if self.short_seconds else 0

    @property
    def first_slots(self) -> int:
        """Slots besides the others, for keys with no running job, short ones aside."""
        return ceil(self.slots / _SLOTS_PER_FURTHER_SLOT)

    @property
    def threads(self) -> int:
        """The threads that run jobs."""
        return self.slots + self.short_slots + self.first_slots


class Runner:
    """The workers of one server."""

    def __init__(
        self,
        database: Database,
        queue: Queue,
        claims: Claims,
        cache: PlanCache,
        executor: Executor,
        settings: RunnerSettings,
        metrics: Metrics,
        on_change: Callable[[str], None] = lambda _job: None,
    ) -> None:
        self.name = uuid.uuid4().hex
        self._claims = claims
        self._executor = executor
        self._settings = settings
        self._metrics = metrics
        self._on_change = on_change
        self._shutdown = Shutdown()
        self._steps = JobSteps(cache, executor, settings.limits, metrics, self._shutdown)
        self.clock = StoreClock(database)
        self._housekeeper = Housekeeper(
            database,
            queue,
            claims,
            metrics,
            self.clock,
            lease_seconds=settings.lease_seconds,
            keep_seconds=settings.keep_seconds,
            key_cache_bytes=settings.key_cache_bytes,
            max_plans=settings.max_plans,
            running=self._running_jobs,
            on_requeued=self.wake,
            on_change=on_change,
        )
        self._lock = threading.Lock()
        self._runs: dict[str, JobRun] = {}
        self._lanes = Lanes(settings.slots, settings.short_slots, settings.first_slots)
        self._notices = Notices(database, self.wake)
        self._threads: list[threading.Thread] = []
        self._backoff = Backoff()

    def start(self) -> None:
        """Start the threads."""
        for lane in self._lanes.all:
            for number in range(lane.slots):
                self._start_thread(partial(self._serve, lane), f"memstow {lane.name} {number}")
        self._start_thread(lambda: self._housekeeper.serve(self._shutdown), "memstow housekeeper")
        if self._settings.slots:
            self._start_thread(lambda: self._notices.serve(self._shutdown.stopped), "memstow notices")
            self._executor.prepare()

    def wake(self) -> None:
        """There may be a job to claim."""
        self._lanes.wake()

    def running(self) -> int:
        """The number of jobs that this server runs."""
        with self._lock:
            return len(self._runs)

    def request_stop(self, job: str, stop: Stop) -> None:
        """Ask a job to end without waiting for the next heartbeat, if it runs here."""
        run = self._running_jobs().get(job)
        if run is not None:
            run.request_stop(stop)

    def end_invalid_keys(self) -> None:
        """End the jobs of keys that are revoked or have expired, now rather than with the next heartbeat."""
        self._housekeeper.end_invalid_keys()

    def drain(self, seconds: float) -> None:
        """Claim nothing new; after this time put the running jobs back with their best plans."""
        end = time.monotonic() + seconds
        self._stop_claiming()
        # A job that does not end by itself needs a moment to hand over its best plan.
        while self.running() and time.monotonic() < end - min(2.0, seconds / 2):
            time.sleep(0.02)
        self._shutdown.ending.set()
        while self.running() and time.monotonic() < end:
            time.sleep(0.02)
        self.close()

    def close(self) -> None:
        """End at once; jobs that still run are put back by another server, or by the next one."""
        self._shutdown.stopped.set()
        self._stop_claiming()
        self._executor.close()
        for thread in self._threads:
            thread.join(2.0)

    def _stop_claiming(self) -> None:
        self._shutdown.draining.set()
        self._lanes.wake_all()

    def _start_thread(self, target: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _running_jobs(self) -> dict[str, JobRun]:
        with self._lock:
            return dict(self._runs)

    # One worker

    def _serve(self, lane: Lane) -> None:
        while not self._shutdown.draining.is_set():
            rings_before = lane.bell.rings
            with self._lock:
                seconds, delayed = self._backoff.seconds(), self._backoff.delayed_jobs()
            if seconds:
                self._shutdown.draining.wait(seconds)
                continue
            try:
                claimed = self._claim(lane, delayed)
            except StoreError as error:
                log.warning("store_error", during="take", error=str(error))
                self._shutdown.stopped.wait(_RETRY_SECONDS)
                continue
            except Exception as error:
                # Nothing was claimed; the thread must go on.
                log.warning("shortage" if is_shortage(error) else "defect", during="take", exc_info=error)
                self._shutdown.stopped.wait(_RETRY_SECONDS)
                continue
            if claimed is not None:
                with self._lanes.taken(lane):
                    self._run(claimed)
            elif not self._shutdown.draining.is_set():
                lane.bell.wait(rings_before, self._poll_seconds())

    def _claim(self, lane: Lane, delayed: Collection[str]) -> ClaimedJob | None:
        if not self._lanes.may_claim(lane):
            return None
        return self._claims.claim(
            self.name,
            self._settings.key_running,
            delayed,
            short_only=lane.short_only,
            first_only=lane.first_only,
        )

    def _poll_seconds(self) -> float:
        """Seconds after which the store is asked for a job though nothing was heard of one."""
        longest = _POLL_WITH_NOTICES_SECONDS if self._notices.reliable else _POLL_SECONDS
        with self._lock:
            delayed = self._backoff.next_job_seconds()
        return longest if delayed is None else min(longest, delayed)

    def _run(self, claimed: ClaimedJob) -> None:
        job = claimed.job
        run = JobRun(claimed, self._claims, self._shutdown, self._settings.keep_seconds, self._on_change)
        with self._lock:
            before = self._runs.get(job.id)
            self._runs[job.id] = run
        if before is not None:
            # Taken from this server, and claimed by it again before it noticed.
            before.lost = True
        self._metrics.solving.inc()
        try:
            with tracing.job(
                job.trace,
                job.created if job.attempt == 1 else None,
                {"memstow.job": job.id, "memstow.attempt": job.attempt, "memstow.buffers": job.buffers},
            ):
                structlog.contextvars.bind_contextvars(job=job.id, attempt=job.attempt, **tracing.log_ids())
                short = self._answer(run)
            with self._lock:
                (self._backoff.shortage if short else self._backoff.success)(job.id)
        finally:
            structlog.contextvars.clear_contextvars()
            self._metrics.solving.dec()
            with self._lock:
                if self._runs.get(job.id) is run:
                    del self._runs[job.id]
            self._on_change(job.id)
            # Equal jobs and those of the same key may have waited for this one.
            self.wake()

    def _answer(self, run: JobRun) -> bool:
        """Answer one job, or write why not; returns whether a shortage of this server kept it from that."""
        try:
            self._steps.answer(run)
        except Exception as error:
            if is_shortage(error):
                self._end_for_shortage(run, error)
                return True
            if isinstance(error, OSError) and run.job.losses + 1 < self._settings.limits.max_attempts:
                # Nobody expected it, so it is not tried for ever.
                self._end_for_shortage(run, error, lost=True)
                return True
            if isinstance(error, MemstowError):
                run.finish(State.FAILED, error=_error_text(error))
            else:
                log.exception("defect")
                run.finish(State.FAILED, error="defect: the server could not run this job")
        return False

    def _end_for_shortage(self, run: JobRun, error: Exception, *, lost: bool = False) -> None:
        log.warning("shortage", during="run", error=str(error), exc_info=error if lost else None)
        self._metrics.shortages.inc()
        if run.lost:
            return
        if run.stop is Stop.NO:
            run.put_back(lost=lost)
        else:
            run.finish(State.CANCELLED)


def _error_text(error: MemstowError) -> str:
    if isinstance(error, InputError):
        return str(error)
    kind = "defect" if isinstance(error, RefusedPlanError) else "declined"
    return f"{kind}: {error}"
