"""Messages of a child to its keeper, several at a time: waking it for each would cost more than a run may."""

import os
import threading

from planner.isolate.frames import Message, pack


class Teller:
    """Gathers messages from any thread until they are flushed."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._waiting = bytearray()

    def send(self, message: Message) -> None:
        """Have the message go with the next flush."""
        data = pack(message)
        with self._lock:
            self._waiting += data

    def flush(self) -> None:
        """Send what waits, in its order."""
        with self._lock:
            data = memoryview(bytes(self._waiting))
            self._waiting.clear()
            while data:
                data = data[os.write(self._pipe, data) :]
