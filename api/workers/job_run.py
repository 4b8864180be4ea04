"""One run of a job: its progress and events as the store sees them, and the steps to its answer.

The answer is from the cache, by a short attempt, or else by a run of its own.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import structlog

from memstow.api import tracing
from memstow.api.metrics import Metrics
from memstow.api.operations.encoding import (
    buffer_ids,
    bytes_in_order,
    document_from,
    is_of_this_version,
    options_from_text,
    plan_from_bytes,
)
from memstow.api.operations.operations import PROVE, SOLVE, SOLVE_FRONT, SOLVE_SYMBOLIC
from memstow.api.operations.request_types import (
    FrontUpdate,
    ProveRequest,
    ProveResult,
    SolveFrontRequest,
    SolveRequest,
    SolveResult,
    SolveSymbolicRequest,
    SolveUpdate,
    event_data,
    event_name,
    point_data,
)
from memstow.api.operations.solve import stands_alone, try_briefly
from memstow.api.store.database import StoreError
from memstow.api.store.job_records import Ending, done_event
from memstow.api.store.plan_cache import LARGEST_COMPARED, CachedPlan, PlanCache, owned
from memstow.api.store.queue import ClaimedJob, Claims
from memstow.api.store.tables import Job, JobEvent, Progress, State, Stop
from memstow.api.workers.executor import SHORTAGE, ChildError, Executor, RunControl
from memstow.planner.model import Status
from memstow.planner.model.options import Bound, Event, Incumbent
from memstow.planner.model.plan import gap_of
from memstow.planner.solve.one_run import better
from memstow.solvers.core import DEFAULT_WORK

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
            self._events += [JobEvent("point", json.dumps(point_data(point))) for point in update.points]
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
            known = self.job.value
            return result.value is not None and known is not None and result.value > known
        return better(plan_from_bytes(earlier), plan_from_bytes(result.plan))

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
                self.job.id, self.job.attempt, self._keep_seconds, lost=lost, ran_seconds=self.seconds()
            )

        self.with_retries(write)
        log.info("job_put_back")

    def finish(
        self,
        state: State,
        result: SolveResult | None = None,
        error: str | None = None,
        proof: bytes | None = None,
    ) -> None:
        """Write the end of the job: with this result and its proof, or with the progress so far."""
        job = self.job
        if self.stop is Stop.DISCARD:
            self.with_retries(
                lambda: self._claims.requeue(
                    job.id, job.attempt, self._keep_seconds, ran_seconds=self.seconds()
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
            ran_seconds=self.seconds(),
            proof=proof,
        )
        written = self.with_retries(lambda: self._claims.finish(job.id, job.attempt, ending))
        log.info("job_finished", state=state.value, status=progress.status, written=written)

    def seconds(self) -> float:
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


# A run may exceed its limit by its start and its last verification.
_MARGIN_SECONDS: Final = 10.0
# Problems with symbols are examined, and made a problem at each point, which only their sizes limit.
_SYMBOLIC_MARGIN_SECONDS: Final = 120.0
_PROVEN: Final = (Status.OPTIMAL.value, Status.INFEASIBLE.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """The limits of a job, from the settings."""

    solve_memory: int
    max_time_limit: float
    max_attempts: int
    fast_seconds: float
    fast_body: int
    fast_choices: int
    share_cache: bool = False
    max_proof: int = 64 << 20


class JobSteps:
    """Answers jobs, from several threads."""

    def __init__(
        self, cache: PlanCache, executor: Executor, limits: JobLimits, metrics: Metrics, shutdown: Shutdown
    ) -> None:
        self._cache = cache
        self._executor = executor
        self._limits = limits
        self._metrics = metrics
        self._shutdown = shutdown

    def answer(self, run: JobRun) -> None:
        """Answer one job, and write its end or put it back."""
        log.info("job_started", digest=run.job.digest, buffers=run.job.buffers)
        if run.job.is_front:
            self._answer_by_run(run, run.claimed.plan)
            return
        cached = self._from_cache(run)
        if cached is not None:
            self._finish_proven(run, cached)
            return
        if run.job.is_symbolic:
            # No plan of another request serves this one, and no attempt is short enough for this process.
            self._answer_by_run(run, run.claimed.plan)
            return
        known = self._known_plan(run)
        result, final = self._quick_try(run, known)
        if result is not None and final:
            self._finish(run, result)
            return
        if result is not None and known is None:
            known = result.plan
            run.set_result(result)
            run.flush()
        self._answer_by_run(run, known)

    def _answer_by_run(self, run: JobRun, known: bytes | None) -> None:
        try:
            result = self._run_isolated(run, known)
        except ChildError as error:
            self._finish_without_result(run, error)
        else:
            self._finish(run, result)

    def _from_cache(self, run: JobRun) -> SolveResult | None:
        """The cached result, in the order of this problem."""
        job = run.job
        if job.fresh:
            return None
        if job.is_symbolic:
            stored = run.with_retries(lambda: self._cache.find(job.cache_key))
            if stored is not None:
                self._metrics.cache.labels("hit").inc()
            return stored
        alone = _stands_alone(run)
        cached = run.with_retries(lambda: self._cache.answer(job.cache_key, self._problem(run), alone))
        if cached is None:
            return None
        self._metrics.cache.labels("hit").inc()
        plan = bytes_in_order(buffer_ids(document_from(run.claimed.problem)), cached.plan)
        return replace(cached, plan=plan)

    def _known_plan(self, run: JobRun) -> bytes | None:
        """The plan to start from: of an earlier attempt, or the best one known for the problem."""
        if run.claimed.plan is not None:
            return run.claimed.plan
        if run.job.batch_id is not None or _stands_alone(run):
            # Jobs of a batch are compared with each other: none may start from another's plan.
            return None
        return run.with_retries(lambda: self._cache.best_of(self._problem(run)))

    def _owner(self, run: JobRun) -> str | None:
        """Whose entries of the cache the job may use."""
        return None if self._limits.share_cache else run.job.key_id

    def _problem(self, run: JobRun) -> str:
        """The name of the problem in the cache; the job's own key names its owner already."""
        return owned(run.job.digest, self._owner(run))

    def _quick_try(self, run: JobRun, known: bytes | None) -> tuple[SolveResult | None, bool]:
        """The result of a short attempt in this thread, and whether it is final."""
        claimed = run.claimed
        tried_before = claimed.plan is not None or claimed.job.attempt != 1
        if tried_before or len(claimed.problem) > self._limits.fast_body:
            return None, False
        limits = self._limits
        request = self._request(run, known)
        with tracing.solve(run.on_update) as on_event:
            return try_briefly(request, limits.fast_seconds, limits.fast_choices, on_event)

    def _run_isolated(self, run: JobRun, known: bytes | None) -> SolveResult:
        """The result of a run in a process of its own, here or on a cluster."""
        with tracing.solve(run.on_update) as on_update:
            control = replace(self._control(run, self._seconds_for(run)), on_update=on_update)
            request = self._request(run, known)
            if isinstance(request, SolveSymbolicRequest):
                return self._executor.run(SOLVE_SYMBOLIC, request, control)
            if isinstance(request, SolveFrontRequest):
                return self._executor.run(SOLVE_FRONT, request, control)
            return self._executor.run(SOLVE, request, control)

    def _seconds_for(self, run: JobRun) -> float:
        """The seconds that all of the job may take."""
        options = json.loads(run.job.options)
        allowed = self._limits.max_time_limit
        return allowed if options["deterministic"] else min(options["time_limit"], allowed)

    def _control(self, run: JobRun, seconds: float) -> RunControl:
        """The limits of a process for a run of at most these seconds."""
        shutdown = self._shutdown
        memory, most = json.loads(run.job.options).get("memory_limit"), self._limits.solve_memory
        by_option = memory is not None and memory < most
        return RunControl(
            memory=memory if by_option else most,
            memory_rule=f"the {'option `memory_limit`' if by_option else 'setting `solve_memory`'}",
            seconds=seconds + (_SYMBOLIC_MARGIN_SECONDS if run.job.is_symbolic else _MARGIN_SECONDS),
            stop_requested=lambda: run.stop is not Stop.NO or shutdown.ending.is_set(),
            kill_requested=lambda: run.lost or shutdown.stopped.is_set() or run.stop is Stop.DISCARD,
            tick=run.flush,
        )

    @staticmethod
    def _request(run: JobRun, known: bytes | None) -> SolveRequest:
        claimed = run.claimed
        kind = SolveRequest
        if run.job.is_front:
            kind = SolveFrontRequest
        elif run.job.is_symbolic:
            kind = SolveSymbolicRequest
        return kind(problem=claimed.problem, options=claimed.job.options, hint=claimed.hint, known_plan=known)

    def _finish(self, run: JobRun, result: SolveResult) -> None:
        stopped = run.stop is not Stop.NO
        if self._shutdown.ending.is_set() and not stopped and result.status not in _PROVEN:
            # The run was cut short by the end of the server: another goes on.
            run.set_result(result)
            run.put_back()
            return
        bounded = result.value is not None and result.bound is not None
        gap = gap_of(result.value or 0, result.bound or 0) if bounded else None
        self._metrics.solve_ended(result.solver, result.status, time.monotonic() - run.begin, gap)
        self._write_to_cache(run, result, complete=not stopped)
        if not stopped:
            self._finish_proven(run, result)
        else:
            run.finish(State.CANCELLED, None if run.is_worse(result) else result)

    def _finish_proven(self, run: JobRun, result: SolveResult) -> None:
        """End the job with the result, and with its proof where one is wanted and can be had."""
        if not run.job.wants_proof:
            run.finish(State.DONE, result)
            return
        run.set_result(result)
        run.flush()
        options = json.loads(run.job.options)
        is_deterministic = options["deterministic"]
        left = max(self._seconds_for(run) - run.seconds(), 0.0)
        request = ProveRequest(
            problem=run.claimed.problem,
            plan=result.plan,
            options=run.job.options,
            hint=run.claimed.hint,
            known=result.known,
            seconds=None if is_deterministic else left,
            work=options["work_limit"] or DEFAULT_WORK if is_deterministic else None,
            most_bytes=self._limits.max_proof,
        )
        try:
            proven = self._executor.run(PROVE, request, self._control(run, left))
        except ChildError as error:
            ended = self._shutdown.stopped.is_set() or run.lost or run.stop is Stop.DISCARD
            if error.code == SHORTAGE or ended:
                self._finish_without_result(run, error)
                return
            # The plan stands by itself.
            log.warning("child_ended", reason=error.code, message=str(error))
            proven = ProveResult(plan=result.plan, proof=None)
        if run.stop is Stop.NO and self._shutdown.ending.is_set() and proven.proof is None:
            run.put_back()  # Another server has the time that was left.
            return
        run.finish(State.DONE, replace(result, plan=proven.plan), proof=proven.proof)

    def _finish_without_result(self, run: JobRun, error: ChildError) -> None:
        if error.code == SHORTAGE:
            raise error
        log.warning("child_ended", reason=error.code, message=str(error))
        if run.lost:
            return
        shutdown = self._shutdown
        ending = shutdown.stopped.is_set() or shutdown.ending.is_set() or error.code in ("killed", "stopping")
        if error.code == "stuck" and not ending and run.stop is Stop.NO and self._finish_with_latest(run):
            return
        retry = error.code == "child_lost" and run.job.losses + 1 < self._limits.max_attempts
        if run.stop is not Stop.NO:
            run.finish(State.CANCELLED)
        elif ending or retry:
            run.put_back(lost=not ending)
        else:
            run.finish(State.FAILED, error=f"{error.code}: {error}")

    @staticmethod
    def _finish_with_latest(run: JobRun) -> bool:
        """End the job with the points of a front, or the plan for symbols, that its process had found."""
        latest = run.latest() if run.job.is_front or run.job.is_symbolic else None
        if latest is None:
            return False
        if run.job.is_symbolic:
            from memstow.api.operations.symbolic_solve import result_in

            run.finish(State.DONE, result_in(latest))
            return True
        from memstow.api.operations.front_solve import front_result

        result = front_result(latest)
        if result is None:
            return False
        run.finish(State.DONE, result)
        return True

    def _write_to_cache(self, run: JobRun, result: SolveResult, complete: bool) -> None:
        """Cache the plan for equal requests if the run was complete, and as the best of its problem."""
        if result.status == Status.UNKNOWN.value or run.job.is_front:
            return
        job = run.job
        # With servers of several versions on one store the request may have come to another one.
        key = job.cache_key if complete and is_of_this_version(job.cache_key) else None
        try:
            problem, alone = self._problem(run), _stands_alone(run)
            best = not job.is_symbolic and (
                # None: the server ends while the store is away.
                run.with_retries(lambda: self._cache.is_best(problem, result, alone)) is not False
            )
            self._cache.store([CachedPlan(problem, result, key, best, self._owner(run))])
        except StoreError as error:
            log.warning("store_error", during="keep", error=str(error))
        except (MemoryError, OSError) as error:
            # The cache is a help, the result is what the job is for.
            log.warning("shortage", during="keep", error=str(error))


def _stands_alone(run: JobRun) -> bool:
    return stands_alone(options_from_text(run.job.options, None))
