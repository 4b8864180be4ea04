"""Solves on a cluster of Dask distributed: each a task of its own, watched from here like a child.

Dask decides which worker has a task. It would give the task of a lost worker to another from where it began;
here such a run is over, and its job goes on from the best plan known. A scheduler that is lost takes its runs
with it: they wait until it is back, and go on from their best plan.
"""

import asyncio
import contextlib
import logging
import threading
import uuid
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from distributed import CancelledError, Client, Queue

from memstow.api.operations.operations import travelling
from memstow.api.workers.dask.remote_run import LostError, Run
from memstow.api.workers.dask.worker import MOST_WAITING, perform, stop
from memstow.api.workers.isolated_run import ChildError, Watch, result_of
from memstow.planner.processes.frames import GarbageError, Message, Reader, pack

_CONNECT_SECONDS: Final = 5.0
_AGAIN_SECONDS: Final = 0.5
_FAREWELL_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.05
# Signs of life in the time after which a worker is given up.
_BEATS: Final = 4

log = structlog.get_logger("memstow.cluster")


class Cluster:
    """The cluster behind one scheduler. What talks to Dask lives in the event loop of a thread."""

    def __init__(self, scheduler: str, lease_seconds: float) -> None:
        self.on_killed: Callable[[str], None] = lambda _reason: None
        self._scheduler = scheduler
        self._lease_seconds = lease_seconds
        self._inbox = f"memstow-{uuid.uuid4().hex}"
        self._runs: dict[str, Run] = {}
        self._client: Client | None = None
        self._closed = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether the scheduler can be reached."""
        client = self._client
        return client is not None and client.status == "running"

    def prepare(self) -> None:
        """Begin to look for the scheduler."""
        if self._thread is None:
            _log_as_we_do()
            self._thread = threading.Thread(target=self._live, name="memstow cluster", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Leave the cluster; what runs there is called off."""
        self._closed.set()
        if self._thread is None:
            self._loop.close()
            return
        self._in_loop(self._end)
        self._thread.join(_FAREWELL_SECONDS)

    def run(self, what: str, arguments: Mapping[str, Any], watch: Watch) -> Message:
        """What the operation returns; ChildError when there was no answer."""
        request: Message = {
            "kind": "run",
            "what": what,
            "arguments": travelling(arguments),
            "memory": watch.memory,
            "seconds": watch.seconds,
            "beat": self._lease_seconds / _BEATS,
        }
        try:
            while True:
                self._await_connection(watch)
                run = Run(watch, self._lease_seconds, self._tell_to_stop)
                self._in_loop(self._begin, run, pack(request))
                try:
                    return result_of(run.attend(), watch)
                except LostError:
                    log.warning("cluster_lost_run")
                    if run.plan is not None:
                        request["arguments"]["known"] = run.plan
                finally:
                    self._in_loop(self._leave, run)
        except ChildError as error:
            self.on_killed(error.code)
            raise

    def _await_connection(self, watch: Watch) -> None:
        while not self.connected:
            if watch.killed() or watch.stopped() or self._closed.wait(_LOOK_SECONDS):
                raise ChildError("killed", "called off while the cluster was away")
            watch.tick()

    def _in_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        # A loop that has ended has let go of everything.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)

    def _tell_to_stop(self, run: Run) -> None:
        self._in_loop(self._pass_on_stop, run)

    # In the event loop

    def _live(self) -> None:
        runner = asyncio.Runner(loop_factory=lambda: self._loop)
        with runner:
            runner.run(self._keep_connected())

    def _end(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()

    async def _keep_connected(self) -> None:
        self._keeping = asyncio.current_task()
        while not self._closed.is_set():
            try:
                await self._stay_connected()
            except (Exception, asyncio.CancelledError) as error:
                # Dask says in many ways that a scheduler is not there.
                if self._closed.is_set():
                    return
                log.warning("cluster_away", scheduler=self._scheduler, error=str(error)[:500])
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _stay_connected(self) -> None:
        """From finding the scheduler to losing it."""
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
                    await asyncio.sleep(_LOOK_SECONDS)
                log.warning("cluster_lost", scheduler=self._scheduler)
            finally:
                self._lose()
                inbox.close()
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
        finally:
            await client.close(timeout=_FAREWELL_SECONDS)

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
                run.hear(bundle["messages"])

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
            # A large problem travels with its task: Dask would rather have it there before.
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            run.future = client.submit(
                perform, run.name, self._inbox, request, key=f"memstow-solve-{run.name}", pure=False
            )
        run.following = asyncio.ensure_future(self._follow(run))

    async def _follow(self, run: Run) -> None:
        try:
            await run.future
        except (asyncio.CancelledError, CancelledError):
            # Taken back by us, or lost with the connection.
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
            # Its worker ends what it does for a task that nobody wants any more.
            run.future.release()
            run.future = None

    def _pass_on_stop(self, run: Run) -> None:
        if self._client is not None and run.worker is not None:
            telling = asyncio.ensure_future(
                self._client.run(stop, run.name, workers=[run.worker], on_error="ignore")
            )
            run.telling = telling


def _log_as_we_do() -> None:
    """Dask writes lines of its own; what it has to say of troubles comes out in our form."""
    logger = logging.getLogger("distributed")
    logger.handlers[:] = []
    logger.propagate = True
    logger.setLevel(logging.WARNING)
    # That a connection is lost or cannot be made is told by us, without a traceback.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
