"""The child's side of a session: its folder, its limits, requests by standard input, messages by a pipe.

The temporary folder of a child is named by its parent, made and removed by the child itself: a parent that
made it could be killed before there is a child to remove it.
"""

import contextlib
import faulthandler
import os
import queue
import select
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from memstow.planner.processes.frames import Message, Reader, pack

_PREFIX = "memstow-"
_VARIABLE = "MEMSTOW_FOLDER"


def new_folder_name(parent: Path | None = None) -> Path:
    """A folder that is not there yet, in `parent` or where the system has such folders.

    Nobody can guess its name, and make it before.
    """
    return (parent or Path(tempfile.gettempdir())) / f"{_PREFIX}{os.urandom(8).hex()}"


def folder_variables(folder: Path) -> dict[str, str]:
    """What the environment of the child says of its folder."""
    return {"TMPDIR": str(folder), _VARIABLE: str(folder)}


def move_into_folder() -> None:
    """Make the folder of this process, if it has one, and work there.

    A child does this before it listens to its parent: at the end of what it hears it removes the folder.
    """
    folder = os.environ.get(_VARIABLE)
    if folder:
        os.mkdir(folder, 0o700)
        os.chdir(folder)


def remove_folder() -> None:
    """Remove the folder of this process."""
    folder = os.environ.get(_VARIABLE)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


_NICER = 5
_MUCH_NICER = 10
_PR_SET_CHILD_SUBREAPER = 36
# Longer than the patience of a parent that sees the child wait for a processor: the parent is to end it, and
# knows why. This is for a parent that cannot.
_LATE_SECONDS = 75.0
# Address space is more than memory: threads reserve stacks and arenas that they never touch.
_ADDRESS_SPACE_ABOVE = 8 << 30


def end_everything() -> None:
    """Remove the temporary folder, and kill this process and its group.

    A process that does not lead a group ends alone.
    """
    remove_folder()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def end_after(seconds: float) -> None:
    """End this process after this time and a little more, if its parent has not done so."""
    faulthandler.dump_traceback_later(seconds + _LATE_SECONDS, exit=True, file=open(os.devnull, "w"))  # noqa: SIM115


def be_modest() -> None:
    """Lower the priority below the parent's, and be the first to be killed when memory runs out."""
    with contextlib.suppress(OSError):
        os.nice(_NICER)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def step_back() -> None:
    """Lower the priority further: long work should not slow down short work in other children."""
    with contextlib.suppress(OSError):
        os.nice(_MUCH_NICER)


def limit_memory(limit: int) -> None:
    """Set a hard limit well above this one, which the parent enforces."""
    import resource

    with contextlib.suppress(OSError, ValueError):
        most = limit + _ADDRESS_SPACE_ABOVE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends, so that each can be killed."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


_STDIN = 0
_PIECE = 1 << 20


class Sender:
    """Sends messages to the parent, from any thread."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Send one message."""
        data = pack(message)
        with self._lock:
            write_all(self._pipe, data)


def write_all(pipe: int, data: bytes) -> None:
    """Write to a pipe, which may take a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


@dataclass(frozen=True, slots=True)
class Idle:
    """A function to call each time that no request has come for this many milliseconds."""

    milliseconds: int
    call: Callable[[], None]


def requests(idle: Idle | None = None) -> Iterator[Message]:
    """Messages from the parent, until it is gone."""
    reader = Reader()
    poll = select.poll()
    poll.register(_STDIN, select.POLLIN)
    while True:
        if idle is not None and not poll.poll(idle.milliseconds):
            idle.call()
            continue
        data = os.read(_STDIN, _PIECE)
        if not data:
            return
        yield from reader.feed(data)


def listen(receive: Callable[[Message], None], idle: Idle | None = None) -> None:
    """Pass each message from the parent on; end this process when the parent is gone."""
    try:
        for message in requests(idle):
            receive(message)
    finally:
        end_everything()


def failure_of(error: Exception) -> Message:
    """The last message of a child whose work ended with this error."""
    failure = "out of memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}"[:1000]
    return {"kind": "done", "failure": failure}


def serve_request(
    sender: Sender,
    warm_up: Callable[[], None],
    answer: Callable[[Message, threading.Event], Message],
    failed: Callable[[Exception], Message] = failure_of,
) -> None:
    """Warm up, wait for the one request, keep to its limits, and send the answer as the last message.

    First of all it moves into its folder. The event that `answer` gets is set when the parent sends `cancel`.
    """
    pending: queue.SimpleQueue[Message] = queue.SimpleQueue()
    cancel = threading.Event()

    def receive(message: Message) -> None:
        if message["kind"] == "cancel":
            cancel.set()
        else:
            pending.put(message)

    try:
        move_into_folder()
        threading.Thread(target=listen, args=(receive,), daemon=True).start()
        be_modest()
        warm_up()
        request = pending.get()
        limit_memory(request["memory"])
        if request["seconds"] is not None:
            end_after(request["seconds"])
        last = answer(request, cancel)
    except Exception as error:
        last = failed(error)
    # The parent does it too, but may be killed before.
    remove_folder()
    sender.send(last)


def run_child(
    sender: Sender,
    warm_up: Callable[[], None],
    answer: Callable[[Message, threading.Event], Message],
    failed: Callable[[Exception], Message] = failure_of,
) -> NoReturn:
    """The whole life of a child that `start_child` starts for one request: see `serve_request`."""
    serve_request(sender, warm_up, answer, failed)
    # Threads may still run, of a library or the one that listens; nothing they do matters now.
    os._exit(0)
