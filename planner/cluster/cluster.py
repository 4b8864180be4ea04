"""Calls of functions on the workers of a Dask cluster, on those only that can carry them out.

Dask chooses among the workers that fit, and starts a call again elsewhere when its worker is lost. A worker
that is silent is lost to Dask only after minutes: here its calls are taken back after seconds.
"""

import asyncio
import contextlib
import threading
import uuid
import warnings
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from distributed import CancelledError, Client

import memstow
from memstow.planner.cluster.roster import (
    INBOXES,
    LIBRARIES,
    LOOK,
    PREFIX,
    Answer,
    Call,
    Needs,
    Notice,
    NoWorkerError,
    Roster,
    Standing,
    abilities_in,
    scheduler_look,
    seen_in,
    worker_look,
)

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


_LOOK_SECONDS: Final = 1.0
# A look that takes longer, because the scheduler or this process is busy, tells nothing about the workers.
_MOST_COUNTED: Final = 2 * _LOOK_SECONDS
_LEAST_PATIENCE: Final = 5.0
_SURVEY_SECONDS: Final = 60.0
_LEAVE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Hooks:
    """What is called in the thread of the cluster."""

    on_notice: Callable[[Notice], None]
    on_workers: Callable[[Mapping[str, int]], None] = lambda _counts: None
    work: Work | None = None
    """Goes on while there is a connection."""


class Cluster:
    """The cluster behind one scheduler."""

    def __init__(self, scheduler: str, silent_seconds: float, hooks: Hooks) -> None:
        self._connection = Connection(scheduler, hooks.on_notice)
        self._silent_seconds = silent_seconds
        self._hooks = hooks
        self._roster = self._new_roster()
        self._threads = 0
        self._calls: dict[str, Call] = {}
        self._unplaced: list[Call] = []
        self._surveys: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        """Kept until they are done, because the event loop keeps no task alive."""

    # From any thread

    @property
    def connected(self) -> bool:
        """Whether the scheduler can be reached."""
        return self._connection.connected

    @property
    def failure(self) -> str | None:
        """Why the last try to connect failed."""
        return self._connection.failure

    @property
    def threads(self) -> int:
        """The number of runs that the workers can do at a time."""
        return self._threads

    def start(self) -> None:
        """Start the thread that connects to the scheduler."""
        works = [self._watch] + ([] if self._hooks.work is None else [self._hooks.work])
        self._connection.start(works, self._lose)

    def close(self) -> None:
        """Leave the cluster; its calls are called off."""
        self._connection.close()

    def begin(self, call: Call) -> None:
        """Make a call."""
        self._connection.in_loop(self._begin, call)

    def leave(self, call: Call) -> None:
        """Forget a call; the worker sees that nobody waits for it."""
        self._connection.in_loop(self._leave, call)

    def suspect(self, worker: str) -> None:
        """This worker gives no sign of life."""
        self._connection.in_loop(lambda: self._roster.suspect(worker))

    def note_lack(self, worker: str, needs: Needs) -> None:
        """Something that was needed is missing there."""
        self._connection.in_loop(lambda: self._roster.note_lack(worker, needs))

    def send(self, call: Call, function: Callable[[str], None]) -> None:
        """Call a function with the name of the call on the worker that has begun with it."""
        self._connection.in_loop(self._send, call, function)

    # In the event loop

    def call_of(self, name: str) -> Call | None:
        """The call whose current try has this name."""
        return self._calls.get(name)

    def _new_roster(self) -> Roster:
        return Roster(memstow.__version__, self._silent_seconds, self._hooks.on_notice)

    async def _watch(self, client: Client) -> None:
        """Look at the workers for as long as the scheduler answers."""
        loop = asyncio.get_running_loop()
        patience = max(self._silent_seconds, _LEAST_PATIENCE)
        # Of this version: servers of other versions may ask for something else.
        name = f"{LOOK}_{memstow.__version__}"
        async with asyncio.timeout(patience):
            await client.run_on_scheduler(scheduler_look(), name)
        ask = partial(getattr(client.scheduler, name), tasks=PREFIX, inboxes=INBOXES)
        last = loop.time()
        try:
            while True:
                async with asyncio.timeout(patience):
                    answer: Answer = await ask(leaving="")
                now = loop.time()
                self._take_in(client, answer, min(now - last, _MOST_COUNTED))
                last = now
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            async with asyncio.timeout(_LEAVE_SECONDS):
                await ask(leaving=client.id)

    def _take_in(self, client: Client, answer: Answer, seconds: float) -> None:
        roster, seen = self._roster, seen_in(answer)
        roster.update(seen, seconds)
        self._threads = roster.threads()
        self._hooks.on_workers(roster.counts())
        for address, process in roster.unknown().items():
            survey = self._surveys.get(address)
            if survey is None or survey.done():
                self._surveys[address] = asyncio.create_task(self._survey(client, address, process))
        standings = roster.standings()
        for address, standing in standings.items():
            if standing is Standing.SILENT:
                self._take_back(address, seen[address].tasks)
        for call in list(self._calls.values()):
            if call.worker is not None:
                if call.worker not in standings:
                    self._lose_worker(call, call.worker)
            elif call.future is not None and not call.fitting & roster.fitting(call.needs):
                self._place(call)
        self._place_all()

    async def _survey(self, client: Client, address: str, process: str) -> None:
        """Ask a worker what it has; if it does not answer, it is asked again with a later look."""
        try:
            async with asyncio.timeout(_SURVEY_SECONDS):
                answers = await client.run(
                    worker_look(), list(LIBRARIES), workers=[address], on_error="ignore"
                )
        except Exception:
            # Dask has many exceptions for a worker that is gone.
            return
        finally:
            self._surveys.pop(address, None)
        if address in answers:
            self._roster.learn(address, process, abilities_in(answers[address]))
            self._newcomer()

    def _newcomer(self) -> None:
        """Let a worker that has come have what waits elsewhere."""
        self._threads = self._roster.threads()
        for call in list(self._calls.values()):
            moves = call.begins and call.worker is None and call.future is not None
            if moves and not self._roster.fitting(call.needs) <= call.fitting:
                self._place(call)
        self._place_all()

    def _take_back(self, address: str, tasks: tuple[str, ...]) -> None:
        for task in tasks:
            call = self._calls.get(task.removeprefix(PREFIX))
            if call is not None:
                self._lose_worker(call, address)

    def _lose_worker(self, call: Call, address: str) -> None:
        if call.ends.lose_worker(address):
            self._place(call)
        else:
            self._leave(call)

    def _lose(self) -> None:
        """The connection is lost."""
        calls = [*self._calls.values(), *self._unplaced]
        self._calls.clear()
        self._unplaced.clear()
        self._surveys.clear()
        self._roster = self._new_roster()
        self._threads = 0
        self._hooks.on_workers(self._roster.counts())
        for call in calls:
            self._leave(call)
            call.ends.lose()

    def _begin(self, call: Call) -> None:
        if not self.connected:
            call.ends.lose()
            return
        self._place(call)

    def _place(self, call: Call) -> None:
        """Give it to the workers that fit; what it did so far does not count any more."""
        self._leave(call)
        client, fitting = self._connection.client, self._roster.fitting(call.needs)
        if client is None or not fitting:
            self._unplaced.append(call)
            return
        call.name, call.worker, call.fitting = uuid.uuid4().hex, None, fitting
        self._calls[call.name] = call
        call.future = client.submit(
            call.function,
            *call.arguments(call.name),
            key=f"{PREFIX}{call.name}",
            pure=False,
            workers=sorted(fitting),
        )
        self._go_on(self._follow(call, call.future))

    def _place_all(self) -> None:
        waiting, self._unplaced = self._unplaced, []
        for call in waiting:
            why = self._roster.why_none(call.needs)
            if why is None and not call.waits_for_version:
                why = self._roster.why_idle()
            if why is None:
                self._place(call)
            else:
                call.ends.fail(NoWorkerError(why))

    async def _follow(self, call: Call, future: Any) -> None:
        """Tell how a try ends, unless it is left before that."""
        try:
            result = await future
        except (asyncio.CancelledError, CancelledError):
            if self._done(call, future):
                call.ends.lose()
        except Exception as error:
            if self._done(call, future):
                call.ends.fail(error)
        else:
            if self._done(call, future):
                call.ends.end(result)

    def _done(self, call: Call, future: Any) -> bool:
        """The try is over; whether it is the current one."""
        if call.future is not future:
            return False
        # A call that tells of itself is known until its last message has come.
        if not call.begins:
            self._leave(call)
        return True

    def _leave(self, call: Call) -> None:
        self._calls.pop(call.name, None)
        if call in self._unplaced:
            self._unplaced.remove(call)
        if call.future is not None:
            # The worker ends a run whose task was released. It ends `_follow`, too: if that were cancelled
            # instead, Dask would print what is raised in the tasks with which it waits.
            call.future.release()
            call.future = None

    def _send(self, call: Call, function: Callable[[str], None]) -> None:
        client = self._connection.client
        if client is not None and call.worker is not None:
            self._go_on(_say(client, call.worker, function, call.name))

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _say(client: Client, worker: str, function: Callable[[str], None], name: str) -> None:
    """Call a function there. Whether that worker is lost is for `_watch` to find out."""
    # Dask has many exceptions for a worker or a scheduler that is gone, and would print what nobody takes.
    with contextlib.suppress(Exception):
        await client.run(function, name, workers=[worker], on_error="ignore")
