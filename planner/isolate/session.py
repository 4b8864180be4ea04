"""One request to one child: send it, hear what comes back, and end it in time, whatever the child does."""

import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass

from planner.isolate.frames import GarbageError, Message, Reader, pack
from planner.isolate.process import Process

_TICK = 0.02
_WATCH_MEMORY_SECONDS = 0.05
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Terms:
    """When a session must end."""

    until: float | None  # on the monotonic clock
    memory: int
    cancelled: Callable[[], bool]


def converse(process: Process, request: Message, terms: Terms, hear: Callable[[Message], None]) -> str | None:
    """Hear every message up to the last, `done`; otherwise why it came to an end without. Ends the child."""
    try:
        return _Session(process, request, terms, hear).run()
    finally:
        process.close()


class _Session:
    def __init__(
        self, process: Process, request: Message, terms: Terms, hear: Callable[[Message], None]
    ) -> None:
        self._process = process
        self._unsent = memoryview(pack(request))
        self._terms = terms
        self._hear = hear
        self._reader = Reader()
        self._memory_at = 0.0
        self._poll = select.poll()
        self._poll.register(process.events, select.POLLIN)
        self._poll.register(process.requests, select.POLLOUT)

    def run(self) -> str | None:
        while True:
            now = time.monotonic()
            if self._terms.until is not None and now >= self._terms.until:
                return "out of time"
            if self._terms.cancelled():
                return "told to stop"
            if now >= self._memory_at:
                self._memory_at = now + _WATCH_MEMORY_SECONDS
                used = self._process.memory()
                if used > self._terms.memory:
                    return f"used {used >> 20} MiB of memory; {self._terms.memory >> 20} are allowed"
            wait = _TICK if self._terms.until is None else min(_TICK, self._terms.until - now)
            for pipe, _ in self._poll.poll(wait * 1000):
                if pipe == self._process.requests:
                    self._send()
                    continue
                try:
                    over = self._receive()
                except GarbageError as error:
                    return f"the child sent garbage: {error}"
                if over is not None:
                    return over or None

    def _send(self) -> None:
        """Send a piece of the request. A child that takes none has ended, and its own pipe will say so."""
        try:
            self._unsent = self._unsent[os.write(self._process.requests, self._unsent[:_PIECE]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = memoryview(b"")
        if not self._unsent:
            self._poll.unregister(self._process.requests)

    def _receive(self) -> str | None:
        """None: go on. Empty: done. Otherwise why it is over."""
        try:
            data = os.read(self._process.events, _PIECE)
        except BlockingIOError:
            return None
        if not data:
            return f"the child {self._process.ending()}"
        for message in self._reader.feed(data):
            self._hear(message)
            if message["kind"] == "done":
                return ""
        return None
