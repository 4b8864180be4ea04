"""What a child tells its parent."""

import os
import threading

from memstow.planner.processes.frames import Message, pack


class Teller:
    """Sends messages to the parent, from any thread."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Send one message whole."""
        data = pack(message)
        with self._lock:
            write_all(self._pipe, data)


def write_all(pipe: int, data: bytes) -> None:
    """Write to a pipe, which may take a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(pipe, rest) :]
