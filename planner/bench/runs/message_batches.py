"""Messages of a child to its supervisor in batches: a wake-up for each would cost more than a quick run."""

import threading

from memstow.planner.processes.child import write_all
from memstow.planner.processes.frames import Message, pack


class BatchSender:
    """Collects messages from any thread, and sends them as one when flushed."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._waiting: list[Message] = []

    def send(self, message: Message) -> None:
        """Send the message with the next flush."""
        with self._lock:
            self._waiting.append(message)

    def flush(self) -> None:
        """Send the waiting messages, in their order."""
        with self._lock:
            write_all(self._pipe, self._batch())

    def close(self, message: Message) -> None:
        """Send the waiting messages, and a last one after them."""
        with self._lock:
            write_all(self._pipe, self._batch() + pack(message))

    def _batch(self) -> bytes:
        waiting, self._waiting = self._waiting, []
        return pack({"kind": "batch", "messages": waiting}) if waiting else b""
