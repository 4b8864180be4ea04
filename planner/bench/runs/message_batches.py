"""Messages of a child to its keeper, several at a time: waking it for each would cost more than a run may."""

import threading

from memstow.planner.processes.child import write_all
from memstow.planner.processes.frames import Message, pack


class Teller:
    """Gathers messages from any thread until they are flushed, then sends them as one."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._waiting: list[Message] = []

    def send(self, message: Message) -> None:
        """Have the message go with the next flush."""
        with self._lock:
            self._waiting.append(message)

    def flush(self) -> None:
        """Send what waits, in its order."""
        with self._lock:
            write_all(self._pipe, self._told())

    def close(self, message: Message) -> None:
        """Send what waits, and a last message after it."""
        with self._lock:
            write_all(self._pipe, self._told() + pack(message))

    def _told(self) -> bytes:
        waiting, self._waiting = self._waiting, []
        return pack({"kind": "told", "messages": waiting}) if waiting else b""
