"""A worker's side of a solve on a cluster: a child like those at home, and what it says sent to its server.

The server that asked is behind a queue of the scheduler. What stops a solve: the server's word, brought by
`stop`; and that nobody wants its task, because the server took it back, or is gone, or this worker ends.
"""

import threading
from collections.abc import Callable
from typing import Final

from distributed import Client, Queue, Worker, get_client, get_worker
from distributed.core import Status

from memstow.api.workers.isolated_run import ChildError, Children, Watch
from memstow.planner.model.errors import InputError
from memstow.planner.processes.frames import Message, Reader, pack

# Bundles that may wait for a server; one that leaves so many there is gone.
MOST_WAITING: Final = 1_000
# News of a solve waits so long for more.
_TOGETHER_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 30.0
_AT_WORK: Final = (Status.running, Status.paused, Status.closing_gracefully)

_children: Final = Children()
_stops: Final[dict[str, threading.Event]] = {}


def perform(name: str, inbox: str, request: bytes) -> None:
    """A task of Dask: run what a server asks for, and send all that comes of it to its inbox."""
    (asked,) = Reader().feed(request)
    worker, key = get_worker(), str(get_worker().get_current_task())
    stop = _stops[name] = threading.Event()
    post = Post(get_client(), inbox, name, asked["beat"])
    watch = Watch(
        memory=asked["memory"],
        seconds=asked["seconds"],
        hear=post.send,
        stopped=stop.is_set,
        killed=lambda: post.lost or not _wanted(worker, key),
    )
    try:
        post.send({"kind": "begun", "worker": worker.address})
        post.send(_done(lambda: _children.run(asked["what"], asked["arguments"], watch)))
    finally:
        del _stops[name]
        post.close()


def stop(name: str) -> None:
    """Tell the run of this name to end with what it has."""
    told = _stops.get(name)
    if told is not None:
        told.set()


def _wanted(worker: Worker, key: str) -> bool:
    """Whether anybody waits for this task of Dask."""
    task = worker.state.tasks.get(key)
    return worker.status in _AT_WORK and task is not None and task.state == "executing"


def _done(run: Callable[[], Message]) -> Message:
    """The last message of a run, in the form that children have theirs."""
    try:
        return {"kind": "done", "result": run()}
    except InputError as error:
        issues = [[issue.code, issue.path, issue.message] for issue in error.issues]
        return {"kind": "done", "issues": issues}
    except ChildError as error:
        return {"kind": "done", "failure": error.code, "message": str(error)}


class Post:
    """Brings messages to a server in bundles, from a thread of its own; an empty bundle is a sign of life."""

    def __init__(self, client: Client, inbox: str, name: str, beat: float) -> None:
        self._queue = Queue(inbox, client=client, maxsize=MOST_WAITING)
        self._name = name
        self._beat = beat
        self._lock = threading.Lock()
        self._unsent: list[Message] = []
        self._news = threading.Event()
        self._closed = threading.Event()
        self.lost = False
        """Whether the server cannot be reached any more."""
        self._thread = threading.Thread(target=self._serve, name="memstow post", daemon=True)
        self._thread.start()

    def send(self, message: Message) -> None:
        """Send it soon."""
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
                self._news.wait(self._beat)
                self._send()
                self._closed.wait(_TOGETHER_SECONDS)
            self._send()
            self._queue.close()
        except Exception:
            # Whatever Dask says, and it says many things: the solve is of no use to anybody.
            self.lost = True

    def _send(self) -> None:
        self._news.clear()
        with self._lock:
            messages, self._unsent = self._unsent, []
        bundle = pack({"kind": "bundle", "run": self._name, "messages": messages})
        self._queue.put(bundle, timeout=_PATIENCE_SECONDS)
