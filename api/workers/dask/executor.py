"""Runs operations on a cluster of Dask distributed: each a task of its own, supervised from here.

Dask decides which worker gets a task. It would start the task of a lost worker again, without the best plan;
here such a run is over, and its job goes on from the best plan. A scheduler that is lost takes its runs with
it: they wait until it is back, and go on from their best plan.
"""

import asyncio
import contextlib
import logging
import threading
import uuid
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

import structlog
from distributed import CancelledError, Client, Queue

from memstow.api.operations.messages import encode
from memstow.api.operations.operations import Operation
from memstow.api.operations.requests import SolveRequest
from memstow.api.workers.dask.remote_run import LostError, Run
from memstow.api.workers.dask.worker import MOST_WAITING, perform, stop
from memstow.api.workers.executor import ChildError, RunControl, result_from
from memstow.planner.processes.frames import GarbageError, Reader, pack

_CONNECT_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 0.5
_CLOSE_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.05
# Heartbeats in the time after which a worker is given up.
_HEARTBEATS: Final = 4

Q = TypeVar("Q")
R = TypeVar("R")

log = structlog.get_logger("memstow.cluster")


class DaskExecutor:
    """The cluster behind one scheduler. All calls of Dask are made in the event loop of one thread."""

    def __init__(self, scheduler: str, lease_seconds: float, on_killed: Callable[[str], None]) -> None:
        self.on_killed = on_killed
        self._scheduler = scheduler
        self._lease_seconds = lease_seconds
        self._inbox = f"memstow-{uuid.uuid4().hex}"
        self._runs: dict[str, Run] = {}
        self._client: Client | None = None
        self._closed = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._connection: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether the scheduler can be reached."""
        client = self._client
        return client is not None and client.status == "running"

    def prepare(self) -> None:
        """Start the thread that connects to the scheduler."""
        if self._thread is None:
            _set_up_log()
            self._thread = threading.Thread(target=self._run_loop, name="memstow cluster", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Leave the cluster; its runs are called off."""
        self._closed.set()
        if self._thread is None:
            self._loop.close()
            return
        self._in_loop(self._end)
        self._thread.join(_CLOSE_SECONDS)

    def run(self, operation: Operation[Q, R], request: Q, control: RunControl) -> R:
        """The result of the operation; its own errors, or ChildError when there is no result."""
        try:
            while True:
                self._await_connection(control)
                run = Run(control, self._lease_seconds, self._send_stop)
                self._in_loop(self._begin, run, self._packed(operation.name, request, control))
                try:
                    return result_from(run.wait(), operation, control)
                except LostError:
                    log.warning("cluster_lost_run")
                    if run.plan is not None and isinstance(request, SolveRequest):
                        request = replace(request, known_plan=run.plan)
                finally:
                    self._in_loop(self._leave, run)
        except ChildError as error:
            self.on_killed(error.code)
            raise

    def _packed(self, operation: str, request: object, control: RunControl) -> bytes:
        return pack(
            {
                "kind": "run",
                "operation": operation,
                "request": encode(request),
                "memory": control.memory,
                "seconds": control.seconds,
                "heartbeat": self._lease_seconds / _HEARTBEATS,
            }
        )

    def _await_connection(self, control: RunControl) -> None:
        while not self.connected:
            ended = control.kill_requested() or control.stop_requested()
            if ended or self._closed.wait(_POLL_SECONDS):
                raise ChildError("killed", "called off while the cluster was away")
            control.tick()

    def _in_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        # RuntimeError: the loop has ended, and all runs with it.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)

    def _send_stop(self, run: Run) -> None:
        self._in_loop(self._call_stop, run)

    # In the event loop

    def _run_loop(self) -> None:
        runner = asyncio.Runner(loop_factory=lambda: self._loop)
        with runner:
            runner.run(self._keep_connected())

    def _end(self) -> None:
        if self._connection is not None:
            self._connection.cancel()

    async def _keep_connected(self) -> None:
        self._connection = asyncio.current_task()
        while not self._closed.is_set():
            try:
                await self._stay_connected()
            except (Exception, asyncio.CancelledError) as error:
                # Dask has many exceptions for a scheduler that is not there.
                if self._closed.is_set():
                    return
                log.warning("cluster_away", scheduler=self._scheduler, error=str(error)[:500])
            await asyncio.sleep(_RETRY_SECONDS)

    async def _stay_connected(self) -> None:
        """Connect to the scheduler; returns when the connection is lost."""
        client = await Client(
            self._scheduler, asynchronous=True, set_as_default=False, timeout=_CONNECT_SECONDS, name="memstow"
        )
        try:
            inbox = await Queue(self._inbox, client=client, maxsize=MOST_WAITING)
            listening = asyncio.create_task(self._listen(inbox))
            self._client = client
            log.info("cluster_connected", scheduler=self._scheduler)
            try:
                while self.connected and not listening.done():
                    await asyncio.sleep(_POLL_SECONDS)
                log.warning("cluster_lost", scheduler=self._scheduler)
            finally:
                self._lose()
                inbox.close()
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
        finally:
            await client.close(timeout=_CLOSE_SECONDS)

    async def _listen(self, inbox: Queue) -> None:
        while True:
            data = await inbox.get()
            try:
                (bundle,) = Reader().feed(data)
            except (GarbageError, ValueError, TypeError) as error:
                log.warning("cluster_garbage", error=str(error)[:500])
                continue
            run = self._runs.get(bundle.get("run", ""))
            if run is not None:
                run.receive(bundle["messages"])

    def _lose(self) -> None:
        self._client = None
        for run in self._runs.values():
            run.lose()
        self._runs.clear()

    def _begin(self, run: Run, request: bytes) -> None:
        client = self._client
        if client is None or not self.connected:
            run.lose()
            return
        self._runs[run.name] = run
        with warnings.catch_warnings():
            # A large problem is sent with its task, which Dask warns of.
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            run.future = client.submit(
                perform, run.name, self._inbox, request, key=f"memstow-solve-{run.name}", pure=False
            )
        run.following = asyncio.ensure_future(self._follow(run))

    async def _follow(self, run: Run) -> None:
        try:
            await run.future
        except (asyncio.CancelledError, CancelledError):
            # Released by us, or lost with the connection.
            run.lose()
        except Exception as error:
            run.end(f"{type(error).__name__}: {error}")
        else:
            run.end(None)

    def _leave(self, run: Run) -> None:
        self._runs.pop(run.name, None)
        if run.following is not None:
            run.following.cancel()
        if run.future is not None and self._client is not None:
            # The worker ends a run whose task was released.
            run.future.release()
            run.future = None

    def _call_stop(self, run: Run) -> None:
        if self._client is not None and run.worker is not None:
            # Kept, because the event loop keeps no task alive.
            run.stopping = asyncio.ensure_future(
                self._client.run(stop, run.name, workers=[run.worker], on_error="ignore")
            )


def _set_up_log() -> None:
    """Write the warnings of Dask in the form of our log, and nothing less."""
    logger = logging.getLogger("distributed")
    logger.handlers[:] = []
    logger.propagate = True
    logger.setLevel(logging.WARNING)
    # A lost connection is logged here, without a traceback.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
