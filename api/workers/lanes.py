"""The slots of a server by lanes: for any job, for short jobs, and for keys that have nothing running."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from memstow.api.workers.bell import Bell


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """Slots of one kind: what they are for, and what wakes their threads."""

    name: str
    slots: int
    short_only: bool = False
    first_only: bool = False
    """Only for keys with no running job, short ones aside."""
    bell: Bell = field(default_factory=Bell)


class Lanes:
    """All slots of a server."""

    def __init__(self, slots: int, short_slots: int, first_slots: int) -> None:
        self._any = Lane("worker", slots)
        self._first = Lane("first worker", first_slots, first_only=True)
        self.all = (self._any, Lane("short worker", short_slots, short_only=True), self._first)
        self._lock = threading.Lock()
        self._taken = 0

    def wake(self) -> None:
        """Wake a thread of each: there may be a job."""
        for lane in self.all:
            lane.bell.ring()

    def wake_all(self) -> None:
        """Wake every thread."""
        for lane in self.all:
            lane.bell.ring_for_all()

    def may_claim(self, lane: Lane) -> bool:
        """Whether a thread of this lane may claim a job now: while others have a free slot, it is theirs."""
        return not lane.first_only or self._taken >= self._any.slots

    @contextmanager
    def taken(self, lane: Lane) -> Iterator[None]:
        """A slot of this lane is taken."""
        # There may be another job for another thread.
        lane.bell.ring()
        if lane is not self._any:
            yield
            return
        with self._lock:
            self._taken += 1
        self._first.bell.ring()
        try:
            yield
        finally:
            with self._lock:
                self._taken -= 1
