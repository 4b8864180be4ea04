"""Runs the jobs of the queue: threads that claim jobs and answer them, and the way to their end.

Plain threads, because all of them wait: for the store, for a pipe, for a clock.
"""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from memstow.api import tracing
from memstow.api.metrics import Metrics
from memstow.api.store.claims import ClaimedJob, Claims
from memstow.api.store.database import Database, StoreError
from memstow.api.store.job import Job, State, Stop
from memstow.api.store.plan_cache import PlanCache
from memstow.api.store.queue import Queue
from memstow.api.workers.executor import Executor
from memstow.api.workers.housekeeper import Housekeeper
from memstow.api.workers.job_run import JobRun, Shutdown
from memstow.api.workers.job_steps import JobLimits, JobSteps
from memstow.api.workers.shortage import Backoff, is_shortage
from memstow.planner.model.errors import InputError, MemstowError, RefusedPlanError

_RETRY_SECONDS: Final = 1.0
# Other servers submit jobs too: the store is asked this often.
_POLL_SECONDS: Final = 0.5

log = structlog.get_logger("memstow.jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """How the queue is processed, from the settings of the server."""

    slots: int
    key_running: int
    lease_seconds: float
    keep_seconds: float
    max_plans: int
    limits: JobLimits


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
        self._housekeeper = Housekeeper(
            database,
            queue,
            claims,
            metrics,
            lease_seconds=settings.lease_seconds,
            keep_seconds=settings.keep_seconds,
            max_plans=settings.max_plans,
            running=self._running_jobs,
            on_requeued=self.wake,
        )
        self._lock = threading.Lock()
        self._runs: dict[str, JobRun] = {}
        self._wake = threading.Condition()
        self._wake_calls = 0
        self._threads: list[threading.Thread] = []
        self._backoff = Backoff()

    def start(self) -> None:
        """Start the threads."""
        for number in range(self._settings.slots):
            self._start_thread(self._serve, f"memstow worker {number}")
        self._start_thread(lambda: self._housekeeper.serve(self._shutdown), "memstow housekeeper")
        if self._settings.slots:
            self._executor.prepare()

    def wake(self) -> None:
        """There is a new job."""
        with self._wake:
            self._wake_calls += 1
            self._wake.notify()

    def running(self) -> int:
        """The number of jobs that this server runs."""
        with self._lock:
            return len(self._runs)

    def request_stop(self, job: str, stop: Stop) -> None:
        """Ask a job to end without waiting for the next heartbeat, if it runs here."""
        run = self._running_jobs().get(job)
        if run is not None:
            run.request_stop(stop)

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
        with self._wake:
            self._wake.notify_all()

    def _start_thread(self, target: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _running_jobs(self) -> dict[str, JobRun]:
        with self._lock:
            return dict(self._runs)

    # One worker

    def _serve(self) -> None:
        while not self._shutdown.draining.is_set():
            calls_before = self._wake_calls
            with self._lock:
                seconds, delayed = self._backoff.seconds(), self._backoff.delayed_jobs()
            if seconds:
                self._shutdown.draining.wait(seconds)
                continue
            try:
                claimed = self._claims.claim(self.name, self._settings.key_running, delayed)
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
                self._run(claimed)
            else:
                self._wait_for_job(calls_before)

    def _wait_for_job(self, calls_before: int) -> None:
        with self._wake:
            if self._wake_calls == calls_before and not self._shutdown.draining.is_set():
                self._wake.wait(_POLL_SECONDS)

    def _run(self, claimed: ClaimedJob) -> None:
        job = claimed.job
        run = JobRun(claimed, self._claims, self._shutdown, self._settings.keep_seconds, self._on_change)
        with self._lock:
            self._runs[job.id] = run
        self._metrics.solving.inc()
        try:
            with tracing.job(job.trace, job.created if job.attempt == 1 else None, _about(job)):
                structlog.contextvars.bind_contextvars(job=job.id, attempt=job.attempt, **tracing.log_ids())
                short = self._answer(run)
            with self._lock:
                (self._backoff.shortage if short else self._backoff.success)(job.id)
        finally:
            structlog.contextvars.clear_contextvars()
            self._metrics.solving.dec()
            with self._lock:
                self._runs.pop(job.id, None)
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
            if isinstance(error, MemstowError):
                run.finish(State.FAILED, error=_error_text(error))
            else:
                log.exception("defect")
                run.finish(State.FAILED, error="defect: the server could not run this job")
        return False

    def _end_for_shortage(self, run: JobRun, error: Exception) -> None:
        log.warning("shortage", during="run", error=str(error))
        self._metrics.shortages.inc()
        if run.lost:
            return
        if run.stop is Stop.NO:
            run.put_back()
        else:
            run.finish(State.CANCELLED)


def _about(job: Job) -> tracing.Attributes:
    return {"memstow.job": job.id, "memstow.attempt": job.attempt, "memstow.buffers": job.buffers}


def _error_text(error: MemstowError) -> str:
    if isinstance(error, InputError):
        return str(error)
    kind = "defect" if isinstance(error, RefusedPlanError) else "declined"
    return f"{kind}: {error}"
