"""One run of a job, as the store sees it: its progress and events on the way, and its end."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import structlog

from memstow.api.operations.encoding import plan_from_bytes
from memstow.api.operations.request_types import (
    FrontUpdate,
    SolveResult,
    SolveUpdate,
    event_data,
    event_name,
    point_data,
)
from memstow.api.store.claims import ClaimedJob, Claims
from memstow.api.store.database import StoreError
from memstow.api.store.endings import Ending
from memstow.api.store.job import Job, JobEvent, Progress, State, Stop
from memstow.api.store.job_events import done_event
from memstow.api.store.plan_cache import LARGEST_COMPARED
from memstow.planner.model import Status
from memstow.planner.model.options import Bound, Event, Incumbent
from memstow.planner.solve.run_state import better

_FLUSH_SECONDS: Final = 0.25
_RETRY_SECONDS: Final = 1.0

T = TypeVar("T")
log = structlog.get_logger("memstow.jobs")


@dataclass(frozen=True, slots=True)
class Shutdown:
    """How far a server is on the way to its end. Each step includes those before."""

    draining: threading.Event = field(default_factory=threading.Event)
    """Take no new jobs."""
    ending: threading.Event = field(default_factory=threading.Event)
    """Stop the running jobs and put them back with their best plans."""
    stopped: threading.Event = field(default_factory=threading.Event)
    """Wait for nothing any more."""


class JobRun:
    """A claimed job. One thread runs it; others may ask it to stop."""

    def __init__(
        self,
        claimed: ClaimedJob,
        claims: Claims,
        shutdown: Shutdown,
        keep_seconds: float,
        on_change: Callable[[str], None],
    ) -> None:
        self.claimed = claimed
        self.begin = time.monotonic()
        self.stop = Stop.NO
        self.lost = False
        """Whether another server has the job by now, or its owner has removed it."""
        self._claims = claims
        self._shutdown = shutdown
        self._keep_seconds = keep_seconds
        self._on_change = on_change
        self._progress = Progress()
        self._events: list[JobEvent] = []
        self._changed = False
        self._flushed_at = 0.0

    @property
    def job(self) -> Job:
        """The job."""
        return self.claimed.job

    def request_stop(self, stop: Stop) -> None:
        """Ask the run to end."""
        self.stop = max(self.stop, stop)

    # Progress

    def on_update(self, update: SolveUpdate) -> None:
        """Take in a better plan or an event; written with the next flush."""
        if isinstance(update, SolveResult):
            self.set_result(update)
        elif isinstance(update, FrontUpdate):
            # One write holds both: a point that was told is in the front that another attempt goes on from.
            self.set_result(update.front)
            self._events += [JobEvent("point", json.dumps(point_data(it))) for it in update.points]
        else:
            self._add_event(update)

    def set_result(self, result: SolveResult) -> None:
        """Take in a plan, unless an earlier attempt left a better one; written with the next flush."""
        if self.is_worse(result):
            return
        self._progress, self._changed = _progress_of(result), True

    def latest(self) -> bytes | None:
        """The plan or the front so far, of this attempt or of an earlier one."""
        return self.claimed.plan if self._progress.plan is None else self._progress.plan

    def is_worse(self, result: SolveResult) -> bool:
        """Whether an earlier attempt left a better plan: a deterministic run does not start from it."""
        if self.job.is_front or self.job.is_symbolic:
            # It goes on from what an earlier attempt left, or begins anew.
            return False
        earlier = self.claimed.plan
        if earlier is None or result.status == Status.INFEASIBLE.value:
            return False
        if result.status == Status.UNKNOWN.value:
            return True
        if len(result.plan) >= LARGEST_COMPARED:
            return result.value is not None and not self._is_at_least_as_good(result.value)
        return better(plan_from_bytes(earlier), plan_from_bytes(result.plan))

    def _is_at_least_as_good(self, value: int) -> bool:
        return self.job.value is None or value <= self.job.value

    def _add_event(self, event: Event) -> None:
        if isinstance(event, Incumbent) and not self._improves(event.value):
            return
        name = event_name(event)
        if self._events and self._events[-1].kind == name != "phase":
            # Of several in a row the last one is enough.
            self._events.pop()
        self._events.append(JobEvent(name, json.dumps(event_data(event))))
        if self.job.is_front:
            # Found or proven while one of its points was looked for: that says nothing of the front.
            return
        match event:
            case Incumbent():
                self._progress, self._changed = replace(self._progress, value=event.value), True
            case Bound():
                self._progress, self._changed = replace(self._progress, bound=event.value), True

    def _improves(self, value: int) -> bool:
        best = self.job.value if self._progress.value is None else self._progress.value
        return best is None or value < best

    def flush(self) -> None:
        """Write the progress, if there is any and the last write is long enough ago."""
        now = time.monotonic()
        if now - self._flushed_at < _FLUSH_SECONDS or not (self._changed or self._events):
            return
        self._flushed_at = now
        events, self._events = self._events, []
        changed, self._changed = self._changed, False
        progress = self._progress if changed else Progress()
        try:
            held = self._claims.record(self.job.id, self.job.attempt, progress, events)
        except StoreError as error:
            self._events = events + self._events
            self._changed = changed or self._changed
            self._flushed_at = now + _RETRY_SECONDS
            log.warning("store_error", during="learn", error=str(error))
            return
        self.lost = self.lost or not held
        self._on_change(self.job.id)

    # The end

    def put_back(self, *, lost: bool = False) -> None:
        """Put the job back into the queue, with its best plan; `lost`: its process was lost."""
        events, self._events = self._events, []

        def write() -> None:
            if self._changed or events:
                self._claims.record(self.job.id, self.job.attempt, self._progress, events)
            self._claims.requeue(
                self.job.id, self.job.attempt, self._keep_seconds, lost=lost, ran_seconds=self._seconds()
            )

        self.with_retries(write)
        log.info("job_put_back")

    def finish(self, state: State, result: SolveResult | None = None, error: str | None = None) -> None:
        """Write the end of the job: with this result, or with the progress so far."""
        job = self.job
        if self.stop is Stop.DISCARD:
            self.with_retries(
                lambda: self._claims.requeue(
                    job.id, job.attempt, self._keep_seconds, ran_seconds=self._seconds()
                )
            )
            return
        progress = self._progress if result is None else _progress_of(result)
        ending = Ending(
            state=state,
            progress=progress,
            events=[*self._events, done_event(state, progress)],
            keep_seconds=self._keep_seconds,
            error=error,
            ran_seconds=self._seconds(),
        )
        written = self.with_retries(lambda: self._claims.finish(job.id, job.attempt, ending))
        log.info("job_finished", state=state.value, status=progress.status, written=written)

    def _seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self.begin

    def with_retries(self, call: Callable[[], T]) -> T | None:
        """The result of a call of the store, repeated while it is away. None when the server ends first."""
        while True:
            try:
                return call()
            except StoreError as error:
                log.warning("store_error", during="write", error=str(error))
                if self._shutdown.stopped.wait(_RETRY_SECONDS):
                    return None


def _progress_of(result: SolveResult) -> Progress:
    return Progress(
        value=result.value,
        bound=result.bound,
        peak=result.peak,
        solver=result.solver,
        status=result.status,
        plan=result.plan,
    )
