"""The parts of a server, put together: the store, the workers, the threads, and what is known of callers."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog
from starlette.requests import Request

from memstow.api.http.answer_cache import remembered
from memstow.api.http.auth import Caller, Gate, require
from memstow.api.http.errors import ProblemError
from memstow.api.http.memory_budget import MemoryBudget, reservation_of
from memstow.api.http.rate_limit import Rate
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics
from memstow.api.operations import operations
from memstow.api.operations.answers import Result
from memstow.api.operations.operations import Operation
from memstow.api.operations.requests import Limits
from memstow.api.store.cache_writer import Keeping
from memstow.api.store.database import Database, StoreError
from memstow.api.store.keys import Keys, Scope
from memstow.api.store.migrate import upgrade
from memstow.api.store.plan_cache import PlanCache
from memstow.api.store.queue import Queue
from memstow.api.workers.event_hub import Hub
from memstow.api.workers.isolated_run import Children, Watch
from memstow.api.workers.quick_solve import FastPath
from memstow.api.workers.runner import Runner

if TYPE_CHECKING:
    from memstow.api.workers.dask.executor import Cluster

_STORE_THREADS: Final = 8
# Reading a large body in a child takes seconds, never minutes.
_READ_SECONDS: Final = 120.0
_HEAVY_AT_ONCE: Final = 2
_DOCUMENTS_AT_ONCE: Final = 4
_LAG_SECONDS: Final = 0.5

T = TypeVar("T")
_Returned = TypeVar("_Returned", bound=Result)
log = structlog.get_logger("memstow.service")


class Service:
    """One server."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.limits = settings.limits()
        self.body_memory = MemoryBudget(settings.body_memory, self.metrics.body_memory)
        self.remembered = remembered(settings.cache_memory)
        self.rate = Rate(settings.key_rate, settings.key_burst)
        self.draining = False
        self._started = False
        self.database: Database
        self.hub: Hub
        self._threads = ThreadPoolExecutor(_STORE_THREADS, "memstow store")
        self._fast_threads = ThreadPoolExecutor(settings.fast_threads, "memstow fast")
        self._heavy_threads = ThreadPoolExecutor(_HEAVY_AT_ONCE, "memstow heavy")
        self._document_reads = asyncio.Semaphore(_DOCUMENTS_AT_ONCE)
        self._fast_waiting = 0
        self._heavy_waiting = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the store and begin to work."""
        settings = self.settings
        if settings.database is None:
            settings.data.mkdir(parents=True, exist_ok=True)
        self.database = Database(settings.store_url, connections=_STORE_THREADS + settings.slots + 4)
        self.database.on_error = lambda kind: self.metrics.store_errors.labels(kind).inc()
        await self.in_thread(upgrade, self.database)
        self.queue = Queue(self.database, settings.max_queued)
        self.keys = Keys(self.database)
        self.gate = Gate(settings, self.keys)
        self.cache = PlanCache(self.database)
        self.keeping = Keeping(self.cache)
        self.fast = FastPath(self.cache, self.keeping, self.limits, settings.fast_seconds, self.metrics)
        self.children = Children()
        self.children.on_killed = self._count_killed
        self.cluster = self._cluster()
        self.hub = Hub(self.queue, self.in_thread)
        self.runner = Runner(
            self.database,
            self.queue,
            self.cache,
            self.cluster or self.children,
            settings.work(),
            self.metrics,
            self.hub.nudge,
        )
        if self.database.sqlite:
            # Nobody else works on it: `memstow serve` holds a lock on the folder.
            await self.in_thread(self.queue.requeue_running)
        operations.warm()
        self.keeping.start()
        self.runner.start()
        lag = asyncio.create_task(self._watch_lag())
        self._tasks.add(lag)
        log.info("started", store="sqlite" if self.database.sqlite else "postgresql")
        self._started = True
        if self.draining:
            # The signal came while the store was being opened.
            self._end_work()

    def _cluster(self) -> "Cluster | None":
        """The cluster that solves are sent to, where they are sent to one."""
        settings = self.settings
        if settings.executor == "local":
            return None
        from memstow.api.workers.dask.executor import Cluster

        cluster = Cluster(settings.scheduler or "", settings.lease_seconds)
        cluster.on_killed = self._count_killed
        return cluster

    def _count_killed(self, reason: str) -> None:
        self.metrics.killed.labels(reason).inc()

    def drain(self) -> None:
        """Take no new work and end the streams; called when the signal to end comes."""
        if not self.draining:
            self.draining = True
            log.info("draining")
            if self._started:
                self._end_work()

    def _end_work(self) -> None:
        self.hub.close()
        threading.Thread(
            target=self.runner.drain,
            args=(self.settings.grace_seconds,),
            name="memstow drain",
            daemon=True,
        ).start()

    async def stop(self) -> None:
        """End; what runs is put back."""
        self.hub.close()
        if self.draining:
            end = asyncio.get_running_loop().time() + self.settings.grace_seconds
            while self.runner.running() and asyncio.get_running_loop().time() < end:
                await asyncio.sleep(0.02)
        else:
            await asyncio.to_thread(self.runner.drain, 2.0)
        for task in self._tasks:
            task.cancel()
        await asyncio.to_thread(self._close)
        log.info("stopped")

    def _close(self) -> None:
        self.runner.close()
        self.children.close()
        self.keeping.close()
        for threads in (self._threads, self._fast_threads, self._heavy_threads):
            threads.shutdown(wait=False, cancel_futures=True)
        self.database.close()

    async def in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        """A call that waits for the store."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def document(self, request: Request, job: str, kind: str) -> bytes | None:
        """A document of a job, counted as a response to this request."""
        # How large it is shows when it is read: few at a time, so that few are not counted yet.
        async with self._document_reads:
            found: bytes | None = await self.in_thread(self.queue.document, job, kind)
            if found is not None:
                reservation_of(request.scope).require_response(len(found))
            return found

    async def quickly(self, call: Callable[..., T], *arguments: Any) -> T:
        """A call that computes for a moment."""
        if self._fast_waiting >= self.settings.fast_waiting:
            raise _busy("fast_waiting")
        self._fast_waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._fast_threads, call, *arguments)
        finally:
            self._fast_waiting -= 1

    async def operate(
        self, operation: Operation[_Returned], arguments: Mapping[str, Any], size: int, seconds: float = 0.0
    ) -> _Returned:
        """One operation: here when the body is small, in a child of its own when it is not.

        One that may take so many seconds besides reading its body has a child whatever its size.
        """
        if size <= self.settings.fast_body and not seconds:
            return await self.quickly(operation.perform, arguments)
        if self._heavy_waiting >= self.settings.fast_waiting:
            raise _busy("fast_waiting")
        watch = Watch(memory=self.settings.solve_memory, seconds=_READ_SECONDS + seconds)
        self._heavy_waiting += 1
        try:
            message = await asyncio.get_running_loop().run_in_executor(
                self._heavy_threads, self.children.run, operation.name, arguments, watch
            )
            return operation.result_of(message)
        finally:
            self._heavy_waiting -= 1

    async def caller(self, request: Request, scope: Scope = Scope.PLAN) -> Caller:
        """Who asks; a problem when they may not, or not so often."""
        caller = self.gate.remembered(request)
        if caller is None:
            caller = await self.in_thread(self.gate.caller, request)
        require(caller, scope)
        self.rate.count(caller.key_id)
        return caller

    def limits_of(self, caller: Caller) -> Limits:
        """What this caller may ask for."""
        most = self.settings.key_time_limit
        if caller.admin or most >= self.limits.max_time_limit:
            return self.limits
        return replace(self.limits, max_time_limit=most, time_setting="key_time_limit")

    def require_open(self) -> None:
        """Refuse new work while the server ends."""
        if self.draining:
            raise ProblemError(
                503, "draining", "this server is ending; try again", headers={"Retry-After": "1"}
            )

    async def ready(self) -> str | None:
        """Why the server should get no requests now; None: it should."""
        if self.draining:
            return "draining"
        if self.cluster is not None and self.settings.slots and not self.cluster.connected:
            return "cluster_unavailable"
        try:
            async with asyncio.timeout(2.0):
                return None if await self.in_thread(self.queue.has_room) else "queue_full"
        except (StoreError, TimeoutError):
            return "store_unavailable"

    async def _watch_lag(self) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                before = loop.time()
                await asyncio.sleep(_LAG_SECONDS)
                self.metrics.lag.observe(max(0.0, loop.time() - before - _LAG_SECONDS))


def _busy(setting: str) -> ProblemError:
    return ProblemError(
        429,
        "busy",
        f"as many requests wait as the setting `{setting}` allows; try again",
        headers={"Retry-After": "1"},
    )
