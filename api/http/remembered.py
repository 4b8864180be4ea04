"""Answers kept in memory by the bytes of the request: a question that comes again is not even read."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

_OVERHEAD: Final = 500


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
        self._answers: OrderedDict[bytes, Ready] = OrderedDict()

    @staticmethod
    def key(body: bytes, *beside: str | None) -> bytes:
        """What tells one request from another."""
        hashed = hashlib.sha256(repr(beside).encode())
        hashed.update(body)
        return hashed.digest()

    def find(self, key: bytes) -> Ready | None:
        """The answer to this request."""
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            return answer

    def keep(self, key: bytes, answer: Ready) -> None:
        """Keep an answer, and let the oldest go."""
        size = len(answer.body) + _OVERHEAD
        if size > self._most:
            return
        with self._lock:
            old = self._answers.pop(key, None)
            if old is not None:
                self._bytes -= len(old.body) + _OVERHEAD
            self._answers[key] = answer
            self._bytes += size
            while self._bytes > self._most:
                _, gone = self._answers.popitem(last=False)
                self._bytes -= len(gone.body) + _OVERHEAD
