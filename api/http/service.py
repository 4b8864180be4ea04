"""The service behind the routes: opened whole, drained when the server is to end, then stopped."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

import structlog
from starlette.requests import Request

from memstow.api import tracing
from memstow.api.http.bodies import reservation_of
from memstow.api.http.callers import Caller, Callers, unauthorized
from memstow.api.http.errors import ApiError
from memstow.api.http.fair_threads import STORE_THREADS, Threads
from memstow.api.http.responses import job_json, recent_plans
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics
from memstow.api.operations.operations import Answer, Operation, TooManyChoicesError, warm_up
from memstow.api.operations.request_types import Limits, ValidatedBatch, ValidatedRequest
from memstow.api.store.administration import Administration
from memstow.api.store.database import Database, StoreError
from memstow.api.store.job_records import Callbacks, JobEvents
from memstow.api.store.keys import Keys, Role
from memstow.api.store.maintenance import upgrade
from memstow.api.store.plan_cache import CacheWriter, PlanCache
from memstow.api.store.queue import Claims, Queue
from memstow.api.webhooks import read_secrets
from memstow.api.workers.callbacks import Deliverer
from memstow.api.workers.event_hub import EventHub
from memstow.api.workers.executor import RunControl
from memstow.api.workers.isolated_run import ChildExecutor, Scratch, remove_abandoned
from memstow.api.workers.quick_solve import FastPath
from memstow.api.workers.runner import Runner

if TYPE_CHECKING:
    from memstow.api.workers.dask_executor import DaskExecutor

# Reading a large body in a child takes seconds, never minutes.
_READ_SECONDS: Final = 120.0
# The longest search while others wait for theirs.
_SLICE_SECONDS: Final = 5.0
_DOCUMENTS_AT_ONCE: Final = 4
_LAG_SECONDS: Final = 0.5

P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V", ValidatedRequest, ValidatedBatch)
log = structlog.get_logger("memstow.service")


class DrainSignal:
    """Raised when the server is to end, perhaps before the service is open. Lives in the event loop."""

    def __init__(self) -> None:
        self._raised = False
        self._on_raised: Callable[[], None] | None = None

    def set(self) -> None:
        """Raise the signal."""
        if not self._raised:
            self._raised = True
            if self._on_raised is not None:
                self._on_raised()

    def connect(self, on_raised: Callable[[], None]) -> None:
        """Make this call when the signal is raised, or now when it was."""
        self._on_raised = on_raised
        if self._raised:
            on_raised()


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The store by its parts."""

    database: Database
    queue: Queue
    claims: Claims
    events: JobEvents
    keys: Keys
    cache: PlanCache
    cache_writer: CacheWriter


async def open_service(settings: Settings, metrics: Metrics, drain: DrainSignal) -> "Service":
    """Open the store, start the workers, and put the service together."""
    threads = Threads(settings.fast_threads, settings.fast_waiting)
    store = await _open_store(settings, metrics, threads)

    def on_killed(reason: str) -> None:
        metrics.killed.labels(reason).inc()

    await threads.for_store(remove_abandoned)
    children = ChildExecutor(on_killed, Scratch())
    cluster = _cluster(settings, metrics, on_killed)
    hub = EventHub(store.events, threads.for_store)
    runner = Runner(
        store.database,
        store.queue,
        store.claims,
        store.cache,
        cluster or children,
        settings.runner_settings(),
        metrics,
        hub.notify,
    )
    warm_up()
    store.cache_writer.start()
    runner.start()
    deliverer = _deliverer(settings, metrics, store, runner)
    service = Service(settings, metrics, threads, store, children, cluster, hub, runner, deliverer)
    log.info("started", store="sqlite" if store.database.sqlite else "postgresql")
    drain.connect(service.drain)
    return service


async def _open_store(settings: Settings, metrics: Metrics, threads: Threads) -> Store:
    if settings.database is None:
        settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(
        settings.store_url, connections=STORE_THREADS + settings.runner_settings().threads + 4
    )
    database.on_error = lambda kind: metrics.store_errors.labels(kind).inc()
    await threads.for_store(upgrade, database)
    claims, cache = Claims(database), PlanCache(database)
    if database.sqlite:
        # No other server works on it: `memstow serve` holds a lock on the folder.
        await threads.for_store(claims.requeue_all, settings.keep_seconds)
    return Store(
        database=database,
        queue=Queue(database, settings.quotas(), settings.short_seconds),
        claims=claims,
        events=JobEvents(database),
        keys=Keys(database),
        cache=cache,
        cache_writer=CacheWriter(cache),
    )


def _cluster(settings: Settings, metrics: Metrics, on_killed: Callable[[str], None]) -> "DaskExecutor | None":
    if settings.executor == "local":
        return None
    from memstow.api.workers.dask_executor import DaskExecutor

    return DaskExecutor(
        settings.scheduler or "", settings.lease_seconds, on_killed, metrics.count_cluster_workers
    )


def _deliverer(settings: Settings, metrics: Metrics, store: Store, runner: Runner) -> Deliverer | None:
    if not settings.callback_allow or settings.callback_secret is None:
        return None
    deliverer = Deliverer(
        Callbacks(store.database, runner.clock),
        settings.allowed_callbacks(),
        read_secrets(settings.callback_secret),
        settings.callback_seconds,
        metrics,
        job_json,
    )
    deliverer.start()
    return deliverer


class Service:
    """One server."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        threads: Threads,
        store: Store,
        children: ChildExecutor,
        cluster: "DaskExecutor | None",
        hub: EventHub,
        runner: Runner,
        deliverer: Deliverer | None,
    ) -> None:
        self.settings = settings
        self.callbacks = settings.allowed_callbacks()
        self.metrics = metrics
        self.limits = settings.limits()
        self.queue = store.queue
        self.events = store.events
        self.keys = store.keys
        self.cache = store.cache
        self.administration = Administration(store.database)
        self.children = children
        self.hub = hub
        self.runner = runner
        self.fast = FastPath(
            store.cache, store.cache_writer, settings.fast_seconds, settings.fast_choices, metrics
        )
        self.recent_plans = recent_plans(settings.cache_memory)
        self.draining = False
        self._threads = threads
        self._store = store
        self._cluster = cluster
        self._deliverer = deliverer
        self.callers = Callers(settings, store.keys, threads.for_store, hub)
        self._document_reads = asyncio.Semaphore(_DOCUMENTS_AT_ONCE)
        self._lag = asyncio.create_task(self._watch_lag())

    # The end

    def drain(self) -> None:
        """Accept no new work, end the event streams, and give running jobs the time of `grace_seconds`."""
        self.draining = True
        log.info("draining")
        self.hub.close()
        threading.Thread(target=self._drain, name="memstow drain", daemon=True).start()

    def _drain(self) -> None:
        self.runner.drain(self.settings.grace_seconds)
        # Where jobs run on a cluster, these read bodies only; who waits for one is told that the server ends.
        self.children.close()

    async def stop(self) -> None:
        """End; running jobs are put back."""
        self.hub.close()
        if self.draining:
            end = asyncio.get_running_loop().time() + self.settings.grace_seconds
            while self.runner.running() and asyncio.get_running_loop().time() < end:
                await asyncio.sleep(0.02)
        else:
            await asyncio.to_thread(self.runner.drain, 2.0)
        self._lag.cancel()
        await self.callers.stop()
        await asyncio.to_thread(self._close)
        log.info("stopped")

    def _close(self) -> None:
        if self._deliverer is not None:
            self._deliverer.close()
        self.runner.close()
        self.children.close()
        self._store.cache_writer.close()
        self._threads.close()
        self._store.database.close()

    # Work

    async def in_thread(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """A call that waits for the store."""
        return await self._threads.for_store(call, *arguments, **named)

    async def document(self, request: Request, job: str, kind: str) -> bytes | None:
        """A document of a job, counted as a response to this request."""
        # Its size shows when it is read: few at a time, so that few are not counted yet.
        async with self._document_reads:
            content = await self.in_thread(self.queue.document, job, kind)
            if content is not None:
                reservation_of(request.scope).require_response(len(content))
            return content

    async def compute(
        self, call: Callable[[], T], share: str, at_once: Callable[[], T | None] | None = None
    ) -> T:
        """A call that computes for a moment; its time counts for this share.

        Before it goes to a thread, the answer is tried `at_once`, in this one.
        """
        return await self._threads.for_computing(share, call, at_once)

    async def perform(self, operation: Answer[Q, R], request: Q, size: int, share: str) -> R:
        """Carry out an operation: in this process when body and problem are small, else in a child."""
        most = self.settings.fast_choices
        with tracing.span(operation.name):
            if size <= self.settings.fast_body:
                with contextlib.suppress(TooManyChoicesError):
                    return await self.compute(lambda: operation.perform(request, most), share)
            return await self._threads.for_reading(share, lambda: self._in_child(operation, request, 0.0))

    async def read(self, request: Request, operation: Answer[Q, V], read: Q, size: int, share: str) -> V:
        """Read the body of this request; what was read counts like the body, until the response is sent."""
        validated = await self.perform(operation, read, size, share)
        reservation_of(request.scope).add_request(validated.size)
        return validated

    async def search(
        self,
        operation: Answer[Q, R],
        request: Q,
        size: int,
        share: str,
        searching: Callable[[float], Q],
        seconds: float,
    ) -> R:
        """Carry out an operation in which solvers search for so long, or less while other callers wait."""

        def run(others_wait: bool) -> R:
            slice_seconds = min(seconds, _SLICE_SECONDS) if others_wait else seconds
            return self._in_child(operation, searching(slice_seconds), slice_seconds)

        with tracing.span(operation.name):
            if size <= self.settings.fast_body:
                # A body that will be refused costs no process.
                with contextlib.suppress(TooManyChoicesError):
                    await self.compute(lambda: operation.perform(request, self.settings.fast_choices), share)
            return await self._threads.for_searching(share, run)

    def _in_child(self, operation: Operation[Q, R], request: Q, extra_seconds: float) -> R:
        seconds = _READ_SECONDS + extra_seconds
        control = RunControl(memory=self.settings.solve_memory, seconds=seconds)
        return self.children.run(operation, request, control)

    # Callers

    async def caller(self, request: Request, role: Role = Role.SOLVE) -> Caller:
        """The caller of a request; ApiError when the request is not allowed, or one too many."""
        return await self.callers.of(request, role)

    async def administrator(self, request: Request) -> Caller:
        """The caller of an operation that is for admin keys only, even where others need no key."""
        caller = await self.caller(request, Role.ADMIN)
        if caller.key is None:
            raise unauthorized("this needs a key with the role `admin`; on the command line it needs none")
        return caller

    async def end_invalid_keys(self) -> None:
        """End the jobs and the streams of keys that are revoked or have expired."""
        await self.in_thread(self.runner.end_invalid_keys)
        await self.callers.check_streams()

    def limits_of(self, caller: Caller) -> Limits:
        """The limits for this caller."""
        most = self.settings.key_time_limit
        if caller.admin or most >= self.limits.max_time_limit:
            return self.limits
        return replace(self.limits, max_time_limit=most, time_setting="key_time_limit")

    def require_open(self) -> None:
        """Refuse new work while the server ends."""
        if self.draining:
            raise ApiError(503, "draining", "this server is ending; try again", headers={"Retry-After": "1"})

    # Health

    async def not_ready(self) -> str | None:
        """The reason why the server should get no requests now; None: it should."""
        if self.draining:
            return "draining"
        if self._cluster is not None and self.settings.slots and not self._cluster.connected:
            return "cluster_unavailable"
        try:
            async with asyncio.timeout(2.0):
                await self.in_thread(self.keys.any)
        except (StoreError, TimeoutError):
            return "store_unavailable"
        # Work would be refused: the housekeeper finds out when there is room again.
        return "disk_full" if self._store.database.disk_full else None

    async def _watch_lag(self) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                before = loop.time()
                await asyncio.sleep(_LAG_SECONDS)
                self.metrics.lag.observe(max(0.0, loop.time() - before - _LAG_SECONDS))
