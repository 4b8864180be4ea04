"""The connection to the scheduler of a cluster, kept by one thread with an event loop."""

import asyncio
import contextlib
import threading
import warnings
from collections.abc import Callable, Coroutine
from typing import Any, Final

from distributed import Client

from memstow.planner.cluster.roster import Notice

_CONNECT_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 0.5
_CLOSE_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.05

Work = Callable[[Client], Coroutine[Any, Any, None]]


class Connection:
    """Connects again whenever the connection is lost. All calls of Dask are made in its event loop."""

    def __init__(self, scheduler: str, on_notice: Callable[[Notice], None]) -> None:
        self.scheduler = scheduler
        self.client: Client | None = None
        self.failure: str | None = None
        """Why the last try to connect failed; None once it has succeeded."""
        self.closed = threading.Event()
        self._on_notice = on_notice
        self._works: list[Work] = []
        self._on_lost: Callable[[], None] = lambda: None
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether the scheduler can be reached."""
        client = self.client
        return client is not None and client.status == "running"

    def start(self, works: list[Work], on_lost: Callable[[], None]) -> None:
        """Start the thread. The works go on while there is a connection; it is given up when one ends."""
        self._works, self._on_lost = works, on_lost
        self._thread = threading.Thread(target=self._run, name="memstow cluster", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the cluster."""
        self.closed.set()
        if self._thread is None:
            self._loop.close()
            return
        self.in_loop(self._end)
        self._thread.join(2 * _CLOSE_SECONDS)

    def in_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        """Make a call in the event loop soon, unless that has ended."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner, warnings.catch_warnings():
            # A large problem is sent with its task, which Dask warns of.
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            # Cancelled by `close`.
            with contextlib.suppress(asyncio.CancelledError):
                runner.run(self._keep())

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _keep(self) -> None:
        self._task = asyncio.current_task()
        while not self.closed.is_set():
            try:
                await self._stay()
            except (Exception, asyncio.CancelledError) as error:
                # Dask has many exceptions for a scheduler that is not there.
                if self.closed.is_set():
                    return
                self.failure = str(error)[:500] or type(error).__name__
                self._on_notice(Notice("away", f"{self.scheduler} cannot be reached: {self.failure}"))
            await asyncio.sleep(_RETRY_SECONDS)

    async def _stay(self) -> None:
        """Connect; returns when the connection is lost."""
        client = Client(
            self.scheduler, asynchronous=True, set_as_default=False, timeout=_CONNECT_SECONDS, name="memstow"
        )
        try:
            await client
        except BaseException:
            # One that has never been connected would warn of itself when it is forgotten.
            with contextlib.suppress(Exception):
                await client.close(timeout=_CLOSE_SECONDS)
            raise
        try:
            self.client, self.failure = client, None
            self._on_notice(Notice("connected", f"connected to the scheduler at {self.scheduler}"))
            works = [asyncio.create_task(work(client)) for work in self._works]
            try:
                while self.connected and not any(work.done() for work in works):
                    await asyncio.sleep(_POLL_SECONDS)
                self._on_notice(Notice("lost", f"lost the scheduler at {self.scheduler}"))
            finally:
                self.client = None
                for work in works:
                    work.cancel()
                await asyncio.gather(*works, return_exceptions=True)
                self._on_lost()
        finally:
            await client.close(timeout=_CLOSE_SECONDS)
