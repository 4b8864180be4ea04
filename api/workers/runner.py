"""Works off the queue: takes jobs, runs each in a child, shows that they live, takes over from the dead.

Plain threads, because all of it waits: for the store, for a pipe, for a clock.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import structlog

from memstow.api.metrics import Metrics
from memstow.api.operations.body import plan_of
from memstow.api.operations.buffer_order import buffers_of, written_in_order
from memstow.api.operations.operations import at_once
from memstow.api.operations.results import Solved, event_message, event_of, solved_of
from memstow.api.store.database import Database, StoreError
from memstow.api.store.job import State, Stop
from memstow.api.store.plan_cache import Found, PlanCache
from memstow.api.store.queue import Known, Queue, Taken
from memstow.api.store.retention import forget
from memstow.api.workers.executor import Place
from memstow.api.workers.isolated_run import ChildError, Watch
from memstow.planner.model.errors import InputError, MemstowError, RefusedPlanError
from memstow.planner.model.events import Bound, Event, Incumbent
from memstow.planner.model.plan import gap_of
from memstow.planner.processes.frames import Message
from memstow.planner.solve.better_plan import better

_FLUSH_SECONDS: Final = 0.25
_PATIENCE_SECONDS: Final = 1.0
_FORGET_SECONDS: Final = 30.0
# A run may take longer than its limit by its start and its last judgement.
_MARGIN_SECONDS: Final = 10.0

log = structlog.get_logger("memstow.jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """How the queue is worked off."""

    slots: int
    solve_memory: int
    max_time_limit: float
    key_running: int
    lease_seconds: float
    keep_seconds: float
    max_plans: int
    max_attempts: int
    fast_seconds: float
    fast_body: int


@dataclass(slots=True)
class _Run:
    """A job that this server works on."""

    taken: Taken
    begin: float = field(default_factory=time.monotonic)
    stop: Stop = Stop.NO
    lost: bool = False
    known: Known = field(default_factory=Known)
    said: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    changed: bool = False
    flushed: float = 0.0


class Runner:
    """The workers of one server."""

    def __init__(
        self,
        database: Database,
        queue: Queue,
        cache: PlanCache,
        place: Place,
        work: Work,
        metrics: Metrics,
        on_change: Callable[[str], None] = lambda _job: None,
    ) -> None:
        self._database = database
        self._queue = queue
        self._cache = cache
        self._place = place
        self._work = work
        self._metrics = metrics
        self._on_change = on_change
        self.name = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._wake = threading.Condition()
        self._woken = 0
        self._draining = threading.Event()
        self._ending = threading.Event()
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        self._seen: dict[str, tuple[tuple[int, int], float]] = {}

    def start(self) -> None:
        """Begin to work."""
        for number in range(self._work.slots):
            self._begin(self._serve, f"memstow worker {number}")
        self._begin(self._keep, "memstow keeper")
        if self._work.slots:
            self._place.prepare()

    def wake(self) -> None:
        """There is a new job."""
        with self._wake:
            self._woken += 1
            self._wake.notify()

    def running(self) -> int:
        """Jobs that this server works on."""
        with self._lock:
            return len(self._runs)

    def nudge(self, job: str, stop: Stop) -> None:
        """Tell a job to end without waiting for the next heartbeat, if it runs here."""
        with self._lock:
            run = self._runs.get(job)
        if run is not None:
            run.stop = max(run.stop, stop)

    def drain(self, seconds: float) -> None:
        """Take nothing new; give what runs this long, then keep its best plan and put it back."""
        end = time.monotonic() + seconds
        self._draining.set()
        with self._wake:
            self._wake.notify_all()
        # What does not end by itself needs a moment to hand over its best plan.
        while self.running() and time.monotonic() < end - min(2.0, seconds / 2):
            time.sleep(0.02)
        self._ending.set()
        while self.running() and time.monotonic() < end:
            time.sleep(0.02)
        self.close()

    def close(self) -> None:
        """End at once; what still runs is put back by whoever comes next."""
        self._draining.set()
        self._stopped.set()
        with self._wake:
            self._wake.notify_all()
        self._place.close()
        for thread in self._threads:
            thread.join(2.0)

    # The workers

    def _begin(self, work: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while not self._draining.is_set():
            before = self._woken
            try:
                taken = self._queue.take(self.name, self._work.key_running)
            except StoreError as error:
                log.warning("store_error", during="take", error=str(error))
                self._stopped.wait(_PATIENCE_SECONDS)
                continue
            if taken is not None:
                self._attend(taken)
                continue
            with self._wake:
                if self._woken == before and not self._draining.is_set():
                    # Other servers put jobs in too, and only the store knows.
                    self._wake.wait(0.5)

    def _attend(self, taken: Taken) -> None:
        run = _Run(taken)
        with self._lock:
            self._runs[taken.job.id] = run
        self._metrics.solving.inc()
        structlog.contextvars.bind_contextvars(job=taken.job.id, attempt=taken.job.attempt)
        try:
            self._run(run)
        except MemstowError as error:
            self._finish(run, State.FAILED, error=_told(error))
        except Exception:
            log.exception("defect")
            self._finish(run, State.FAILED, error="defect: the server could not run this job")
        finally:
            structlog.contextvars.clear_contextvars()
            self._metrics.solving.dec()
            with self._lock:
                self._runs.pop(taken.job.id, None)
            self._on_change(taken.job.id)
            # Equal jobs and those of the same key may have waited for this one.
            self.wake()

    def _run(self, run: _Run) -> None:
        job, taken = run.taken.job, run.taken
        log.info("job_started", digest=job.digest, buffers=job.buffers)
        if not job.fresh:
            deterministic = bool(json.loads(job.options)["deterministic"])
            cached = self._patiently(lambda: self._cache.answer(job.cache_key, job.digest, deterministic))
            if cached is not None:
                self._metrics.cache.labels("hit").inc()
                ordered = written_in_order(buffers_of(taken.problem), cached.plan)
                self._finish(run, State.DONE, replace(cached, plan=ordered))
                return
        known = taken.plan
        if known is None and job.batch_id is None:
            # The jobs of a batch are compared with each other: none may start from what another found.
            known = self._patiently(lambda: self._cache.best_of(job.digest))
        if taken.plan is None and job.attempt == 1 and len(taken.problem) <= self._work.fast_body:
            result, whole = at_once(
                taken.problem,
                job.options,
                taken.hint,
                known,
                self._work.fast_seconds,
                lambda event: self._hear_event(run, event),
            )
            if result is not None and whole:
                self._with_answer(run, result)
                return
            if result is not None and known is None:
                run.known, run.changed = _known(result), True
                known = result.plan
                self._flush(run)
        seconds, memory = self._limits(run)
        watch = Watch(
            memory=memory,
            seconds=seconds,
            hear=lambda message: self._hear(run, message),
            stopped=lambda: run.stop is not Stop.NO or self._ending.is_set(),
            killed=lambda: run.lost or self._stopped.is_set() or run.stop is Stop.DISCARD,
            tick=lambda: self._flush(run),
        )
        arguments = {
            "problem": taken.problem,
            "options": job.options,
            "hint": taken.hint,
            "known": known,
        }
        try:
            result = solved_of(self._place.run("solve", arguments, watch))
        except ChildError as error:
            self._without_answer(run, error)
        else:
            self._with_answer(run, result)

    def _limits(self, run: _Run) -> tuple[float, int]:
        options = json.loads(run.taken.job.options)
        allowed = self._work.max_time_limit
        seconds = allowed if options["deterministic"] else min(options["time_limit"], allowed)
        memory = options.get("memory_limit") or self._work.solve_memory
        return seconds + _MARGIN_SECONDS, min(memory, self._work.solve_memory)

    def _with_answer(self, run: _Run, result: Solved) -> None:
        if self._ending.is_set() and run.stop is Stop.NO and result.status not in ("optimal", "infeasible"):
            run.known = _known(result)
            run.changed = True
            self._put_back(run)
            return
        seconds = time.monotonic() - run.begin
        known = result.value is not None and result.bound is not None
        gap = gap_of(result.value or 0, result.bound or 0) if known else None
        self._metrics.solve_ended(result.solver, result.status, seconds, gap)
        self._remember(run, result, run.stop is Stop.NO)
        self._finish(run, State.DONE if run.stop is Stop.NO else State.CANCELLED, result)

    def _without_answer(self, run: _Run, error: ChildError) -> None:
        job = run.taken.job
        log.warning("child_ended", reason=error.code, message=str(error))
        if run.lost:
            return
        ending = self._stopped.is_set() or self._ending.is_set() or error.code in ("killed", "stopping")
        again = error.code == "child_lost" and job.attempt < self._work.max_attempts
        if run.stop is not Stop.NO:
            self._finish(run, State.CANCELLED)
        elif ending or again:
            self._put_back(run)
        else:
            self._finish(run, State.FAILED, error=f"{error.code}: {error}")

    def _remember(self, run: _Run, result: Solved, whole: bool) -> None:
        """Keep the plan for those who ask the same, and as the start of those who ask nearly the same."""
        job, plan = run.taken.job, result.plan
        if result.status == "unknown":
            return
        found = plan_of(plan) if len(plan) < 1 << 20 else None
        before = self._patiently(lambda: self._cache.best_of(job.digest)) if found is not None else None
        leads = (
            result.status == "infeasible"
            or before is None
            or (found is not None and not better(plan_of(before), found))
        )
        key = job.cache_key if whole else None
        try:
            self._cache.keep([Found(job.digest, result, key, leads)])
        except StoreError as error:
            log.warning("store_error", during="keep", error=str(error))

    # Writing

    def _hear(self, run: _Run, message: Message) -> None:
        if message["kind"] == "plan":
            run.known, run.changed = _known(solved_of(message)), True
        elif message["kind"] == "event":
            self._hear_event(run, event_of(message))

    def _hear_event(self, run: _Run, event: Event) -> None:
        if isinstance(event, Incumbent) and self._worse(run, event.value):
            return
        said = event_message(event)
        if run.said and run.said[-1][0] == said["event"] != "phase":
            # Between two looks only the last of a kind counts.
            run.said.pop()
        run.said.append((said["event"], said["data"]))
        match event:
            case Incumbent():
                run.known, run.changed = replace(run.known, value=event.value), True
            case Bound():
                run.known, run.changed = replace(run.known, bound=event.value), True

    @staticmethod
    def _worse(run: _Run, value: int) -> bool:
        best = run.taken.job.value if run.known.value is None else run.known.value
        return best is not None and value >= best

    def _flush(self, run: _Run) -> None:
        at = time.monotonic()
        if at - run.flushed < _FLUSH_SECONDS or not (run.changed or run.said):
            return
        run.flushed = at
        said, run.said = run.said, []
        changed, run.changed = run.changed, False
        try:
            mine = self._queue.learn(
                run.taken.job.id, run.taken.job.attempt, run.known if changed else Known(), said
            )
        except StoreError as error:
            run.said = said + run.said
            run.changed = changed or run.changed
            run.flushed = at + _PATIENCE_SECONDS
            log.warning("store_error", during="learn", error=str(error))
            return
        run.lost = run.lost or not mine
        self._on_change(run.taken.job.id)

    def _put_back(self, run: _Run) -> None:
        job = run.taken.job
        said, run.said = run.said, []

        def put_back() -> None:
            if run.changed:
                self._queue.learn(job.id, job.attempt, run.known, said)
            self._queue.requeue(job.id, job.attempt)

        self._patiently(put_back)
        log.info("job_put_back")

    def _finish(
        self, run: _Run, state: State, result: Solved | None = None, error: str | None = None
    ) -> None:
        job = run.taken.job
        if run.stop is Stop.DISCARD:
            self._patiently(lambda: self._queue.requeue(job.id, job.attempt))
            return
        known = run.known if result is None else _known(result)
        last = {"state": state.value, "status": known.status, "value": known.value, "bound": known.bound}
        said: list[tuple[str, Mapping[str, Any]]] = [*run.said, ("done", last)]
        written = self._patiently(
            lambda: self._queue.finish(
                job.id, job.attempt, state, known, said, self._work.keep_seconds, error
            )
        )
        log.info("job_finished", state=state.value, status=known.status, written=written)

    def _patiently(self, call: Callable[[], Any]) -> Any:
        """The call's result; while the store is away, again and again. None when the server ends first."""
        while True:
            try:
                return call()
            except StoreError as error:
                log.warning("store_error", during="write", error=str(error))
                if self._stopped.wait(_PATIENCE_SECONDS):
                    return None

    # The keeper

    def _keep(self) -> None:
        interval = self._work.lease_seconds / 5
        forgot = 0.0
        while not self._stopped.wait(interval):
            try:
                self._beat()
                self._take_over()
                if time.monotonic() - forgot > _FORGET_SECONDS:
                    forget(self._database, self._work.max_plans)
                    forgot = time.monotonic()
                counts = self._queue.counts()
                self._metrics.queued.set(counts[State.QUEUED])
                self._metrics.running.set(counts[State.RUNNING])
            except StoreError as error:
                log.warning("store_error", during="heartbeat", error=str(error))
            except Exception:
                log.exception("defect")

    def _beat(self) -> None:
        with self._lock:
            runs = dict(self._runs)
        if not runs:
            return
        told = self._queue.beat([(job, run.taken.job.attempt) for job, run in runs.items()])
        for job, stop in told.items():
            if stop is None:
                runs[job].lost = True
            else:
                runs[job].stop = max(runs[job].stop, stop)

    def _take_over(self) -> None:
        """Put back what nobody keeps alive: its beat stood still for a lease, by our own steady clock."""
        at = time.monotonic()
        beats = self._queue.beats()
        with self._lock:
            mine = {job: run.taken.job.attempt for job, run in self._runs.items()}
        seen = {}
        for job, beat in beats.items():
            if mine.get(job) == beat[0]:
                continue
            last, since = self._seen.get(job, (beat, at))
            if last != beat:
                since = at
            if at - since > self._work.lease_seconds:
                if self._queue.requeue(job, beat[0]):
                    log.warning("job_taken_over", job=job)
                    self._metrics.taken_over.inc()
                    self.wake()
                continue
            seen[job] = (beat, since)
        self._seen = seen


def _told(error: MemstowError) -> str:
    if isinstance(error, InputError):
        return str(error)
    kind = "defect" if isinstance(error, RefusedPlanError) else "declined"
    return f"{kind}: {error}"


def _known(result: Solved) -> Known:
    return Known(
        value=result.value,
        bound=result.bound,
        peak=result.peak,
        solver=result.solver,
        status=result.status,
        plan=result.plan,
    )
