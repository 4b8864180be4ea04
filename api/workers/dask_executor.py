"""Jobs solved on a cluster of Dask distributed: each a call of its own, supervised from the server.

First a run as the thread sees it that waits for it, then the worker's side, a child process like those of a
server whose messages are sent back, then the executor of the server.
"""

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

import structlog
from distributed import Client, Queue, Worker, get_client, get_worker
from distributed.core import Status

from memstow.api.operations.operations import OPERATIONS, Operation
from memstow.api.operations.request_types import (
    SolveRequest,
    SolveResult,
    decode,
    decode_update,
    encode,
    encode_update,
)
from memstow.api.workers.executor import ChildError, MissingError, RunControl, last_message_of, result_from
from memstow.api.workers.isolated_run import ChildExecutor
from memstow.planner.cluster.cluster import Cluster, Hooks
from memstow.planner.cluster.roster import INBOXES, Call, Needs, Notice, NoWorkerError, needs_of
from memstow.planner.model.errors import InputError
from memstow.planner.processes.frames import GarbageError, Message, Reader, pack

_TICK: Final = 0.05
# A task ends when its last message is on its way.
_LAST_SECONDS: Final = 10.0
_SILENT: Final = "its worker gave no sign of life"


class LostError(Exception):
    """The scheduler is gone, and the run with it."""


class Run:
    """A run until its last message. `wait` is for one thread, the rest for that of the cluster."""

    def __init__(self, control: RunControl, lease_seconds: float) -> None:
        self.plan: bytes | None = None
        """The best plan that it has reported."""
        self.worker: str | None = None
        """The address of the worker that has started it."""
        self.begun_by: str | None = None
        """The same, known to the thread of the cluster a moment before."""
        self.silent = False
        """Whether it was given up because its worker said nothing."""
        self._control = control
        self._lease_seconds = lease_seconds
        self._stop_sent = False
        self._heard_at = time.monotonic()
        self._ended_at: float | None = None
        self._inbox: queue.SimpleQueue[Callable[[], Message | None]] = queue.SimpleQueue()

    # For the thread of the cluster

    def receive(self, messages: Sequence[Message]) -> None:
        """A bundle of messages has come."""
        for message in messages:
            if message["kind"] == "begun":
                self.begun_by = message["worker"]
        self._inbox.put(lambda: self._receive(messages))

    def end(self, _result: object) -> None:
        """The call has ended; the result is in a message."""
        self._inbox.put(self._end)

    def fail(self, error: Exception) -> None:
        """The call has failed, or no worker can do it."""
        if isinstance(error, NoWorkerError):
            failure = ChildError("declined", str(error))
        else:
            text = f"no answer from the cluster: {type(error).__name__}: {error}"
            failure = ChildError("child_lost", text[:2000])
        self._inbox.put(lambda: _raise(failure))

    def lose(self) -> None:
        """The scheduler is gone."""
        self._inbox.put(lambda: _raise(LostError()))

    def lose_worker(self, _worker: str) -> bool:
        """Its worker is silent or gone: a run that has begun there is over, another goes elsewhere."""
        if self.begun_by is None:
            return True
        self._inbox.put(lambda: _raise(ChildError("child_lost", _SILENT)))
        return False

    # For the thread that waits

    def wait(self, send_stop: Callable[[], None]) -> Message:
        """The last message; ChildError where none comes, LostError where the scheduler is lost."""
        while True:
            try:
                done = self._inbox.get(timeout=_TICK)()
            except queue.Empty:
                done = None
            if done is not None:
                return done
            self._check(time.monotonic(), send_stop)

    def _receive(self, messages: Sequence[Message]) -> Message | None:
        self._heard_at = time.monotonic()
        for message in messages:
            if message["kind"] == "done":
                return message
            if message["kind"] == "begun":
                self._begun(message["worker"])
                continue
            update = decode_update(message)
            if isinstance(update, SolveResult):
                self.plan = update.plan
            self._control.on_update(update)
        return None

    def _begun(self, worker: str) -> None:
        if self.worker is not None:
            # Dask has started it again, without the best plan.
            raise ChildError("child_lost", "the worker that solved it is lost")
        self.worker = worker

    def _end(self) -> None:
        self._ended_at = time.monotonic()

    def _check(self, now: float, send_stop: Callable[[], None]) -> None:
        control = self._control
        if control.kill_requested():
            raise ChildError("killed", "ended by the server")
        if control.stop_requested():
            if self.worker is None:
                raise ChildError("killed", "called off before a worker had begun")
            if not self._stop_sent:
                self._stop_sent = True
                send_stop()
        if self.worker is not None and now > self._heard_at + self._lease_seconds:
            self.silent = True
            raise ChildError("child_lost", _SILENT)
        if self._ended_at is not None and now > self._ended_at + _LAST_SECONDS:
            raise ChildError("child_lost", "its answer was lost on the way")
        control.tick()


def _raise(error: Exception) -> None:
    raise error


# The most bundles that may wait for a server; one that lets more pile up is taken to be gone.
MOST_WAITING: Final = 1_000
# How long messages are collected before they are sent.
_COLLECT_SECONDS: Final = 0.1
_SEND_SECONDS: Final = 30.0
_WORKING: Final = (Status.running, Status.paused, Status.closing_gracefully)

_children: Final = ChildExecutor()
# By name: what asks a run to end.
_stops: Final[dict[str, threading.Event]] = {}


def perform(name: str, inbox: str, data: bytes) -> None:
    """A task of Dask: carry out a request, and send all messages of the run to the inbox of the server."""
    (message,) = Reader().feed(data)
    worker, key = get_worker(), str(get_worker().get_current_task())
    stop_event = _stops[name] = threading.Event()
    outbox = Outbox(get_client(), inbox, name, message["heartbeat"])
    operation = OPERATIONS[message["operation"]]
    request = decode(operation.request, message["request"])
    control = RunControl(
        memory=message["memory"],
        seconds=message["seconds"],
        on_update=lambda update: outbox.send(encode_update(update)),
        stop_requested=stop_event.is_set,
        kill_requested=lambda: outbox.lost or not _wanted(worker, key),
    )
    try:
        outbox.send({"kind": "begun", "worker": worker.address})
        try:
            done: Message = {"kind": "done", "result": encode(_children.run(operation, request, control))}
        except (InputError, ChildError) as error:
            done = last_message_of(error)
        outbox.send(done)
    finally:
        del _stops[name]
        outbox.close()


def stop(name: str) -> None:
    """Ask the run of this name to end with its best plan."""
    stop_event = _stops.get(name)
    if stop_event is not None:
        stop_event.set()


def _wanted(worker: Worker, key: str) -> bool:
    """Whether anybody waits for this task of Dask."""
    task = worker.state.tasks.get(key)
    return worker.status in _WORKING and task is not None and task.state == "executing"


class Outbox:
    """Sends messages to a server in bundles, from a thread of its own; an empty bundle is a heartbeat."""

    def __init__(self, client: Client, inbox: str, name: str, heartbeat: float) -> None:
        self._queue = Queue(inbox, client=client, maxsize=MOST_WAITING)
        self._name = name
        self._heartbeat = heartbeat
        self._lock = threading.Lock()
        self._unsent: list[Message] = []
        self._news = threading.Event()
        self._closed = threading.Event()
        self.lost = False
        """Whether the server cannot be reached any more."""
        self._thread = threading.Thread(target=self._serve, name="memstow outbox", daemon=True)
        self._thread.start()

    def send(self, message: Message) -> None:
        """Send a message soon."""
        with self._lock:
            self._unsent.append(message)
        self._news.set()

    def close(self) -> None:
        """Send what is left, and end."""
        self._closed.set()
        self._news.set()
        self._thread.join()

    def _serve(self) -> None:
        try:
            while not self._closed.is_set():
                self._news.wait(self._heartbeat)
                self._send()
                self._closed.wait(_COLLECT_SECONDS)
            self._send()
        except Exception:
            # Dask has many exceptions for a server that cannot be reached: the run is of no use to anybody.
            self.lost = True
        finally:
            self._queue.close()

    def _send(self) -> None:
        self._news.clear()
        with self._lock:
            messages, self._unsent = self._unsent, []
        bundle = pack({"kind": "bundle", "run": self._name, "messages": messages})
        self._queue.put(bundle, timeout=_SEND_SECONDS)


_POLL_SECONDS: Final = 0.05
# Heartbeats in the time after which a worker is given up.
_HEARTBEATS: Final = 4

Q = TypeVar("Q")
R = TypeVar("R")

log = structlog.get_logger("memstow.cluster")


class DaskExecutor:
    """The cluster behind one scheduler."""

    def __init__(
        self,
        scheduler: str,
        lease_seconds: float,
        on_killed: Callable[[str], None],
        on_workers: Callable[[Mapping[str, int]], None] = lambda _counts: None,
    ) -> None:
        self.on_killed = on_killed
        self._lease_seconds = lease_seconds
        self._inbox = ""
        self._closed = threading.Event()
        self._started = False
        self._cluster = Cluster(scheduler, lease_seconds, Hooks(_log_notice, on_workers, self._listen))

    @property
    def connected(self) -> bool:
        """Whether the scheduler can be reached."""
        return self._cluster.connected

    def prepare(self) -> None:
        """Start the thread that connects to the scheduler."""
        if not self._started:
            self._started = True
            _set_up_log()
            self._cluster.start()

    def close(self) -> None:
        """Leave the cluster; its runs are called off."""
        self._closed.set()
        self._cluster.close()

    def run(self, operation: Operation[Q, R], request: Q, control: RunControl) -> R:
        """The result of the operation; its own errors, or ChildError when there is no result."""
        needs = _needs(request)
        try:
            while True:
                self._await_connection(control)
                run = Run(control, self._lease_seconds)
                call = self._call(operation.name, request, control, needs, run)
                self._cluster.begin(call)
                try:
                    done = run.wait(partial(self._cluster.send, call, stop))
                    return result_from(done, operation, control)
                except LostError:
                    log.warning("cluster_lost_run")
                except MissingError as error:
                    log.warning("cluster_missing", worker=run.worker, message=str(error))
                    self._cluster.note_lack(run.worker or "", needs)
                finally:
                    if run.silent and run.worker is not None:
                        self._cluster.suspect(run.worker)
                    self._cluster.leave(call)
                if run.plan is not None and isinstance(request, SolveRequest):
                    request = replace(request, known_plan=run.plan)
        except ChildError as error:
            self.on_killed(error.code)
            raise

    def _call(self, operation: str, request: object, control: RunControl, needs: Needs, run: Run) -> Call:
        message = pack(
            {
                "kind": "run",
                "operation": operation,
                "request": encode(request),
                "memory": control.memory,
                "seconds": control.seconds,
                "heartbeat": self._lease_seconds / _HEARTBEATS,
            }
        )
        return Call(
            perform,
            lambda name: (name, self._inbox, message),
            needs,
            run,
            begins=True,
            waits_for_version=True,
        )

    def _await_connection(self, control: RunControl) -> None:
        while not self.connected:
            ended = control.kill_requested() or control.stop_requested()
            if ended or self._closed.wait(_POLL_SECONDS):
                raise ChildError("killed", "called off while the cluster was away")
            control.tick()

    async def _listen(self, client: Client) -> None:
        """Hand on what workers send, in the thread of the cluster."""
        self._inbox = f"{INBOXES}{client.id}"
        inbox = await Queue(self._inbox, client=client, maxsize=MOST_WAITING)
        while True:
            self._receive(await inbox.get())

    def _receive(self, data: bytes) -> None:
        try:
            (bundle,) = Reader().feed(data)
        except (GarbageError, ValueError, TypeError) as error:
            log.warning("cluster_garbage", error=str(error)[:500])
            return
        call = self._cluster.call_of(bundle.get("run", ""))
        if call is not None and isinstance(call.ends, Run):
            call.ends.receive(bundle["messages"])
            call.worker = call.ends.begun_by


def _needs(request: object) -> Needs:
    if not isinstance(request, SolveRequest):
        return Needs()
    options = json.loads(request.options)
    return needs_of(options["solver"], options["deterministic"])


def _log_notice(notice: Notice) -> None:
    tell = log.info if notice.kind in ("connected", "worker_back") else log.warning
    tell(f"cluster_{notice.kind}", message=notice.text)


def _set_up_log() -> None:
    """Write the warnings of Dask in the form of our log, and nothing less."""
    logger = logging.getLogger("distributed")
    logger.handlers[:] = []
    logger.propagate = True
    logger.setLevel(logging.WARNING)
    # A lost connection is logged here, without a traceback.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
