"""The worker's side of a run on a cluster: a child process like those of a server, its messages sent back.

The server is reached by a queue of the scheduler. A run is stopped by `stop`, which the server calls, and
when nobody waits for its task any more: the server released it or is gone, or this worker ends.
"""

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from distributed import Client, Queue, Worker, get_client, get_worker
from distributed.core import Status

from memstow.api.operations.operations import OPERATIONS
from memstow.api.operations.request_types import (
    Known,
    decode,
    decode_known,
    encode,
    encode_issues,
    encode_update,
)
from memstow.api.workers.executor import ChildError, MissingError, RunControl
from memstow.api.workers.isolated_run import ChildExecutor
from memstow.planner.model.errors import InputError, MissingBackEndError
from memstow.planner.processes.frames import Message, Reader, pack

# The most bundles that may wait for a server; one that lets more pile up is taken to be gone.
MOST_WAITING: Final = 1_000
# How long messages are collected before they are sent.
_COLLECT_SECONDS: Final = 0.1
_SEND_SECONDS: Final = 30.0
_WORKING: Final = (Status.running, Status.paused, Status.closing_gracefully)

_children: Final = ChildExecutor()
_runs: Final[dict[str, "_Run"]] = {}


@dataclass(frozen=True, slots=True)
class _Run:
    """What a server says of a run that goes on here."""

    stop: threading.Event = field(default_factory=threading.Event)
    told: queue.SimpleQueue[Known] = field(default_factory=queue.SimpleQueue)

    def to_tell(self) -> Known | None:
        try:
            return self.told.get_nowait()
        except queue.Empty:
            return None


def perform(name: str, inbox: str, data: bytes) -> None:
    """A task of Dask: carry out a request, and send all messages of the run to the inbox of the server."""
    (message,) = Reader().feed(data)
    worker, key = get_worker(), str(get_worker().get_current_task())
    run = _runs[name] = _Run()
    outbox = Outbox(get_client(), inbox, name, message["heartbeat"])
    operation = OPERATIONS[message["operation"]]
    request = decode(operation.request, message["request"])
    control = RunControl(
        memory=message["memory"],
        seconds=message["seconds"],
        on_update=lambda update: outbox.send(encode_update(update)),
        stop_requested=run.stop.is_set,
        kill_requested=lambda: outbox.lost or not _wanted(worker, key),
        to_tell=run.to_tell,
    )
    try:
        outbox.send({"kind": "begun", "worker": worker.address})
        outbox.send(_last_message(lambda: encode(_children.run(operation, request, control))))
    finally:
        del _runs[name]
        outbox.close()


def stop(name: str) -> None:
    """Ask the run of this name to end with its best plan."""
    run = _runs.get(name)
    if run is not None:
        run.stop.set()


def tell(data: bytes, name: str) -> None:
    """Tell the run of this name what others of its team have found."""
    run = _runs.get(name)
    if run is not None:
        for message in Reader().feed(data):
            run.told.put(decode_known(message))


def _wanted(worker: Worker, key: str) -> bool:
    """Whether anybody waits for this task of Dask."""
    task = worker.state.tasks.get(key)
    return worker.status in _WORKING and task is not None and task.state == "executing"


def _last_message(run: Callable[[], Message]) -> Message:
    """The last message of a run, as a child sends it."""
    try:
        return {"kind": "done", "result": run()}
    except InputError as error:
        return {"kind": "done", "issues": encode_issues(error)}
    except MissingError as error:
        return {"kind": "done", "declined": MissingBackEndError.__name__, "message": str(error)}
    except ChildError as error:
        return {"kind": "done", "failure": error.code, "message": str(error)}


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
