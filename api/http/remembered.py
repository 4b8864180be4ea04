"""Answers kept in memory by the bytes of the request: a question that comes again is not even read."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

_OVERHEAD: Final = 500


# The body, and what was said beside it. The bytes themselves: a digest would take a turn of the event loop.
Key = tuple[bytes, tuple[str | None, ...]]


@dataclass(frozen=True, slots=True)
class Ready:
    """An answer that can be sent as it is."""

    body: bytes
    media_type: str
    etag: str


def ready(body: bytes, media_type: str) -> Ready:
    """The answer with its tag."""
    return Ready(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


class Remembered:
    """The most recent answers, up to a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._answers: OrderedDict[Key, Ready] = OrderedDict()

    def find(self, key: Key) -> Ready | None:
        """The answer to this request."""
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            return answer

    def keep(self, key: Key, answer: Ready) -> None:
        """Keep an answer, and let the oldest go."""
        size = _size(key, answer)
        if size > self._most:
            return
        with self._lock:
            old = self._answers.pop(key, None)
            if old is not None:
                self._bytes -= _size(key, old)
            self._answers[key] = answer
            self._bytes += size
            while self._bytes > self._most:
                self._bytes -= _size(*self._answers.popitem(last=False))


def _size(key: Key, answer: Ready) -> int:
    return len(key[0]) + len(answer.body) + _OVERHEAD
