"""The parent's side of a request to a child: send it, receive messages, and end in time in any case."""

import os
import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memstow.planner.processes.frames import GarbageError, Message, Reader, parts_of
from memstow.planner.processes.process import Group, Process

OUT_OF_TIME: Final = "out of time"
"""Why a session ended that had come to its time limit."""

_TICK = 0.02
_MEMORY_SECONDS = 0.05
_PIECE = 1 << 20
# A child that has closed its pipe is about to end: waiting this long for its exit status.
_LEAST_ENDING_SECONDS, _MOST_ENDING_SECONDS = 0.2, 2.0


class EndedError(Exception):
    """The session ended without the child's last message."""


class MemoryLimitError(EndedError):
    """The child used more memory than allowed."""


class Session:
    """A request and its messages. The owner's `look` is called in between, and may end it by an exception."""

    def __init__(
        self,
        process: Group,
        request: Message,
        memory: int,
        hear: Callable[[Message], None],
        look: Callable[[float], None],
    ) -> None:
        self.until: float | None = None  # when `look` is called at the latest, on the monotonic clock
        self.rest = 0.0  # seconds to wait after a message for more of them, which then come together
        self._process = process
        # Each part goes when it is sent: one that was a large body is not kept for the whole session.
        self._unsent: deque[memoryview] = deque()
        self._memory = memory
        self._hear = hear
        self._look = look
        self._reader = Reader()
        # A child that has just got its request cannot have used much.
        self._memory_at = time.monotonic() + _MEMORY_SECONDS
        self._poll = select.poll()
        self._poll.register(process.events, select.POLLIN)
        self.say(request)

    def say(self, message: Message) -> None:
        """Send a message as soon as the pipe has room."""
        self._unsent += (memoryview(part) for part in parts_of(message) if part)
        self._poll.register(self._process.requests, select.POLLOUT)

    def run(self) -> Message:
        """Receive every message up to `done`, which is returned; EndedError if it does not come."""
        while True:
            now = time.monotonic()
            self._look(now)
            self._check_memory(now)
            wait = _TICK if self.until is None else min(_TICK, max(self.until - now, 0.0))
            for pipe, _ in self._poll.poll(wait * 1000):
                if pipe == self._process.requests:
                    self._send()
                    continue
                done = self._receive()
                if done is not None:
                    return done
                if self.rest:
                    time.sleep(self.rest)

    def _check_memory(self, now: float) -> None:
        if now < self._memory_at:
            return
        self._memory_at = now + _MEMORY_SECONDS
        used = self._process.memory()
        if used > self._memory:
            message = f"used {used >> 20} MiB of memory; {self._memory >> 20} are allowed"
            raise MemoryLimitError(message)

    def _send(self) -> None:
        """Send a piece. A broken pipe means that the child has ended, as its other pipe will show."""
        part = self._unsent.popleft()
        try:
            rest = part[os.write(self._process.requests, part[:_PIECE]) :]
        except BlockingIOError:
            rest = part
        except BrokenPipeError:
            rest = memoryview(b"")
            self._unsent.clear()
        if rest:
            self._unsent.appendleft(rest)
        if not self._unsent:
            self._poll.unregister(self._process.requests)

    def _time_to_end(self) -> float:
        if self.until is None:
            return _MOST_ENDING_SECONDS
        return min(max(self.until - time.monotonic(), _LEAST_ENDING_SECONDS), _MOST_ENDING_SECONDS)

    def _receive(self) -> Message | None:
        """Receive a piece; the message `done` if it is complete."""
        try:
            data = os.read(self._process.events, _PIECE)
        except BlockingIOError:
            return None
        except OSError:
            raise EndedError("closed by this process") from None
        if not data:
            raise EndedError(f"the child {self._process.ending(self._time_to_end())}")
        try:
            for message in self._reader.feed(data):
                self._hear(message)
                if message["kind"] == "done":
                    return message
        except GarbageError as error:
            raise EndedError(f"the child sent garbage: {error}") from None
        return None


@dataclass(frozen=True, slots=True)
class Terms:
    """The limits of a session."""

    until: float | None  # on the monotonic clock
    memory: int
    cancelled: Callable[[], bool]


def converse(process: Process, request: Message, terms: Terms, hear: Callable[[Message], None]) -> str | None:
    """Receive messages up to `done`, then end the child; the reason if it ended without that message."""

    def look(now: float) -> None:
        if terms.until is not None and now >= terms.until:
            raise EndedError(OUT_OF_TIME)
        if terms.cancelled():
            raise EndedError("told to stop")

    session = Session(process, request, terms.memory, hear, look)
    session.until = terms.until
    try:
        session.run()
    except EndedError as error:
        return str(error)
    finally:
        process.close()
    return None
