"""The child's side of a session: requests come by standard input, messages go out by a pipe.

The end of standard input means that the parent is gone. A child then ends, with all that it has started.
"""

import os
import queue
import select
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memstow.planner.processes import folder, lifeline
from memstow.planner.processes.frames import Message, Reader, pack

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
        lifeline.end_everything()


def serve_request(
    sender: Sender,
    warm_up: Callable[[], None],
    answer: Callable[[Message, threading.Event], Message],
    failed: Callable[[Exception], Message],
    hear: Callable[[Message], None] = lambda _message: None,
) -> None:
    """Warm up, wait for the one request, keep to its limits, and send the answer as the last message.

    First of all it moves into its folder. The event that `answer` gets is set when the parent sends `cancel`;
    what it tells besides, `hear` gets.
    """
    pending: queue.SimpleQueue[Message] = queue.SimpleQueue()
    cancel = threading.Event()

    def receive(message: Message) -> None:
        if message["kind"] == "cancel":
            cancel.set()
        elif message["kind"] == "known":
            hear(message)
        else:
            pending.put(message)

    try:
        folder.move_in()
        threading.Thread(target=listen, args=(receive,), daemon=True).start()
        lifeline.be_modest()
        warm_up()
        request = pending.get()
        lifeline.limit_memory(request["memory"])
        if request["seconds"] is not None:
            lifeline.end_after(request["seconds"])
        last = answer(request, cancel)
    except Exception as error:
        last = failed(error)
    # The parent does it too, but may be killed before.
    folder.move_out()
    sender.send(last)
